"""What compiled code does with trees: intrinsics that index stacked ones, read them from words and unpack them.

Numba's functions cannot walk a tuple of unlike things; an intrinsic can, while it is compiled.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numba import typeof
from numba.core import types
from numba.core.cgutils import create_struct_proxy
from numba.core.datamodel import models
from numba.core.pythonapi import NativeValue, unbox
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr,
    make_attribute_wrapper,
    overload,
    register_model,
    type_callable,
    typeof_impl,
)
from numba.np.arrayobj import load_item

from tarry.kernel.compile import INLINED
from tarry.kernel.lowering import build_array, product
from tarry.kernel.packed import unpack
from tarry.kernel.views import BY_SLOT, replica, view
from tarry.kernel.words import Handle, read

Shared = Callable[[Any], frozenset[str]]  # which fields of a tuple type are not indexed


@overload(view, target="generic", strict=False, jit_options=INLINED)  # type: ignore[untyped-decorator]
def _choose_view(states: Any, i: Any) -> Any:
    return lambda states, i: _view(states, i)


@overload(replica, target="generic", strict=False, jit_options=INLINED)  # type: ignore[untyped-decorator]
def _choose_replica(trees: Any, i: Any) -> Any:
    return lambda trees, i: _replica(trees, i)


@intrinsic  # type: ignore[untyped-decorator]
def _view(typing: Any, states: Any, i: Any) -> Any:
    return _indexed(typing, states, i, _shared)


@intrinsic  # type: ignore[untyped-decorator]
def _replica(typing: Any, trees: Any, i: Any) -> Any:
    return _indexed(typing, trees, i, lambda _: frozenset())


def _shared(states: Any) -> frozenset[str]:
    return BY_SLOT[states.instance_class]


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
    kinds_of_parts = [part if name in names else _type_indexed(typing, part, i, shared, kinds) for name, part in parts]
    kinds[trees] = types.BaseTuple.from_types(kinds_of_parts, getattr(trees, "instance_class", None))
    return kinds[trees]


def _build(
    context: Any, builder: Any, trees: Any, index: Any, value: Any, shared: Shared, kinds: dict[Any, Any]
) -> Any:
    """Return the indexed tree's value: arrays indexed, what is shared as it is."""
    if isinstance(trees, types.Array):
        signature, (kind, i) = kinds[trees], index
        i = context.cast(builder, i, kind, signature.args[1])
        return context.get_function(operator.getitem, signature)(builder, (value, i))
    names, built = shared(trees), []
    for at, (name, part) in enumerate(zip(_fields(trees), trees.types, strict=True)):
        field = builder.extract_value(value, at)
        if name not in names:
            field = _build(context, builder, part, index, field, shared, kinds)
        elif context.enable_nrt:
            context.nrt.incref(builder, part, field)  # the view holds it too
        built.append(field)
    return context.make_tuple(builder, kinds[trees], built)


def _fields(trees: Any) -> Any:
    """Return the names of a tuple type's fields, their places where it has no names."""
    return getattr(trees, "fields", range(len(trees.types)))


@overload(read, target="generic", strict=False, jit_options=INLINED)  # type: ignore[untyped-decorator]
def _choose_read(like: Any, words: Any, i: Any) -> Any:
    return lambda like, words, i: _read(like, words, i)


@intrinsic  # type: ignore[untyped-decorator]
def _read(typing: Any, like: Any, words: Any, i: Any) -> Any:
    index = types.UniTuple(types.intp, 2)
    getitem = typing.resolve_function_type(operator.getitem, (words, index), {})

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = context.cast(builder, arguments[2], i, types.intp)
        place = iter(range(1 << 30))

        def next_word() -> Any:
            at = context.make_tuple(builder, index, [row, context.get_constant(types.intp, next(place))])
            return context.get_function(operator.getitem, getitem)(builder, (arguments[1], at))

        return _built(context, builder, like, arguments[0], next_word)

    return like(like, words, i), build


