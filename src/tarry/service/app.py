"""The application: routes, middleware, and what is opened at the start and closed at the end."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from tarry._version import __version__
from tarry.errors import Missing
from tarry.live import LabelJoin, Session
from tarry.live.stores import stored_names
from tarry.service.desk import MOST_OPEN, Desks
from tarry.service.events import events
from tarry.service.guard import Guard
from tarry.service.joins import joins
from tarry.service.metrics import Metrics
from tarry.service.objects import status_or_problem, stored_objects
from tarry.service.pages import add_console
from tarry.service.planner import planner
from tarry.service.problems import COME_AGAIN, Problem, Refusal, answer_to
from tarry.service.routing import SCHEME, Direct, needs, router_of
from tarry.service.sessions import sessions
from tarry.service.settings import Settings
from tarry.service.tokens import READ, Tokens

operations = router_of("", "operations")


def make_app(settings: Settings) -> Any:
    """Return the application with these settings, to be served."""
    tokens, metrics = Tokens(settings.tokens_file), Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        known: dict[str, Any] = {"is_grouping": settings.grouping, "told": metrics.group}
        app.state.desks = Desks(settings.store, durability=settings.durability, **known)
        _drain_at_the_end(app.state.guard)
        await asyncio.to_thread(_warm_up)
        yield
        await app.state.desks.close()

    app = FastAPI(
        title="Tarry",
        version=__version__,
        summary="Late labels joined with their decisions, with weights.",
        lifespan=lifespan,
        docs_url=None,  # its page would come from another host
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.settings, app.state.metrics = settings, metrics
    app.state.streams = app.state.exports = 0
    app.state.planning, app.state.one_plan = 0, asyncio.Lock()
    for router in (joins, sessions, events, planner, operations):
        app.include_router(router)
    _add_open_routes(app)
    app.openapi = partial(_openapi, app)  # type: ignore[method-assign]
    for kind in (RequestValidationError, HTTPException, Refusal):
        app.add_exception_handler(kind, _refused)
    guard = app.state.guard = Guard(Direct(app, joins, sessions), settings, tokens, metrics)
    if settings.origins:
        return CORSMiddleware(  # around the guard, whose refusals a page must be able to read
            guard,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type", "x-request-id"],
            expose_headers=["retry-after", "x-request-id"],
        )
    return guard


def _warm_up() -> None:
    """Have a join's calls compiled: the first caller would wait for it, and windows would pass meanwhile."""
    join = LabelJoin(1, rng=0)
    join.label(join.decide().id, 0.0)


def _drain_at_the_end(guard: Guard) -> None:
    """Answer new requests with 503, and end streams, from the signal on that ends the server."""
    if threading.current_thread() is not threading.main_thread():
        return

    def drain(then: Any, number: int, frame: Any) -> None:
        guard.is_draining = True
        if callable(then):
            then(number, frame)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, partial(drain, signal.getsignal(number)))


@operations.get("/metrics", openapi_extra=needs(READ), include_in_schema=False)
async def show_metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    state, found = request.app.state, {}
    # From the store, so that all workers tell the same, and no more than can be open at once: the newest.
    for kind, name in (await stored_objects(state.desks, LabelJoin, Session))[-MOST_OPEN:]:
        with suppress(Missing):  # deleted
            found[kind._kind, name] = (await status_or_problem(state.desks, kind, name))["status"]
    return Response(state.metrics.text(found), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_open_routes(app: FastAPI) -> None:
    """Add what needs no token: whether the server lives and is ready, how the API looks, and the console's files."""

    @app.get("/healthz", include_in_schema=False)
    async def healthy() -> Response:
        return JSONResponse({"status": "ok"})

    @app.get("/readyz", include_in_schema=False)
    async def ready(request: Request) -> Response:
        desks = request.app.state.desks
        try:
            await asyncio.to_thread(_reach, desks.store)
        except Exception as error:
            return answer_to(Refusal(503, f"the store cannot be reached: {type(error).__name__}", COME_AGAIN))
        return JSONResponse({"status": "ready"})

    @app.get("/v1/openapi.json", include_in_schema=False)
    async def schema(request: Request) -> Response:
        return JSONResponse(request.app.openapi())

    add_console(app)


def _reach(store: str) -> None:
    """Look whether a store answers; a file that is not there yet will be made."""
    try:
        stored_names(store)
    except Missing:
        return


async def _refused(request: Request, error: Exception) -> Response:
    """Answer what the framework has refused as problem details."""
    id = request.scope["tarry"].id
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        error = Refusal(422, f"{place}: {first['msg']}", name=place)
    elif isinstance(error, HTTPException):
        details = {404: "there is nothing at this address: see /v1/openapi.json", 405: "see /v1/openapi.json"}
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["allow"] = ", ".join(_methods_of(request))
        error = Refusal(error.status_code, details.get(error.status_code, str(error.detail)), headers)
    return answer_to(error, id)


def _methods_of(request: Request) -> list[str]:
    """Return the methods that the address of a request takes, over all routes."""
    paths = request.app.openapi()["paths"]
    asked = request.scope["path"].split("/")
    fits = [
        path
        for path in paths
        if len(asked) == len(parts := path.split("/"))
        and all(part in (word, "{name}") for part, word in zip(parts, asked, strict=True))
    ]
    return sorted({method.upper() for path in fits for method in paths[path]})


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the description of the API, made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes, openapi_version="3.1.0"
        )
        parts = made.setdefault("components", {})
        parts["securitySchemes"] = {SCHEME: {"type": "http", "scheme": "bearer"}}
        schemas = parts.setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        app.openapi_schema = made
    return app.openapi_schema
