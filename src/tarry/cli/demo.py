"""The demonstration: one game in which the delay depends on the outcome."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tarry import delays, domains, learners, losses, schedulers
from tarry.game import Game, Record, simulate
from tarry.reports import Cell, demo_page, summary_table
from tarry.tracking import Player

CAPACITIES = (4, 8, 16, 32)
DIMENSION = 10
MEAN_DELAYS = (20, 380)  # rounds that turn out well answer quickly, the others slowly
STORY = (
    "Half of the rounds pull one way and answer within about {fast} rounds; the other half pull harder the other "
    "way and answer after about {slow}. A policy that hears the quick ones more often learns the wrong thing, and "
    "the more surely the more it hears: that is what happens to labels that time out or are pushed out of a full "
    "buffer. Weighted policies are right on average; of these VarOpt sees the most labels and so errs least."
)


class Policy(NamedTuple):
    """A scheduler under the name the table shows."""

    name: str
    scheduler: Any


def make_game(horizon: int, rng: int = 1) -> Game:
    """Unit linear losses on the ball of R^10; the sign of the pull decides how long feedback takes."""
    generator = np.random.default_rng(rng)
    pull = generator.normal(size=DIMENSION)
    pull /= np.linalg.norm(pull)
    slow = generator.random(horizon) < 0.5
    noise = generator.normal(size=(horizon, DIMENSION)) / sqrt(DIMENSION)
    rows = noise + np.where(slow, -0.9, 0.5)[:, None] * pull
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    means = np.where(slow, MEAN_DELAYS[1], MEAN_DELAYS[0])
    waits = generator.geometric(1.0 / (means + 1.0)) - 1
    return Game(
        domain=domains.Ball(DIMENSION),
        losses=losses.Linear(rows),
        delays=delays.array(waits),
        capacity=CAPACITIES[0],
    )


def policies(game: Game) -> list[Policy]:
    """Ours, the paper's two as printed, and what people do today (unweighted, biased)."""
    peak = game.delays.max_backlog
    return [
        Policy("VarOpt", schedulers.VarOpt()),
        Policy("Bernoulli", schedulers.Bernoulli(max_backlog=peak)),
        Policy("Pareto", schedulers.Pareto()),
        Policy("drop newest", schedulers.DropNewest()),
        Policy("drop oldest", schedulers.DropOldest()),
        Policy("time out", schedulers.Timeout(MEAN_DELAYS[0])),
        Policy("random evict", schedulers.RandomEvict()),
        Policy("reservoir", schedulers.Reservoir()),
    ]


def run_demo(console: Console, out: Path, seeds: int, horizon: int) -> None:
    """Run every policy at every capacity, print the table, write the page."""
    game = make_game(horizon)
    rate = 2.0 / sqrt(horizon + 2 * game.delays.total_delay)
    learner = learners.DWFTRL(game.domain, rate=rate)
    chosen = policies(game)
    plan = [(c, p) for c in CAPACITIES for p in chosen] + [(None, Policy("unlimited", schedulers.Always()))]
    backlog = game.delays.summary()
    console.print(
        f"{horizon:,} rounds on the unit ball of R^{DIMENSION}, DW-FTRL, {seeds} seeds;\n"
        f"backlog {backlog.total_delay / horizon:.0f} on average, {backlog.max_backlog} at most"
    )
    cells = []
    with progress_bar(console) as progress:
        task = progress.add_task("compiling (the first run only)", total=len(plan))
        for capacity, policy in plan:
            record = simulate(_with_capacity(game, capacity), Player(learner, policy.scheduler), seeds=seeds)
            cells.append(_cell(capacity, policy, record))
            progress.update(task, advance=1, description=f"{policy.name}, {capacity or 'no limit'}")
    console.print(summary_table(cells))
    story = STORY.format(fast=MEAN_DELAYS[0], slow=MEAN_DELAYS[1])
    path = demo_page(cells, out / "index.html", title="Late feedback under a capacity", story=story)
    console.print(f"curves: {path}", soft_wrap=True)


def _with_capacity(game: Game, capacity: int | None) -> Game:
    return Game(game.domain, game.losses, game.delays, capacity=capacity)


def _cell(capacity: int | None, policy: Policy, record: Record) -> Cell:
    return Cell(policy.name, capacity, policy.scheduler.is_unbiased, record.summary(), record.curve)


def progress_bar(console: Console) -> Progress:
    """A bar that goes when it is done."""
    return Progress(
        TextColumn("{task.description:32}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
