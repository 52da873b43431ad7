"""The players of theorems: convex and strongly convex losses, as printed or with tightened constants; finite actions.

They read the game's horizon, delays and constants, as the theorems do; :func:`tarry.players.recommended`
is for when these are not known.
"""

from __future__ import annotations

import logging
from math import log
from typing import Any, NamedTuple

import numpy as np

from tarry import schedulers, theory
from tarry.domains import Simplex
from tarry.errors import NotGranted
from tarry.game import Game
from tarry.game.problem import Facts
from tarry.learners import DWFTBL, DWFTRL, EntropicFTRL, Exp3, TsallisFTRL
from tarry.learners.base import warn_if_outside_unit_interval
from tarry.rates import inverse_time
from tarry.tracking import Player

logger = logging.getLogger("tarry")

TUNINGS = ("paper", "optimised")
SATURATION = 1e-3  # the share of rounds that may find no room, where the coin is calibrated
REGULARISERS = ("entropy", "hybrid")


def convex(game: Game, *, tuning: str = "paper", max_backlog: int | None = None) -> Player:
    """Convex losses, gradients: DW-FTRL with η = (D/G)/√(d_tot + T) and the Pareto scheduler.

    In the clairvoyant model the two-point coin takes Pareto's place; without preemption the coin, or Bernoulli if
    ``max_backlog`` is given, or Morris. ``tuning="optimised"`` takes the rate that minimises the scheduler's bound.
    """
    _check(game, "gradient", tuning)
    summary, capacity = game.delays.summary(), capacity_of(game)
    scheduler = _convex_scheduler(game, tuning, max_backlog)
    sizes = {"horizon": game.horizon, "total_delay": summary.total_delay}
    bounds = {"diameter": game.domain.diameter, "gradient_bound": _gradient_bound(game)}
    if tuning == "paper":
        rate = theory.convex_rate(**bounds, **sizes)
    elif isinstance(scheduler, schedulers.Morris):
        rate = theory.optimised_rate(**bounds, cost=theory.morris_cost(**sizes, epsilon=scheduler.epsilon))
    else:
        rate = theory.optimised_rate(**bounds, cost=theory.pareto_cost(**sizes, capacity=capacity))
    return Player(DWFTRL(game.domain, rate=rate), scheduler)


def strongly_convex(game: Game, *, tuning: str = "paper") -> Player:
    """Strongly convex losses, gradients: DW-FTRL with η_t = 1/(λt) and the Bernoulli scheduler."""
    _check(game, "gradient", tuning)
    return Player(DWFTRL(game.domain, rate=inverse_time(_curvature(game))), _coin(game, tuning))


def bandit_convex(game: Game, *, tuning: str = "paper") -> Player:
    """Convex losses, values: DW-FTBL with the theorem's rates and radii, and the Bernoulli scheduler.

    Only the scheduler is tightened by ``tuning="optimised"``.
    """
    _check(game, "value", tuning)
    t, crowd = _rounds(game), _crowd(game)
    rate = theory.bandit_convex_rate(
        t, diameter=game.domain.diameter, gradient_bound=_gradient_bound(game), spread=_spread(game), **crowd
    )
    smoothing = theory.bandit_convex_smoothing(t, spread=_spread(game), inner_radius=game.domain.inner_radius, **crowd)
    return Player(DWFTBL(game.domain, rate=rate, smoothing=smoothing), _coin(game, tuning))


def bandit_strongly_convex(game: Game, *, tuning: str = "paper") -> Player:
    """Strongly convex losses, values: DW-FTBL with η_t = 1/(λt), the theorem's radii, and Bernoulli."""
    _check(game, "value", tuning)
    smoothing = theory.bandit_strongly_convex_smoothing(
        _rounds(game), spread=_spread(game), inner_radius=game.domain.inner_radius, **_crowd(game)
    )
    learner = DWFTBL(game.domain, rate=inverse_time(_curvature(game)), smoothing=smoothing)
    return Player(learner, _coin(game, tuning))


def _convex_scheduler(game: Game, tuning: str, max_backlog: int | None) -> Any:
    capacity = capacity_of(game)
    if game.information == "clairvoyant":
        return schedulers.Coin()
    if game.preemption:
        return (
            schedulers.Pareto() if tuning == "paper" else schedulers.Pareto.calibrated(capacity, saturation=SATURATION)
        )
    if max_backlog is not None:
        return schedulers.Bernoulli(max_backlog=max_backlog)
    return schedulers.Morris(log(game.horizon + game.delays.summary().total_delay) / capacity)


def _coin(game: Game, tuning: str) -> Any:
    peak, capacity = game.delays.summary().max_backlog, capacity_of(game)
    if tuning == "paper":
        return schedulers.Bernoulli(max_backlog=peak)
    return schedulers.Bernoulli.calibrated(peak, capacity, saturation=SATURATION)


def _crowd(game: Game) -> dict[str, int]:
    return {"max_backlog": game.delays.summary().max_backlog, "capacity": capacity_of(game)}


def _check(game: Game, feedback: str, tuning: str) -> None:
    if tuning not in TUNINGS:
        raise ValueError(f"tuning must be one of {', '.join(map(repr, TUNINGS))}, got {tuning!r}")
    if game.feedback != feedback:
        raise NotGranted(f"this theorem is about {feedback} feedback, the game gives {game.feedback}")


def capacity_of(game: Game) -> int:
    """The game's capacity, which theorems speak of, or a sentence asking for it."""
    if game.capacity is None:
        raise ValueError("the theorems speak of a capacity, the game has none: give capacity=…")
    return game.capacity


def _gradient_bound(game: Game) -> float:
    return theory_number(game.gradient_bound, "gradient_bound")


def _curvature(game: Game) -> float:
    if not game.losses.strong_convexity > 0:
        raise ValueError("the losses are not strongly convex: add ridge=…, or use the convex player")
    return float(game.losses.strong_convexity)


def _rounds(game: Game) -> np.ndarray:
    """Return 1, 2, …, T as floats."""
    return np.arange(1.0, game.horizon + 1.0)


def _spread(game: Game) -> float:
    return theory.spread_of(
        value_bound=theory_number(game.losses.value_bound(game.domain), "value_bound"),
        gradient_bound=_gradient_bound(game),
        inner_radius=game.domain.inner_radius,
        dimension=game.dimension,
    )


def theory_number(value: float, name: str) -> float:
    """A finite constant of the losses, or a sentence asking for it."""
    if not 0 < value < float("inf"):
        raise ValueError(f"the theorem needs the losses' {name}, which is {value}: give it to the losses")
    return float(value)


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
