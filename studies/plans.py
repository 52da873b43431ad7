"""Do plans hold? The first half of five logs against joins on the second, and January's flights against later months.

A third table is what plans expect of five schedulers on made-up delays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray

from studies.compare import DELAYS
from studies.logs import repeats
from studies.numbers import Values, Write, lines_of, short, write_numbers
from studies.streams import desk, read_aids, read_flights
from tarry.cli.console import progress_lines, refusing, screen
from tarry.delays import Delays, array
from tarry.delays.trace import trace
from tarry.domains import Ball
from tarry.game import Game, simulate
from tarry.learners import DWFTRL
from tarry.live import LabelJoin
from tarry.losses import Linear
from tarry.planning import Plan, plan
from tarry.planning.plan import share
from tarry.planning.policies import TAIL, Conditions, find_policy
from tarry.reports.table import Table
from tarry.tracking import Player

Tell = Callable[[str], None]

SHARES = (0.05, 0.15, 0.5)  # slots, of the mean backlog of the first half
MONTHS = {"January, other seeds": 1, "February": 2, "April": 4}
SLOTS = (8, 16, 32, 64, 128)
PLANNED = ("VarOpt", "Priority", "Morris", "Bernoulli (calibrated)")
OTHERS = range(900, 912)  # seeds that no plan takes
MADE_UP = {"every delay 200": "fixed", "geometric": "geometric", "heavy tail": "heavy", "bursts": "bursts"}
WORTH = ("VarOpt", "Priority", "Morris", "Bernoulli (paper)", "Pareto (paper)")
ROUNDS, FEW = 20_000, 16  # of made-up delays, and slots


def flights(label: str = "landing") -> pl.DataFrame:
    """Return when flights of 2013 were due, and when they had left ("take-off") or flown ("landing")."""
    due = pl.col("time_hour").str.to_datetime("%Y-%m-%dT%H:%M:%SZ") + pl.duration(minutes=pl.col("minute"))
    late = pl.max_horizontal(0, pl.col("dep_delay")) + (pl.col("air_time") if label == "landing" else 0)
    table = read_flights().drop_nulls(["dep_delay", "air_time"])
    return table.select("month", decided=due, feedback=due + pl.duration(minutes=late)).sort("decided")


def tickets(first: int = 20_000) -> pl.DataFrame:
    """Return when tickets of the help desk were opened, and when it is known what came of them, in minutes."""
    stream = desk(first)
    comes = np.minimum(np.arange(first) + stream.delays.values, first - 1)
    return pl.DataFrame({"decided": stream.times, "feedback": stream.times[comes] + 1.0})


def patients() -> pl.DataFrame:
    """Return the days on which patients were diagnosed with AIDS, and on which they died."""
    died = pl.when(pl.col("status") == "D").then("death")
    return read_aids().sort("diag", maintain_order=True).select(decided="diag", feedback=died)


HALVED: dict[str, Callable[[], pl.DataFrame]] = {
    "flights, landing": lambda: flights().head(60_000),
    "flights, take-off": lambda: flights("take-off").head(60_000),
    "help desk": tickets,
    "AIDS patients, no window": patients,
    "repeat purchases (CDNOW)": repeats,
}
"""Logs without windows: a decision that is never answered waits."""


def delays_of(log: pl.DataFrame) -> Delays:
    """Return the delays of a log; what is never answered waits to its end."""
    return trace(log["decided"], log["feedback"], sort=True, never="end")


def streamed(log: pl.DataFrame, capacity: int, seeds: int, **rules: Any) -> NDArray[np.float64]:
    """Return the share of decisions whose row comes out of a join, and Σw² for each decision."""
    columns = {"decided_at": "decided", "labelled_at": "feedback", "label": "y"}
    labelled = log.with_columns(y=pl.when(pl.col("feedback").is_not_null()).then(1))
    weights = list[float]()
    for seed in range(seeds):
        join = LabelJoin(capacity, rng=seed, **rules)
        weights += [row.weight for row in join.stream(labelled, **columns)]
    return np.array([len(weights), np.square(weights).sum()]) / seeds / log.height


def warned(made: Plan) -> str:
    """Return what a plan warns of its log, and of quarters how many times as much one sees as another."""
    differ = max(made.quarters) / max(min(made.quarters), 1e-9)
    known = {
        "is long against": "too short",
        "has a trend": f"a trend, {differ:.1f} times",
        "is uneven": f"uneven, {differ:.1f} times",
    }
    return next((what for words, what in known.items() if any(words in one for one in made.warnings)), "nothing")


def halves_table(seeds: int, tell: Tell) -> Table:
    """Return the share that plans from the first half of logs expect to see, and that joins see of the second."""
    rows = []
    for name, read in HALVED.items():
        log = read()
        half = log.height // 2
        delays, cells = delays_of(log.head(half)), []
        for part in SHARES:
            slots = max(1, round(part * float(delays.backlog().mean())))
            tell(f"{name}, {slots} slots")
            made = plan(delays, capacities=[slots], schedulers=["VarOpt"])
            found, _ = streamed(log.slice(half), slots, seeds)
            cells.append(f"{share(made.figures[0].seen)}, {share(found)}")
        rows.append((name, *cells, warned(made)))
    heads = ("log", *(f"{part:.0%} of the backlog" for part in SHARES), "the plan warns")
    caption = "Share seen, planned and found, with VarOpt, by slots as a share of the mean backlog."
    return Table("First half, second half", heads, rows, caption, text=(heads[0], heads[-1]), name="halves")


def played(delays: Delays, scheduler: Any, capacity: int) -> tuple[float, float]:
    """Return the share seen and the second moment of weights in games with these delays."""
    domain = Ball(1)
    game = Game(domain, Linear(np.ones((delays.horizon, 1))), array(delays.values), capacity=capacity)
    record = simulate(game, Player(DWFTRL(domain, rate=0.1), scheduler), seeds=OTHERS, bound=False, checkpoints=1)
    return float(record.observed.mean()), float(record.weights.second_moment.mean())


def errors(name: str, planned: Delays, later: Delays, slots: Iterable[int]) -> list[tuple[float, float]]:
    """Return how far a plan is off games with later delays, by slots: the share seen, and the second moment."""
    off = []
    for promised in plan(planned, capacities=slots, schedulers=[name]).figures:
        made = find_policy(name).make(Conditions.of(planned, promised.capacity, saturation=TAIL))
        seen, moment = played(later, made, promised.capacity)
        off.append((abs(promised.seen / seen - 1.0), abs(promised.second_moment / moment - 1.0)))
    return off


def months_table(months: dict[str, Delays], tell: Tell) -> Table:
    """Return how far the plan from the first month is off at most, by scheduler and month."""
    planned, rows = next(iter(months.values())), []
    for name in PLANNED:
        cells = []
        for which, later in months.items():
            tell(f"{name}, {which}")
            cells.append(", ".join(f"{max(off):.1%}" for off in zip(*errors(name, planned, later, SLOTS), strict=True)))
        rows.append((name, *cells))
    caption = f"The share seen, and the second moment: how far off at most, with {SLOTS[0]} to {SLOTS[-1]} slots."
    return Table("January's plan", ("scheduler", *months), rows, caption, text=("scheduler",), name="months")


def worth_table(tell: Tell) -> Table:
    """Return what plans expect of schedulers: the share seen, and second moments over (mean backlog + 1)/C."""
    rows = {name: [name] for name in WORTH}
    for which, law in MADE_UP.items():
        tell(which)
        made = plan(DELAYS[law](ROUNDS, 0), capacities=[FEW], schedulers=WORTH)
        for one in made.figures:
            if law == "fixed":
                rows[one.scheduler].append(f"{one.seen:.2%}")
            times = one.second_moment * FEW / (made.backlog.mean_backlog + 1.0)
            rows[one.scheduler].append(f"{times:.1f}" if times < 10.0 else f"{times:.0f}")
    heads = ("scheduler", "labels seen", *MADE_UP)
    caption = f"{FEW} slots. Labels seen of delays of 200; second moments of the weights over (mean backlog + 1)/C."
    cells = [tuple(row) for row in rows.values()]
    return Table("What schedulers are worth", heads, cells, caption, text=heads[:1], name="worth")


def plans_command(
    seeds: Annotated[int, typer.Option(min=1, help="Joins on the second half of each log.")] = 8,
    write: Write = False,
) -> None:
    """Do plans hold? Halves of five logs, flights of later months; and what plans expect of schedulers."""
    with refusing(), progress_lines("planning") as tell:
        year = flights()
        months = {which: delays_of(year.filter(pl.col("month") == number)) for which, number in MONTHS.items()}
        tables = [halves_table(seeds, tell), months_table(months, tell), worth_table(tell)]
    for table in tables:
        screen().print(table.rich())
    if write:
        values: Values = {table.name: lines_of(table) for table in tables}
        first, *_, last = (short(float(one.backlog().mean())) for one in months.values())
        january = next(iter(months.values()))
        values["January"] = {"flights": january.horizon, "mean": first, "most": january.max_backlog}
        values["April"] = {"mean": last, "more": short(last / first - 1.0)}
        write_numbers("plans", f"python -m studies plans --seeds {seeds} --write", values)
