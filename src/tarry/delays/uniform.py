"""Delays drawn evenly from a range."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tarry.checks import as_int
from tarry.delays.base import as_horizon
from tarry.delays.generated import Generated, uncut, whole_rounds
from tarry.kernel import Parameters, Purpose, keyed, make_key, make_seed


class Uniform(Parameters, Generated, init=False):
    """Independent delays, P(d = j) = 1/(high − low + 1) for j = low, …, high."""

    horizon: int
    low: int
    high: int
    key: np.uint64

    def __new__(cls, horizon: int, low: int, high: int, rng: Any = None) -> Self:
        least = as_int(low, "low")
        most = as_int(high, "high")
        if most < least:
            raise ValueError(f"high must be at least low, got low={least} and high={most}")
        if most - least >= 2**52:
            raise ValueError(f"high - low must be below 2**52, got {most - least}")
        return cls.make(as_horizon(horizon), least, most, make_key(make_seed(rng), Purpose.DELAYS))


@uncut.on(Uniform)
def _uncut(delays: Any, t: Any) -> Any:
    below = 1.0 - keyed.uniform(delays.key, t)
    drawn = delays.low + whole_rounds(below * (delays.high - delays.low + 1))
    # The product may round up to the number of values itself.
    return min(drawn, delays.high)


def uniform(*, horizon: int, low: int = 0, high: int, rng: Any = None) -> Uniform:
    """Delays drawn evenly from low, low + 1, …, high (both ends included).

    ``0 <= low <= high`` are whole numbers; ``rng`` is an int, SeedSequence, Generator or None.

    >>> delays = uniform(horizon=1000, low=2, high=4, rng=1)
    >>> delays.uncut(6).tolist(), delays.max_delay
    ([3, 3, 3, 3, 3, 4], 4)
    """
    return Uniform(horizon, low, high, rng)
