"""The players for finitely many actions under capacity: experts or arms, behind batches or proxy delays."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np

from tarry import schedulers, theory
from tarry.domains import Simplex
from tarry.game import Game
from tarry.learners import EntropicFTRL, Exp3, TsallisFTRL
from tarry.learners.base import warn_if_outside_unit_interval
from tarry.learners.doubts import Facts
from tarry.players.theorems import capacity_of
from tarry.tracking import Player

logger = logging.getLogger("tarry")

REGULARISERS = ("entropy", "hybrid")


class Moments(NamedTuple):
    """Σ(½E[w_t²] + Σ_{s∈B_t} E[w_t w_s]) and Σ E[w_t²], or bounds on them."""

    cost: float
    second: float


def finite_actions(game: Game, *, regulariser: str = "entropy") -> Player:
    """Experts (gradients) or arms (values) on the simplex, losses in [0, 1], at most C rounds tracked.

    Scheduler: the two-point coin where delays are disclosed; batches where all delays are equal, or nothing may be
    preempted, which take two slots if anything is late; else Pareto. Experts play exponential weights with the rate
    that is best for the scheduler's cost: regret at most ``theory.experts_bound``, of the order √((T + d_tot) ln K).
    Arms play Exp3, regret at most ``theory.arms_bound``; ``regulariser="hybrid"`` takes the source's own, Tsallis' and
    entropy (TsallisFTRL with the mean of E[w_t²] as its level), which saves the logarithm on K and is not proved here
    for weights; it needs acknowledgements. All plus the rounds that are refused, which batches have none of.

    Ryabchenko, Attias and Roy, Capacity-Constrained Online Learning with Delays (COLT 2025); the constants are this
    project's, from the paper's Pareto scheduler and from docs/methods.md.

    >>> import tarry
    >>> losses, delays = tarry.losses.Linear([[0.0, 1.0]] * 100), tarry.delays.fixed(horizon=100, delay=9)
    >>> finite_actions(tarry.Game(tarry.domains.Simplex(2), losses, delays, capacity=4)).scheduler
    Batching(max_delay=9)
    """
    if regulariser not in REGULARISERS:
        raise ValueError(f"regulariser must be one of {', '.join(map(repr, REGULARISERS))}, got {regulariser!r}")
    if not isinstance(game.domain, Simplex) or game.domain.scale != 1:
        raise ValueError(f"finitely many actions are the corners of Simplex(K), the game is on {game.domain!r}")
    scheduler = _scheduler(game)
    moments, actions = _moments(game, scheduler), game.dimension
    if game.feedback == "gradient":
        if regulariser == "hybrid":
            raise ValueError('regulariser="hybrid" is for arms (values); experts play exponential weights')
        # Learners of arms say it themselves.
        for doubt in warn_if_outside_unit_interval("finite_actions", Facts(game, scheduler)):
            logger.warning(doubt)
        return Player(EntropicFTRL(actions, theory.experts_rate(actions=actions, cost=moments.cost)), scheduler)
    if regulariser == "hybrid":
        return Player(TsallisFTRL(actions, level=moments.second / game.horizon), scheduler)
    total = game.delays.summary().total_delay
    rate = theory.arms_rate(actions=actions, second_moments=moments.second, total_delay=total)
    return Player(Exp3(actions, rate), scheduler)


def is_fixed(game: Game) -> bool:
    """Whether all delays are one, but for the end of the game."""
    values = np.asarray(game.delays.values)
    return bool(np.array_equal(values, np.minimum(values[0], np.arange(values.size)[::-1])))


def _scheduler(game: Game) -> Any:
    if game.information == "clairvoyant":
        return schedulers.Coin()
    late = game.delays.summary().max_delay
    has_room = game.capacity != 1 or late == 0
    if has_room and (is_fixed(game) or not game.preemption):
        return schedulers.Batching(late)
    if not game.preemption:
        raise ValueError(
            f"one slot that keeps its round for up to {late} more cannot take one of every batch: give the game a "
            'capacity of at least 2, preemption=True or information="clairvoyant"'
        )
    return schedulers.Pareto()


def _moments(game: Game, scheduler: Any) -> Moments:
    summary = game.delays.summary()
    sizes = {"horizon": game.horizon, "capacity": capacity_of(game)}
    if isinstance(scheduler, schedulers.Batching):
        late = {"max_delay": scheduler.max_delay}
        cost = theory.batching_cost(total_delay=summary.total_delay, is_fixed=is_fixed(game), **late, **sizes)
        return Moments(cost, theory.batching_second_moments(**late, **sizes))
    late = {"total_delay": summary.total_delay}
    return Moments(theory.pareto_cost(**late, **sizes), theory.pareto_second_moments(**late, **sizes))
