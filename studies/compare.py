"""The comparison of schedulers: second moments of the weights, and regret with the paper's rates.

It is made on games drawn by seed, losses on the unit ball of R^10 and delays:

    linear with drift         g_t = (0.3v + z_t)/‖·‖             fixed       200
    adversarial blocks        a unit vector per 200 rounds       geometric   Geom(1/200) − 1
    strongly convex i.i.d.    targets Π(0.5v + 0.5z_t), λ = 1    heavy       ⌊20·Lomax(0.9)⌋, or ⌊62·Lomax(1.3)⌋
    strongly convex blocks    targets Π(z_b + 0.5v), λ = 1       bursts      400 and 3, 250 rounds each

v is uniform on the sphere and z ~ N(0, I/10); delays are cut to the horizon.

Every scheduler has the paper's rate times the factor of ``STEPS`` that suits it best, in hindsight. At the rate itself
one without weights takes steps that are too short by the share of rounds it sees, and looks far worse than it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from studies.measure import quiet
from studies.numbers import Values, Write, short, write_numbers
from tarry import delays, domains, learners, losses, rates, schedulers, theory
from tarry.charts import CONFIDENCE, student
from tarry.cli.console import progress_bar, screen
from tarry.game import Game, Record, simulate
from tarry.kernel import entry
from tarry.losses.base import Listed, fetch
from tarry.outcomes import number
from tarry.planning.policies import POLICIES, Conditions, find_policy
from tarry.tracking import Doubling, Player

DIMENSION = 10

LOSSES: dict[str, Callable[[int], Any]] = {
    "linear with drift": lambda seed: losses.Linear(losses.drifting(DIMENSION, rng=seed)),
    "adversarial blocks": lambda seed: losses.Linear(losses.blocks(DIMENSION, rng=seed)),
    "strongly convex i.i.d.": lambda seed: losses.Quadratic(losses.Drawn.drifting_targets(DIMENSION, rng=seed)),
    "strongly convex blocks": lambda seed: losses.Quadratic(losses.Drawn.block_targets(DIMENSION, rng=seed)),
}

DELAYS: dict[str, Callable[[int, int], Any]] = {
    "fixed": lambda horizon, seed: delays.fixed(horizon=horizon, delay=200),
    "geometric": lambda horizon, seed: delays.geometric(horizon=horizon, probability=1 / 200, rng=seed),
    "heavy": lambda horizon, seed: delays.pareto(horizon=horizon, shape=0.9, scale=20, rng=seed),
    "heavy, finite mean": lambda horizon, seed: delays.pareto(horizon=horizon, shape=1.3, scale=62, rng=seed),
    "bursts": lambda horizon, seed: delays.bursts(horizon=horizon, length=250, slow=400, fast=3),
    "zero": lambda horizon, seed: delays.fixed(horizon=horizon, delay=0),
}

MOMENT_HORIZON = 2000
MOMENT_DELAYS = ("fixed", "geometric", "heavy", "bursts", "zero")
CAPACITIES = (8, 16, 32)
STEPS = (0.25, 1.0, 4.0, 16.0, 64.0)  # times the paper's rate
REGRET_GAMES = (
    ("linear with drift", "fixed"),
    ("adversarial blocks", "fixed"),
    ("strongly convex i.i.d.", "fixed"),
    ("strongly convex i.i.d.", "heavy, finite mean"),
    ("strongly convex blocks", "heavy, finite mean"),
)

Row = dict[str, Any]

YARDSTICKS = {"reference": "(mean σ+1)/C", "limit": "lower limit", "share": "C/σ_max"}
UNLIMITED = "unlimited"
SCHEDULERS = tuple(policy.name for policy in POLICIES if policy.is_limited)
UNWEIGHTED = {policy.name for policy in POLICIES if not policy.make(Conditions(2, 1, 1, 1)).is_unbiased}


def instance(problem: str, delay: str, *, horizon: int, capacity: int | None) -> Callable[[int], Game]:
    """The game of a seed, for ``simulate(None, player, games=…)``; names are those of LOSSES and DELAYS.

    Delays and losses come as lists: one compilation serves all delays, and what a seed draws is drawn once for
    every scheduler that meets it.

    >>> instance("linear with drift", "bursts", horizon=1000, capacity=16)(0).delays.max_backlog
    253
    """
    for name, known, what in ((problem, LOSSES, "losses"), (delay, DELAYS, "delays")):
        if name not in known:
            raise ValueError(f"there are no {what} named {name!r}: choose one of {', '.join(map(repr, known))}")

    def game(seed: int) -> Game:
        losses, waits = _listed(problem, seed, horizon), _waits(delay, seed, horizon)
        return Game(domains.Ball(DIMENSION), losses, waits, capacity=capacity)

    return game


@lru_cache(maxsize=128)  # a few hundred megabytes at most; games are met one after the other
def _listed(problem: str, seed: int, horizon: int) -> Any:
    """The losses of a seed with their rows written out."""
    drawn = LOSSES[problem](seed)
    table = np.empty((horizon, DIMENSION))
    _write.dispatcher_for(drawn)(drawn.rows, table)
    table.flags.writeable = False
    return drawn.with_rows(Listed(table))


@lru_cache(maxsize=128)
def _waits(delay: str, seed: int, horizon: int) -> Any:
    return delays.array(DELAYS[delay](horizon, seed).values)


@entry
def _write(rows: Any, table: np.ndarray) -> None:
    for t in range(table.shape[0]):
        fetch(rows, t + 1, table[t])


def paper_learner(game: Game, step: float = 1.0) -> Any:
    """DW-FTRL with ``step`` times the paper's rate: (D/G)/√(d_tot + T), or 1/(λt) for strongly convex losses."""
    if game.losses.strong_convexity > 0:
        return learners.DWFTRL(game.domain, rates.inverse_time(game.losses.strong_convexity / step))
    rate = theory.convex_rate(total_delay=game.delays.total_delay, horizon=game.horizon, **scale_of(game))
    return learners.DWFTRL(game.domain, step * rate)


