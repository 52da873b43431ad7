"""Routes of joins: decisions in, labels in, rows with weights out."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import Field

from tarry.live import LabelJoin
from tarry.live.configuration import built
from tarry.live.label_join import Outcome
from tarry.live.labels import UNSAID
from tarry.live.outbox import Row
from tarry.live.plain import named
from tarry.live.status import ALL
from tarry.live.values import brief
from tarry.players.recommended import choose_for_join
from tarry.schedulers.named import free_scheduler
from tarry.service import answers, bodies
from tarry.service.desk import Desk
from tarry.service.objects import Name, add_shared, begun, column, ids_of, noted, tried
from tarry.service.routing import READING, WRITING, answer, desk_of, desks_of, needs, router_of
from tarry.service.tokens import ADMIN, READ, WRITE

joins = router_of("/v1/joins", "joins")
_LONG = 80  # letters of a label
_CREATED: dict[int | str, dict[str, Any]] = {201: {"description": "Made.", "model": answers.Made}}


@joins.post(
    "/{name}/decide", response_model=answers.Tickets | answers.Ticket, responses=WRITING, openapi_extra=needs(WRITE)
)
async def decide(request: Request, name: Name, body: bodies.Decisions) -> Response:
    """Register a decision, or several in one transaction; whether each is tracked is known at once.

    An id decided before gives its ticket again.
    """
    desk = await desk_of(request, LabelJoin, name)
    if isinstance(body, bodies.Decision):
        id = named(body.id)
        work = partial(desk.opened.decide, body.features, id, delay=body.delay, size=body.size, at=body.at)
        return begun(desk, [await desk.call(work, [id])])
    # Without any id decisions are numbered; with some, the join refuses those that have none.
    rows, fields = body.decisions, {"ids": "id", "delays": "delay", "sizes": "size", "at": "at"}
    known = {word: column(rows, field) for word, field in fields.items()}
    tickets = await desk.call(partial(desk.opened.decide_many, [row.features for row in rows], **known))
    return begun(desk, tickets, "tickets")


@joins.post(
    "/{name}/label", response_model=answers.Outcomes | answers.Outcome, responses=WRITING, openapi_extra=needs(WRITE)
)
async def label(request: Request, name: Name, body: bodies.Labels) -> Response:
    """Hand over a label, or several in one transaction; the row with its weight comes out where one is due."""
    desk = await desk_of(request, LabelJoin, name)
    rows = [body] if isinstance(body, bodies.Label) else body.labels
    labels, known = [row.label for row in rows], {"keys": column(rows, "key"), "at": column(rows, "at")}
    ids = ids_of([row.id for row in rows])
    told = await desk.call(partial(desk.opened.label_many, ids, labels, **known), ids)
    return _labelled(desk, told, "" if isinstance(body, bodies.Label) else "outcomes")


def _labelled(desk: Desk, told: list[Outcome], key: str = "") -> Response:
    """Return outcomes, and put them on the timeline without what may be large."""
    return noted(desk, "labelled", told, key, [one._replace(row=one.row and _slim(one.row)) for one in told])


def _slim(row: Row) -> Row:
    """Return a row without features, and with the beginning of a label that is neither a number nor short."""
    is_small = isinstance(row.label, int | float | None) or (isinstance(row.label, str) and len(row.label) < _LONG)
    return row._replace(features=None, label=row.label if is_small else brief(row.label))


@joins.post("/{name}", response_model=answers.Made, responses={**WRITING, **_CREATED}, openapi_extra=needs(ADMIN))
async def make_join(request: Request, name: Name, body: bodies.NewJoin) -> Response:
    """Make a join, or find that the same one is there."""
    desks = desks_of(request)
    chosen = await asyncio.to_thread(_scheduler, body)  # without preemption a second or more for a large capacity
    make = partial(LabelJoin, body.capacity, scheduler=chosen, rng=body.seed, **body.rules())
    desk, is_new = await desks.make(LabelJoin, name, make)
    rounds = (await desk.call(desk.opened.status)).rounds
    said = {"name": name, "made": is_new, "scheduler": type(chosen).__name__, "capacity": body.capacity}
    return answer(said | {"rounds": rounds}, 201 if is_new else 200)


def _scheduler(body: bodies.NewJoin) -> Any:
    """Return the scheduler that is wanted."""
    if isinstance(body.scheduler, dict):
        made = built(body.scheduler)
        with tried("scheduler"):
            join = LabelJoin(body.capacity, scheduler=made, rng=0, **body.rules() | {"shards": 1})
            ticket = join.decide(delay=1 if body.information == "clairvoyant" else None)
            join.label(ticket.id, 0.0)
            join.status()
        return made
    if body.scheduler is None:
        return choose_for_join(body.capacity, body.backlog, preemption=body.preemption, shards=body.shards)
    return free_scheduler(body.scheduler)


@joins.post("/{name}/resize", response_model=answers.Released, responses=WRITING, openapi_extra=needs(ADMIN))
async def resize(request: Request, name: Name, body: bodies.Resize) -> Response:
    """Change the capacity (null: no limit), memory or window while decisions wait."""
    desk = await desk_of(request, LabelJoin, name)
    changes = body.model_dump(include=body.model_fields_set)
    released = await desk.call(partial(desk.opened.resize, **changes))
    return noted(desk, "released", released, "released")


@joins.post("/{name}/rebalance", response_model=answers.Released, responses=WRITING, openapi_extra=needs(ADMIN))
async def rebalance(request: Request, name: Name, body: bodies.Nothing) -> Response:
    """Divide the capacity of a join in shards among them by their loads."""
    desk = await desk_of(request, LabelJoin, name)
    return noted(desk, "released", await desk.call(desk.opened.rebalance), "released")


@joins.post("/{name}/finish", response_model=answers.Outcomes, responses=WRITING, openapi_extra=needs(WRITE))
async def finish(request: Request, name: Name, body: bodies.Finish) -> Response:
    """End the windows of these decisions now: their rows come out, with the labels gathered."""
    desk, ids = await desk_of(request, LabelJoin, name), ids_of(body.ids)
    missing = body.missing if "missing" in body.model_fields_set else UNSAID
    told = await desk.call(partial(desk.opened.finish_many, ids, missing), ids)
    return _labelled(desk, told, "outcomes")


@joins.post("/{name}/advance", response_model=answers.Rows, responses=WRITING, openapi_extra=needs(WRITE))
async def advance(request: Request, name: Name, body: bodies.Now) -> Response:
    """Let the rows of decisions come out whose windows have ended."""
    desk = await desk_of(request, LabelJoin, name)
    rows = await desk.call(partial(desk.opened.advance, body.now))
    return noted(desk, "advanced", rows, "rows", [*map(_slim, rows)])


@joins.get("/{name}/due", response_model=answers.Due, responses=READING, openapi_extra=needs(READ))
async def due(
    request: Request,
    name: Name,
    now: Annotated[str | None, Query(description="Seconds, or a date in ISO 8601.")] = None,
) -> Response:
    """Tell the decisions whose windows have ended; advance ends them."""
    desk = await desk_of(request, LabelJoin, name)
    return answer({"ids": await desk.call(partial(desk.opened.due, now))})


@joins.get("/{name}/rows", response_model=answers.Rows, responses=READING, openapi_extra=needs(READ))
async def rows(
    request: Request,
    name: Name,
    after: Annotated[
        list[Annotated[int, Field(ge=0, lt=1 << 62)]] | None,
        Query(description="The number of the last row you have; of a join in shards, several."),
    ] = None,
    limit: Annotated[int, Query(ge=0, le=bodies.MOST_ROWS)] = 1000,
) -> Response:
    """Give the rows of the outbox by number: those given out and not acknowledged."""
    desk = await desk_of(request, LabelJoin, name)
    return answer({"rows": await desk.call(partial(desk.opened.rows, after, limit))})


@joins.post("/{name}/ack", response_model=answers.Left, responses=WRITING, openapi_extra=needs(WRITE))
async def ack(request: Request, name: Name, body: bodies.Ack) -> Response:
    """Let go of all rows of the outbox up to a number."""
    desk = await desk_of(request, LabelJoin, name)
    left = await desk.call(partial(desk.opened.ack, body.number))
    return answer({"acknowledged": body.number, "left": left})


@joins.get("/{name}/estimate", response_model=answers.Estimate, responses=READING, openapi_extra=needs(READ))
async def estimate(
    request: Request,
    name: Name,
    level: Annotated[float, Query(description="Confidence of the intervals.")] = 0.95,
    low: Annotated[float, Query(description="The smallest that any label may be, for each unit of size.")] = 0.0,
    high: Annotated[float, Query(description="The largest that any label may be, for each unit of size.")] = 1.0,
    among: Annotated[str, Query(description="All decisions, or those 'labelled' by now.")] = ALL,
) -> Response:
    """Tell the mean label of all decisions with intervals that allow for what is awaited, and that of those seen."""
    desk = await desk_of(request, LabelJoin, name)
    return answer(await desk.call(partial(desk.opened.estimate, level, low=low, high=high, among=among)))


add_shared(joins, LabelJoin, "join")
