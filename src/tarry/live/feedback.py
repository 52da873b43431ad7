"""Feedback as an array of numbers, or a sentence."""

from __future__ import annotations

import reprlib
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

_FLOATS = np.dtype(np.float64)


def as_numbers(given: Any, word: str, *, is_table: bool) -> np.ndarray:
    """A copy of what is given, as floats in a row or a table.

    >>> as_numbers([1, 2.5], "gradient", is_table=False)
    array([1. , 2.5])
    """
    try:
        feedback = np.array(given, order="C", ndmin=1)
        if feedback.dtype is not _FLOATS:
            feedback = _as_floats(feedback)
    except (TypeError, ValueError, OverflowError) as error:
        raise _refused(given, word, is_table) from error
    if _is_masked(given) or (is_table and isinstance(given, (list, tuple)) and any(map(_is_masked, given))):
        raise ValueError(f"{word} must be numbers, and some of these are masked: fill them, or leave the round out")
    return feedback


def _as_floats(found: np.ndarray) -> np.ndarray:
    """Whole numbers, truth values and other real numbers as floats; texts, times and complex numbers are none."""
    if found.dtype.kind not in "fiubO" or (found.dtype.kind == "O" and not all(map(_is_real, found.flat))):
        raise TypeError(f"numbers are wanted, not {found.dtype}")
    return found.astype(np.float64)


def _is_masked(given: Any) -> bool:
    return isinstance(given, np.ma.MaskedArray) and bool(np.ma.is_masked(given))


def _is_real(entry: Any) -> bool:
    return isinstance(entry, (Real, Decimal, np.number)) and not isinstance(entry, np.complexfloating)


def _refused(given: Any, word: str, is_table: bool) -> ValueError:
    return ValueError(f"{word} must be numbers{', as many in each row' * is_table}, got {reprlib.repr(given)}")
