"""Stacked trees: many nested tuples of arrays of one type as one tree whose arrays have one axis more, in front.

``replica(trees, i)`` is the i-th of them, a tree of views, so that every step runs on it unchanged and without
allocation. Replicas are seeds of a game, and share nothing. ``view(states, i)`` is the i-th copy of a learner's state:
fields with an entry for each slot are shared by all copies, since a slot is one round's, and so one copy's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload

from tarry.kernel.compile import INLINED
from tarry.kernel.heap import Heap
from tarry.kernel.wheel import FreeList

PAGE = 4096  # bytes: of memory, what a system hands out at once
Shared = Callable[[Any], frozenset[str]]  # which fields of a tuple type are not indexed

# Which fields of a type of state are by slot. Places in a heap and rows of a free list look so, and are each copy's.
_by_slot: dict[type, frozenset[str]] = {Heap: frozenset(), FreeList: frozenset()}


def learn_slots(one: Any, two: Any) -> None:
    """Note which fields of a type of state are by slot, from its states with one slot and with two.

    Raise TypeError where the state is not a named tuple of arrays, or one type is laid out in two ways.
    """
    kind = type(one)
    if not hasattr(kind, "_fields"):
        raise TypeError(f"copies need a state that is a named tuple of arrays, nested or not, got a {kind.__name__}")
    found = set()
    for name, part, wider in zip(kind._fields, one, two, strict=True):
        if not isinstance(part, np.ndarray):
            learn_slots(part, wider)
        elif part.shape[:1] == (1,) and wider.shape == (2, *part.shape[1:]) and _by_slot.get(kind) != frozenset():
            found.add(name)
    if _by_slot.setdefault(kind, frozenset(found)) != found:
        raise TypeError(f"{kind.__name__} is kept by slot in one learner and not in another: give each its own state")


def stack(state: Any, copies: int) -> Any:
    """Return this many copies of a state as one; what is by slot is shared."""
    if isinstance(state, np.ndarray):
        rows = np.zeros((copies, *state.shape), state.dtype)
        if state.any():  # else the pages of copies that are never made stay untouched
            rows[:] = state
        return rows
    shared = _by_slot[type(state)]
    fields = zip(state._fields, state, strict=True)
    return type(state)(*(part if name in shared else stack(part, copies) for name, part in fields))


def view(states: Any, i: int) -> Any:
    """Return the i-th of stacked states: views, so that changes stay."""
    if isinstance(states, np.ndarray):
        return states[i]
    shared = _by_slot[type(states)]
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


@overload(view, target="generic", strict=False, jit_options=INLINED)  # type: ignore[untyped-decorator]
def _choose_view(states: Any, i: Any) -> Any:
    return lambda states, i: _view(states, i)


@overload(replica, target="generic", strict=False, jit_options=INLINED)  # type: ignore[untyped-decorator]
def _choose_replica(trees: Any, i: Any) -> Any:
    return lambda trees, i: _replica(trees, i)


# Numba's functions cannot walk a tuple of unlike things; an intrinsic can, while it is compiled.
@intrinsic  # type: ignore[untyped-decorator]
def _view(typing: Any, states: Any, i: Any) -> Any:
    return _indexed(typing, states, i, _shared)


@intrinsic  # type: ignore[untyped-decorator]
def _replica(typing: Any, trees: Any, i: Any) -> Any:
    return _indexed(typing, trees, i, lambda _: frozenset())


def _shared(states: Any) -> frozenset[str]:
    return _by_slot[states.instance_class]


def _indexed(typing: Any, trees: Any, i: Any, shared: Shared) -> Any:
    """Return the signature of an intrinsic that indexes all arrays of a tree but the shared ones, and its code."""
    kinds: dict[Any, Any] = {}  # how each type of array is indexed
    indexed = _type_indexed(typing, trees, i, shared, kinds)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _build(context, builder, trees, (i, arguments[1]), arguments[0], shared, kinds)

    return indexed(trees, i), build


def _type_indexed(typing: Any, trees: Any, i: Any, shared: Shared, kinds: dict[Any, Any]) -> Any:
    """Return the type of the indexed tree, and note how its arrays are indexed."""
    if isinstance(trees, types.Array):
        kinds[trees] = typing.resolve_function_type(operator.getitem, (trees, i), {})
        return kinds[trees].return_type
    names = shared(trees)
    parts = zip(_fields(trees), trees.types, strict=True)
    made = [part if name in names else _type_indexed(typing, part, i, shared, kinds) for name, part in parts]
    kinds[trees] = types.BaseTuple.from_types(made, getattr(trees, "instance_class", None))
    return kinds[trees]


def _build(
    context: Any, builder: Any, trees: Any, index: Any, value: Any, shared: Shared, kinds: dict[Any, Any]
) -> Any:
    """Return the indexed tree's value: arrays indexed, what is shared as it is."""
    if isinstance(trees, types.Array):
        signature, (kind, i) = kinds[trees], index
        i = context.cast(builder, i, kind, signature.args[1])
        return context.get_function(operator.getitem, signature)(builder, (value, i))
    names, made = shared(trees), []
    for at, (name, part) in enumerate(zip(_fields(trees), trees.types, strict=True)):
        field = builder.extract_value(value, at)
        if name not in names:
            field = _build(context, builder, part, index, field, shared, kinds)
        elif context.enable_nrt:
            context.nrt.incref(builder, part, field)  # the view holds it too
        made.append(field)
    return context.make_tuple(builder, kinds[trees], made)


def _fields(trees: Any) -> Any:
    """Return the names of a tuple type's fields, their places where it has no names."""
    return getattr(trees, "fields", range(len(trees.types)))
