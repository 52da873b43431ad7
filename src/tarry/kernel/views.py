"""Stacked states: many states of one type as one state whose arrays have one axis more.

``view(states, i)`` is the i-th of them, a named tuple of views, so that every step runs on it unchanged and without
allocation. Fields with an entry for each slot may be shared by all: a slot is one round's, and so one copy's.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload

from tarry.kernel.compile import INLINED
from tarry.kernel.heap import Heap
from tarry.kernel.wheel import FreeList

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


@overload(view, target="generic", strict=False, jit_options=INLINED)  # type: ignore[untyped-decorator]
def _choose(states: Any, i: Any) -> Any:
    return lambda states, i: _view(states, i)


# Numba's functions cannot walk a tuple of unlike things; an intrinsic can, while it is compiled.
@intrinsic  # type: ignore[untyped-decorator]
def _view(typing: Any, states: Any, i: Any) -> Any:
    kinds: dict[Any, Any] = {}  # how each type of array is indexed
    viewed = _viewed(typing, states, i, kinds)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _built(context, builder, states, (i, arguments[1]), arguments[0], kinds)

    return viewed(states, i), build


def _viewed(typing: Any, states: Any, i: Any, kinds: dict[Any, Any]) -> Any:
    """Return the type of the view, and note how its arrays are indexed."""
    if isinstance(states, types.Array):
        kinds[states] = typing.resolve_function_type(operator.getitem, (states, i), {})
        return kinds[states].return_type
    shared = _by_slot[states.instance_class]
    parts = zip(states.fields, states.types, strict=True)
    made = [part if name in shared else _viewed(typing, part, i, kinds) for name, part in parts]
    kinds[states] = types.BaseTuple.from_types(made, states.instance_class)
    return kinds[states]


def _built(context: Any, builder: Any, states: Any, index: Any, value: Any, kinds: dict[Any, Any]) -> Any:
    """Return the view's value: arrays indexed, what is by slot as it is."""
    if isinstance(states, types.Array):
        signature, (kind, i) = kinds[states], index
        i = context.cast(builder, i, kind, signature.args[1])
        return context.get_function(operator.getitem, signature)(builder, (value, i))
    shared, made = _by_slot[states.instance_class], []
    for at, (name, part) in enumerate(zip(states.fields, states.types, strict=True)):
        field = builder.extract_value(value, at)
        if name not in shared:
            field = _built(context, builder, part, index, field, kinds)
        elif context.enable_nrt:
            context.nrt.incref(builder, part, field)  # the view holds it too
        made.append(field)
    return context.make_tuple(builder, kinds[states], made)
