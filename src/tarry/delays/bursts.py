"""Delays that alternate between a slow and a fast stretch."""

from __future__ import annotations

from typing import Any, Self

from tarry.checks import as_int
from tarry.delays.base import as_horizon
from tarry.delays.generated import Generated, uncut
from tarry.kernel import Parameters


class Bursts(Parameters, Generated, init=False):
    """d_t = slow where ⌊(t − 1)/length⌋ is even, else fast."""

    horizon: int
    length: int
    slow: int
    fast: int

    def __new__(cls, horizon: int, length: int = 250, slow: int = 400, fast: int = 3) -> Self:
        return cls.make(as_horizon(horizon), as_int(length, "length", 1), as_int(slow, "slow"), as_int(fast, "fast"))


@uncut.on(Bursts)
def _uncut(delays: Any, t: Any) -> Any:
    if ((t - 1) // delays.length) % 2 == 0:
        return delays.slow
    return delays.fast


def bursts(*, horizon: int, length: int = 250, slow: int = 400, fast: int = 3) -> Bursts:
    """Stretches of ``length`` rounds, slow and fast in turn, beginning with a slow one.

    >>> bursts(horizon=8, length=2, slow=3, fast=0).values.tolist()
    [3, 3, 0, 0, 3, 2, 0, 0]
    """
    return Bursts(horizon, length, slow, fast)
