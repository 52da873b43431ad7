"""Stacked replicas as compiled code takes them: one table of where their arrays lie.

An entry that took the arrays themselves would unpack a hundred of them at each call, in code that takes longer to
compile than many a scheduler.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np

from tarry.kernel.compile import numba_side
from tarry.kernel.views import first_leaf, first_replicas, leaves, replica
from tarry.kernel.words import kind_of


class Packed:
    """Stacked replicas, ``count`` of them: ``unpack(packed, i)`` is the i-th, for Python and for compiled code."""

    def __init__(self, trees: Any) -> None:
        self.trees, self._table = trees, _Table(trees)
        self.count = first_leaf(trees).shape[0]

    def first(self, count: int) -> Packed:
        """Return the first so many of them."""
        first_part = copy.copy(self)
        first_part.trees, first_part.count = first_replicas(self.trees, count), count
        return first_part

    @property
    def address(self) -> int:
        """Where the table lies."""
        return _address(self._table.places)

    @property
    def _numba_type_(self) -> Any:
        _ = self._table.places  # a refusal is heard here, and not where compiled code unpacks arguments
        return self._table.kind


class _Table:
    """Where the arrays of trees lie, their shapes, and their types; plain Python asks for none of it."""

    def __init__(self, trees: Any) -> None:
        self._trees = trees

    @cached_property
    def places(self) -> np.ndarray:
        rows = leaves(self._trees)
        if not all(row.flags.c_contiguous for row in rows):
            raise TypeError("replicas are packed where they lie in one piece: make them by replicate()")
        return np.array([n for row in rows for n in (_address(row), *row.shape[1:])], np.uint64)

    @cached_property
    def kind(self) -> Any:
        key = kind_of(self._trees)  # found in a tenth of the time that Numba takes for a type
        if key not in _kinds:
            _kinds[key] = numba_side().packed_type(self._trees)
        return _kinds[key]


_kinds: dict[Any, Any] = {}


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def unpack(packed: Any, i: int) -> Any:
    """Return the i-th of packed replicas, views, so that changes stay; numbers are as they are."""
    return replica(packed.trees, i)
