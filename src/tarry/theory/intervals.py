"""What weighted labels tell about the mean of all: by one look, and how far VarOpt's sums may stray at every time.

**One look** (:func:`mean_interval`). Rows have masses m, weight times size, and values z between ``low`` and ``high``,
for each unit of size. Those not heard have the rest of all mass and may be anything. So the mean over all is no less
than with every one of them at ``low``, no more than with them at ``high``: two samples of the whole, nothing missing.
Values between 0 and 1 of mean p have the variance p(1 − p) − κ, κ the mean of z(1 − z): nothing for labels of 0 and 1.
With n = (Σm)²/Σm², and f and v the mean and variance observed, the lower end is the p that solves

    f − ½/n − p = c √((p(1 − p) − κ)/n),    κ = (f(1 − f) − v)·n/(n + c²),

half a label and c standard errors away. Here κ is over the labels and c² more that lie at the ends of the range, so
that equal labels leave a width. For labels of 0 and 1 it is Wilson's interval, corrected for continuity.

**Every time.** Let W_s(n) be the weight of round s after the draw of round n, frozen when s arrives, and φ_s numbers
between ``low`` and ``high``, R = high − low. Then M_n = Σ_{s≤n} (W_s(n) − 1) φ_s is a martingale that moves at
overflows only. An overflow at threshold θ loses one candidate I, namely i with probability p_i = 1 − min(1, W_i/θ).
These add up to 1, so

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

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The grid of λ, all of one weight. One is best at Λ near 13/λ²: these are for Λ from 200 to 2·10¹¹, and hold always.
_SLOPES = 2.0 ** -np.arange(2.0, 18.0)
_STEPS = 12  # of Newton's method, mostly five; it comes from above, so that each step gives a bound
_CLOSE = 1e-12  # relative, to the solution
ROUNDING = 1e-12  # relative, of a label for each unit of size: a quotient


class Sample(NamedTuple):
    """Labels that were heard: Σm, Σwy, Σm², the mean of z under the weights m², and Σm²(z − that mean)²; see above.

    A label y of weight w and size b has m = wb and z = y/b.
    """

    mass: float
    weighted: float
    squares: float
    centre: float
    spread: float

    @property
    def mean(self) -> float:
        """Σwy/Σm, NaN before the first label."""
        return self.weighted / self.mass if self.mass else nan

    @property
    def effective(self) -> float:
        """The effective sample size (Σm)²/Σm²."""
        return self.mass * self.mass / self.squares if self.squares else 0.0

    @property
    def error(self) -> float:
        """The standard error √(Σm²(z − mean)²)/Σm."""
        return sqrt(self.spread + self.squares * (self.centre - self.mean) ** 2) / self.mass


def mean_interval(
    sample: Sample, unheard: float, heaviest: float, level: float, low: float, high: float
) -> tuple[float, float]:
    """Return bounds on the mean value of all rows, where those of mass ``unheard`` may be anything from low to high.

    ``heaviest`` is the largest mass that an unheard row may have: the fewer they are, the less sure is their share,
    which is drawn like everything else. The interval lies between ``low`` and ``high`` and is never without width.

    >>> ones = Sample(mass=620.0, weighted=620.0, squares=12_400.0, centre=1.0, spread=0.0)  # 31 rows
    >>> [round(end, 3) for end in mean_interval(ones, 1380.0, 20.0, 0.95, 0.0, 1.0)]
    [0.223, 1.0]
    >>> [round(end, 3) for end in mean_interval(ones, 0.0, 20.0, 0.95, 0.0, 1.0)]
    [0.863, 1.0]
    """
    mirrored = sample._replace(weighted=-sample.weighted, centre=-sample.centre)
    return (
        _lower_end(sample, unheard, heaviest, level, low, high),
        -_lower_end(mirrored, unheard, heaviest, level, -high, -low),
    )


def _lower_end(sample: Sample, unheard: float, heaviest: float, level: float, low: float, high: float) -> float:
    """Return the lower end, where what is not heard is ``low``."""
    if not sample.squares > 0.0:  # nothing was heard, or its squares were not kept
        return low
    length, total = high - low, sample.mass + unheard
    rest = unheard * max(heaviest, sample.squares / sample.mass)
    squares = sample.squares + rest
    share = min(1.0, max(0.0, (sample.weighted - low * sample.mass) / (length * total)))
    away = sample.spread / length**2 + sample.squares * ((sample.centre - low) / length - share) ** 2
    return low + length * least_share(share, (away + rest * share**2) / squares, total * total / squares, level)


def least_share(share: float, variance: float, labels: float, level: float) -> float:
    """Return the lower end of the interval for the mean of numbers between 0 and 1, from what was observed.

    >>> round(least_share(0.7, 0.7 * 0.3, 10, 0.95), 4)  # seven of ten: as scipy.stats has it, "wilsoncc"
    0.3537
    """
    from statistics import NormalDist

    c = NormalDist().inv_cdf((1.0 + level) / 2.0)
    start = max(0.0, share - 0.5 / labels)
    variance = max(0.0, variance + (share - start) * (share + start - 1.0))  # of 0 and 1: start·(1 − start)
    off = c * sqrt(labels * variance + 0.25 * c * c)
    return max(0.0, (labels * start + 0.5 * c * c - off) / (labels + c * c))


def student_interval(sample: Sample, labels: int, level: float) -> tuple[float, float]:
    """Return Student's interval for the mean value of labels like those heard, whatever their range.

    Of fewer than two labels, and of equal ones, nothing is known (NaN): they do not show how far others may lie away.

    >>> [round(end, 3) for end in student_interval(Sample(3.0, 6.0, 3.0, 2.0, 2.0), 3, 0.95)]  # 1, 2 and 3
    [-0.484, 4.484]
    """
    n = sample.effective
    if labels < 2 or not n > 1.0 or sqrt(sample.spread / sample.squares) <= ROUNDING * abs(sample.centre):
        return nan, nan
    from scipy.special import stdtrit  # takes longer than all the rest

    reach = float(stdtrit(n - 1.0, (1.0 + level) / 2.0)) * sample.error * sqrt(n / (n - 1.0))
    return sample.mean - reach, sample.mean + reach


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
    is_bounded = np.isfinite(bound)  # elsewhere the threshold is beyond the grid
    bounds_left, costs = bound[is_bounded], costs[is_bounded]
    for _ in range(_STEPS):
        exponents = lambdas * bounds_left[:, None] - costs
        top = exponents.max(axis=-1)
        parts = np.exp(exponents - top[:, None])
        whole = parts.sum(axis=-1)
        gain = (top + np.log(whole) - goal) * whole / (parts * lambdas).sum(axis=-1)
        bounds_left = bounds_left - gain
        if np.all(gain <= _CLOSE * bounds_left):
            break
    reach = np.full_like(bound, np.inf)
    reach[is_bounded] = bounds_left
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
