"""Stacked replicas as compiled code takes them: one table of where their arrays lie.

An entry that took the arrays themselves would unpack a hundred of them at each call, in code that takes longer to
compile than many a scheduler.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np
from numba import typeof
from numba.core import types
from numba.core.cgutils import create_struct_proxy
from numba.core.datamodel import models
from numba.core.pythonapi import NativeValue, unbox
from numba.extending import lower_builtin, make_attribute_wrapper, register_model, type_callable
from numba.np.arrayobj import load_item

from tarry.kernel.lowering import build_array, product
from tarry.kernel.views import first_leaf, first_replicas, leaves, replica
from tarry.kernel.words import kind_of


class Packed:
    """Stacked replicas, ``count`` of them: ``unpack(packed, i)`` is the i-th, for Python and for compiled code."""

    def __init__(self, trees: Any) -> None:
        self.trees, self._table = trees, _Table(trees)
        self.count = first_leaf(trees).shape[0]

    def first(self, count: int) -> Packed:
        """Return the first so many of them."""
        made = copy.copy(self)
        made.trees, made.count = first_replicas(self.trees, count), count
        return made

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
        known = kind_of(self._trees)  # found in a tenth of the time that Numba takes for a type
        if known not in _kinds:
            _kinds[known] = _PackedType(typeof(self._trees))
        return _kinds[known]


_kinds: dict[Any, Any] = {}


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def unpack(packed: Any, i: int) -> Any:
    """Return the i-th of packed replicas, views, so that changes stay; numbers are as they are."""
    return replica(packed.trees, i)


class _PackedType(types.Type):  # type: ignore[misc]
    def __init__(self, trees: Any) -> None:
        self.trees = trees
        super().__init__(name=f"Packed({trees})")


@register_model(_PackedType)
class _PackedModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("count", types.intp), ("places", types.CPointer(types.intp))])


make_attribute_wrapper(_PackedType, "count", "count")


@unbox(_PackedType)  # type: ignore[untyped-decorator]
def _unbox(kind: Any, value: Any, c: Any) -> Any:
    native = create_struct_proxy(kind)(c.context, c.builder)
    words = []
    for name in ("count", "address"):
        number = c.pyapi.object_getattr_string(value, name)
        words.append(c.pyapi.long_as_longlong(number))
        c.pyapi.decref(number)
    native.count, native.places = words[0], c.builder.inttoptr(words[1], native.places.type)
    return NativeValue(native._getvalue())


@type_callable(unpack)  # type: ignore[untyped-decorator]
def _type_unpack(_context: Any) -> Any:
    return lambda packed, i: _type_of_one(packed.trees) if isinstance(packed, _PackedType) else None


def _type_of_one(trees: Any) -> Any:
    """Return the type of one of stacked replicas."""
    if isinstance(trees, types.BaseTuple):
        return types.BaseTuple.from_types(map(_type_of_one, trees.types), getattr(trees, "instance_class", None))
    return trees.dtype if trees.ndim == 1 else trees.copy(ndim=trees.ndim - 1)


@lower_builtin(unpack, _PackedType, types.Integer)  # type: ignore[untyped-decorator]
def _lower_unpack(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index = signature.args
    table, i = builder.extract_value(arguments[0], 1), context.cast(builder, arguments[1], index, types.intp)
    read = 0

    def next_number() -> Any:
        nonlocal read
        read += 1
        return builder.load(builder.gep(table, [context.get_constant(types.intp, read - 1)], inbounds=True))

    def build(trees: Any) -> Any:
        one = _type_of_one(trees)
        if isinstance(trees, types.BaseTuple):
            return context.make_tuple(builder, one, [build(part) for part in trees.types])
        address, shape = next_number(), [next_number() for _ in range(trees.ndim - 1)]
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(trees.dtype)))
        address = builder.add(address, builder.mul(i, product(builder, [size, *shape])))
        data = builder.inttoptr(address, context.get_data_type(trees.dtype).as_pointer())
        if not shape:
            return load_item(context, builder, trees, data)
        return build_array(context.data_model_manager[one], builder, data, shape)

    return build(kind.trees)
