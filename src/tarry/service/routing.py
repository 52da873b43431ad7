"""How a request becomes a call: who may make it, its body read once, its errors as problem details."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, TypeGuard, cast

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from pydantic_core import from_json, to_json
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect

from tarry.live.base import StoredObject
from tarry.live.plain import plain
from tarry.service.bodies import NAME
from tarry.service.desk import Desk, Desks, Gone
from tarry.service.problems import DEFECT, MEDIA, Refusal, answer_to, is_ours
from tarry.service.tokens import Token

_logger = logging.getLogger("tarry.service")
JSON = "application/json"
SCHEME = "token"
_is_name = re.compile(NAME).fullmatch
_LEAST_COMPRESSED = 1024  # bytes
_REFUSALS = {
    400: "The body is not JSON.",
    401: "No token, or one that is not known.",
    403: "The token does not allow this.",
    404: "There is nothing of this name.",
    409: "Something else has this name.",
    413: "The body or the batch is too large.",
    422: "The request makes no sense; nothing was changed.",
    429: "Too many requests under this token.",
    503: "The store cannot be reached, or the server is ending: come again.",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how refusals are documented: as problem details."""
    content = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _REFUSALS[status], "content": content} for status in statuses}


READING = refusals(401, 403, 404, 422, 429, 503)
WRITING = refusals(400, 401, 403, 404, 409, 413, 422, 429, 503)


def needs(scope: str, *, own: bool = False) -> dict[str, Any]:
    """Return what a route says of the scope it needs; what is documented is what is asked for.

    With ``own`` the route itself looks which names a token is for.
    """
    return {"security": [{SCHEME: [scope]}], "x-own-names": own}


class Guarded(APIRoute):
    """A route whose scope is checked first. One with a body reads it once and has no dependencies to be solved."""

    answer: Callable[[Request], Coroutine[Any, Any, Response]]

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        said = cast(dict[str, Any], self.openapi_extra)
        scope, is_own = said["security"][0][SCHEME][0], said["x-own-names"]
        inner = super().get_route_handler() if self.body_field is None else self._with_body()

        async def handle(request: Request) -> Response:
            state = request.scope["tarry"]
            try:
                check_name(request.path_params.get("name"))
                if not (is_own and state.token.reaches(scope)):
                    permit(request, scope, request.path_params.get("name"))
                try:
                    return await inner(request)
                except Gone:
                    return await inner(request)  # what has the name now
            except (RequestValidationError, HTTPException):
                raise  # answered where the framework's own refusals are
            except Exception as error:
                if not is_ours(error):
                    _logger.exception("a request failed", extra={"facts": {"request_id": state.id}})
                    error = Refusal(500, DEFECT)
                return answer_to(error, state.id)

        self.answer = handle
        return handle

    def _with_body(self) -> Callable[[Request], Awaitable[Response]]:
        check = TypeAdapter(cast(Any, self.body_field).field_info.annotation).validator.validate_python
        endpoint = cast(Callable[..., Awaitable[Response]], self.endpoint)

        async def handle(request: Request) -> Response:
            body = check(_json_of(await _body_of(request)))
            return await endpoint(request, body=body, **request.path_params)

        return handle


class Direct:
    """Hand a POST to ``/v1/KIND/NAME/VERB`` straight to its route; all else goes through the framework.

    The framework's way to a route, past layers and lists of routes, takes longer than the call itself, and so does
    to look whether a short answer should be compressed.
    """

    def __init__(self, app: Any, *routers: APIRouter) -> None:
        self._app, self._framework = app, _compressed(app)
        listed = [(route.path.split("/"), route) for router in routers for route in router.routes if _is_plain(route)]
        self._routes = {(kind, verb): route for (_, _, kind, _, verb), route in listed}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        path: list[str] = scope["path"].split("/") if scope.get("method") == "POST" else []
        is_about_one = len(path) == 5 and path[1] == "v1" and path[3]
        route = self._routes.get((path[2], path[4])) if is_about_one else None
        if route is None:
            await self._framework(scope, receive, send)
            return
        scope.update(app=self._app, route=route, path_params={"name": path[3]})
        said = await route.answer(Request(scope, receive))
        await (said if len(said.body) < _LEAST_COMPRESSED else _compressed(said))(scope, receive, send)


def _compressed(app: Any) -> GZipMiddleware:
    return GZipMiddleware(app, minimum_size=_LEAST_COMPRESSED, compresslevel=5)


def _is_plain(route: Any) -> TypeGuard[Guarded]:
    """Return whether a route is a POST to ``/v1/KIND/{name}/VERB`` with a body, which alone it has to read."""
    fits = re.fullmatch(r"/v1/\w+/\{name\}/\w+", route.path)
    return fits is not None and "POST" in route.methods and route.body_field is not None


def _json_of(text: bytes) -> Any:
    """Return the value of a body; NaN is none of JSON's."""
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise Refusal(400, f"the body is not JSON: {error}") from None


async def _body_of(request: Request) -> bytes:
    """Return the body; raise Refusal where it does not come in time."""
    try:
        async with asyncio.timeout(request.app.state.settings.patience):
            return await request.body()
    except ClientDisconnect:
        raise Refusal(400, "the connection ended before the body did", {"connection": "close"}) from None
    except TimeoutError:
        raise Refusal(408, "the body did not come in time: send it again", {"connection": "close"}) from None


def check_name(name: str | None) -> None:
    """Raise Refusal for a name that nothing can have, before anything is kept of it."""
    if name is not None and not _is_name(name):
        raise Refusal(
            422, f"a name has 1 to 128 of A-Z, a-z, 0-9, _ . : @ - and blanks, got {name[:80]!r}", name="name"
        )


def permit(request: Request, scope: str, name: str | None) -> None:
    """Raise Refusal where the token of a request does not grant a scope for a name."""
    token: Token = request.scope["tarry"].token
    if not token.allows(scope, name):
        about = f" for {name!r}" if name is not None else " for everything"
        raise Refusal(403, f"this needs the scope {scope!r}{about}, which the token {token.name!r} does not have")


def router_of(prefix: str = "", tag: str = "") -> APIRouter:
    """Return a router whose routes are guarded."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=Guarded)


def answer(value: Any, status: int = 200) -> Response:
    """Return an answer as JSON, in the form of the command line."""
    return Response(to_json(plain(value), inf_nan_mode="null"), status, media_type=JSON)


def desks_of(request: Request) -> Desks:
    """Return the desks of this process."""
    return cast(Desks, request.app.state.desks)


async def desk_of(request: Request, kind: type[StoredObject], name: str) -> Desk:
    """Return the desk of a join or session."""
    return await desks_of(request).find(kind, name)
