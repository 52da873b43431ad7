"""Routes of joins: decisions in, labels in, rows with weights out."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import Response

from tarry.live import LabelJoin
from tarry.live.configuration import built
from tarry.live.labels import UNSAID
from tarry.live.plain import named
from tarry.planning.policies import free_scheduler
from tarry.players.recommended import choose_scheduler
from tarry.service import schemas
from tarry.service.objects import Name, add_shared, check_name, ids_of
from tarry.service.routing import READING, WRITING, answer, desk_of, desks_of, needs, router_of
from tarry.service.tokens import ADMIN, READ, WRITE

joins = router_of("/v1/joins", "joins")
_CREATED: dict[int | str, dict[str, Any]] = {201: {"description": "Made.", "model": schemas.Made}}


@joins.post(
    "/{name}/decide", response_model=schemas.Tickets | schemas.Ticket, responses=WRITING, openapi_extra=needs(WRITE)
)
async def decide(request: Request, name: Name, body: schemas.Decisions) -> Response:
    """Register a decision, or several in one transaction; whether each is tracked is known at once.

    An id decided before gives its ticket again.
    """
    desk = await desk_of(request, LabelJoin, name)
    if isinstance(body, schemas.Decision):
        work = partial(desk.opened.decide, body.features, named(body.id), delay=body.delay, size=body.size, at=body.at)
        tickets = [await desk.call(work)]
    else:
        rows = body.decisions
        ids = [named(row.id) for row in rows]
        tickets = await desk.call(
            partial(
                desk.opened.decide_many,
                [row.features for row in rows],
                # Without any id decisions are numbered; with some, the join refuses those that have none.
                ids=None if all(id is None for id in ids) else ids,
                delays=[row.delay for row in rows],
                sizes=[row.size for row in rows],
                at=_moments(rows),
            )
        )
    desk.note("decided", tickets)
    desk.note_tracked(ticket.id for ticket in tickets if ticket.tracked)
    lines = [ticket._asdict() for ticket in tickets]
    return answer(lines[0] if isinstance(body, schemas.Decision) else {"tickets": lines})


@joins.post(
    "/{name}/label", response_model=schemas.Outcomes | schemas.Outcome, responses=WRITING, openapi_extra=needs(WRITE)
)
async def label(request: Request, name: Name, body: schemas.Labels) -> Response:
    """Hand over a label, or several in one transaction; the row with its weight comes out where one is due."""
    desk = await desk_of(request, LabelJoin, name)
    rows = [body] if isinstance(body, schemas.Label) else body.labels
    labels, keys = [row.label for row in rows], [named(row.key) for row in rows]
    ids = ids_of([row.id for row in rows])
    told = await desk.call(partial(desk.opened.label_many, ids, labels, keys=keys, at=_moments(rows)))
    desk.note("labelled", told)
    lines = [outcome._asdict() for outcome in told]
    return answer(lines[0] if isinstance(body, schemas.Label) else {"outcomes": lines})


def _moments(rows: list[Any]) -> list[Any] | None:
    """Return the moment of each row, or None where no row has one."""
    found = [row.at for row in rows]
    return found if any(at is not None for at in found) else None


@joins.post("/{name}", response_model=schemas.Made, responses={**WRITING, **_CREATED}, openapi_extra=needs(ADMIN))
async def make_join(request: Request, name: Name, body: schemas.NewJoin) -> Response:
    """Make a join, or find that the same one is there."""
    check_name(name)
    desks = desks_of(request)
    chosen = await asyncio.to_thread(_scheduler, body)  # without preemption a second or more for a large capacity
    make = partial(LabelJoin, body.capacity, scheduler=chosen, rng=body.seed, **body.rules())
    desk, is_new = await desks.make(LabelJoin, name, make)
    rounds = (await desk.call(desk.opened.status)).rounds
    said = {"name": name, "made": is_new, "scheduler": type(chosen).__name__, "capacity": body.capacity}
    return answer(said | {"rounds": rounds}, 201 if is_new else 200)


def _scheduler(body: schemas.NewJoin) -> Any:
    """Return the scheduler that is wanted."""
    if isinstance(body.scheduler, dict):
        return built(body.scheduler)
    if body.scheduler is None:
        return choose_scheduler(body.capacity, body.backlog, preemption=body.preemption)
    return free_scheduler(body.scheduler)


@joins.post("/{name}/resize", response_model=schemas.Released, responses=WRITING, openapi_extra=needs(ADMIN))
async def resize(request: Request, name: Name, body: schemas.Resize) -> Response:
    """Change the capacity (null: no limit), memory or window while decisions wait."""
    desk = await desk_of(request, LabelJoin, name)
    changes = body.model_dump(include=body.model_fields_set)
    released = await desk.call(partial(desk.opened.resize, **changes))
    desk.note("released", released)
    return answer({"released": released})


@joins.post("/{name}/finish", response_model=schemas.Outcomes, responses=WRITING, openapi_extra=needs(WRITE))
async def finish(request: Request, name: Name, body: schemas.Finish) -> Response:
    """End the windows of these decisions now: their rows come out, with the labels gathered."""
    desk, ids = await desk_of(request, LabelJoin, name), ids_of(body.ids)
    missing = body.missing if "missing" in body.model_fields_set else UNSAID
    told = await desk.call(partial(desk.opened.finish_many, ids, missing))
    desk.note("labelled", told)
    return answer({"outcomes": [outcome._asdict() for outcome in told]})


@joins.post("/{name}/advance", response_model=schemas.Rows, responses=WRITING, openapi_extra=needs(WRITE))
async def advance(request: Request, name: Name, body: schemas.Now) -> Response:
    """Let the rows of decisions come out whose windows have ended."""
    desk = await desk_of(request, LabelJoin, name)
    rows = await desk.call(partial(desk.opened.advance, body.now))
    desk.note("advanced", rows)
    return answer({"rows": rows})


@joins.get("/{name}/due", response_model=schemas.Due, responses=READING, openapi_extra=needs(READ))
async def due(
    request: Request,
    name: Name,
    now: Annotated[str | None, Query(description="Seconds, or a date in ISO 8601.")] = None,
) -> Response:
    """Tell the decisions whose windows have ended; advance ends them."""
    desk = await desk_of(request, LabelJoin, name)
    return answer({"ids": await desk.call(partial(desk.opened.due, now))})


@joins.get("/{name}/rows", response_model=schemas.Rows, responses=READING, openapi_extra=needs(READ))
async def rows(
    request: Request,
    name: Name,
    after: Annotated[int | None, Query(ge=0, lt=1 << 62, description="The number of the last row you have.")] = None,
    limit: Annotated[int, Query(ge=0, le=schemas.MOST_ROWS)] = 1000,
) -> Response:
    """Give the rows of the outbox by number: those given out and not acknowledged."""
    desk = await desk_of(request, LabelJoin, name)
    return answer({"rows": await desk.call(partial(desk.opened.rows, after, limit))})


@joins.post("/{name}/ack", response_model=schemas.Left, responses=WRITING, openapi_extra=needs(WRITE))
async def ack(request: Request, name: Name, body: schemas.Ack) -> Response:
    """Let go of all rows of the outbox up to a number."""
    desk = await desk_of(request, LabelJoin, name)
    left = await desk.call(partial(desk.opened.ack, body.number))
    return answer({"acknowledged": body.number, "left": left})


@joins.get("/{name}/estimate", response_model=schemas.Estimate, responses=READING, openapi_extra=needs(READ))
async def estimate(
    request: Request,
    name: Name,
    level: Annotated[float, Query(description="Confidence of the intervals.")] = 0.95,
    low: Annotated[float, Query(description="The smallest that any label may be, for each unit of size.")] = 0.0,
    high: Annotated[float, Query(description="The largest that any label may be, for each unit of size.")] = 1.0,
) -> Response:
    """Tell the mean label of all decisions with intervals that allow for what is awaited, and that of those seen."""
    desk = await desk_of(request, LabelJoin, name)
    return answer(await desk.call(partial(desk.opened.estimate, level, low=low, high=high)))


add_shared(joins, LabelJoin, "join")
