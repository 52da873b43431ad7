"""What sharding a join costs in variance: the formula of docs/scale.md against simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from studies.numbers import Values, Write, lines_of, short, write_numbers
from tarry import delays
from tarry.cli.console import progress_lines, refusing, screen
from tarry.game import replay
from tarry.live.sharded import shares, shares_by_load
from tarry.reports.table import Table
from tarry.schedulers import VarOpt

POSITIVE = 0.3  # of the labels
BACKLOGS, EDGE = 30, 6  # length of a run, and of its beginning and its end, which are not steady, in mean waits
FAR, STEPS, TINY = 12.0, 1000, 1e-200  # of the integral: how far it goes, its steps, and what is 0
SLOTS, CROWDINGS = (1, 2, 4, 8, 32, 256), (0.5, 0.7, 1.0, 1.5, 2.0, 4.0, 16.0)  # of single shards
GROUPS = ((1, 4), (8, 8), (32, 256))  # of slots, whose cells are summed up from capacity on
PARTS, LEAST = 8, 0.02  # runs of a single shard, and the least E w² − 1 by the formula: a ratio says little below
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


def predicted(loads: Sequence[float], capacities: Sequence[int], backlog: float, waits: Sequence[float] = ()) -> float:
    """Return the variance of a sum over shards, over that of one join with all slots: Σ p_k (m_k − 1) / (m − 1).

    Decisions come one at a time, and to shard k with probability p_k: so their number has 1 − p_k of a Poisson
    number's variance there.

    >>> [round(predicted(loads, [1000, 1000], 8000.0), 3) for loads in ([0.5, 0.5], [0.75, 0.25])]
    [1.002, 1.336]
    """
    shards = zip(loads, backlogs_of(loads, backlog, waits), capacities, strict=True)
    parts = [load * excess(pending, slots, 1.0 - load) for load, pending, slots in shards]
    return sum(parts) / excess(backlog, sum(capacities), 0.0)


def excess(backlog: float, slots: int, burstiness: float = 1.0) -> float:
    """Return E w² − 1 of a shard with so many pending on average; waits are memoryless, and nothing is fitted.

    It is r(1) + 2∫r(u)du over u > 1, r(u) being the share of the weight that lies above u: docs/scale.md derives r.
    ``burstiness`` is the variance of the number of decisions in a short time over its mean: 1 where they come by
    chance, 0 where they come evenly.

    >>> round(excess(400.0, 100), 3), round(excess(20.0, 100), 3)
    (3.112, 0.0)
    """
    crowding = backlog / slots
    width = max(1.0, crowding) * (slots**-0.5 + 1.0 / slots)  # in which r turns from its line 1 − u/θ to 0
    first = max(1.0, crowding - FAR * width)
    levels = np.append(1.0, np.linspace(first, max(1.0, crowding) + FAR * width, STEPS))
    part = (burstiness + 1.0) / 2.0
    above = [_lost(backlog / part, slots / part)]
    squares = below = 1.0 - above[0]  # Σ min(w, u)² and Σ min(w, u), over the backlog
    for u, before in zip(levels[1:], levels, strict=False):
        part = (burstiness + squares / below) / 2.0
        above.append(_lost(backlog / part, slots * u / part))
        below = 1.0 - above[-1]
        squares += (u + before) * (above[-2] - above[-1])
    return above[0] + 2.0 * float(np.trapezoid(above, levels))


def _lost(load: float, servers: float) -> float:
    """Return the share of calls that Erlang's system loses, for any number of servers."""
    from scipy.special import gammaincc, gammaln

    at_most = gammaincc(servers + 1.0, load)
    if at_most < TINY:  # all are always busy
        return 1.0 - servers / load
    return float(np.exp(servers * np.log(load) - load - gammaln(servers + 1.0)) / at_most)


class Measured(NamedTuple):
    """Of each run, Σ(w − 1)² over all decisions, its mean far from both ends, and the error of the weighted sum."""

    squares: NDArray[np.float64]
    steady: NDArray[np.float64]
    errors: NDArray[np.float64]


