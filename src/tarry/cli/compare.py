"""The comparison of schedulers: second moments of the weights, and regret with the paper's rates."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tarry import learners, schedulers, theory
from tarry.cli.demo import progress_bar
from tarry.game import Game, Record, simulate
from tarry.game.instances import LOSSES, instance
from tarry.tracking import Player

MOMENT_HORIZON = 2000
MOMENT_DELAYS = ("fixed", "geometric", "heavy", "bursts", "zero")
CAPACITIES = (8, 16, 32)
REGRET_CAPACITY = 16
REGRET_GAMES = (
    ("linear with drift", "fixed"),
    ("adversarial blocks", "fixed"),
    ("strongly convex i.i.d.", "fixed"),
    ("strongly convex i.i.d.", "heavy, finite mean"),
    ("strongly convex blocks", "heavy, finite mean"),
)

Row = dict[str, Any]

SCHEDULERS: dict[str, Callable[[Game, int], Any]] = {
    "VarOpt": lambda game, slots: schedulers.VarOpt(),
    "Priority": lambda game, slots: schedulers.Priority(),
    "Morris": lambda game, slots: schedulers.Morris.for_backlog(game.delays.max_backlog, slots),
    "Thinning": lambda game, slots: schedulers.Thinning(),
    "Bernoulli": lambda game, slots: schedulers.Bernoulli(max_backlog=game.delays.max_backlog),
    "Bernoulli, cal.": lambda game, slots: schedulers.Bernoulli.calibrated(game.delays.max_backlog, slots),
    "Pareto": lambda game, slots: schedulers.Pareto(),
    "Pareto, cal.": lambda game, slots: schedulers.Pareto.calibrated(slots),
}
REGRET_SCHEDULERS = ("VarOpt", "Priority", "Bernoulli", "Pareto")
YARDSTICKS = {"reference": "(mean σ+1)/C", "limit": "lower limit", "share": "C/σ_max"}


def paper_learner(game: Game) -> Any:
    """DW-FTRL with the paper's rate: (D/G)/√(d_tot + T), or 1/(λt) for strongly convex losses."""
    if game.losses.strong_convexity > 0:
        return learners.DWFTRL(game.domain, learners.inverse_time(game.losses.strong_convexity))
    rate = theory.convex_rate(total_delay=game.delays.total_delay, horizon=game.horizon, **_scale(game))
    return learners.DWFTRL(game.domain, rate)


LEARNERS: dict[str, Callable[[Game], Any]] = {
    "VarOpt, Adaptive": lambda game: learners.Adaptive(game.domain, _scale(game)["gradient_bound"]),
    "VarOpt, Anytime": lambda game: learners.DWFTRL(game.domain, learners.Anytime(**_scale(game))),
}


def make_player(name: str, game: Game) -> Player:
    """The player of this name for a game: a scheduler with the paper's rate, or VarOpt with a learner of ours."""
    if name in LEARNERS:
        return Player(LEARNERS[name](game), schedulers.VarOpt())
    if game.capacity is None:
        return Player(paper_learner(game), schedulers.Always())
    return Player(paper_learner(game), SCHEDULERS[name](game, game.capacity))


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
        "reference": float(np.mean([theory.moment_reference(one.values, slots) for one in drawn])),
        "limit": float(np.mean([theory.moment_limit(one.values, slots) for one in drawn])),
        "share": float(np.mean([slots / peak for peak in peaks])) if min(peaks) > 0 else None,
    }


def regret_cell(problem: str, delay: str, name: str, seeds: int, horizon: int) -> Row:
    """Mean regret of a player."""
    slots = None if name == "unlimited" else REGRET_CAPACITY
    games = instance(problem, delay, horizon=horizon, capacity=slots)
    regret = _figures("regret", _play(name, games, seeds).regret)
    return {"losses": problem, "delays": delay, "capacity": slots, "player": name, **regret}