def scale_of(game: Game) -> dict[str, float]:
    """D and G."""
    return {"diameter": game.domain.diameter, "gradient_bound": game.losses.gradient_bound(game.domain)}


LEARNERS: dict[str, Callable[[Game], Any]] = {
    "VarOpt, Adaptive": lambda game: learners.Adaptive(game.domain, scale_of(game)["gradient_bound"]),
    "VarOpt, Anytime": lambda game: learners.DWFTRL(game.domain, rates.Anytime(**scale_of(game))),
    "VarOpt, Doubling": lambda game: learners.DWFTRL(game.domain, rates.DoublingRate(**scale_of(game))),
}


def make_player(name: str, game: Game, step: float = 1.0) -> Player:
    """The player of this name for a game: a scheduler with ``step`` times the paper's rate, or a learner of ours."""
    if name in LEARNERS:
        return Player(LEARNERS[name](game), schedulers.VarOpt(), Doubling() if name.endswith("Doubling") else None)
    if game.capacity is None:
        return Player(paper_learner(game, step), schedulers.Always())
    # The longest wait that never fills the set.
    given = Conditions.of(game.delays, game.capacity, patience=game.capacity - 1)
    made = _scheduler(name, given)
    # Its guess of the backlog moves by restarts; every other scheduler here is left alone.
    epochs = Doubling("backlog") if isinstance(made, schedulers.DoublingBernoulli) else None
    return Player(paper_learner(game, step), made, epochs)


@lru_cache(maxsize=4096)  # to calibrate one takes milliseconds, and the games of a seed come again and again
def _scheduler(name: str, given: Conditions) -> Any:
    return find_policy(name).make(given)


def allow(name: str, game: Game) -> Game:
    """The same game in the information model the scheduler needs: Coin must see delays."""
    return replace(game, information="clairvoyant") if name == "Coin" else game


def moment_cell(delay: str, slots: int, name: str, seeds: int, horizon: int) -> Row:
    """Mean E[w²] of a scheduler."""
    games = instance("linear with drift", delay, horizon=horizon, capacity=slots)
    moment = _figures("moment", _play(name, games, seeds).weights.second_moment)
    return {"delays": delay, "capacity": slots, "scheduler": name, **moment}


