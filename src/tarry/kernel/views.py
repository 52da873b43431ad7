"""Stacked trees: many nested tuples of arrays of one type as one tree whose arrays have one axis more, in front.

``replica(trees, i)`` is the i-th of them, a tree of views, so that every step runs on it unchanged and without
allocation. Replicas are seeds of a game, and share nothing. ``view(states, i)`` is the i-th copy of a learner's state:
fields with an entry for each slot are shared by all copies, since a slot is one round's, and so one copy's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from tarry.kernel.heap import Heap
from tarry.kernel.wheel import FreeList

PAGE = 4096  # bytes: of memory, what a system hands out at once

# Which fields of a type of state are by slot. Places in a heap and rows of a free list look so, and are each copy's.
BY_SLOT: dict[type, frozenset[str]] = {Heap: frozenset(), FreeList: frozenset()}


def learn_slots(first: Any, second: Any) -> None:
    """Note which fields of a type of state are by slot, from its states with one slot and with two.

    Raise TypeError where the state is not a named tuple of arrays, or one type is laid out in two ways.
    """
    kind = type(first)
    if not hasattr(kind, "_fields"):
        raise TypeError(f"copies need a state that is a named tuple of arrays, nested or not, got a {kind.__name__}")
    fields = set()
    for name, part, wider in zip(kind._fields, first, second, strict=True):
        if not isinstance(part, np.ndarray):
            learn_slots(part, wider)
        elif part.shape[:1] == (1,) and wider.shape == (2, *part.shape[1:]) and BY_SLOT.get(kind) != frozenset():
            fields.add(name)
    if BY_SLOT.setdefault(kind, frozenset(fields)) != fields:
        raise TypeError(f"{kind.__name__} is kept by slot in one learner and not in another: give each its own state")


def stack(state: Any, copies: int) -> Any:
    """Return this many copies of a state as one; what is by slot is shared."""
    if isinstance(state, np.ndarray):
        rows = np.zeros((copies, *state.shape), state.dtype)
        if state.any():  # else the pages of copies that are never made stay untouched
            rows[:] = state
        return rows
    shared = BY_SLOT[type(state)]
    fields = zip(state._fields, state, strict=True)
    return type(state)(*(part if name in shared else stack(part, copies) for name, part in fields))


def view(states: Any, i: int) -> Any:
    """Return the i-th of stacked states: views, so that changes stay."""
    if isinstance(states, np.ndarray):
        return states[i]
    shared = BY_SLOT[type(states)]
    fields = zip(states._fields, states, strict=True)
    return type(states)(*(part if name in shared else view(part, i) for name, part in fields))


def replicate(tree: Any, count: int, order: Literal["C", "F"] = "C") -> Any:
    """Return this many replicas of a (nested) tuple as one: arrays with an axis more in front, numbers as arrays.

    Nothing is shared. In the order "F" neighbouring replicas lie side by side. Raise TypeError for other leaves.
    """
    if isinstance(tree, tuple):
        return remade(tree, (replicate(part, count, order) for part in tree))
    leaf = np.asarray(tree)
    if leaf.dtype.kind not in "biuf":
        raise TypeError(f"replicas are of arrays and numbers, in tuples or not, got a {type(tree).__name__}")
    shape = (count, *leaf.shape)
    if leaf.nbytes > PAGE and not leaf.any():
        return np.zeros(shape, leaf.dtype, order)  # pages that are never used stay untouched
    rows = np.empty(shape, leaf.dtype, order)
    rows[:] = leaf
    return rows


def replica(trees: Any, i: int) -> Any:
    """Return the i-th of stacked replicas: views, so that changes stay, and numbers as they are."""
    return remade(trees, (replica(part, i) for part in trees)) if isinstance(trees, tuple) else trees[i]


def first_replicas(trees: Any, count: int) -> Any:
    """Return the first so many of stacked replicas: views."""
    return remade(trees, (first_replicas(part, count) for part in trees)) if isinstance(trees, tuple) else trees[:count]


def alone(tree: Any) -> Any:
    """Return a tree as the stack of its only replica: arrays are shared, numbers copied."""
    return remade(tree, map(alone, tree)) if isinstance(tree, tuple) else np.asarray(tree)[np.newaxis]


def first_leaf(tree: Any) -> Any:
    """Return the first array or number of a tree, None where it has none."""
    if not isinstance(tree, tuple):
        return tree
    return next((leaf for leaf in map(first_leaf, tree) if leaf is not None), None)


def flat(tree: Any) -> list[Any]:
    """Return what a tree is made of, in order."""
    return [leaf for part in tree for leaf in flat(part)] if isinstance(tree, tuple) else [tree]


def leaves(tree: Any) -> list[np.ndarray]:
    """Return the arrays and numbers of a tree, in order, as arrays."""
    return [np.asarray(leaf) for leaf in flat(tree)]


def remade(tree: tuple[Any, ...], parts: Iterable[Any]) -> Any:
    """Return a tuple of a tree's type with other parts."""
    return tuple.__new__(type(tree), parts)  # members' parameters would check what they are given
