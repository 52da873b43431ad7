"""What sharding a join costs in variance: the formula of docs/scale.md against simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from tarry import delays
from tarry.cli.console import progress_lines, refusing, screen
from tarry.game import replay
from tarry.live.register import shares, shares_by_load
from tarry.reports.table import Table
from tarry.schedulers import VarOpt

POSITIVE = 0.3  # of the labels
BACKLOGS = 30  # length of a run: its beginning and end, where fewer are out, are a small part of it
AT_ONCE = 20  # runs whose weights are kept in memory
LIGHTNESS = 2.0  # measured, for geometric waits; 3 where all wait equally long
EQUAL, BY_BACKLOG, BY_LOAD = "equal", "by backlog", "by load"


class Case(NamedTuple):
    """Shards with these shares of the stream, how their slots are divided, and mean waits if they differ."""

    name: str
    loads: tuple[float, ...]
    slots: str
    waits: tuple[float, ...] = ()

    def capacities(self, capacity: int, backlog: float) -> list[int]:
        """The slots of each shard."""
        backlogs = backlogs_of(self.loads, backlog, self.waits)
        if self.slots == BY_LOAD:
            return shares_by_load(capacity, self.loads, backlogs)
        return shares(capacity, backlogs if self.slots == BY_BACKLOG else [1.0] * len(self.loads))


def backlogs_of(loads: Sequence[float], backlog: float, waits: Sequence[float] = ()) -> list[float]:
    """Return how many decisions of each shard are pending, of so many in all: B_k = p_k times its mean wait.

    >>> backlogs_of([0.5, 0.5], 1700.0, [16.0, 1.0])
    [1600.0, 100.0]
    """
    parts = [p * w for p, w in zip(loads, waits or [1.0] * len(loads), strict=True)]
    return [backlog * part / sum(parts) for part in parts]


_STEPS, _HOT = (0.4, 0.3, 0.2, 0.1), (0.5, *[0.5 / 15] * 15)
CASES = (
    Case("4 shards", (0.25,) * 4, EQUAL),
    Case("16 shards", (1 / 16,) * 16, EQUAL),
    Case("4 shards, loads 4:3:2:1", _STEPS, EQUAL),
    Case("4 shards, loads 4:3:2:1", _STEPS, BY_LOAD),
    Case("16 shards, one has half", _HOT, EQUAL),
    Case("16 shards, one has half", _HOT, BY_LOAD),
    Case("4 shards, two below capacity", (0.45, 0.45, 0.05, 0.05), EQUAL),
    *(Case("2 shards, waits 16:1", (0.5, 0.5), slots, (16.0, 1.0)) for slots in (EQUAL, BY_BACKLOG, BY_LOAD)),
)


def predicted(
    loads: Sequence[float],
    capacities: Sequence[int],
    backlog: float,
    lightness: float = LIGHTNESS,
    waits: Sequence[float] = (),
) -> float:
    """Return the variance of a sum over shards, over that of one join with all slots.

    Σ p_k (m(θ_k, C_k) − 1)⁺ / (m(θ, C) − 1), where m(θ, C) = θ(1 + c/C) is the second moment of the weights, θ = B/C
    and θ_k = B_k/C_k; c is ``lightness``, since newcomers weigh less than others.

    >>> [round(predicted(loads, [1000, 1000], 8000.0), 3) for loads in ([0.5, 0.5], [0.75, 0.25])]
    [1.001, 1.335]
    """
    excess = [
        load * max(0.0, _moment(pending, slots, lightness) - 1.0)
        for load, pending, slots in zip(loads, backlogs_of(loads, backlog, waits), capacities, strict=True)
    ]
    return sum(excess) / (_moment(backlog, sum(capacities), lightness) - 1.0)


def _moment(backlog: float, slots: int, lightness: float) -> float:
    return backlog / slots * (1.0 + lightness / slots)


class Measured(NamedTuple):
    """Of each run, Σ(w − 1)² over all decisions, and the error of the weighted sum of labels."""

    squares: NDArray[np.float64]
    errors: NDArray[np.float64]


def measure(
    loads: Sequence[float],
    capacities: Sequence[int],
    backlog: float,
    runs: int,
    tell: Callable[[], None],
    waits: Sequence[float] = (),
) -> Measured:
    """Play a stream whose decisions fall to shards by their loads and wait a geometric time; labels are independent."""
    draw, horizon = np.random.default_rng(1), int(BACKLOGS * backlog)
    owner = draw.choice(len(loads), horizon, p=loads)
    means = np.array(backlogs_of(loads, backlog, waits)) / loads
    ages = draw.geometric(1.0 / means[owner])
    labels = draw.random((runs, horizon)) < POSITIVE
    squares, errors = np.zeros(runs), np.zeros(runs)
    for k, slots in enumerate(capacities):
        times = np.flatnonzero(owner == k)
        ends = np.minimum(times + ages[times], horizon - 1)
        # In a shard time is counted by the shard's own decisions.
        own = delays.array(np.searchsorted(times, ends, side="right") - 1 - np.arange(times.size))
        for first in range(0, runs, AT_ONCE):
            tell()
            seeds = range(k * runs + first, k * runs + min(runs, first + AT_ONCE))
            run = replay(VarOpt(), own, capacity=slots, seeds=seeds, information="non-clairvoyant", keep_rounds=True)
            for i, seed in enumerate(seeds, first):
                away = run.heard(seed) - 1.0
                squares[i] += away @ away
                errors[i] += away @ labels[i, times]
    return Measured(squares, errors)


def shards_command(
    capacity: Annotated[int, typer.Option(min=16, help="Slots of all shards together.")] = 256,
    crowding: Annotated[float, typer.Option(min=1.5, help="Pending decisions for each slot, θ.")] = 4.0,
    runs: Annotated[int, typer.Option(min=2, help="Runs.")] = 200,
) -> None:
    """What do shards cost in variance? The formula against weights, and against errors of weighted sums."""
    backlog, rows = crowding * capacity, []
    with refusing(), progress_lines("playing") as tell:
        one = measure([1.0], [capacity], backlog, runs, lambda: tell("one join"))
        for case in (Case("one join", (1.0,), EQUAL), *CASES):
            slots, told = case.capacities(capacity, backlog), partial(tell, case.name)
            many = one
            if len(slots) > 1:
                many = measure(case.loads, slots, backlog, runs, told, case.waits)
            wanted = predicted(case.loads, slots, backlog, waits=case.waits)
            found = many.squares.mean() / one.squares.mean()
            sums = np.mean(many.errors**2) / (POSITIVE * (1.0 - POSITIVE) * many.squares.mean())
            spread = np.sqrt(2.0 / runs)
            off = f"{found / wanted - 1.0:+.1%}"
            rows.append((case.name, case.slots, f"{wanted:.3f}", f"{found:.3f}", off, f"{sums:.2f} ± {spread:.2f}"))
    screen().print(
        Table(
            "Variance of weighted sums over that of one join",
            ("shards", "slots", "formula", "by weights", "off", "sums over weights"),
            rows,
            f"{capacity} slots, {crowding:g} pending for each, geometric waits, {runs} runs of {BACKLOGS} backlogs. By "
            "weights: Σ(w − 1)² over that of one join. Sums over weights: the mean square error of weighted sums of "
            "independent labels over their variance times Σ(w − 1)².",
            text=("shards", "slots"),
        ).rich()
    )
