"""How far VarOpt's weighted sums may stray, at every time at once, from what is observed alone.

Let W_s(n) be the weight of round s after the draw of round n, frozen when s arrives, and φ_s numbers between ``low``
and ``high``, R = high − low. Then M_n = Σ_{s≤n} (W_s(n) − 1) φ_s is a martingale that moves at overflows only. An
overflow at threshold θ loses one candidate I, namely i with probability p_i = 1 − min(1, W_i/θ). These add up to 1, so

    M_n − M_{n−1} = θ (Σ p_i φ_i − φ_I),

θ times a centred draw, of size at most θR. The newcomer has p = 1 − 1/θ, so the variance is at most R²·v(θ) with

    v(θ) = θ²/4 for θ ≤ 2,    v(θ) = θ − 1 beyond,

which one slot and two different numbers attain. Where rounds have sizes, let φ_s/b_s lie between ``low`` and ``high``.
The same holds with φ/b on the right, and v = θ²/4 for θ ≤ 2b, b(θ − b) beyond, b the newcomer's size.

Let Λ_n = Σ v(θ) over the overflows so far and θ_n the largest θ. By Bernstein's inequality exp(λM_n/R − ½λ²Λ_n/(1 −
λθ_n/3)) is below a supermartingale of mean 1 while λθ_n < 3; where not, 0 is. So is its mean over a fixed grid of λ,
which with probability 1 − α never reaches 1/α (Ville). Mixtures of this kind: Howard, Ramdas, McAuliffe and Sekhon,
Annals of Statistics 49(2), 2021.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The grid of λ, all of one weight. One is best at Λ near 13/λ²: these are for Λ from 200 to 2·10¹¹, and hold always.
_SLOPES = 2.0 ** -np.arange(2.0, 18.0)
_STEPS = 12  # of Newton's method, mostly five; it comes from above, so that each step gives a bound
_CLOSE = 1e-12  # relative, to the solution
ROUNDING = 1e-12  # relative, of a label for each unit of size: a quotient


class Heard(NamedTuple):
    """What the numbers heard of so far come to: Σb, which is how many they are without sizes, Σφ, Σwb and Σwφ."""

    labels: float
    plain: float
    weight: float
    weighted: float


def deviation(variance: ArrayLike, threshold: ArrayLike, level: float = 0.95, unit: float = 1.0) -> NDArray[np.float64]:
    """Return u such that |M_n| ≤ u·R for all n at once, with probability ``level``; an entry for each Λ_n and θ_n.

    ``unit``, known before the first draw, is what the grid of λ is laid out for; only sharpness hangs on it.

    >>> deviation([0.0, 100.0, 10_000.0], 8.0).round(1).tolist()
    [0.0, 57.9, 370.6]
    """
    lambdas, total = _SLOPES / unit, np.asarray(variance, dtype=float)
    room = 1.0 - np.asarray(threshold, dtype=float)[..., None] * lambdas / 3.0
    with np.errstate(divide="ignore"):
        costs = np.where(room > 0.0, 0.5 * lambdas**2 * total[..., None] / room, np.inf)
    goal = np.log(2.0 * lambdas.size / (1.0 - level))  # the two sides share what may go wrong
    bound = ((goal + costs) / lambdas).min(axis=-1)  # the best of the lines alone
    known = np.isfinite(bound)  # elsewhere the threshold is beyond the grid
    found, costs = bound[known], costs[known]
    for _ in range(_STEPS):
        exponents = lambdas * found[:, None] - costs
        top = exponents.max(axis=-1)
        parts = np.exp(exponents - top[:, None])
        whole = parts.sum(axis=-1)
        gain = (top + np.log(whole) - goal) * whole / (parts * lambdas).sum(axis=-1)
        found = found - gain
        if np.all(gain <= _CLOSE * found):
            break
    reach = np.full_like(bound, np.inf)
    reach[known] = found
    return np.where(total > 0.0, reach, 0.0)


def sum_interval(heard: Heard, rounds: float, reach: float, low: float, high: float) -> tuple[float, float]:
    """Return bounds on Σφ over all rounds so far, whose sizes sum to ``rounds``; ``reach`` is :func:`deviation`.

    Weight that has not arrived belongs to rounds that are awaited or ended unheard. Their numbers are only known to lie
    between ``low`` and ``high``, for each unit of size.

    >>> sum_interval(Heard(labels=2, plain=1.0, weight=6.0, weighted=4.0), 10, 0.5, 0.0, 1.0)
    (3.5, 8.5)
    """
    unheard, off = max(0.0, rounds - heard.weight), reach * (high - low)
    lower, upper = heard.weighted + low * unheard - off, heard.weighted + high * unheard + off
    rest = rounds - heard.labels  # what is sure whatever was drawn
    return max(lower, heard.plain + low * rest), min(upper, heard.plain + high * rest)
