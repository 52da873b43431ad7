"""Server-sent events: the status of a join or session, and what happens to it, a few times a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import islice
from time import monotonic
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic_core import to_json

from tarry.live import LabelJoin, Session
from tarry.live.plain import plain
from tarry.service.bodies import NAME
from tarry.service.desk import Desk, Event
from tarry.service.objects import status_facts
from tarry.service.problems import Refusal
from tarry.service.routing import READING, desk_of, needs, permit, router_of
from tarry.service.tokens import READ

MEDIA = "text/event-stream"
PAUSE = 0.25  # seconds between two events
_OTHERS = 2.0  # seconds between two looks at what other processes have changed
_ALIVE = 15.0  # seconds without a word after which a comment is sent
_MOST = 500  # rows of one event
_MOST_STREAMS = 100  # of one process
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events `status` and `changes`.", "content": {MEDIA: {"schema": {"type": "string"}}}}
}

events = router_of("/v1", "events")
_Name = Annotated[str | None, Query(pattern=NAME, examples=["clicks"])]


@events.get("/events", responses={**READING, **_STREAM}, openapi_extra=needs(READ, own=True))
async def watch(request: Request, join: _Name = None, session: _Name = None) -> Response:
    """Send what happens to a join or session, as server-sent events.

    A `status` event comes at the start and whenever something has changed, a `changes` event with the calls since the
    one before: at first the recent ones. Calls that other worker processes made are in the status, but not in changes.
    """
    if (join is None) == (session is None):
        raise Refusal(422, "say whose events are wanted: join=NAME or session=NAME, one of the two")
    kind, name = (LabelJoin, join) if join is not None else (Session, session)
    assert name is not None
    permit(request, READ, name)
    state = request.app.state
    if state.streams >= _MOST_STREAMS:
        raise Refusal(503, f"{state.streams} streams are open already: close some", {"retry-after": "10"})
    desk = await desk_of(request, kind, name)
    return StreamingResponse(_stream(request, desk, name), media_type=MEDIA)


async def _stream(request: Request, desk: Desk, name: str) -> AsyncIterator[bytes]:
    guard = request.app.state.guard
    seen, told, said = 0, 0.0, b""
    request.app.state.streams += 1
    try:
        while not guard.is_draining and not await request.is_disconnected():
            now = monotonic()
            if desk.last != seen or now - told > _OTHERS:
                news = [event for event in desk.history if event.number > seen]
                seen, told = desk.last, now
                text = to_json(plain(await status_facts(desk, name)), inf_nan_mode="null")
                if text != said:
                    said = text
                    yield b"event: status\ndata: " + text + b"\n\n"
                if news:
                    yield b"event: changes\ndata: " + to_json(plain(_changes(news)), inf_nan_mode="null") + b"\n\n"
                elif now - told > _ALIVE:
                    yield b": alive\n\n"
            await asyncio.sleep(PAUSE)
    finally:
        request.app.state.streams -= 1


def _changes(news: list[Event]) -> dict[str, Any]:
    """Return calls as rows, the newest ones where there are many, and how many were left out."""
    listed = [row for event in reversed(news) for row in _rows_of(event)]
    forgotten = sum(event.rows - len(event.answers) for event in news)
    return {"events": list(islice(listed, _MOST))[::-1], "left_out": max(0, len(listed) - _MOST) + forgotten}


def _rows_of(event: Event) -> list[dict[str, Any]]:
    """Return what a call did, newest first."""
    made = {"number": event.number, "at": event.at}
    return [made | row for row in reversed([row for one in event.answers for row in _READ[event.what](one)])]


def _decided(ticket: Any) -> list[dict[str, Any]]:
    gone = [{"what": "released", "id": id} for id in ticket.released]
    return [*gone, {"what": "decided", "id": ticket.id, "tracked": ticket.tracked}]


def _labelled(outcome: Any) -> list[dict[str, Any]]:
    row = outcome.row
    weight = None if row is None else row.weight
    label = None if row is None else row.label
    return [{"what": "labelled", "id": outcome.id, "answer": outcome.answer, "weight": weight, "label": label}]


_READ: dict[str, Any] = {
    "decided": _decided,
    "labelled": _labelled,
    "advanced": lambda row: [
        {"what": "labelled", "id": row.id, "answer": "used", "weight": row.weight, "label": row.label}
    ],
    "released": lambda id: [{"what": "released", "id": id}],
    "expired": lambda line: [{"what": "expired", "id": line["id"], "answer": line["status"]}],
    "told": lambda line: [{"what": "told", "id": line["id"], "answer": line["status"], "weight": line["weight"]}],
}
