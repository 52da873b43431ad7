"""The demonstration's game, in which the delay depends on the outcome, played under every policy and capacity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import sqrt

import numpy as np

from tarry import delays, domains, learners, losses
from tarry.game import Game, Record, simulate
from tarry.planning.policies import Conditions, find_policy
from tarry.tracking import Player

CAPACITIES = (4, 8, 16, 32)
DIMENSION = 10
MEAN_DELAYS = (20, 380)  # rounds that turn out well answer quickly, the others slowly
# Ours, the paper's two as printed, and what people do today (unweighted, biased).
SHOWN = (
    *("VarOpt", "Bernoulli (paper)", "Pareto (paper)"),
    *("drop newest", "drop oldest", "time out", "random evict", "reservoir"),
)
PLAN: tuple[tuple[int | None, str], ...] = (*((c, name) for c in CAPACITIES for name in SHOWN), (None, "unlimited"))
# What the game shows, for the page.
STORY = (
    f"Half of the rounds pull one way and answer within about {MEAN_DELAYS[0]} rounds; the other half pull harder the "
    f"other way and answer after about {MEAN_DELAYS[1]}. A policy that hears the quick ones more often learns the "
    "wrong thing, and the more surely the more it hears: that is what happens to labels that time out or are pushed "
    "out of a full buffer. Weighted policies are right on average, and of these VarOpt sees the most labels."
)


def make_game(horizon: int, rng: int = 1) -> Game:
    """Return unit linear losses on the ball of R^10; the sign of the pull decides how long feedback takes."""
    generator = np.random.default_rng(rng)
    pull = generator.normal(size=DIMENSION)
    pull /= np.linalg.norm(pull)
    slow = generator.random(horizon) < 0.5
    noise = generator.normal(size=(horizon, DIMENSION)) / sqrt(DIMENSION)
    # Slow rounds pull harder than quick ones, so that who hears the quick ones only learns the opposite.
    rows = noise + np.where(slow, -0.9, 0.5)[:, None] * pull
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    means = np.where(slow, MEAN_DELAYS[1], MEAN_DELAYS[0])
    waits = generator.geometric(1.0 / (means + 1.0)) - 1
    return Game(domains.Ball(DIMENSION), losses.Linear(rows), delays.array(waits), capacity=CAPACITIES[0])


def play_plan(game: Game, seeds: int) -> Iterator[tuple[str, int | None, bool, Record]]:
    """Yield policy, capacity, whether it is unbiased, and DW-FTRL's record: for all of ``PLAN``, in its order."""
    learner = learners.DWFTRL(game.domain, rate=2.0 / sqrt(game.horizon + 2 * game.delays.total_delay))
    for capacity, name in PLAN:
        # Labels are given up after the time that the quick ones take on average.
        given = Conditions.of(game.delays, capacity or 1, patience=MEAN_DELAYS[0])
        scheduler = find_policy(name).make(given)
        record = simulate(replace(game, capacity=capacity), Player(learner, scheduler), seeds=seeds)
        yield name, capacity, scheduler.is_unbiased, record
