"""The compiled round against the hand-written loop of the same game, every arrival played out."""

from __future__ import annotations

from functools import partial
from typing import Any

import tarry
from benchmarks.c_loop import CBooks, CStage
from benchmarks.measure import Figure, Row, interleave, nanoseconds, ratio
from benchmarks.stage import Stage, some_rows
from tarry.tracking.tally import FULL_ROUNDS, LARGEST, OCCUPANCY, PEAK, SQUARE, WEIGHT

HOLD = 1.3
HORIZON = 200_000
CAPACITY = 16
DELAY = 200

SCHEDULERS = {
    "bernoulli": tarry.schedulers.Bernoulli(max_backlog=DELAY),
    "pareto": tarry.schedulers.Pareto(),
    "varopt": tarry.schedulers.VarOpt(),
}


def delays(kind: str, horizon: int) -> Any:
    if kind == "fixed":
        return tarry.delays.fixed(horizon=horizon, delay=DELAY)
    return tarry.delays.geometric(horizon=horizon, mean=DELAY, rng=1)


def stage(scheduler: str, kind: str, horizon: int = HORIZON, hears: bool = True) -> Stage:
    losses = tarry.losses.Linear(some_rows(horizon))
    return Stage(SCHEDULERS[scheduler], losses, delays(kind, horizon), CAPACITY, hears)


def sums_of_ours(state: Any, world: Any) -> tuple[Any, ...]:
    """What a run leaves: loss, weights, occupancy, fates, full rounds and peak."""
    tally = state.tally
    weights = [float(tally.sums[i]) for i in (WEIGHT, SQUARE, LARGEST, OCCUPANCY)]
    counts = [int(n) for n in (*tally.fates[:4], tally.counts[FULL_ROUNDS], tally.counts[PEAK])]
    return (float(world.loss[0]), *weights, *counts)


def sums_of_c(books: CBooks) -> tuple[Any, ...]:
    """The same of the C loop."""
    weights = (books.loss, books.weight, books.square, books.largest, books.occupancy)
    return (*weights, *books.fates, books.full, books.peak)


def _against_c(scheduler: str, kind: str, _quick: bool) -> Figure:
    ours = stage(scheduler, kind)
    theirs = CStage(ours)
    if sums_of_ours(*ours.ready()()) != sums_of_c(theirs.ready()()):
        raise RuntimeError(f"the C loop played another game than ours with {scheduler} and {kind} delays")
    quiet = stage(scheduler, kind, hears=False)
    a, b, c = interleave([ours.ready, theirs.ready, quiet.ready])
    told = {"tarry": nanoseconds(a, HORIZON), "c": nanoseconds(b, HORIZON), "quiet": nanoseconds(c, HORIZON)}
    detail = (
        f"{told['tarry']:.1f} ns a round, C {told['c']:.1f} ns; "
        f"{told['quiet']:.1f} ns where nobody hears the end of untracked rounds"
    )
    return Figure(ratio(a, b), detail, told)


ROWS = [
    Row(f"round {scheduler} {kind}", HOLD, partial(_against_c, scheduler, kind))
    for scheduler in SCHEDULERS
    for kind in ("fixed", "geometric")
]
