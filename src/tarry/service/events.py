"""Server-sent events: the status of a join or session, and what happens to it, a few times a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from math import inf
from time import monotonic, time
from typing import Annotated, Any, NamedTuple
from weakref import WeakValueDictionary

from fastapi import Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic_core import to_json

from tarry.errors import Missing, StoreError
from tarry.live import LabelJoin, Session
from tarry.live.encoding import id_of
from tarry.live.plain import plain
from tarry.service.bodies import NAME
from tarry.service.desk import Desk, Event
from tarry.service.objects import status_facts
from tarry.service.problems import Refusal
from tarry.service.routing import READING, desk_of, needs, permit, router_of
from tarry.service.tokens import READ

MEDIA = "text/event-stream"
PAUSE = 0.25  # seconds between two events
_OTHERS = 0.5  # seconds between two looks at what other processes have changed
_ALIVE = 15.0  # seconds without a word after which a comment is sent
_MOST = 500  # rows of one event
_MOST_SLOTS = 2000  # beyond it calls of other processes are told by the status alone
_ELSEWHERE = "elsewhere"  # in place of a call: what other processes have done since the look before
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
    one before: at first the recent ones. What other processes did is read from the store twice a second.
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
    guard, token = request.app.state.guard, request.scope["tarry"].token
    feed = _feeds.get(desk) or _feeds.setdefault(desk, _Feed(desk, name))
    seen, spoke, said = 0, monotonic(), b""
    request.app.state.streams += 1
    try:
        while not guard.is_draining and not await request.is_disconnected():
            if not guard.still_permits(token, READ, name):
                return  # who asks again is told why
            try:
                await feed.look()
            except (Missing, Refusal):
                return  # it was deleted, or closed to make room: who still wants it asks again
            except StoreError:  # the store is away, and the next look will tell
                await asyncio.sleep(_OTHERS)
                continue
            words = [] if feed.status == said else [b"event: status\ndata: " + feed.status + b"\n\n"]
            words += feed.changes_since(seen)
            seen, said = feed.seen, feed.status
            if not words and monotonic() - spoke > _ALIVE:
                words.append(b": alive\n\n")
            for word in words:
                spoke = monotonic()
                yield word
            await asyncio.sleep(PAUSE)
    finally:
        request.app.state.streams -= 1


class _Feed:
    """What all streams of an object send: one of them looks, and the others send what it has found."""

    def __init__(self, desk: Desk, name: str) -> None:
        self._desk, self._name = desk, name
        self._turn, self._looked = asyncio.Lock(), -inf
        self._before: _Found | None = None
        self._changes: dict[int, list[bytes]] = {}  # since the last look, by the event before the first of them
        self.seen, self.status = 0, b""  # the last event that the look has found, and the status

    async def look(self) -> None:
        """Look at the object, if nobody has just done so and there may be something new."""
        async with self._turn:
            desk, now = self._desk, monotonic()
            if now - self._looked < (PAUSE if desk.last != self.seen else _OTHERS):
                return
            try:
                facts, found = await _look(desk, self._name, self._before)
            except StoreError as error:
                if not isinstance(error, Missing):  # the store is away: the others need not find out one by one
                    self._looked = monotonic()
                raise
            # Calls of this process that the look has found are noted by now, for they were made before it.
            noted = [event for event in desk.history if event.number > self.seen]
            others = _elsewhere(desk, self._before, found, noted)
            if others:
                desk.note(_ELSEWHERE, others)
            self.status = to_json(plain(facts), inf_nan_mode="null")
            self.seen, self._before, self._looked, self._changes = desk.last, found, now, {}

    def changes_since(self, seen: int) -> list[bytes]:
        """Return the calls after an event, up to the last look, as an event to send; none where there are none."""
        if seen not in self._changes:
            noted = [event for event in self._desk.history if seen < event.number <= self.seen]
            told = to_json(plain(_changes(noted)), inf_nan_mode="null") if noted else b""
            self._changes[seen] = [b"event: changes\ndata: " + told + b"\n\n"] if told else []
        return self._changes[seen]


_feeds: WeakValueDictionary[Desk, _Feed] = WeakValueDictionary()  # as long as somebody streams


class _Found(NamedTuple):
    """What a look at the store has found: who waits, rounds so far, the newest of them, and what became of others."""

    waiting: dict[Any, float]  # weights by id
    rounds: int
    newest: list[dict[str, Any]]
    fates: dict[Any, str]


async def _look(desk: Desk, name: str, before: _Found | None) -> tuple[dict[str, Any], _Found]:
    """Return the status of an object, and what calls of other processes are told from."""
    facts = await status_facts(desk, name)
    if (facts["capacity"] or _MOST_SLOTS + 1) > _MOST_SLOTS:
        return facts, _Found({}, 0, [], {})
    opened: Any = desk.opened

    def work() -> _Found:
        waiting = {one.id: one.weight for one in opened.tracked()}
        rounds = opened.ledger()["rounds"]
        new = 0 if before is None else min(rounds - before.rounds, _MOST)
        newest = opened.ledger(new)["last"][::-1] if new > 0 else []
        gone = [] if before is None else [id for id in before.waiting if id not in waiting]
        fates = opened.fates(gone) if gone else []
        return _Found(waiting, rounds, newest, {id: one.name.lower() for id, one in zip(gone, fates, strict=True)})

    return facts, await desk.call(work)


def _elsewhere(desk: Desk, before: _Found | None, found: _Found, noted: list[Event]) -> list[dict[str, Any]]:
    """Return what calls of other processes have done, as the store tells it, in rows of their own."""
    if before is None:
        return []
    ours = {_key(row["id"]) for event in noted for row in _rows_of(event)}
    made: dict[str, Any] = {"number": None, "at": time()}
    rows = []
    for one in found.newest:
        id, fate = id_of(one["id"]) if one["id"] is not None else None, one["fate"]
        if id is None or one["round"] <= before.rounds or _key(id) in ours:
            continue
        was_tracked = fate not in ("untracked", "saturated")
        rows.append(made | {"what": "decided", "id": id, "tracked": was_tracked})
        if id in found.waiting:
            desk.note_tracked([id])
        elif was_tracked:
            rows.append(made | _ended(desk, id, fate, None))
    gone = [(id, fate) for id, fate in found.fates.items() if _key(id) not in ours]
    return rows + [made | _ended(desk, id, fate, before.waiting[id]) for id, fate in gone]


def _ended(desk: Desk, id: Any, fate: str, weight: float | None) -> dict[str, Any]:
    """Return how a stay ended; its weight is the one it would have had at the look before."""
    if fate == "used":
        what = "labelled" if desk.opened._kind == LabelJoin._kind else "told"
        return {"what": what, "id": id, "answer": fate, "weight": weight, "label": None}
    return {"what": "expired", "id": id, "answer": fate} if fate == "expired" else {"what": "released", "id": id}


def _key(id: Any) -> str:
    """Return an id as something to look up; 7 is not "7"."""
    return repr(id)


def _changes(noted: list[Event]) -> dict[str, Any]:
    """Return calls as rows, the newest ones where there are many, and how many were left out."""
    rows = [row for event in noted for row in _rows_of(event)]
    forgotten = sum(event.rows - len(event.answers) for event in noted)
    return {"events": rows[-_MOST:], "left_out": max(0, len(rows) - _MOST) + forgotten}


def _rows_of(event: Event) -> list[dict[str, Any]]:
    """Return what a call did."""
    made = {"number": event.number, "at": event.at}
    return [made | row for one in event.answers for row in _READ[event.what](one)]


def _decided(ticket: Any) -> list[dict[str, Any]]:
    gone = [{"what": "released", "id": id} for id in ticket.released]
    return [*gone, {"what": "decided", "id": ticket.id, "tracked": ticket.tracked}]


def _labelled(outcome: Any) -> list[dict[str, Any]]:
    row = outcome.row
    weight = None if row is None else row.weight
    label = None if row is None else row.label
    return [{"what": "labelled", "id": outcome.id, "answer": outcome.answer, "weight": weight, "label": label}]


_READ: dict[str, Any] = {
    _ELSEWHERE: lambda row: [row],
    "decided": _decided,
    "labelled": _labelled,
    "advanced": lambda row: [
        {"what": "labelled", "id": row.id, "answer": "used", "weight": row.weight, "label": row.label}
    ],
    "released": lambda id: [{"what": "released", "id": id}],
    "expired": lambda line: [{"what": "expired", "id": line["id"], "answer": line["status"]}],
    "told": lambda line: [{"what": "told", "id": line["id"], "answer": line["status"], "weight": line["weight"]}],
}
