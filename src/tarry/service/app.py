"""The application: pages, health and metrics beside the calls, and what is opened and closed with the server."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tarry.errors import Missing
from tarry.live import LabelJoin
from tarry.live.calls import READ
from tarry.live.stores import stored_names
from tarry.service.desk import Desks
from tarry.service.guard import Guard
from tarry.service.http import KINDS, Api, permit
from tarry.service.metrics import Metrics
from tarry.service.pages import routes
from tarry.service.problems import COME_AGAIN, MEDIA, Refusal
from tarry.service.settings import Settings
from tarry.service.tokens import Tokens

_MOST_SHOWN = 64  # objects of each kind in the metrics: the newest


def make_app(settings: Settings) -> Any:
    """Return the application with these settings, to be served."""
    tokens, metrics, api = Tokens(settings.tokens_file), Metrics(), Api(settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        options: dict[str, Any] = {"is_grouping": settings.grouping, "count": metrics.group}
        api.desks = Desks(settings.store, durability=settings.durability, **options)
        _drain_at_the_end(guard)
        await asyncio.to_thread(_warm_up)
        yield
        await api.desks.close()

    own = [
        Route("/healthz", _healthy),
        Route("/readyz", partial(_ready, api)),
        Route("/metrics", partial(_metrics, api, metrics)),
        Route("/v1/openapi.json", lambda request: RedirectResponse("/openapi.json")),
    ]
    refusals: Any = {HTTPException: _refused}
    pages = Starlette(routes=[*own, *routes()], lifespan=lifespan, exception_handlers=refusals)
    guard = Guard(api, pages, settings, tokens, metrics)
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
    """Answer new requests with 503 from the signal on that ends the server."""
    if threading.current_thread() is not threading.main_thread():
        return

    def drain(then: Callable[..., Any] | int | None, number: int, frame: Any) -> None:
        guard.is_draining = True
        if callable(then):
            then(number, frame)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, partial(drain, signal.getsignal(number)))


async def _healthy(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _ready(api: Api, request: Request) -> Response:
    try:
        await asyncio.to_thread(_reach, api.desks.store)
    except Exception as error:
        return _problem(request, Refusal(503, f"the store cannot be reached: {type(error).__name__}", COME_AGAIN))
    return JSONResponse({"status": "ready"})


def _reach(store: str) -> None:
    """Look whether a store answers; a file that is not there yet will be made."""
    with suppress(Missing):
        stored_names(store)


async def _metrics(api: Api, metrics: Metrics, request: Request) -> Response:
    """Send figures for Prometheus: requests counted here, and of the newest objects what they say of themselves."""
    try:
        permit(request.scope["tarry"].token, READ, None)
    except Refusal as refused:
        return _problem(request, refused)
    statuses = {}
    for kind in KINDS.values():
        names = await asyncio.to_thread(api.desks.newest, kind._kind, _MOST_SHOWN)
        for name in names:
            with suppress(Missing):  # deleted
                statuses[kind._kind, name] = (await api.status(kind, name))["status"]
    return Response(metrics.text(statuses), media_type="text/plain; version=0.0.4; charset=utf-8")


async def _refused(request: Request, error: Exception) -> Response:
    """Answer what the framework has refused as problem details."""
    assert isinstance(error, HTTPException)
    detail = {404: "there is nothing at this address: see /openapi.json", 405: "see /openapi.json"}
    said = detail.get(error.status_code, str(error.detail))
    return _problem(request, Refusal(error.status_code, said, dict(error.headers or {})))


def _problem(request: Request, refused: Refusal) -> Response:
    return Response(refused.body(request.scope["tarry"].id), refused.status, refused.headers, MEDIA)
