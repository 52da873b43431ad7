"""Certificates from the books: inequality (A′) or (A) for gradients, (B) for values (docs/theory.md, section 3).

Both hold for all weights, so they hold with those of the rounds that have arrived and zero for the rest:

    (A′)  D² Σ_epochs 1/(2η) + Σ_v (½ η_v M_v² + η_v M_v Σ_{s≤v<a(s)} m_s),  m_s = w_s|g_s|, or w_s b_s G
    (A)   D² Σ_epochs 1/(2η) + Σ_t η_{t−1} (½ m_t² + m_t Σ_{s∈B_t} m_s)
    (B)   D² Σ_epochs 1/(2η) + ½ Σ_t η_{t−1} (w_t k f_t/δ_t)²               |f_t|, or M
          + kMG √(Σ_t c_t · Σ_t c_t q_t) + G² Σ_t η_{t−1} w_t Σ_{s∈B_t} w_s + (β/r) Σ_t w_t δ_t

M_v sums the m_s that arrive in round v, and a(s) is when s arrives: (A′) adds up in the order of arrival, O(1) each,
and is never above (A). It needs steps of at most η_v|c_v|, as those of DW-FTRL are. With entropy the play moves with
the rate as well, so (A) is kept for it unless its rate is one number.

In (B) c_t = η_{t−1} w_t/δ_t and q_t = Σ_{s∈B_t} w_s². The root is at least (B)'s own Σ c_t √q_t, which cannot be kept
in bounded memory: a q_t may grow long after t has arrived. β is 3GD, or 10G²/λ. Observed values will not do in the
root, since a root's mean is below the root of the mean.

For η_t = 1/(λt) and losses as strongly convex, D² Σ 1/(2η) gives way to the first sum Σ_t ½λ(1 − w_t)|x_t − u|² over
the rounds played, which depends on u. It is left out of the bound; it is at most ½λD² Σ_t (1 − w_t)₊ = D² Σ 1/(2η) −
½λD² Σ min(w_t, 1), the second sum over what has arrived.
"""

from __future__ import annotations

from math import inf, isfinite, isnan, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.learners.base import VALUE, closing_rate
from tarry.learners.norms import diameter_in
from tarry.outcomes import Certificate, Fate
from tarry.rates import Constant, Power
from tarry.tracking import tally
from tarry.tracking.player import Player, State
from tarry.tracking.tally import BY_ARRIVAL, LONGEST, OBSERVED, PLAIN

Array = NDArray[np.float64]
_SLACK = 1e-9  # of a size above its bound: rounding


class Terms(NamedTuple):
    """The constants of a certificate; bounds are inf where none is given."""

    diameter: float
    gradient_bound: float
    value_bound: float
    strong_convexity: float  # λ of the rate 1/(λt), 0 for other rates
    inner_radius: float  # r, 0 for gradients
    dimension: int
    restarts: bool  # whether epochs drop what is pending
    by_arrival: bool  # (A′) in place of (A)

    @property
    def level(self) -> float:
        """The bound on the size of feedback, inf where sizes are observed."""
        return self.value_bound if self.inner_radius else self.gradient_bound

    @property
    def certify(self) -> int:
        """What the books must keep."""
        return PLAIN + OBSERVED * (not isfinite(self.level)) + BY_ARRIVAL * self.by_arrival


def terms_of(
    learner: Any,
    *,
    gradient_bound: float = inf,
    value_bound: float = inf,
    strong_convexity: float = inf,
    restarts: bool = False,
    withholds: bool = False,
) -> Terms | None:
    """Return the constants for a learner, None where neither (A) nor (B) speaks of the learner.

    ``strong_convexity`` is that of the losses: below λ the rate 1/(λt) counts as any other. Where the scheduler
    ``withholds`` feedback, what has arrived is not what the learner has heard, and (A) stands.
    """
    traits = ("norm", "rate") if learner.feedback != VALUE else ("norm", "rate", "inner_radius", "smoothing")
    if any(getattr(learner, name) is None for name in traits):
        return None
    rate, curvature = learner.rate, 0.0
    if learner.norm.is_quadratic and isinstance(rate, Power) and rate.exponent == 1.0:
        curvature = 1.0 / rate.scale if rate.cap >= rate.scale else 0.0  # a lower cap would bend 1/(λt)
    moves_with_feedback = learner.norm.is_quadratic or isinstance(rate, Constant)  # alone, not with the rate
    return Terms(
        diameter=float(diameter_in(learner.norm, learner.domain)),
        gradient_bound=float(gradient_bound),
        value_bound=float(value_bound) if learner.feedback == VALUE else inf,
        strong_convexity=curvature if strong_convexity >= curvature * (1 - _SLACK) else 0.0,
        inner_radius=float(learner.inner_radius) if learner.feedback == VALUE else 0.0,
        dimension=int(learner.dimension),
        restarts=restarts,
        by_arrival=not withholds and learner.feedback != VALUE and moves_with_feedback,
    )