def _built(context: Any, builder: Any, kind: Any, value: Any, next_word: Any) -> Any:
    """Return the value of a tree whose words come one after another; constants are those of ``value``, if it is one."""
    if isinstance(kind, types.BaseTuple):
        parts = [None if value is None else builder.extract_value(value, at) for at in range(len(kind.types))]
        built = [_built(context, builder, *pair, next_word) for pair in zip(kind.types, parts, strict=True)]
        return context.make_tuple(builder, kind, built)
    if isinstance(kind, types.Array):
        data = builder.inttoptr(next_word(), context.get_data_type(kind.dtype).as_pointer())
        shape, strides = ([next_word() for _ in range(kind.ndim)] for _ in range(2))
        return build_array(context.data_model_manager[kind], builder, data, shape, strides)
    if isinstance(kind, types.Float):
        number = builder.bitcast(next_word(), context.get_value_type(types.float64))
        return context.cast(builder, number, types.float64, kind)
    if isinstance(kind, types.Complex):
        built = context.make_complex(builder, kind)
        built.real, built.imag = (_built(context, builder, kind.underlying_float, None, next_word) for _ in range(2))
        return built._getvalue()
    if isinstance(kind, types.IntEnumMember):
        kind = kind.dtype
    if isinstance(kind, (types.Integer, types.Boolean)):
        return context.cast(builder, next_word(), types.int64, kind)
    if value is None and not isinstance(kind, (types.Callable, types.NoneType)):  # which are known by their types
        raise TypeError(f"a handle holds numbers, arrays and functions, and no {kind}")
    return context.get_dummy_value() if value is None else value


class HandleType(types.Type):  # type: ignore[misc]
    """The type of a handle, the address of the words of a tree of this type."""

    def __init__(self, body: Any) -> None:
        self.body = body
        super().__init__(name=f"Handle({body})")

    @property
    def key(self) -> Any:
        return self.body  # its name does not tell types of one name apart


register_model(HandleType)(models.OpaqueModel)


@typeof_impl.register(Handle)  # type: ignore[untyped-decorator]
def _type_of_handle(value: Handle, _context: Any) -> HandleType:
    return HandleType(typeof(value.body))


@unbox(HandleType)  # type: ignore[untyped-decorator]
def _unbox_handle(_kind: Any, value: Any, c: Any) -> Any:
    address = c.pyapi.long_as_longlong(value)
    is_error = c.builder.icmp_signed("==", address, address.type(-1))  # what is no number, as None; no address is -1
    return NativeValue(c.builder.inttoptr(address, c.pyapi.voidptr), is_error=is_error)


@infer_getattr
class _HandleAttributes(AttributeTemplate):  # type: ignore[misc]
    key = HandleType

    def resolve_body(self, kind: Any) -> Any:
        return kind.body


@lower_getattr(HandleType, "body")  # type: ignore[untyped-decorator]
def _body_of(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    words = builder.bitcast(value, context.get_value_type(types.int64).as_pointer())
    place = iter(range(1 << 30))

    def next_word() -> Any:
        return builder.load(builder.gep(words, [context.get_constant(types.intp, next(place))], inbounds=True))

    return _built(context, builder, kind.body, None, next_word)


class PackedType(types.Type):  # type: ignore[misc]
    """The type of packed replicas, whose trees are of this type."""

    def __init__(self, trees: Any) -> None:
        self.trees = trees
        super().__init__(name=f"Packed({trees})")


@register_model(PackedType)
class _PackedModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("count", types.intp), ("places", types.CPointer(types.intp))])


make_attribute_wrapper(PackedType, "count", "count")


@unbox(PackedType)  # type: ignore[untyped-decorator]
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
    return lambda packed, i: _type_of_one(packed.trees) if isinstance(packed, PackedType) else None


def _type_of_one(trees: Any) -> Any:
    """Return the type of one of stacked replicas."""
    if isinstance(trees, types.BaseTuple):
        return types.BaseTuple.from_types(map(_type_of_one, trees.types), getattr(trees, "instance_class", None))
    return trees.dtype if trees.ndim == 1 else trees.copy(ndim=trees.ndim - 1)


@lower_builtin(unpack, PackedType, types.Integer)  # type: ignore[untyped-decorator]
def _lower_unpack(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index = signature.args
    table, i = builder.extract_value(arguments[0], 1), context.cast(builder, arguments[1], index, types.intp)
    read = 0

    def next_number() -> Any:
        nonlocal read
        read += 1
        return builder.load(builder.gep(table, [context.get_constant(types.intp, read - 1)], inbounds=True))

    def build(trees: Any) -> Any:
        kind_of_one = _type_of_one(trees)
        if isinstance(trees, types.BaseTuple):
            return context.make_tuple(builder, kind_of_one, [build(part) for part in trees.types])
        address, shape = next_number(), [next_number() for _ in range(trees.ndim - 1)]
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(trees.dtype)))
        address = builder.add(address, builder.mul(i, product(builder, [size, *shape])))
        data = builder.inttoptr(address, context.get_data_type(trees.dtype).as_pointer())
        if not shape:
            return load_item(context, builder, trees, data)
        return build_array(context.data_model_manager[kind_of_one], builder, data, shape)

    return build(kind.trees)
