"""What a round costs as the horizon, the backlog and the capacity grow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tarry
from benchmarks.measure import Figure, Row, interleave, nanoseconds, ratio
from benchmarks.stage import Stage, cyclic_losses

SLACK = 1.25
LOGARITHM = 4.0
CAPACITY = 16
BACKLOG = 20_000


def _grow(small: Stage, large: Stage, repeats: int = 1) -> Figure:
    """Time a round of each; the small game is played ``repeats`` times a turn."""

    def several() -> Callable[[], None]:
        runs = [small.ready() for _ in range(repeats)]
        return lambda: [run() for run in runs] and None

    a, b = interleave([several, large.ready])
    scale = large.horizon / (repeats * small.horizon)
    detail = f"{nanoseconds(a, repeats * small.horizon):.1f} to {nanoseconds(b, large.horizon):.1f} ns a round"
    return Figure(ratio(b, a) / scale, detail)


def _delays(kind: str, horizon: int, backlog: int) -> Any:
    if kind == "fixed":
        return tarry.delays.fixed(horizon=horizon, delay=backlog)
    return tarry.delays.geometric(horizon=horizon, mean=backlog, rng=1)


def _in_horizon(quick: bool) -> Figure:
    losses, scheduler = cyclic_losses(), tarry.schedulers.VarOpt()
    few, many = 10**4, 10**6 if quick else 10**7
    stages = [Stage(scheduler, losses, _delays("geometric", n, 200), CAPACITY) for n in (few, many)]
    return _grow(*stages, repeats=30)


def _in_backlog(kind: str, scheduler: Any, _quick: bool) -> Figure:
    losses, horizon = cyclic_losses(), 10**6
    return _grow(*(Stage(scheduler, losses, _delays(kind, horizon, n), CAPACITY) for n in (10, 10**5)))


def _in_capacity(scheduler: Any, _quick: bool) -> Figure:
    # Every arrival is played out, as when acknowledgements are counted: otherwise a small capacity is
    # spared almost all events and the ratio tells how many labels are seen, not what a slot costs.
    losses, delays = cyclic_losses(), _delays("geometric", 10**6, BACKLOG)
    return _grow(*(Stage(scheduler, losses, delays, capacity, hears=True) for capacity in (8, 4096)))


# A coin this rare leaves the learner idle, so that the backlog's own cost shows.
RARE = tarry.schedulers.Bernoulli(probability=1e-4)

ROWS = [
    Row("growth in horizon", SLACK, _in_horizon),
    *(
        Row(f"growth in backlog {kind} {name}", SLACK, partial(_in_backlog, kind, scheduler))
        for kind in ("fixed", "geometric")
        for name, scheduler in (("varopt", tarry.schedulers.VarOpt()), ("bernoulli", RARE))
    ),
    Row("growth in capacity bernoulli", SLACK, partial(_in_capacity, tarry.schedulers.Bernoulli(max_backlog=BACKLOG))),
    Row("growth in capacity pareto", LOGARITHM, partial(_in_capacity, tarry.schedulers.Pareto())),
    Row("growth in capacity priority", LOGARITHM, partial(_in_capacity, tarry.schedulers.Priority())),
    Row("growth in capacity varopt", LOGARITHM, partial(_in_capacity, tarry.schedulers.VarOpt())),
]
