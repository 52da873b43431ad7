"""Routes that joins and sessions share: list, status, fate, ledger, tracked, export, expire and delete."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic_core import to_json

from tarry.errors import ArgumentError, Missing
from tarry.live.base import StoredObject, stored_kind
from tarry.live.encoding import as_id
from tarry.live.label_join import Ticket
from tarry.live.plain import named, plain
from tarry.live.stores import stored_names
from tarry.service import answers, bodies
from tarry.service.bodies import NAME
from tarry.service.desk import Desk, Desks
from tarry.service.problems import DEFECT, Refusal, as_refusal, is_ours
from tarry.service.routing import READING, WRITING, answer, desk_of, desks_of, needs
from tarry.service.tokens import ADMIN, READ, WRITE

Name = Annotated[str, Path(pattern=NAME, description="The name of the join or session.", examples=["clicks"])]
_logger = logging.getLogger("tarry.service")
_NDJSON = "application/x-ndjson"
_LINES: dict[int | str, dict[str, Any]] = {
    200: {"description": "A line of JSON each: what it is, then the tracked rounds.", "content": {_NDJSON: {}}}
}
_MOST_LISTED = 200
_MOST_EXPORTS = 8  # at once, of one process


def add_shared(router: APIRouter, kind: type[StoredObject], example: str) -> None:
    """Add what joins and sessions have in common to the routes of one of them."""
    word = kind._kind

    @router.get("", response_model=answers.Overview, responses=READING, openapi_extra=needs(READ, own=True))
    async def overview(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=_MOST_LISTED)] = 50,
        after: Annotated[int, Query(ge=0, le=1 << 40, description="Leave out so many.")] = 0,
        status: Annotated[bool, Query(description="Whether to ask each for its status.")] = True,
    ) -> Response:
        """List those in the store, oldest first, with their status."""
        token, desks = request.scope["tarry"].token, desks_of(request)
        names = [name for _, name in await stored_objects(desks, kind) if token.allows(READ, name)]
        items = []
        for name in names[after : after + limit]:
            with suppress(Missing):  # deleted since the names were read
                said = await status_or_problem(desks, kind, name) if status else {"status": None}
                items.append({"name": name, "kind": word, **said})
        rest = after + limit if len(names) > after + limit else None
        return answer({"items": items, "next": rest})

    @router.get("/{name}/status", response_model=answers.Status, responses=READING, openapi_extra=needs(READ))
    async def status(request: Request, name: Name) -> Response:
        """Tell rounds, pending, tracked, fates, answers, the health of the weights, and warnings."""
        return answer(await status_facts(await desk_of(request, kind, name), name))

    @router.post("/{name}/fate", response_model=answers.Fates, responses=WRITING, openapi_extra=needs(READ))
    async def fate(request: Request, name: Name, body: bodies.IdList) -> Response:
        """Tell what has become of these ids."""
        desk, ids = await desk_of(request, kind, name), ids_of(body.ids)
        fates = await desk.call(partial(desk.opened.fates, ids), ids)
        return answer({"fates": [{"id": id, "fate": fate} for id, fate in zip(ids, fates, strict=True)]})

    @router.get("/{name}/ledger", response_model=answers.Ledger, responses=READING, openapi_extra=needs(READ))
    async def ledger(
        request: Request,
        name: Name,
        last: Annotated[int, Query(ge=0, le=bodies.MOST_ROWS, description="Also so many of the last rounds.")] = 0,
    ) -> Response:
        """Tell rounds by fate and their sum."""
        desk = await desk_of(request, kind, name)
        return answer(await desk.call(partial(desk.opened.ledger, last)))

    @router.get("/{name}/tracked", response_model=answers.Tracked, responses=READING, openapi_extra=needs(READ))
    async def tracked(request: Request, name: Name) -> Response:
        """Tell who waits, since when, and what it would weigh if it were answered now."""
        desk = await desk_of(request, kind, name)
        opened, asked = desk.opened, time.time()
        waiting, rounds = await desk.call(lambda: (opened.tracked(), opened.status().rounds))
        desk.keep_times(waiting, asked)
        lines = [one._asdict() | {"since": desk.times.get(one.id)} for one in waiting]
        return answer({"rounds": rounds, "capacity": opened.capacity, "tracked": lines})

    @router.get("/{name}/export", responses={**READING, **_LINES}, openapi_extra=needs(READ))
    async def export(
        request: Request,
        name: Name,
        payloads: Annotated[bool, Query(description="Payloads as they are instead of sizes.")] = False,
    ) -> Response:
        """Send everything that is kept, a line of JSON each: configuration and status, then the tracked rounds."""
        desk, state = await desk_of(request, kind, name), request.app.state
        if state.exports >= _MOST_EXPORTS:  # each is in memory until it is read
            raise Refusal(503, f"{state.exports} exports are being sent already: come again", {"retry-after": "5"})
        with _counted(state):
            found = await desk.call(partial(desk.opened.export, payloads=payloads))
        return StreamingResponse(_lines_of(found, state), media_type=_NDJSON)

    @router.post("/{name}/expire", response_model=answers.Receipts, responses=WRITING, openapi_extra=needs(WRITE))
    async def expire(request: Request, name: Name, body: bodies.IdList) -> Response:
        """No outcome will come for these; on tracked ones that biases (see docs/live.md)."""
        desk, ids = await desk_of(request, kind, name), ids_of(body.ids)
        told = await desk.call(partial(desk.opened.expire_many, ids))
        return receipts(desk, "expired", told, "receipts")

    @router.delete("/{name}", status_code=204, responses=READING, openapi_extra=needs(ADMIN))
    async def delete(request: Request, name: Name) -> Response:
        """Remove it from the store, for good."""
        await desks_of(request).delete(kind, name)
        return Response(status_code=204)

    for route in (overview, status, fate, ledger, tracked, export, expire, delete):
        route.__doc__ = f"{route.__doc__} ({example})"


async def stored_objects(desks: Desks, *kinds: type[StoredObject]) -> list[tuple[type[StoredObject], str]]:
    """Return the objects of these kinds by kind and name, oldest first; one whose record cannot be read is left out."""
    known, words = {name: kind for (kind, name), _ in desks}, {kind._kind: kind for kind in kinds}

    def kind_of(name: str) -> type[StoredObject] | None:
        try:
            return known.get(name) or words.get(stored_kind(desks.store, name) or "")
        except (ValueError, LookupError, TypeError) as error:
            _logger.warning("an object cannot be read", extra={"facts": {"name": name, "why": str(error)}})
            return None

    def listed() -> list[tuple[type[StoredObject], str]]:
        try:
            found = [(kind_of(name), name) for name in stored_names(desks.store)]
        except Missing:  # nothing was made yet
            return []
        return [(kind, name) for kind, name in found if kind in kinds]

    return await asyncio.to_thread(listed)


async def status_or_problem(desks: Desks, kind: type[StoredObject], name: str) -> dict[str, Any]:
    """Return the status of an object among others; where it cannot be told, why: the others are told all the same.

    Raise Missing where it was deleted.
    """
    try:
        return {"status": await desks.using(kind, name, partial(status_facts, name=name))}
    except Missing:
        raise
    except Exception as error:
        if not is_ours(error):
            _logger.exception("a status failed", extra={"facts": {"name": name}})
        return {"status": None, "problem": as_refusal(error).detail if is_ours(error) else DEFECT}


async def status_facts(desk: Desk, name: str) -> dict[str, Any]:
    """Return the status of an object, with its name and kind."""
    opened: Any = desk.opened
    found, is_numbered = await desk.call(lambda: (opened.status(), opened.is_numbered))
    facts: dict[str, Any] = {
        "name": name,
        "kind": opened._kind,
        "capacity": opened.capacity,
        "is_numbered": is_numbered,
        "takes": getattr(opened, "takes", None),
    }
    return {**facts, **found._asdict()}


async def _lines_of(found: dict[str, Any], state: Any) -> AsyncIterator[bytes]:
    """Yield an export as lines of JSON."""
    with _counted(state):
        tracked = found.pop("tracked")
        for line in (found, *tracked):
            yield to_json(plain(line), inf_nan_mode="null") + b"\n"


@contextmanager
def _counted(state: Any) -> Iterator[None]:
    """Count an export that is being made or sent."""
    state.exports += 1
    try:
        yield
    finally:
        state.exports -= 1


def ids_of(given: list[Any]) -> list[Any]:
    """Return ids as the library has them."""
    return [as_id(named(id)) for id in given]


def column(rows: list[Any], field: str) -> list[Any] | None:
    """Return a field of each row, an id as the library has it; None where no row has one."""
    found = [getattr(row, field) for row in rows]
    if all(one is None for one in found):
        return None
    return [named(one) for one in found] if field in ("id", "key") else found


def noted(desk: Desk, what: str, told: list[Any], key: str = "", shown: list[Any] | None = None) -> Response:
    """Put what a call has told on the timeline, and return it: under a key, or without one the only one alone.

    ``shown`` is the same for the timeline, which keeps it for a while.
    """
    desk.note(what, told if shown is None else shown)
    return answer({key: told} if key else told[0])


def begun(desk: Desk, rounds: list[Any], key: str = "") -> Response:
    """Do so with rounds or decisions that have begun, and remember when those that are tracked did."""
    desk.note_tracked(one.id for one in rounds if one.tracked)
    shown = [Ticket(one.id, one.tracked, one.released) for one in rounds]  # without what is played
    desk.drop_times()
    return noted(desk, "decided", rounds, key, shown)


def receipts(desk: Desk, what: str, told: Any, key: str = "") -> Response:
    """Do so with receipts."""
    rows = zip(told.ids, told.statuses, told.weights.tolist(), strict=True)
    return noted(desk, what, [{"id": id, "status": status, "weight": weight} for id, status, weight in rows], key)


@contextmanager
def tried(word: str) -> Iterator[None]:
    """Raise ValueError where a member that a caller wrote out cannot play."""
    try:
        yield
    except ArgumentError:
        raise  # it says what is wrong
    except Exception as error:
        raise ValueError(f"this {word} cannot play: {error}; give one as an export has it") from error
