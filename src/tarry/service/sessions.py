"""Routes of sessions: ask what to play, tell what it cost."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, cast

import numpy as np
from fastapi import Request
from fastapi.responses import Response

from tarry.live import Session
from tarry.live.batches import receipts_of
from tarry.live.configuration import built
from tarry.live.encoding import as_id
from tarry.live.plain import named
from tarry.live.session import rounds_of
from tarry.players.described import describe_player, make_domain
from tarry.players.recommended import Recommendation, choose_scheduler
from tarry.service import answers, bodies
from tarry.service.objects import Name, add_shared, begun, column, ids_of, receipts, tried
from tarry.service.routing import WRITING, answer, desk_of, desks_of, needs, router_of
from tarry.service.tokens import ADMIN, READ, WRITE
from tarry.tracking import Player, as_player

sessions = router_of("/v1/sessions", "sessions")
_CREATED: dict[int | str, dict[str, Any]] = {201: {"description": "Made.", "model": answers.MadeSession}}
_BOUNDS = ("gradient_bound", "value_bound", "strong_convexity")


@sessions.post(
    "/{name}/ask", response_model=answers.Rounds | answers.Round, responses=WRITING, openapi_extra=needs(WRITE)
)
async def ask(request: Request, name: Name, body: bodies.Asks) -> Response:
    """Begin a round, or several in one transaction, and tell what to play; an id asked before gives its round again."""
    desk = await desk_of(request, Session, name)
    if isinstance(body, bodies.Ask):
        work = partial(desk.opened.ask, named(body.id), delay=body.delay, size=body.size)
        return begun(desk, [await desk.call(work)])
    rows, fields = body.rounds, {"ids": "id", "delays": "delay", "sizes": "size"}
    known = {word: column(rows, field) for word, field in fields.items()}
    count = len(rows) if known["ids"] is None else None
    return begun(desk, rounds_of(await desk.call(partial(desk.opened.ask_many, count, **known))), "rounds")


@sessions.post(
    "/{name}/tell", response_model=answers.Receipts | answers.Receipt, responses=WRITING, openapi_extra=needs(WRITE)
)
async def tell(request: Request, name: Name, body: bodies.Tells) -> Response:
    """Hand over the feedback of a round, or of several in one transaction; its status and weight."""
    desk = await desk_of(request, Session, name)
    if isinstance(body, bodies.Tell):
        id = as_id(named(body.id))
        told = await desk.call(partial(desk.opened.tell, id, gradient=body.gradient, value=body.value))
        return receipts(desk, "told", receipts_of([id], [told]))
    rows, known = body.feedback, {f"{word}s": column(body.feedback, word) for word in ("gradient", "value")}
    if not rows:  # nothing is of the kind that the session takes
        known = {f"{desk.opened.takes.feedback}s": []}
    told = await desk.call(partial(desk.opened.tell_many, ids_of([row.id for row in rows]), **known))
    return receipts(desk, "told", told, "receipts")


@sessions.post("/{name}/points", response_model=answers.Points, responses=WRITING, openapi_extra=needs(READ))
async def points(request: Request, name: Name, body: bodies.OneId) -> Response:
    """Tell where to evaluate the loss of a tracked or recent round; ``tell`` takes as many values."""
    desk, id = await desk_of(request, Session, name), as_id(named(body.id))
    return answer({"id": id, "points": await desk.call(partial(desk.opened.points, id))})


@sessions.post(
    "/{name}", response_model=answers.MadeSession, responses={**WRITING, **_CREATED}, openapi_extra=needs(ADMIN)
)
async def make_session(request: Request, name: Name, body: bodies.NewSession) -> Response:
    """Make a session, or find that the same one is there; tell the player that was chosen."""
    rules: dict[str, Any] = {"capacity": body.capacity, "information": body.information, "preemption": body.preemption}
    bounds = {word: getattr(body, word) for word in _BOUNDS[:2] if getattr(body, word) is not None}
    if body.player is not None and body.strong_convexity is not None:  # else it is the recommendation's
        bounds["strong_convexity"] = body.strong_convexity
    rules |= {"memory": body.memory} | bounds
    chosen = await asyncio.to_thread(_chosen, body, rules)  # without preemption a second or more for a large capacity
    make = partial(Session, chosen.player, rng=body.seed, **rules)
    desk, is_new = await desks_of(request).make(Session, name, make)
    rounds = (await desk.call(desk.opened.status)).rounds
    members = {"learner": type(chosen.learner).__name__, "scheduler": type(chosen.scheduler).__name__}
    said = {"name": name, "made": is_new, "capacity": body.capacity, "rounds": rounds, **members}
    said["takes"] = desk.opened.takes
    return answer(said | {"reason": chosen.reason, "is_proved": chosen.is_proved}, 201 if is_new else 200)


def _chosen(body: bodies.NewSession, rules: dict[str, Any]) -> Recommendation:
    """Return the player that is wanted; one that was written out has played a round under these rules."""
    if body.player is not None:
        player = as_player(built(body.player))
        _try_out(player, rules)
        return Recommendation(player, "the player you gave; no bound is claimed for it", False)
    shape = body.model_dump(include={"radius", "lower", "upper", "scale"})
    place = make_domain(body.domain, body.dimension, **shape)
    tracking = choose_scheduler(body.capacity, body.backlog, preemption=body.preemption)
    known = {"capacity", "information", "preemption", "backlog", "rate", "smoothing", "feedback", *_BOUNDS}
    return describe_player(place, tracking, **body.model_dump(include=known))


def _try_out(player: Player, rules: dict[str, Any]) -> None:
    """Play in memory; raise ValueError where that fails, for whoever asks later would be told of a defect."""
    with tried("player"):
        session = Session(player, rng=0, **rules)
        known = dict[str, Any]({"delay": 1} if rules["information"] == "clairvoyant" else {})
        session.ask("a", **known)
        session.points("a")
        session.tell("a", **{session.takes.feedback: [0.5] * session.takes.size})
        if not np.isfinite(cast(Any, session.ask("b", **known).play)).all():
            raise ValueError("what it plays is not finite")
        session.status()


add_shared(sessions, Session, "session")