def parts_of(terms: Terms, sums: Array, rate: Any) -> tuple[Array, Array, Array, Array, Array]:
    """Return a Certificate's parts, regularisation to omitted curvature, for rows of sums and the closing rates."""
    steep = terms.gradient_bound if isfinite(terms.gradient_bound) else nan
    flat = np.zeros(sums.shape[:-1])
    # Where feedback was larger than its bound, the bound was none.
    level = np.where(_exceeded(terms, sums[..., LONGEST]), nan, terms.level)
    square = 1.0 if terms.certify & OBSERVED else level**2
    spread, omitted = terms.diameter**2 * (sums[..., tally.CLOSED_EPOCHS] + 0.5 / np.asarray(rate)), flat
    if terms.strong_convexity:
        heard = 0.5 * terms.strong_convexity * terms.diameter**2 * sums[..., tally.CAPPED]
        spread, omitted = flat, np.maximum(0.0, spread - heard)
    squares, overlaps = sums[..., tally.SQUARES], sums[..., tally.OVERLAPS]
    if terms.by_arrival:  # the last round is closed here, as if the game ended with it
        squares = squares + np.asarray(rate) * sums[..., tally.NEWS] ** 2
    if not terms.inner_radius:
        return spread, 0.5 * square * squares, square * overlaps, flat, omitted
    k, r, most = terms.dimension, terms.inner_radius, nan if terms.certify & OBSERVED else level
    lengths = np.sqrt(sums[..., tally.INVERSE_RADII] * sums[..., tally.RADIUS_OVERLAPS])
    drift = 10.0 * steep / terms.strong_convexity if terms.strong_convexity else 3.0 * terms.diameter
    overlap = k * most * steep * lengths + steep**2 * overlaps
    return spread, 0.5 * k**2 * square * squares, overlap, steep * drift / r * sums[..., tally.RADII], omitted


def bounds_at(terms: Terms, sums: Array, rates: Array) -> Array:
    """Return the bound for each row of sums, added in the order in which a Certificate adds."""
    regularisation, variance, overlap, smoothing, _ = parts_of(terms, sums, rates)
    return regularisation + variance + overlap + smoothing


def certificates(
    terms: Terms, sums: Array, rates: Array, rounds: ArrayLike, *, sized: bool = False
) -> list[Certificate]:
    """Return the certificate of each row of sums, of so many used arrivals; ``sized`` where rounds have sizes."""
    columns = (np.asarray(part, float).tolist() for part in parts_of(terms, sums, rates))
    known = (
        "value" if terms.inner_radius else "gradient",
        terms.gradient_bound if isfinite(terms.gradient_bound) else None,
        terms.value_bound if isfinite(terms.value_bound) else None,
    )
    return [
        Certificate._make((*row, *known, _holds(terms, longest), _caveat(terms, longest, sized)))
        for *row, longest in zip(np.asarray(rounds).tolist(), *columns, sums[:, LONGEST].tolist(), strict=True)
    ]


def certificate_now(player: Player, state: State, terms: Terms | None, t: int) -> Certificate | None:
    """Return the certificate after round t; None before the first round and without terms."""
    if terms is None or t == 0:
        return None
    rate, books = float(closing_rate(player.learner, state.learner, t)), state.tally
    used, sized = books.fates[[Fate.USED]], tally.is_sized(books)
    return certificates(terms, books.sums[np.newaxis], np.array([rate]), used, sized=sized)[0]


def bound_warnings(terms: Terms | None, books: tally.Tally) -> tuple[str, ...]:
    """Return a sentence if feedback was larger than its bound."""
    longest = float(books.sums[LONGEST])
    if terms is None or not _exceeded(terms, longest):
        return ()
    return (_caveat(terms, longest, tally.is_sized(books)),)


def _exceeded(terms: Terms, longest: Any) -> Any:
    return longest > terms.level * (1 + _SLACK)


def _holds(terms: Terms, longest: float) -> str:
    if _exceeded(terms, longest) or isnan(terms.diameter):
        return "nothing is certified"
    where = "in expectation over the directions, at a round fixed in advance"
    if not terms.strong_convexity:
        return where if terms.inner_radius else "on every path"
    play, extent = ("y_t", where) if terms.inner_radius else ("x_t", "no bound on one path")
    dropped = ", but a round that a restart dropped adds up to ½λD² to it" if terms.restarts else ""
    return (
        f"second sum only, {extent}: for losses strongly convex with λ = {terms.strong_convexity:.6g} the first, "
        f"Σ ½(α_t − λw_t)|{play} − u|² over the rounds played, is left out (omitted_curvature is the most it can be); "
        f"its mean is zero for unbiased weights once all rounds are settled{dropped}"
    )


def _caveat(terms: Terms, longest: float, sized: bool) -> str:
    name = "value" if terms.inner_radius else "gradient"
    if _exceeded(terms, longest):
        each = " for each unit of its round's size" if sized and not terms.inner_radius else ""
        return (
            f"a {name} of size {longest:.6g}{each} came, above {name}_bound={terms.level:.6g}, "
            "so nothing is certified: give a larger bound, or none"
        )
    if isnan(terms.diameter):
        return "the learner's norm tells neither the diameter nor sizes: register diameter_in and dual_size for it"
    unknown = {"gradient_bound": terms.gradient_bound, "value_bound": terms.value_bound}
    missing = [name for name, bound in unknown.items() if not isfinite(bound)]
    if not (terms.inner_radius and missing):
        return ""
    parts = "overlap and smoothing are" if "gradient_bound" in missing else "overlap is"
    return f"{parts} unknown without {' and '.join(missing)}: give them to the session, or state them with the losses"
