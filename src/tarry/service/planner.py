"""Routes of the planner and the explorer: bounded work in a thread, one at a time."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import Response

from tarry.planning.explore import Exploration, explore, labels_of
from tarry.planning.plan import Plan
from tarry.planning.sources import model_delays, plan_log
from tarry.service import answers, bodies
from tarry.service.problems import Refusal
from tarry.service.routing import WRITING, answer, needs, router_of
from tarry.service.tokens import READ

T = TypeVar("T")
planner = router_of("/v1", "planning")
MOST_EVENTS = 200_000  # decisions of a log
_FEW_WAITING = 4  # requests; others are asked to come again


@planner.post("/plan", response_model=answers.Plan, responses=WRITING, openapi_extra=needs(READ, own=True))
async def plan(request: Request, body: bodies.PlanRequest) -> Response:
    """Find how many slots are enough for a log of decisions and feedback."""
    made = await _alone(request, partial(_plan, body))
    return answer(made.to_dict())


@planner.post("/explore", response_model=answers.Exploration, responses=WRITING, openapi_extra=needs(READ, own=True))
async def explore_stream(request: Request, body: bodies.ExploreRequest) -> Response:
    """Try one stream of late labels under several policies: what each would estimate, its bias and its spread."""
    return answer(await _alone(request, partial(_explore, body)))


async def _alone(request: Request, work: Callable[[], T]) -> T:
    """Return what a function returns, in a thread, when those before it are done."""
    state = request.app.state
    if state.planning >= _FEW_WAITING:
        raise Refusal(503, "others are planning already: come again", {"retry-after": "5"})
    state.planning += 1
    try:
        async with state.one_plan:
            return await asyncio.to_thread(work)
    finally:
        state.planning -= 1


def _explore(body: bodies.ExploreRequest) -> Exploration:
    parameters: dict[str, Any] = body.parameters

    def draw(number: int) -> Any:
        delays = model_delays(body.law, horizon=body.horizon, rng=body.seed + number, **parameters)
        return delays, labels_of(delays, body.lean, body.seed + number)

    chosen: dict[str, Any] = {"policies": body.policies, "patience": body.patience, "streams": body.streams}
    return explore(draw, capacity=body.capacity, **chosen)


def _plan(body: bodies.PlanRequest) -> Plan:
    options = body.model_dump(include={"decided", "feedback", "missing", "window", "target", "schedulers", "precision"})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        if body.csv is not None and body.decided_at is None and body.feedback_at is None:
            path.write_text(body.csv, encoding="utf-8")
        elif body.csv is None and body.decided_at is not None and body.feedback_at is not None:
            _write_lists(path, body.decided_at, body.feedback_at)
        else:
            raise Refusal(422, "give a log as csv, or as decided_at and feedback_at: one of the two")
        with path.open("rb") as file:
            if sum(1 for _ in file) > MOST_EVENTS + 1:
                raise Refusal(413, f"a log has at most {MOST_EVENTS:,} decisions here: use tarry plan")
        try:
            return plan_log(path, **options, seeds=4)
        except ValueError as error:
            raise Refusal(422, str(error).replace(str(path), "the log")) from None


def _write_lists(path: Path, decided: list[Any], feedback: list[Any]) -> None:
    import polars as pl

    if len(decided) != len(feedback):
        raise Refusal(422, f"there are {len(decided)} decisions and {len(feedback)} feedback times: give one each")
    columns = {"decided_at": decided, "feedback_at": feedback}
    pl.DataFrame({name: pl.Series(name, values, strict=False) for name, values in columns.items()}).write_csv(path)
