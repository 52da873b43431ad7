"""Who errs where: the claims of the pages that a policy is biased, each with its controls: `python -m studies bias`.

Drop newest errs where load or time tells something of outcomes. Drop oldest, time-outs and reservoirs err there too,
and wherever the delay does. So four runs of each world tell the causes apart: as it is, and with pairs of wait and
label, waits alone or labels alone shuffled over the decisions. Pairs shuffled, load and time tell nothing; waits
shuffled, the delay tells nothing; labels shuffled, nothing does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from studies.cases import clinical_case, flights_case, queue_case
from studies.measure import estimate, quiet
from studies.numbers import Values, Write, lines_of, short, write_numbers
from studies.streams import LABELS, PAIRS, WAITS, Stream, Vector
from tarry.cases import Spread
from tarry.checks import as_choice
from tarry.cli.console import progress_lines, refusing, screen
from tarry.delays import array, trace
from tarry.planning.policies import Policy, find_policy
from tarry.reports.table import Table

AS_IT_IS = "as it is"
RUNS = (AS_IT_IS, PAIRS, WAITS, LABELS)
POLICIES = ("VarOpt", "drop newest", "drop oldest", "time out", "reservoir")
CLEAR = 4.0  # standard errors: with some hundred cells, three would be chance now and then
# What pages show: drop newest errs by load alone, a time-out by load and by the delay, VarOpt by neither.
ON_PAGES = (
    *(("drop newest", AS_IT_IS), ("drop newest", PAIRS), ("drop newest", WAITS)),
    *(("time out", AS_IT_IS), ("time out", PAIRS), ("time out", WAITS), ("time out", LABELS), ("VarOpt", AS_IT_IS)),
)
DECISIONS = 20_000  # of a generated load


LEGEND = (
    "Mean error of the believed mean label, with its standard error: minutes of flights, else percentage points. "
    f"* beyond {CLEAR:.0f} of them. pairs: waits with their labels shuffled over decisions; waits, labels: these alone."
)


class World(NamedTuple):
    """Streams by seed. A recorded world has one; ``load_tells`` claims that load or time tells something of outcomes.

    In all of them the delay depends on the outcome. ``spared`` are right once waits are shuffled.
    """

    draw: Callable[[int], Stream]
    slots: int
    load_tells: bool
    is_recorded: bool = False
    spared: tuple[str, ...] = ()


class Cell(NamedTuple):
    """A policy in one run of a world: its mean error as shown, the standard error of that, and what pages claim."""

    world: str
    policy: str
    run: str
    bias: float
    error: float
    is_claimed: bool

    @property
    def is_biased(self) -> bool:
        """Whether the mean error is more than chance."""
        return abs(self.bias) > CLEAR * self.error


def bare(name: str, times: Vector, told: Vector, labels: NDArray[np.bool_]) -> Stream:
    """Return a stream of labels 0 and 1, in per cent, with a constant as its only feature."""
    delays, features = array(trace(times, told).values), np.ones((times.size, 1))
    return Stream(name, features, labels.astype(np.float64), delays, times, told, "%", 100.0, 0.5)


def shop(seed: int) -> Stream:
    """Return the log of docs/start/practitioner.md, drawn from a seed: fewer buy at busy sales, and late."""
    draw = np.random.default_rng(seed)
    day = np.repeat(np.arange(400), np.tile([20, 20, 4, 4, 4, 4, 4, 4, 4, 4], 40))
    sale = day % 10 < 2
    bought = draw.random(day.size) < np.where(sale, 0.2, 0.5)
    known = day + draw.exponential(np.where(bought, 30, 5))
    return bare("shop", day.astype(np.float64), known, bought)


def load(bursts: bool, busy_tells: bool, shares: tuple[float, float] = (0.36, 0.26)) -> Callable[[int], Stream]:
    """Return streams by seed: ones wait 1 000 and zeros 50; steady, or with bursts.

    Where the bursts are, or would be, ``shares`` of decisions are ones, and elsewhere.
    """

    def draw(seed: int) -> Stream:
        draws = np.random.default_rng(seed)
        # At a fifth of the time six times as many decisions come, at one a unit of time on average.
        clock = np.cumsum(draws.exponential(1.0, DECISIONS))
        times = _busier(clock) if bursts else clock
        is_busy = (times // 2_000) % 5 == 0
        labels = draws.random(DECISIONS) < (np.where(is_busy, *shares) if busy_tells else 0.32)
        return bare("load", times, times + np.where(labels, 1_000.0, 50.0), labels)

    return draw


def _busier(clock: Vector) -> Vector:
    """Return the moments at which a load of 3 in the first fifth of each 10 000, and else of ½, adds up to these."""
    cycle, rest = np.divmod(clock, 10_000.0)
    return 10_000.0 * cycle + np.where(rest < 6_000.0, rest / 3.0, 2_000.0 + (rest - 6_000.0) / 0.5)


def recorded(make: Callable[[], Stream]) -> Callable[[int], Stream]:
    """Return one stream for every seed, read once."""
    read: list[Stream] = []

    def draw(seed: int) -> Stream:
        if not read:
            read.append(make())
        return read[0]

    return draw


WORLDS = {
    "flights, departures": World(recorded(lambda: flights_case().stream), 8, True, True),
    "flights, landings": World(recorded(lambda: flights_case("arrival").stream), 64, True, True),
    "clinical follow-up": World(recorded(lambda: clinical_case().stream), 32, True, True),
    "help desk": World(recorded(lambda: queue_case().stream), 4, False, True),
    "first example": World(shop, 50, True, spared=("drop oldest",)),
    "steady load": World(load(bursts=False, busy_tells=False), 50, False),
    "slow outcomes in runs": World(
        load(False, True, (0.8, 0.2)), 50, True, spared=("drop newest", "drop oldest", "time out")
    ),
    "bursts that tell nothing": World(load(bursts=True, busy_tells=False), 50, False),
    "bursts with other outcomes": World(load(bursts=True, busy_tells=True), 50, True),
}


def is_claimed(world: World, policy: str, run: str) -> bool:
    """Return whether pages call a policy biased there."""
    if policy == "VarOpt" or run == LABELS:
        return False
    if run == WAITS:
        return world.load_tells and policy not in world.spared
    return policy != "drop newest" or (run == AS_IT_IS and world.load_tells)


def measure_world(name: str, seeds: int) -> list[Cell]:
    """Return what each policy errs by in each run of a world.

    One log under a policy that draws nothing has one error, and no spread: its standard error is the deviation of
    single logs with pairs shuffled.
    """
    world = WORLDS[name]
    cells = []
    for policy in map(find_policy, POLICIES):
        is_one = world.is_recorded and not policy.is_random
        errors = {run: _errors(world, policy, run, 1 if is_one and run == AS_IT_IS else seeds) for run in RUNS}
        for run, spread in errors.items():
            is_single = run == AS_IT_IS and is_one
            error = errors[PAIRS].deviation if is_single else spread.error
            cells.append(Cell(name, policy.name, run, spread.mean, error, is_claimed(world, policy.name, run)))
    return cells


def _errors(world: World, policy: Policy, run: str, seeds: int) -> Spread:
    errors = []
    for seed in range(seeds):
        stream = world.draw(seed) if run == AS_IT_IS else world.draw(seed).shuffled(run, seed)
        errors.append(estimate(stream, policy, world.slots, seed) - stream.mean)
    return Spread.of(errors)


def bias_table(cells: Iterable[Cell]) -> Table:
    """Return the errors of each policy in each world: a column for each run, a star where they are no chance."""
    found = {(cell.world, cell.policy, cell.run): cell for cell in cells}
    rows = [
        (world, policy, *(_shown(found[world, policy, run]) for run in RUNS))
        for world, policy in dict.fromkeys(key[:2] for key in found)
    ]
    return Table("Who errs where", ("world", "policy", *RUNS), rows, LEGEND, text=("world", "policy"), name="table")


def pages_table(cells: Iterable[Cell]) -> Table:
    """Return a row for each world, as pages show it."""
    found = {(cell.world, cell.policy, cell.run): cell for cell in cells}
    rows = [
        (world, *(_shown(found[world, policy, run]) for policy, run in ON_PAGES))
        for world in dict.fromkeys(key[0] for key in found)
    ]
    heads = (policy if run == AS_IT_IS else f"{policy}, {run} shuffled" for policy, run in ON_PAGES)
    return Table("Who errs where", ("world", *heads), rows, LEGEND, text=("world",), name="pages")


def _shown(cell: Cell) -> str:
    return f"{cell.bias:+.2f} ({cell.error:.2f}){' *' if cell.is_biased else ''}"


def disagreements(cells: Iterable[Cell]) -> list[str]:
    """Return a sentence for each cell in which a policy is biased and pages say it is not, or the other way about."""
    return [
        f"{cell.world}, {cell.policy}, {cell.run}: {_shown(cell)} is {'' if cell.is_biased else 'not '}a bias, "
        f"and pages say that it is{' not' if not cell.is_claimed else ''}"
        for cell in cells
        if cell.is_biased != cell.is_claimed
    ]


def bias_command(
    world: Annotated[list[str] | None, typer.Option(help=f"Only these (repeat): {', '.join(WORLDS)}.")] = None,
    seeds: Annotated[int, typer.Option(min=4, help="Runs, each with streams, shuffles and draws of its own.")] = 40,
    write: Write = False,
) -> None:
    """Who errs where: claims that a policy is biased, each with its controls; fails unless all come out as claimed."""
    if write and world:
        raise typer.BadParameter("--write keeps all worlds: leave out --world")
    cells: list[Cell] = []
    with refusing(), quiet(), progress_lines("measuring") as tell:
        for name in world or WORLDS:
            tell(as_choice(name, "world", tuple(WORLDS)))
            cells += measure_world(name, seeds)
    table = bias_table(cells)
    screen().print(table.rich())
    if write:
        values: Values = {"pages": lines_of(pages_table(cells))}
        for cell in cells:
            found = values.setdefault(cell.world, {}).setdefault(cell.policy, {})
            found[cell.run] = {"bias": short(cell.bias), "error": short(cell.error)}
        write_numbers("bias", f"python -m studies bias --seeds {seeds} --write", values)
    for line in (found := disagreements(cells)):
        typer.echo(line, err=True)
    if found:
        raise typer.Exit(1)