def measure(
    loads: Sequence[float],
    capacities: Sequence[int],
    backlog: float,
    runs: int,
    tell: Callable[[], None],
    waits: Sequence[float] = (),
) -> Measured:
    """Play streams whose decisions fall to shards by their loads and wait exponential times; labels are independent."""
    means = np.array(backlogs_of(loads, backlog, waits)) / loads
    horizon, edge = int(BACKLOGS * means.max()), int(EDGE * means.max())
    measured = Measured(*np.zeros((3, runs)))
    for i in range(runs):
        tell()
        draw = np.random.default_rng(i)
        owner = draw.choice(len(loads), horizon, p=loads)
        # Labels come between decisions, and what is left at the end comes after the last one.
        ends = np.minimum(np.arange(horizon) + draw.exponential(means[owner]), horizon - 0.5)
        labels = draw.random(horizon) < POSITIVE
        away = np.zeros(horizon)
        for k, slots in enumerate(capacities):
            times = np.flatnonzero(owner == k)
            if not times.size:
                continue
            # In a shard time is counted by the shard's own decisions.
            own = delays.array(np.searchsorted(times, ends[times], side="right") - 1 - np.arange(times.size))
            seed = k * runs + i
            run = replay(VarOpt(), own, capacity=slots, seeds=[seed], information="non-clairvoyant", keep_rounds=True)
            away[times] = run.heard(seed) - 1.0
        measured.squares[i] = away @ away
        measured.steady[i] = np.mean(away[edge:-edge] ** 2)
        measured.errors[i] = away @ labels
    return measured


def alone(slots: int, crowding: float, by_chance: bool, decisions: int, seed: int) -> float:
    """Play one shard and return E w² − 1 far from both ends; its decisions come evenly, or by chance."""
    draw, backlog = np.random.default_rng(seed), crowding * slots
    times = np.cumsum(draw.exponential(1.0, decisions)) if by_chance else np.arange(float(decisions))
    ends = times + draw.exponential(backlog, decisions)
    own = delays.array(np.searchsorted(times, ends, side="right") - 1 - np.arange(decisions))
    run = replay(VarOpt(), own, capacity=slots, seeds=[seed], information="non-clairvoyant", keep_rounds=True)
    edge = int(EDGE * backlog)
    return float(np.mean((run.heard(seed)[edge : decisions - edge] - 1.0) ** 2))


def drawn(count: int) -> list[Case]:
    """Return cases whose number of shards, from 3 to 24, and whose loads are drawn."""
    draw, cases = np.random.default_rng(7), list[Case]()
    for i in range(count):
        shards = int(draw.integers(3, 25))
        loads = tuple(float(load) for load in draw.dirichlet(np.ones(shards)))
        cases.append(Case(f"{shards} shards, loads drawn", loads, (EQUAL, BY_LOAD)[i % 2]))
    return cases


def _spread(values: NDArray[np.float64]) -> float:
    """Return the standard error of a mean, over the mean."""
    return float(values.std(ddof=1) / values.mean() / np.sqrt(values.size))