def yardsticks(delay: str, slots: int, seeds: int, horizon: int) -> Row:
    """(mean backlog + 1)/C, the true lower limit, and C/σ_max (None without a backlog): means over the seeds."""
    games = instance("linear with drift", delay, horizon=horizon, capacity=slots)
    drawn = [games(seed).delays for seed in range(seeds)]
    peaks = [one.max_backlog for one in drawn]
    return {
        "delays": delay,
        "capacity": slots,
        "reference": float(np.mean([(float(np.mean(one.backlog())) + 1.0) / slots for one in drawn])),
        "limit": float(np.mean([theory.moment_limit(one.values, slots) for one in drawn])),
        "share": float(np.mean([slots / peak for peak in peaks])) if min(peaks) > 0 else None,
    }


def regret_cell(problem: str, delay: str, slots: int | None, name: str, seeds: int, horizon: int) -> Row:
    """Mean regret of a player, with the step that suits it best; learners of ours have their own rates."""
    games = instance(problem, delay, horizon=horizon, capacity=slots)
    regrets = {
        step: _figures("regret", _play(name, games, seeds, step).regret)
        for step in ((1.0,) if name in LEARNERS else STEPS)
    }
    step = min(regrets, key=lambda step: regrets[step]["regret"])
    return {"losses": problem, "delays": delay, "capacity": slots, "player": name, **regrets[step], "step": step}


