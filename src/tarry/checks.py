"""Checks of plain arguments: a number back, or a sentence with the value."""

from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import Any

LARGEST = 2**62  # so that sums of two fit 64 bits


def as_positive(value: Any, name: str) -> float:
    """A positive finite number.

    >>> as_positive(2, "radius")
    2.0
    """
    if not (_is_number(value) and isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return float(value)


def as_whole(value: Any, name: str, least: int = 0) -> int:
    """A whole number, not below ``least``.

    >>> as_whole(3.0, "horizon", 1)
    3
    """
    if not (_is_number(value) and isfinite(value) and int(value) == value and value >= least):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if value >= LARGEST:
        raise ValueError(f"{name} must be below 2**62, got {value!r}")
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
