"""Check plain arguments: each function returns the value or raises an ArgumentError that names the argument.

The annotated types at the end are what fields of :class:`tarry.kernel.Parameters` are declared with.

>>> as_positive(2, "radius"), as_nonnegative(0, "floor"), as_bool(True, "curved"), as_int(3.0, "horizon", 1)
(2.0, 0.0, True, 3)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import inf, isfinite
from numbers import Real
from typing import Annotated, Any

from tarry.errors import ArgumentError

LARGEST = 2**62  # so that sums of two fit 64 bits


def as_positive(value: Any, name: str) -> float:
    """Return a positive finite number."""
    if not (_is_finite(value) and value > 0):
        raise ArgumentError(name, "must be positive and finite", value)
    return float(value)


def as_nonnegative(value: Any, name: str, *, allow_inf: bool = False) -> float:
    """Return a number that is not negative, and finite unless ``allow_inf``."""
    if allow_inf and _is_number(value) and value == inf:
        return inf
    if not (_is_finite(value) and value >= 0):
        raise ArgumentError(name, f"must be {'' if allow_inf else 'finite and '}not negative", value)
    return float(value)


def as_bool(value: Any, name: str) -> bool:
    """Return True or False."""
    if type(value).__name__ not in ("bool", "bool_"):  # numpy's is not a bool; 0 and 1 are not meant
        raise ArgumentError(name, "must be True or False", value)
    return bool(value)


def as_int(value: Any, name: str, least: int = 0) -> int:
    """Return a whole number, not below ``least``."""
    if not (_is_finite(value) and int(value) == value and value >= least):
        raise ArgumentError(name, f"must be a whole number of at least {least}", value)
    if value >= LARGEST:
        raise ArgumentError(name, "must be below 2**62", value)
    return int(value)


def as_level(value: Any) -> float:
    """Return the probability with which something is to hold."""
    if not (_is_finite(value) and 0 < value < 1):
        raise ArgumentError("level", "must lie between 0 and 1", value)
    return float(value)


_NARROWEST, _WIDEST = 1e-100, 1e100  # of a range: variances divide by its square, with masses beside it


def as_range(low: Any, high: Any) -> tuple[float, float]:
    """Return the ends of a range of numbers."""
    for name, value in (("low", low), ("high", high)):
        if not _is_finite(value):
            raise ArgumentError(name, "must be a finite number", value)
    if not low < high:
        raise ArgumentError("high", f"must be above low={low!r}", high)
    if not _NARROWEST <= float(high) - float(low) <= _WIDEST:
        raise ArgumentError("high", f"must be {_NARROWEST:g} to {_WIDEST:g} above low={low!r}", high)
    return float(low), float(high)


def as_choice(value: str, name: str, choices: Iterable[str]) -> str:
    """Return the value if it is one of the choices."""
    options = tuple(choices)
    if value not in options:
        raise ArgumentError(name, f"must be one of {', '.join(map(repr, options))}", value)
    return value


def pick(name: str, options: Iterable[str], place: str, *, what: str) -> str:
    """Return the name if it is known; else raise ValueError with the place, the nearest name and all of them.

    >>> pick("VarOp", ["Pareto", "VarOpt"], "a.toml: players.ours.scheduler", what="member")
    Traceback (most recent call last):
    ValueError: a.toml: players.ours.scheduler: there is no member 'VarOp', did you mean 'VarOpt'? Take one of \
Pareto, VarOpt
    """
    choices = list(options)
    if name in choices:
        return name
    from difflib import get_close_matches  # only where something is wrong

    folded = {choice.lower(): choice for choice in choices}
    near = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    hint = f", did you mean {folded[near[0]]!r}? Take" if near else ": take"
    raise ValueError(f"{place}: there is no {what} {name!r}{hint} one of {', '.join(choices) or '(none)'}")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    try:
        return _is_number(value) and isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


Positive = Annotated[float, as_positive]
NonNegative = Annotated[float, as_nonnegative]
Flag = Annotated[bool, as_bool]
Natural = Annotated[int, as_int]  # from 0
Count = Annotated[int, partial(as_int, least=1)]
