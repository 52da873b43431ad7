"""Heavy-tailed delays: whole parts of Lomax (shifted Pareto) variables."""

from __future__ import annotations

from math import expm1, log
from typing import Any, Self

import numpy as np

from tarry.checks import as_positive
from tarry.delays.base import as_horizon
from tarry.delays.generated import Generated, uncut, whole_rounds
from tarry.kernel import Parameters, Purpose, keyed, make_key, make_seed

# exp of more is near the end of the floats and far past any delay.
_STEEPEST = 700.0


class Pareto(Parameters, Generated, init=False):
    """Independent delays ⌊scale · L⌋, P(L > x) = (1 + x)^(−shape); the mean is infinite for shape ≤ 1."""

    horizon: int
    shape: float
    scale: float
    key: np.uint64

    def __new__(cls, horizon: int, shape: float, scale: float, rng: Any = None) -> Self:
        return cls.make(
            as_horizon(horizon),
            as_positive(shape, "shape"),
            as_positive(scale, "scale"),
            make_key(make_seed(rng), Purpose.DELAYS),
        )


@uncut.on(Pareto)
def _uncut(delays: Any, t: Any) -> Any:
    steepness = -log(keyed.uniform(delays.key, t)) / delays.shape
    return whole_rounds(delays.scale * expm1(min(steepness, _STEEPEST)))


def pareto(*, horizon: int, shape: float, scale: float, rng: Any = None) -> Pareto:
    """Heavy-tailed delays ⌊scale · Lomax(shape)⌋, Lomax(a) = (1 − U)^(−1/a) − 1 with U uniform on [0, 1).

    P(d ≥ j) = (1 + j/scale)^(−shape) for whole j; ``shape > 0`` and ``scale > 0``. Draws past 2**62
    are clipped there before the cut to the horizon.

    >>> delays = pareto(horizon=100_000, shape=0.9, scale=20, rng=1)
    >>> int(np.median(delays.values)), delays.truncated
    (23, 265)
    """
    return Pareto(horizon, shape, scale, rng)
