"""The same delay in every round."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from tarry.delays.base import Delays, as_horizon, delay
from tarry.kernel import Parameters


class _FixedFields(NamedTuple):
    horizon: int
    every: int


class Fixed(Parameters, Delays, _FixedFields):
    """Feedback of every round arrives ``every`` rounds later."""

    __slots__ = ()

    def __new__(cls, horizon: int, every: int) -> Self:
        if int(every) != every or every < 0:
            raise ValueError(f"delay must be a whole number of rounds, not negative, got {every}")
        return cls.make(as_horizon(horizon), int(every))


@delay.on(Fixed)
def _delay(delays: Any, t: Any) -> Any:
    return min(delays.every, delays.horizon - t)


def fixed(*, horizon: int, delay: int) -> Fixed:
    """The same delay in every round.

    >>> fixed(horizon=4, delay=2).values.tolist()
    [2, 2, 1, 0]
    """
    return Fixed(horizon, delay)
