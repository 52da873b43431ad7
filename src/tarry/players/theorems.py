"""The players of the paper's two main theorems, as printed or with tightened constants.

They read the game's horizon, delays and constants, as the theorems do; :func:`tarry.players.recommended`
is for when these are not known.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from tarry import schedulers, theory
from tarry.errors import NotGranted
from tarry.game import Game
from tarry.learners import DWFTBL, DWFTRL, inverse_time
from tarry.tracking import Player

TUNINGS = ("paper", "optimised")
SATURATION = 1e-3


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
    return theory_number(game.losses.gradient_bound(game.domain), "gradient_bound")


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