def shards_command(
    capacity: Annotated[int, typer.Option(min=24, help="Slots of all shards together.")] = 256,
    crowding: Annotated[float, typer.Option(min=1.5, help="Pending decisions for each slot, θ.")] = 4.0,
    runs: Annotated[int, typer.Option(min=2, help="Runs.")] = 200,
    random: Annotated[int, typer.Option(min=0, help="So many more cases, with loads that are drawn.")] = 0,
    write: Write = False,
) -> None:
    """What do shards cost in variance? The formula against weights, and against errors of weighted sums."""
    backlog, rows, worst = crowding * capacity, list[tuple[str, ...]](), Values(off=0.0, error=0.0, smallest=capacity)
    with refusing(), progress_lines("playing") as tell:
        one = measure([1.0], [capacity], backlog, runs, lambda: tell("one join"))
        for case in (Case("one join", (1.0,), EQUAL), *CASES, *drawn(random)):
            slots, told = case.capacities(capacity, backlog), partial(tell, case.name)
            many = one
            if len(slots) > 1:
                many = measure(case.loads, slots, backlog, runs, told, case.waits)
            wanted = predicted(case.loads, slots, backlog, case.waits)
            found = many.steady.mean() / one.steady.mean()
            error = 0.0 if many is one else found * np.hypot(_spread(many.steady), _spread(one.steady))
            sums = np.mean(many.errors**2) / (POSITIVE * (1.0 - POSITIVE) * many.squares.mean())
            by_weights, off = f"{found:.3f} ± {error:.3f}", f"{found / wanted - 1.0:+.1%}"
            by_sums = f"{sums:.2f} ± {np.sqrt(2.0 / runs):.2f}"
            rows.append((case.name, case.slots, f"{wanted:.3f}", by_weights, off, by_sums))
            if abs(found / wanted - 1.0) > abs(worst["off"]):
                worst |= {"off": short(found / wanted - 1.0), "case": f"{case.name}, {case.slots}"}
            worst["error"] = max(worst["error"], short(error / found))
            worst["smallest"] = min(worst["smallest"], *slots)
    table = Table(
        "Variance of weighted sums over that of one join",
        ("shards", "slots", "formula", "by weights", "off", "sums over weights"),
        rows,
        f"{capacity} slots, {crowding:g} pending for each, exponential waits, {runs} runs of {BACKLOGS} mean waits. "
        f"By weights: the mean of (w − 1)² over that of one join, without the first and last {EDGE} mean waits. "
        "Sums over weights: the mean square error of weighted sums of independent labels over their variance times "
        "Σ(w − 1)².",
        text=("shards", "slots"),
    )
    screen().print(table.rich())
    if write:
        options = f"--capacity {capacity} --crowding {crowding:g} --runs {runs} --random {random} --write"
        part = f"shards {capacity}, {crowding:g}".replace(".", ",")
        write_numbers(part, f"python -m studies shards {options}", {"table": lines_of(table), "worst": worst})


def shard_command(
    decisions: Annotated[int, typer.Option(min=50_000, help="Decisions of each run.")] = 1_000_000,
    write: Write = False,
) -> None:
    """How far is the formula off for one shard? Few and many slots, below and above capacity."""
    rows, offs = list[tuple[str, ...]](), list[tuple[int, float, float]]()
    with refusing(), progress_lines("playing") as tell:
        for by_chance in (False, True):
            for slots in SLOTS:
                cells = list[str]()
                for crowding in CROWDINGS:
                    wanted = excess(crowding * slots, slots, float(by_chance))
                    if wanted < LEAST:
                        cells.append("–")
                        continue
                    tell(f"{slots} slots, {crowding:g} pending for each")
                    found = np.array([alone(slots, crowding, by_chance, decisions, seed) for seed in range(PARTS)])
                    off = wanted / found.mean() - 1.0
                    offs.append((slots, crowding, short(100 * off)))
                    cells.append(f"{100 * off:+.1f} ({100 * (1.0 + off) * _spread(found):.1f})")
                rows.append(("1" if by_chance else "0", str(slots), *cells))
    table = Table(
        "One shard: the formula for E w² − 1 over simulations",
        ("v", "slots", *(f"θ = {crowding:g}" for crowding in CROWDINGS)),
        rows,
        "Per cent by which the formula is too large, with standard errors. v = 0: decisions come evenly; v = 1: by "
        f"chance. – the formula is below {LEAST:g}. {PARTS} runs of {decisions:,} decisions, without the first and "
        f"last {EDGE} mean waits.",
        text=("v",),
    )
    screen().print(table.rich())
    if write:
        values = {"table": lines_of(table), "off": extremes(offs)}
        write_numbers("shard", f"python -m studies shard --decisions {decisions} --write", values)


def extremes(offs: Sequence[tuple[int, float, float]]) -> Values:
    """Return the least and the largest per cent, of slots, crowding and per cent: by slots, and below capacity.

    >>> extremes([(1, 1.0, 3.0), (4, 2.0, -2.0), (4, 0.5, 9.0)])
    {'below capacity': [9.0, 9.0], '1 to 4 slots': [-2.0, 3.0]}
    """
    groups = {"below capacity": [off for _, crowding, off in offs if crowding < 1.0]}
    for least, most in GROUPS:
        inside = [off for slots, crowding, off in offs if least <= slots <= most and crowding >= 1.0]
        groups[f"{least} to {most} slots"] = inside
    return {name: [min(found), max(found)] for name, found in groups.items() if found}