def run_compare(console: Console, seeds: int, horizon: int, file: Path | None = None) -> None:
    """Measure both tables, print them, and write all numbers to ``file``."""
    short = min(horizon, MOMENT_HORIZON)
    places = [(delay, slots) for delay in MOMENT_DELAYS for slots in CAPACITIES]
    known = [yardsticks(*place, seeds, short) for place in places]
    moments: list[Row] = []
    regrets: list[Row] = []
    moment_plan = [(*place, name) for place in places for name in SCHEDULERS]
    regret_plan = [(*game, name) for game in REGRET_GAMES for name in _entrants(game[0])]
    with progress_bar(console) as progress:
        task = progress.add_task("compiling (the first run only)", total=len(moment_plan) + len(regret_plan))
        for delay, slots, name in moment_plan:
            moments.append(moment_cell(delay, slots, name, seeds, short))
            progress.update(task, advance=1, description=f"weights: {delay}, {slots}, {name}")
        for problem, delay, name in regret_plan:
            regrets.append(regret_cell(problem, delay, name, seeds, horizon))
            progress.update(task, advance=1, description=f"{problem}, {name}")
    console.print(moment_table(moments, known, f"Mean E[w²] ± s.e., {short:,} rounds, {seeds} seeds"))
    title = f"Regret ± s.e., {horizon:,} rounds, {REGRET_CAPACITY} slots, {seeds} seeds; the paper's rates unless named"
    console.print("\n", regret_table(regrets, title))
    if file is not None:
        numbers: Row = {"seeds": seeds, "moment_horizon": short, "horizon": horizon}
        numbers |= {"moments": moments, "yardsticks": known, "regret": regrets}
        file.write_text(json.dumps(numbers, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def moment_table(cells: list[Row], known: list[Row], title: str) -> Table:
    """A section per capacity, a row per scheduler, a column per delays."""
    table = _table(title, ("C", "scheduler", *MOMENT_DELAYS))
    for slots in CAPACITIES:
        for key, words in YARDSTICKS.items():
            shown = [f"{one[key]:.3g}" if one[key] is not None else "–" for one in known if one["capacity"] == slots]
            table.add_row(str(slots), words, *shown, style="dim")
        for name in SCHEDULERS:
            row = [cell for cell in cells if (cell["capacity"], cell["scheduler"]) == (slots, name)]
            table.add_row(str(slots), name, *(_shown(cell["moment"], cell["standard_error"]) for cell in row))
        table.add_section()
    return table


def regret_table(cells: list[Row], title: str) -> Table:
    """A row per player, a column per game."""
    table = _table(title, ("player", *(f"{problem},\n{delay}" for problem, delay in REGRET_GAMES)))
    for name in dict.fromkeys(cell["player"] for cell in cells):
        shown = {(c["losses"], c["delays"]): c for c in cells if c["player"] == name}
        found = [shown.get(game) for game in REGRET_GAMES]
        table.add_row(name, *("–" if c is None else _shown(c["regret"], c["standard_error"]) for c in found))
    return table


def _play(name: str, games: Callable[[int], Game], seeds: int) -> Record:
    return simulate(None, partial(make_player, name), seeds, games=games, bound=False, checkpoints=1)


def _entrants(problem: str) -> tuple[str, ...]:
    ours = () if LOSSES[problem](0).strong_convexity > 0 else tuple(LEARNERS)
    return ("unlimited", *REGRET_SCHEDULERS, *ours)


def _scale(game: Game) -> dict[str, float]:
    return {"diameter": game.domain.diameter, "gradient_bound": game.losses.gradient_bound(game.domain)}


def _figures(name: str, values: np.ndarray) -> Row:
    return {name: float(values.mean()), "standard_error": float(values.std(ddof=1) / np.sqrt(values.size))}


def _shown(mean: float, error: float) -> str:
    digits = 2 if mean < 10 else 1 if mean < 100 else 0
    return f"{mean:,.{digits}f} ± {error:,.{digits}f}"


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for column in columns:
        is_name = column in ("scheduler", "player")
        table.add_column(column, justify="left" if is_name else "right", no_wrap=is_name)
    return table
