"""Log-normal delays: many short ones, some very long ones, all moments finite."""

from __future__ import annotations

from math import cos, exp, log, pi, sqrt
from typing import Any, Self

import numpy as np

from tarry.checks import as_positive
from tarry.delays.base import as_horizon
from tarry.delays.generated import Generated, uncut, whole_rounds
from tarry.kernel import Parameters, Purpose, keyed, make_key, make_seed

# exp of more is near the end of the floats and far past any delay.
_STEEPEST = 700.0


class Lognormal(Parameters, Generated, init=False):
    """Independent delays ⌊median · exp(spread · Z)⌋ with Z standard normal."""

    horizon: int
    median: float
    spread: float
    key: np.uint64

    def __new__(cls, horizon: int, median: float, spread: float, rng: Any = None) -> Self:
        return cls.make(
            as_horizon(horizon),
            as_positive(median, "median"),
            as_positive(spread, "spread"),
            make_key(make_seed(rng), Purpose.DELAYS),
        )


@uncut.on(Lognormal)
def _uncut(delays: Any, t: Any) -> Any:
    radius = sqrt(-2.0 * log(keyed.uniform_at(delays.key, t, 0)))
    z = radius * cos(2.0 * pi * keyed.uniform_at(delays.key, t, 1))
    return whole_rounds(delays.median * exp(min(delays.spread * z, _STEEPEST)))


def lognormal(*, horizon: int, median: float, spread: float, rng: Any = None) -> Lognormal:
    """Delays ⌊median · exp(spread · Z)⌋, Z standard normal; ``median > 0`` rounds, ``spread > 0``.

    Before rounding down the mean is median · exp(spread²/2).

    >>> delays = lognormal(horizon=10_000, median=30, spread=1.0, rng=1)
    >>> int(np.median(delays.values))
    29
    """
    return Lognormal(horizon, median, spread, rng)
