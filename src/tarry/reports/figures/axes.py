"""Axes: round numbers for ticks, and short formats."""

from __future__ import annotations

from math import ceil, floor, log10

DIGITS = ((1,), (1, 3), (1, 2, 5))
"""What ticks of a logarithmic axis begin with, from few to many."""


def ticks(low: float, high: float) -> list[float]:
    """Round numbers for a logarithmic axis: as few kinds as give three; where it is short, in even steps.

    >>> ticks(3, 40), ticks(1, 1000), ticks(96, 121)
    ([3.0, 10.0, 30.0], [1.0, 10.0, 100.0, 1000.0], [100.0, 105.0, 110.0, 115.0, 120.0])
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in DIGITS:
        listed = [float(f"{digit}e{power}") for power in powers for digit in digits]
        found = [value for value in listed if 0.999 * low <= value <= 1.001 * high]
        if len(found) >= 3:
            return found[:: 1 + len(found) // 8]
    return _even(low, high)


def _even(low: float, high: float) -> list[float]:
    width = max(high - low, 1e-9 * high)
    unit = 10.0 ** floor(log10(width))
    step = next(unit * share for share in (0.2, 0.5, 1.0, 2.0) if width / (unit * share) <= 5)
    places = max(0, 1 - floor(log10(step)))
    return [round(i * step, places) for i in range(ceil(low / step), floor(high / step) + 1)]


def short(highest: float) -> str:
    """The format of an axis up to this number."""
    return "~s" if highest >= 10_000 else ",~r"
