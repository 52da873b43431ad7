"""Checks of plain arguments: a number back, or a sentence with the value."""

from __future__ import annotations

from math import inf, isfinite
from numbers import Real
from typing import Any

LARGEST = 2**62  # so that sums of two fit 64 bits


def as_positive(value: Any, name: str) -> float:
    """A positive finite number.

    >>> as_positive(2, "radius")
    2.0
    """
    if not (_is_finite(value) and value > 0):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return float(value)


def as_least(value: Any, name: str, *, endless: bool = False) -> float:
    """A number that is not negative, and finite unless ``endless``.

    >>> as_least(0, "floor")
    0.0
    """
    if endless and _is_number(value) and value == inf:
        return inf
    if not (_is_finite(value) and value >= 0):
        raise ValueError(f"{name} must be {'' if endless else 'finite and '}not negative, got {value!r}")
    return float(value)


def as_flag(value: Any, name: str) -> bool:
    """True or False.

    >>> as_flag(True, "curved")
    True
    """
    if type(value).__name__ not in ("bool", "bool_"):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def as_whole(value: Any, name: str, least: int = 0) -> int:
    """A whole number, not below ``least``.

    >>> as_whole(3.0, "horizon", 1)
    3
    """
    if not (_is_finite(value) and int(value) == value and value >= least):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if value >= LARGEST:
        raise ValueError(f"{name} must be below 2**62, got {value!r}")
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    try:
        return _is_number(value) and isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False
