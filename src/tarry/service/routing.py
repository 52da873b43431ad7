"""How a request becomes a call: who may make it, its body read once, its errors as problem details."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, cast

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from pydantic_core import from_json, to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tarry.live.base import StoredObject
from tarry.live.plain import plain
from tarry.service.desk import Desk, Desks
from tarry.service.problems import MEDIA, Refusal, answer_to, is_ours
from tarry.service.tokens import Token

_logger = logging.getLogger("tarry.service")
JSON = "application/json"
SCHEME = "token"
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

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        said = cast(dict[str, Any], self.openapi_extra)
        scope, is_own = said["security"][0][SCHEME][0], said["x-own-names"]
        inner = super().get_route_handler() if self.body_field is None else self._with_body()

        async def handle(request: Request) -> Response:
            state = request.scope["tarry"]
            try:
                if not (is_own and state.token.reaches(scope)):
                    permit(request, scope, request.path_params.get("name"))
                return await inner(request)
            except (RequestValidationError, HTTPException):
                raise  # answered where the framework's own refusals are
            except Exception as error:
                if not is_ours(error):
                    _logger.exception("a request failed", extra={"facts": {"request_id": state.id}})
                    error = Refusal(500, "this is a defect of the server; its log says more")
                return answer_to(error, state.id)

        return handle

    def _with_body(self) -> Callable[[Request], Awaitable[Response]]:
        check = TypeAdapter(cast(Any, self.body_field).field_info.annotation).validator.validate_python
        endpoint = cast(Callable[..., Awaitable[Response]], self.endpoint)

        async def handle(request: Request) -> Response:
            body = check(_json_of(await _body_of(request)))
            return await endpoint(request, body=body, **request.path_params)

        return handle


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
