"""The demonstration: one game in which the delay depends on the outcome."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tarry import delays, domains, learners, losses
from tarry.game import Game, simulate
from tarry.planning.policies import Conditions, Policy, find_policy
from tarry.reports.demo import PolicyResult, demo_page, summary_table
from tarry.tracking import Player

CAPACITIES = (4, 8, 16, 32)
DIMENSION = 10
MEAN_DELAYS = (20, 380)  # rounds that turn out well answer quickly, the others slowly
# Ours, the paper's two as printed, and what people do today (unweighted, biased).
SHOWN = (
    "VarOpt",
    "Bernoulli (paper)",
    "Pareto (paper)",
    "drop newest",
    "drop oldest",
    "time out",
    "random evict",
    "reservoir",
)
STORY = (
    "Half of the rounds pull one way and answer within about {fast} rounds; the other half pull harder the other "
    "way and answer after about {slow}. A policy that hears the quick ones more often learns the wrong thing, and "
    "the more surely the more it hears: that is what happens to labels that time out or are pushed out of a full "
    "buffer. Weighted policies are right on average; of these VarOpt sees the most labels and so errs least."
)


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


def run_demo(console: Console, out: Path, seeds: int, horizon: int) -> None:
    """Run every policy at every capacity, print the table, write the page."""
    game = make_game(horizon)
    rate = 2.0 / sqrt(horizon + 2 * game.delays.total_delay)
    learner = learners.DWFTRL(game.domain, rate=rate)
    plan: list[tuple[int | None, Policy]] = [(c, find_policy(name)) for c in CAPACITIES for name in SHOWN]
    plan.append((None, find_policy("unlimited")))
    backlog = game.delays.summary()
    console.print(
        f"{horizon:,} rounds on the unit ball of R^{DIMENSION}, DW-FTRL, {seeds} seeds;\n"
        f"backlog {backlog.total_delay / horizon:.0f} on average, {backlog.max_backlog} at most"
    )
    results = []
    with progress_bar(console) as progress:
        task = progress.add_task("compiling (the first run only)", total=len(plan))
        for capacity, policy in plan:
            # Labels are given up after the time that the quick ones take on average.
            given = Conditions.of(game.delays, capacity or 1, patience=MEAN_DELAYS[0])
            scheduler = policy.make(given)
            record = simulate(replace(game, capacity=capacity), Player(learner, scheduler), seeds=seeds)
            results.append(PolicyResult(policy.name, capacity, scheduler.is_unbiased, record.summary(), record.curve))
            progress.update(task, advance=1, description=f"{policy.name}, {capacity or 'no limit'}")
    console.print(summary_table(results).rich())
    story = STORY.format(fast=MEAN_DELAYS[0], slow=MEAN_DELAYS[1])
    path = demo_page(results, out / "index.html", title="Late feedback under a capacity", story=story)
    console.print(f"curves: {path}", soft_wrap=True)


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