def run_compare(console: Console, seeds: int, horizon: int, file: Path | None = None) -> Row:
    """Measure both tables, print them, and return all numbers, which also go to ``file``."""
    rounds = min(horizon, MOMENT_HORIZON)
    places = [(delay, slots) for delay in MOMENT_DELAYS for slots in CAPACITIES]
    known = [yardsticks(*place, seeds, rounds) for place in places]
    waits = dict.fromkeys(delay for _, delay in REGRET_GAMES)
    known_long = [yardsticks(delay, slots, seeds, horizon) for delay in waits for slots in CAPACITIES]
    moments: list[Row] = []
    regrets: list[Row] = []
    moment_plan = [(*place, name) for place in places for name in SCHEDULERS]
    regret_plan = [(*game, slots, name) for game in REGRET_GAMES for slots, name in _entrants(game[0])]
    total = len(moment_plan) + len(regret_plan)
    with progress_bar(Console(stderr=True), "playing") as show:
        for delay, slots, name in moment_plan:
            moments.append(moment_cell(delay, slots, name, seeds, rounds))
            show(len(moments), total, f"weights: {delay}, {slots}, {name}")
        for problem, delay, room, name in regret_plan:
            regrets.append(regret_cell(problem, delay, room, name, seeds, horizon))
            show(len(moments) + len(regrets), total, f"{problem}, {room}, {name}")
    sure = "± half the 95 % interval"
    console.print(moment_table(moments, known, f"Mean E[w²] {sure}, {rounds:,} rounds, {seeds} seeds; * unweighted"))
    title = (
        f"Regret {sure}, {horizon:,} rounds, {seeds} seeds; the paper's rates unless named, times the best of "
        f"{', '.join(f'{step:g}' for step in STEPS)} for each player and game; * unweighted"
    )
    console.print("\n", regret_table(regrets, known_long, title))
    numbers: Row = {"seeds": seeds, "moment_horizon": rounds, "horizon": horizon}
    numbers |= {"moments": moments, "yardsticks": known, "regret": regrets, "regret_yardsticks": known_long}
    if file is not None:
        file.write_text(json.dumps(numbers, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return numbers


def doubling_values(regrets: list[Row]) -> Values:
    """Return how many times the regret of Anytime Doubling has: the least and the most of all capacities, by game."""
    lost = {(cell["losses"], cell["delays"], cell["capacity"], cell["player"]): cell["regret"] for cell in regrets}
    shares: dict[str, list[float]] = {}
    for (problem, *place, name), regret in lost.items():
        if name == "VarOpt, Doubling":
            shares.setdefault(problem, []).append(regret / lost[problem, *place, "VarOpt, Anytime"])
    return {name: [short(min(found)), short(max(found))] for name, found in shares.items()}


def moment_table(cells: list[Row], known: list[Row], title: str) -> Table:
    """A section per capacity, a row per scheduler, a column per delays."""
    table = _table(title, ("C", "scheduler", *MOMENT_DELAYS))
    for slots in CAPACITIES:
        _add_yardsticks(table, slots, known, MOMENT_DELAYS)
        for name in SCHEDULERS:
            row = [cell for cell in cells if (cell["capacity"], cell["scheduler"]) == (slots, name)]
            table.add_row(str(slots), _starred(name), *(number(cell["moment"], cell["half"]) for cell in row))
        table.add_section()
    return table


def regret_table(cells: list[Row], known: list[Row], title: str) -> Table:
    """A section per capacity, a row per player, a column per game."""
    table = _table(title, ("C", "player", *(f"{problem},\n{delay}" for problem, delay in REGRET_GAMES)))
    for slots in (None, *CAPACITIES):
        rows = [cell for cell in cells if cell["capacity"] == slots]
        if slots is not None:
            _add_yardsticks(table, slots, known, tuple(delay for _, delay in REGRET_GAMES))
        for name in dict.fromkeys(cell["player"] for cell in rows):
            shown = {(c["losses"], c["delays"]): c for c in rows if c["player"] == name}
            found = [shown.get(game) for game in REGRET_GAMES]
            figures = ("–" if c is None else number(c["regret"], c["half"]) for c in found)
            table.add_row("∞" if slots is None else str(slots), _starred(name), *figures)
        table.add_section()
    return table


def _add_yardsticks(table: Table, slots: int, known: list[Row], columns: tuple[str, ...]) -> None:
    found = {one["delays"]: one for one in known if one["capacity"] == slots}
    for key, words in YARDSTICKS.items():
        figures = [found[column][key] for column in columns]
        shown = ("–" if figure is None else f"{figure:.3g}" for figure in figures)
        table.add_row(str(slots), words, *shown, style="dim")


def _play(name: str, games: Callable[[int], Game], seeds: int, step: float = 1.0) -> Record:
    return simulate(
        None,
        partial(make_player, name, step=step),
        seeds,
        games=lambda seed: allow(name, games(seed)),
        bound=False,
        checkpoints=1,
    )


def _entrants(problem: str) -> list[tuple[int | None, str]]:
    """Capacities and players: one without a limit, then everybody at every capacity."""
    ours = () if LOSSES[problem](0).strong_convexity > 0 else tuple(LEARNERS)
    return [(None, UNLIMITED), *((slots, name) for slots in CAPACITIES for name in (*SCHEDULERS, *ours))]


def _figures(name: str, values: np.ndarray) -> Row:
    error = float(values.std(ddof=1) / np.sqrt(values.size))
    return {name: float(values.mean()), "standard_error": error, "half": student(CONFIDENCE, values.size - 1) * error}


def _starred(name: str) -> str:
    return f"{name} *" if name in UNWEIGHTED else name


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for column in columns:
        is_name = column in ("scheduler", "player")
        table.add_column(column, justify="left" if is_name else "right", no_wrap=is_name)
    return table


def compare_command(
    seeds: Annotated[int, typer.Option(min=2, help="Runs per figure; each draws its own game.")] = 48,
    horizon: Annotated[int, typer.Option(min=10, help="Rounds per run of the regret table.")] = 20_000,
    quick: Annotated[bool, typer.Option("--quick", help="At most 8 seeds and 4000 rounds.")] = False,
    file: Annotated[Path | None, typer.Option("--json", help="File for all numbers.")] = None,
    write: Write = False,
) -> None:
    """Compare schedulers: second moments of the weights, and regret with the paper's rates."""
    if file is not None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.open("a").close()  # touch() would accept a folder
        except OSError as error:
            typer.echo(f"cannot write to {file}: {error.strerror}; choose another file with --json", err=True)
            raise typer.Exit(2) from error
    seeds, horizon = (min(seeds, 8), min(horizon, 4000)) if quick else (seeds, horizon)
    with quiet():
        numbers = run_compare(screen(), seeds, horizon, file)
    if write:
        values = {"doubling": doubling_values(numbers["regret"])}
        write_numbers("compare", f"python -m studies compare --seeds {seeds} --horizon {horizon} --write", values)
