"""The OpenAPI description, from the table of calls."""

from __future__ import annotations

from functools import cache
from typing import Any

from tarry._version import __version__
from tarry.live.calls import ADMIN, CALLS, MOST_ROWS, READ, Call, NewJoin, NewSession, calls_of
from tarry.live.codec import ID, Schema, fields_of, object_schema, objects_in
from tarry.live.session import Takes
from tarry.service.http import JSON, KINDS, LINES, MOST_LISTED, NAME
from tarry.service.planner import PlanRequest
from tarry.service.problems import MEDIA, Problem

_SCHEME = "token"
_REFUSALS = {
    400: "The body is not JSON.",
    401: "No token, or one that is not known.",
    403: "The token does not allow this.",
    404: "There is nothing of this name.",
    408: "The body did not come in time.",
    409: "Something else has this name.",
    413: "The body or the batch is too large.",
    422: "The request makes no sense; nothing was changed.",
    429: "Too many requests under this token: come again.",
    503: "The store cannot be reached, or the server is ending: come again.",
}
# Examples of rows, by verb, so that a reader, or a fuzzer, begins with what makes sense.
_EXAMPLES: dict[str, Any] = {
    "decide": {"id": "u1-17", "features": {"basket": 10}},
    "label": {"id": "u1-17", "label": 1},
    "tell": {"id": "r1", "gradient": [0.5, -1.0]},
    "ask": {"id": "r1"},
    "resize": {"capacity": 128},
    "ack": {"number": 12},
}
_NEW = {
    "joins": (NewJoin, {"capacity": 64}),
    "sessions": (
        NewSession,
        {
            "domain": {"type": "Ball", "dimension": 2},
            "player": {"learner": {"type": "DWFTRL", "rate": 0.5}},
            "capacity": 8,
        },
    ),
}


@cache
def description() -> dict[str, Any]:
    """Return the description of the API."""
    asks = {kind for call in CALLS for kind in objects_in(call.asks)} | {NewJoin, NewSession, PlanRequest}
    answers = {kind for call in CALLS for kind in objects_in(call.answers)} | {Problem, Takes}
    schemas = {kind.__name__: object_schema(kind, is_strict=kind in asks) for kind in asks | answers}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tarry",
            "version": __version__,
            "summary": "Late labels joined with their decisions, with weights.",
        },
        "paths": _paths(),
        "components": {
            "schemas": {"Id": ID, **{name: schemas[name] for name in sorted(schemas)}},
            "securitySchemes": {_SCHEME: {"type": "http", "scheme": "bearer"}},
        },
    }


def _paths() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for room, kind in KINDS.items():
        word, (new, example) = kind._kind, _NEW[room]
        listed = [_parameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_LISTED}, "At most so many.")]
        listed += [_parameter("after", {"type": "string"}, "The last name you have.")]
        listed += [_parameter("status", {"type": "boolean"}, "Whether to ask each for its status.")]
        overview = _operation(f"List {room} by name, oldest first, with their status.", room, READ, (401, 403, 422))
        made = _operation(f"Make a {word}, or find that the same one is there.", room, ADMIN, tuple(_REFUSALS))
        made |= _body(new.__name__, {"$ref": f"#/components/schemas/{new.__name__}"}, example)
        made["responses"]["201"] = made["responses"]["200"]
        gone = _operation(f"Remove a {word} from the store, for good.", room, ADMIN, (401, 403, 404, 422))
        gone["responses"]["204"] = {"description": "Removed."}
        del gone["responses"]["200"]
        paths[f"/v1/{room}"] = {"get": overview | {"parameters": listed}}
        paths[f"/v1/{room}/{{name}}"] = {
            "post": made | {"parameters": [_name()]},
            "delete": gone | {"parameters": [_name()]},
        }
        for verb, call in calls_of(word).items():
            paths[f"/v1/{room}/{{name}}/{verb}"] = {call.method.lower(): _of_call(room, call)}
    log = {"decided_at": [0, 1, 2, 3, 4, 5, 6, 7], "feedback_at": [3, 5, 4, 9, 8, 9, 7, 12], "target": 0.5}
    planned = _operation("Find how many slots are enough for a log.", "planning", READ, tuple(_REFUSALS))
    paths["/v1/plan"] = {"post": planned | _body("PlanRequest", {"$ref": "#/components/schemas/PlanRequest"}, log)}
    return paths


def _of_call(room: str, call: Call) -> dict[str, Any]:
    row, answer = f"#/components/schemas/{call.asks.__name__}", f"#/components/schemas/{call.answers.__name__}"
    said = _operation(call.about, room, call.scope, tuple(_REFUSALS), {"$ref": answer})
    said["parameters"] = [_name()]
    if call.method == "GET":
        fields = fields_of(call.asks).values()
        said["parameters"] += [_parameter(field.name, _in_query(field.form.schema), field.about) for field in fields]
        if call.verb == "export":
            said["responses"]["200"]["content"] = {LINES: {}}
        return said
    body: Schema = {"$ref": row}
    if call.many is not None:
        many, item = call.many, {"$ref": "#/components/schemas/Id"} if call.many.has_bare_ids else {"$ref": row}
        properties: Schema = {many.key: {"type": "array", "items": item, "maxItems": MOST_ROWS}}
        if many.has_bare_ids:  # what stands beside the list is of all rows
            properties |= {
                name: field.form.schema for name, field in fields_of(call.asks).items() if field.default is not ...
            }
        batch = {"type": "object", "properties": properties, "required": [many.key], "additionalProperties": False}
        body = {"anyOf": [body, batch]}
        several = {"type": "object", "properties": {many.answers: {"type": "array", "items": {"$ref": answer}}}}
        content = said["responses"]["200"]["content"][JSON]
        content["schema"] = {"anyOf": [{"$ref": answer}, several | {"required": [many.answers]}]}
    example = _EXAMPLES.get(call.verb, {"id": "u1-17"} if "id" in call.asks._fields else {})
    return said | _body(call.asks.__name__, body, example)


def _operation(
    about: str, tag: str, scope: str, refused: tuple[int, ...], answer: Schema | None = None
) -> dict[str, Any]:
    problem = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    responses: dict[str, Any] = {"200": {"description": "Done.", "content": {JSON: {"schema": answer or {}}}}}
    responses |= {str(status): {"description": _REFUSALS[status], "content": problem} for status in refused}
    return {"summary": about, "tags": [tag], "security": [{_SCHEME: [scope]}], "responses": responses}


def _body(row: str, schema: Schema, example: Any) -> dict[str, Any]:
    content = {JSON: {"schema": schema, "examples": {"one": {"value": example}}}}
    return {"requestBody": {"required": True, "content": content, "x-row": row}}


def _name() -> dict[str, Any]:
    return {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "pattern": NAME}}


def _parameter(name: str, schema: Schema, about: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": about}


def _in_query(schema: Schema) -> Schema:
    """Return a schema without null, which a query leaves out."""
    kept = [_in_query(part) for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    return schema if not kept else kept[0] if len(kept) == 1 else {**schema, "anyOf": kept}
