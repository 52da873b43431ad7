"""The same delay in every round."""

from __future__ import annotations

from typing import Any, Self

from tarry.checks import as_int
from tarry.delays.base import as_horizon
from tarry.delays.generated import Generated, uncut
from tarry.kernel import Parameters


class Fixed(Parameters, Generated, init=False):
    """Feedback of every round arrives ``every`` rounds later."""

    horizon: int
    every: int

    def __new__(cls, horizon: int, every: int) -> Self:
        return cls.make(as_horizon(horizon), as_int(every, "delay"))


@uncut.on(Fixed)
def _uncut(delays: Any, t: Any) -> Any:
    return delays.every


def fixed(*, horizon: int, delay: int) -> Fixed:
    """The same delay in every round.

    >>> fixed(horizon=4, delay=2).values.tolist()
    [2, 2, 1, 0]
    """
    return Fixed(horizon, delay)
