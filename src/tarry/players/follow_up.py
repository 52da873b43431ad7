"""The players of *Beyond Peak Backlog* (Xiang, Yang, Shen): **unreviewed, not in public records**.

For strongly convex losses this project proves a bound of its own (Theorem 5e); for convex ones nothing is proved.
"""

from __future__ import annotations

from math import log

from tarry.checks import as_int, as_positive
from tarry.domains.base import Domain
from tarry.errors import NotGranted
from tarry.game import Game
from tarry.learners import DWFTBL
from tarry.players.recommended import Recommendation, constants_of, spread_on
from tarry.rates import EnergyRadius, EnergyRate, Power
from tarry.schedulers import Bernoulli, DoublingBernoulli
from tarry.theory.bandits import energy_probability
from tarry.tracking import Doubling, Player

CLAIM = "unreviewed, not in public records: Xiang, Yang and Shen's claim (docs/theory.md"
PROVED = (
    "proved by this project (docs/theory.md, Theorem 5e, row 28), (4G²/λ)·sat on top, sat at most T·e^(−C) while the "
    "backlog keeps to its bound, and 0 if that is below C"
)
REFUSED = "no regret bound is proved: at a capacity below ln T a share of all rounds may be refused"


def beyond_peak_backlog(
    target: Domain | Game,
    *,
    horizon: int | None = None,
    capacity: int | None = None,
    gradient_bound: float | None = None,
    value_bound: float | None = None,
    strong_convexity: float | None = None,
    backlog: int | None = None,
    factor: float = 1.0,
) -> Recommendation:
    """Return a player for values with the rate of *Beyond Peak Backlog*: **unreviewed, not in public records**.

    Nothing is proved for convex losses. For strongly convex ones this project's Theorem 5e has a bound.

    Convex: epochs whenever the backlog passes 2^j max(1, ⌊C/8⌋) − 1, needs the horizon, acknowledgements and
    preemption. Strongly convex: η_t = 1/(λ(A+t)), δ_t = r(A/(A+t))^(1/3), A = (νk)²/p, needs ``backlog``, a bound.
    ``target`` is a domain, or a game, whose domain, constants, horizon and capacity are read but never its delays.
    ``factor`` is the constant of the convex radius, which the text leaves open.

    >>> from tarry.domains import Ball
    >>> game = dict(horizon=1000, capacity=16, gradient_bound=1.0, value_bound=1.0)
    >>> beyond_peak_backlog(Ball(3), **game).reason
    "conditional energy; unreviewed, not in public records: Xiang, Yang and Shen's claim (docs/theory.md, row 23)"
    """
    if isinstance(target, Game):
        if target.feedback != "value":
            raise NotGranted(f"this tuning is about value feedback, the game gives {target.feedback}")
        known = constants_of(target) | {"horizon": target.horizon, "capacity": target.capacity}
        return beyond_peak_backlog(target.domain, **known, backlog=backlog, factor=factor)
    steepest, spread = spread_on(target, gradient_bound, value_bound)
    if capacity is None:
        raise ValueError("the conditional-energy tuning speaks of a capacity: give capacity=…")
    slots = as_int(capacity, "capacity", 1)
    if strong_convexity is not None:
        if backlog is None:
            raise ValueError("for strongly convex losses this tuning needs a bound on the backlog: give backlog=…")
        p = energy_probability(backlog, capacity=slots)
        shift = spread**2 / p  # A, by which the rounds are counted from later on: no ln T in the T^(2/3) term
        learner = DWFTBL(
            target,
            rate=Power(1.0 / as_positive(strong_convexity, "strong_convexity"), 1.0, shift=shift),
            smoothing=Power(target.inner_radius * shift ** (1 / 3), 1 / 3, shift=shift),
        )
        player = Player(learner, Bernoulli(probability=p))
        if slots <= backlog and horizon is not None and slots < log(horizon):
            return Recommendation(player, f"rate 1/(λ(A+t)); {REFUSED}", is_proved=False)
        return Recommendation(player, f"rate 1/(λ(A+t)); {PROVED}", is_proved=True)
    if backlog is not None:
        raise ValueError(f"for convex losses this tuning guesses the backlog, got backlog={backlog}: leave it out")
    if horizon is None:
        raise ValueError("the conditional-energy tuning fixes its radius by the horizon: give horizon=…")
    smoothing = EnergyRadius(target.inner_radius, spread, slots, horizon, factor=factor)
    learner = DWFTBL(target, rate=EnergyRate(target.diameter, steepest, smoothing), smoothing=smoothing)
    # Below C/8 the coin is 1 whatever the guess: smaller ones would only cost restarts.
    player = Player(learner, DoublingBernoulli(), Doubling("backlog", unit=max(1, slots // 8)))
    return Recommendation(player, f"conditional energy; {CLAIM}, row 23)", is_proved=False)
