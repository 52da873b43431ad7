"""Tunings, bounds and orders of the methods that see values only, for :mod:`tests.oracles.methods`.

k dimensions, M the largest value, r and R the radii inside and around, δ the smoothing, z = kM/(Gδ), β = (2 + R/r)G;
orders are those of the unit disc.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log, sqrt
from typing import Any

import numpy as np

from tarry.game import Record
from tarry.learners import DWFTBL
from tarry.learners.from_values import Scales, scales_of
from tarry.rates import BanditRadius, BanditRate
from tests.oracles import theory
from tests.oracles.methods.stated import curve, shared_logarithm, steepness, waited

Bound = Callable[[Any, Record], float]


def sizes(game: Any) -> Scales:
    """k, r, R, G, M, T."""
    return scales_of(game.domain, steepness(game), game.horizon, game.losses.value_bound(game.domain))


def known(game: Any) -> tuple[Any, float, float, int]:
    """What tunings from one value ask for: the domain, G, M, T."""
    return game.domain, steepness(game), float(game.losses.value_bound(game.domain)), game.horizon


def per_length(stepwise: Callable[[float, Any], float]) -> Bound:
    """GR√(…) + βδT, the root's argument by z and the game; for learners with one δ."""

    def bound(game: Any, record: Record) -> float:
        of, delta = sizes(game), record.player.learner.smoothing
        return float(of.gradient * of.outer * sqrt(stepwise(of.length(delta), game)) + of.bias * delta * of.rounds)

    return bound


def of_flaxman(game: Any, record: Record) -> float:
    """2T^(3/4) √(3RkM(G + M/r))."""
    k, inner, outer, gradient, value, rounds = sizes(game)
    return float(2 * rounds**0.75 * sqrt(3 * outer * k * value * (gradient + value / inner)))


of_bistritz = per_length(lambda z, game: z * z * game.horizon + 2 * z * game.delays.total_delay)
of_ryabchenko = per_length(lambda z, game: 2 * z * z * game.horizon + 3 * game.delays.total_delay)
of_blocks = per_length(lambda z, game: 2 * game.horizon * (3 * ceil(z * z) + 2 * game.delays.max_delay))
of_differences = per_length(lambda z, game: waited(game, 2))
"""For linear losses."""


def variance(game: Any) -> float:
    """v = k²/max(1, k − 1), a bound on the mean square of two-point estimates over G²."""
    return float(game.dimension**2 / max(1, game.dimension - 1))


def of_two_points(game: Any, record: Record) -> float:
    """GR√(vT + 2√v·d) + GR."""
    of, square = sizes(game), variance(game)
    late = 2 * sqrt(square) * game.delays.total_delay
    return float(of.gradient * of.outer * (sqrt(square * game.horizon + late) + 1))


def of_two_curved_points(game: Any, record: Record) -> float:
    """(vG²/(2λ))(1 + ln T) + (2r + R)G ln T."""
    of, size = sizes(game), log(game.horizon)
    own = variance(game) * of.gradient**2 / (2 * curve(game)) * (1 + size)
    return float(own + (2 * of.inner + of.outer) * of.gradient * size)


def of_unlimited(game: Any, record: Record) -> float:
    """GD√(6(Tz² + d)) + 3GDTδ/r."""
    of, delta = sizes(game), record.player.learner.smoothing.value
    energy = of.rounds * of.length(delta) ** 2 + game.delays.total_delay
    return float(of.gradient * game.domain.diameter * (sqrt(6 * energy) + 3 * of.rounds * delta / of.inner))


def explored(horizon: float, length: float) -> float:
    """√k T^(3/4) + √d."""
    return float(sqrt(2) * horizon**0.75 + sqrt(horizon * (length - 1) / 2))


def explored_by_cubes(horizon: float, length: float) -> float:
    """√k T^(3/4) + (k·d/T)^(1/3) T^(2/3)."""
    return float(sqrt(2) * horizon**0.75 + (length - 1) ** (1 / 3) * horizon ** (2 / 3))


def explored_in_blocks(horizon: float, length: float) -> float:
    """√k T^(3/4) + √(T·max delay)."""
    return float(sqrt(2) * horizon**0.75 + sqrt(horizon * (length - 1)))


def explored_on_curves(horizon: float, length: float) -> float:
    """(kT)^(2/3) ln^(1/3) T + n(1 + ln(T/n)), which is below max delay·ln T for long blocks."""
    return float((2 * horizon) ** (2 / 3) * log(horizon) ** (1 / 3) + shared_logarithm(horizon, length))


def spread_in(game: Any) -> float:
    """νk = kM/(Gr)."""
    return theory.spread_of(
        value_bound=game.losses.value_bound(game.domain),
        gradient_bound=steepness(game),
        inner_radius=game.domain.inner_radius,
        dimension=game.dimension,
    )


def steady_bandit(game: Any) -> DWFTBL:
    """DW-FTBL from one end, with a constant radius r/25 and the rate that is best for it, where nothing is late."""
    radius = game.domain.inner_radius / 25
    length = game.dimension * game.losses.value_bound(game.domain) / radius
    rate = game.domain.diameter / (length * sqrt(game.horizon))
    return DWFTBL(game.domain, rate, radius, start=game.domain.linear_minimiser(np.ones(game.dimension)))


def of_steady_bandit(game: Any, record: Record) -> float:
    """Theorem 5 for constant rate and radius, where nothing is late."""
    rate, even = steady_bandit(game).rate.value, np.ones(game.horizon)
    spread = spread_in(game)
    return theory.expected_bandit_bound(
        diameter=game.domain.diameter,
        gradient_bound=steepness(game),
        spread=spread,
        rates=rate * even,
        ratios=even / 25,
        moments=even,
        crosses=0 * even,
        backlogs=game.delays.backlog(),
    )


def anytime_bandit(game: Any) -> DWFTBL:
    """DW-FTBL that follows the observed backlog, unit weights."""
    spread = spread_in(game)
    rate = BanditRate(game.domain.diameter, steepness(game), spread, 1.0)
    return DWFTBL(game.domain, rate, BanditRadius(game.domain.inner_radius, spread, 1.0))


def of_anytime_bandit(game: Any, record: Record) -> float:
    """GD[2.45√d + 6√(νk)T^(3/4)], Theorem 5 (b) for unit weights."""
    return theory.bandit_bound(
        diameter=game.domain.diameter,
        gradient_bound=steepness(game),
        spread=spread_in(game),
        level=1.0,
        horizon=game.horizon,
        total_delay=game.delays.total_delay,
        anytime=True,
    )
