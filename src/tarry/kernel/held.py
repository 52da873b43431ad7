"""How a thread of a GPU holds its replica: the layout of a kernel, and code that takes arrays in and puts them back.

A thread keeps the small arrays of its replica in memory of its own, where neighbouring threads lie side by side, and
writes them back at the end. Their sizes are constants of the compiled code: loops over them unroll, counters become
registers, and what is switched off by an empty array is not compiled. Large arrays stay where they are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype, from_dtype

from tarry.kernel.views import leaves

HELD_BYTES = 4096  # of one array: larger ones would push a replica's hot state out of the caches
UNROLLED = 13  # entries that are copied one by one, so that counters become registers; more would only crowd them
SCRATCH = ("scratch", "row")  # names of arrays whose contents do not outlast a round
FEW = 4  # entries that are in registers anyway
THREADS = (128, 64, 32)  # of a block, the most that fit with all that is to be near
BLOCK_BYTES = 48 << 10  # of fast memory, for a block of threads
# Of a multiprocessor of compute capability 9.0; on others a kernel is as right, and perhaps less fast.
FAST_BYTES, BLOCK_EXTRA, REGISTERS = 228 << 10, 1 << 10, 1 << 16
FEWEST_REGISTERS, MOST_REGISTERS = 160, 255  # of a thread: with fewer, more is spilled than other threads make up for


class Held(NamedTuple):
    """The shape and dtype of an array that a thread holds itself: in fast memory if a block has ``threads``, not 0."""

    shape: tuple[int, ...]
    dtype: Any
    threads: int = 0
    is_kept: bool = True  # from one launch to the next


class Layout(NamedTuple):
    """How a kernel lays replicas out: what is read at places of its own goes to fast memory, while that lasts."""

    threads: int = THREADS[-1]  # of a block
    registers: int | None = None  # of a thread, at most
    most: int = HELD_BYTES
    narrow: bool = True  # integers in as few bits as they need: no sum of two is wider than 64 bits either way

    @property
    def near_bytes(self) -> int:
        """How much fast memory a replica may take."""
        return BLOCK_BYTES // self.threads


def layout_for(near: Any) -> Layout:
    """Return the layout of a kernel whose replicas have these arrays in fast memory."""
    bytes_near = sum(size for _leaf, size in _near_sizes(near, Layout()))
    threads = next((count for count in THREADS if count * bytes_near <= BLOCK_BYTES), THREADS[-1])
    # A thread may have as many registers as leave room for all blocks that fast memory has room for.
    blocks = FAST_BYTES // (BLOCK_EXTRA + threads * min(bytes_near, BLOCK_BYTES // threads))
    registers = REGISTERS // (blocks * threads) // 8 * 8
    return Layout(threads, registers if FEWEST_REGISTERS <= registers < MOST_REGISTERS else None)


def _near_sizes(near: Any, layout: Layout) -> list[tuple[Any, int]]:
    """Return the arrays that belong in fast memory, each with the bytes it takes there, the smallest first."""
    sizes = [(leaf, _padded(leaf.size, kind.itemsize) * kind.itemsize) for leaf, kind in _narrowed(near, layout)]
    return sorted((pair for pair in sizes if pair[0].size > FEW), key=lambda pair: pair[1])


def plan_of(tree: Any, layout: Layout | None = None, near: Any = (), far: Any = ()) -> Any:
    """Return, for every array of one replica's tree, how a thread holds it; None stays where it is.

    Arrays of the parts ``near`` go to fast memory, the smallest first; those ``far`` stay where they are.
    """
    layout, places = layout or layout_for(near), dict[int, int]()
    left = layout.near_bytes
    for leaf, size in _near_sizes(near, layout):
        if size <= left:
            places[id(leaf)] = layout.threads
            left -= size
    away, passing = {id(leaf) for leaf in leaves(far)}, {id(leaf) for leaf in _scratch(tree)}

    def plan(leaf: Any, kind: Any) -> Any:
        if np.ndim(leaf) == 0 or leaf.nbytes > layout.most or id(leaf) in away:
            return None
        return Held(leaf.shape, from_dtype(kind), places.get(id(leaf), 0), id(leaf) not in passing)

    return _planned(tree, layout, plan)


def _planned(tree: Any, layout: Layout, plan: Callable[[Any, Any], Any], kind: Any = None) -> Any:
    """Return the tree of what ``plan`` says of a leaf and the dtype it needs."""
    if not isinstance(tree, tuple):
        wide = np.asarray(tree).dtype
        if wide != np.int64 or not layout.narrow:
            return plan(tree, wide)
        return plan(tree, np.dtype(np.int32) if kind is None else kind)
    if not _is_ours(tree):
        layout = layout._replace(narrow=False)  # what a user's state counts is not known
    hints = getattr(type(tree), "__annotations__", {})
    few = [name for name in getattr(tree, "_fields", ()) if "Indices" in str(hints.get(name))]
    longest = max((getattr(tree, name).shape[-1] for name in few), default=0)
    kinds = dict.fromkeys(few, np.min_scalar_type(-longest - 1))
    names = getattr(tree, "_fields", range(len(tree)))
    return tuple(_planned(part, layout, plan, kinds.get(name)) for name, part in zip(names, tree, strict=True))


def _padded(count: int, size: int) -> int:
    """Return how many entries a thread is given in fast memory, for so many of this size."""
    # An odd number of words for a thread: where all read the same entry, no two meet in one bank.
    unit = max(4, size)
    return (-(-count * size // unit) | 1) * unit // size


def _scratch(tree: Any) -> list[Any]:
    """Return the arrays of a tree that nobody reads before writing."""
    if not isinstance(tree, tuple):
        return []
    named = [getattr(tree, name) for name in SCRATCH if name in getattr(tree, "_fields", ()) and _is_ours(tree)]
    return named + [leaf for part in tree for leaf in _scratch(part)]


def _is_ours(tree: Any) -> bool:
    """Return whether a tuple is one of ours, or has no type of its own."""
    return type(tree) is tuple or type(tree).__module__.startswith("tarry.")


def _narrowed(tree: Any, layout: Layout) -> list[Any]:
    """Return the arrays of a tree, each with the dtype it needs."""
    leaves_near: list[Any] = []
    _planned(tree, layout, lambda leaf, kind: leaves_near.append((leaf, kind)))
    return leaves_near


def movers(plan: Any, is_simulated: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return functions that take a replica's tree into a thread's own arrays, and put it back."""
    if is_simulated:
        return functools.partial(_copied, plan=plan), functools.partial(_write_back, plan=plan)

    # The kernel calls these itself: arrays that a function in between had made would be gone when it returns, and the
    # compiler, which knows that, leaves out what is written into them.
    @intrinsic  # type: ignore[untyped-decorator]
    def hold(typing: Any, shared: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _take_in(context, builder, shared, arguments[0], plan)

        return _held_type(shared, plan)(shared), build

    @intrinsic  # type: ignore[untyped-decorator]
    def give(typing: Any, local: Any, shared: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _put_back(context, builder, (local, shared), arguments, plan)
            return context.get_dummy_value()

        return types.void(local, shared), build

    return hold, give


class _Narrow(np.ndarray):
    """Whole numbers in few bits, as in compiled code: what is read is wide again; what is written has to fit."""

    def __getitem__(self, place: Any) -> Any:
        item = super().__getitem__(place)
        return item if isinstance(item, np.ndarray) else np.int64(item)

    def __setitem__(self, place: Any, value: Any) -> None:
        super().__setitem__(place, value)
        if np.any(self[place] != value):
            raise OverflowError(f"{value} does not fit an array of {self.dtype}")


def _copied(shared: Any, plan: Any) -> Any:
    if isinstance(plan, Held):
        local = np.array(shared, as_dtype(plan.dtype)) if plan.is_kept else np.full_like(shared, np.nan)
        return local if local.dtype == shared.dtype else local.view(_Narrow)
    if not isinstance(shared, tuple):
        return shared
    parts = [_copied(part, how) for part, how in zip(shared, plan, strict=True)]
    return type(shared)(*parts) if hasattr(shared, "_fields") else tuple(parts)


def _write_back(local: Any, shared: Any, plan: Any) -> None:
    if isinstance(plan, Held):
        shared[...] = local
    elif isinstance(shared, tuple):
        for part, other, how in zip(local, shared, plan, strict=True):
            _write_back(part, other, how)


def _held_type(shared: Any, plan: Any) -> Any:
    """Return the type of a tree in which a thread holds arrays itself."""
    if isinstance(plan, Held):
        return types.Array(plan.dtype, shared.ndim, "C")
    if not isinstance(shared, types.BaseTuple):
        return shared
    parts = [_held_type(part, how) for part, how in zip(shared.types, plan, strict=True)]
    return types.BaseTuple.from_types(parts, getattr(shared, "instance_class", None))


def _take_in(context: Any, builder: Any, shared: Any, value: Any, plan: Any) -> Any:
    if isinstance(plan, Held):
        local = _make_own(context, builder, _held_type(shared, plan), plan)
        if plan.is_kept:
            _copy(context, builder, (shared, value), (_held_type(shared, plan), local), plan, own_is_target=True)
        return local
    if not isinstance(shared, types.BaseTuple):
        return value
    parts_taken = [
        _take_in(context, builder, part, builder.extract_value(value, at), how)
        for at, (part, how) in enumerate(zip(shared.types, plan, strict=True))
    ]
    return context.make_tuple(builder, _held_type(shared, plan), parts_taken)


def _put_back(context: Any, builder: Any, kinds: Any, values: Any, plan: Any) -> None:
    if isinstance(plan, Held):
        if plan.is_kept:
            _copy(context, builder, (kinds[0], values[0]), (kinds[1], values[1]), plan, own_is_target=False)
    elif isinstance(kinds[0], types.BaseTuple):
        for at, how in enumerate(plan):
            inner = kinds[0].types[at], kinds[1].types[at]
            _put_back(context, builder, inner, [builder.extract_value(value, at) for value in values], how)


def _make_own(context: Any, builder: Any, kind: Any, plan: Held) -> Any:
    """Return an array of a thread's own, whose shape the compiler knows."""
    from llvmlite import ir
    from numba.cuda import cgutils
    from numba.cuda.np.arrayobj import make_array, populate_array

    item = context.get_data_type(kind.dtype)
    size, shape = kind.dtype.bitwidth // 8, plan.shape
    count = max(1, math.prod(shape))
    if plan.threads:
        each = _padded(count, size)
        room = ir.ArrayType(item, each * plan.threads)
        name = builder.module.get_unique_name("near")
        place = cgutils.add_global_variable(builder.module, room, name, addrspace=3)
        place.align, place.linkage, place.initializer = 16, "internal", ir.Constant(room, ir.Undefined)
        thread = ir.FunctionType(ir.IntType(32), [])
        read = cgutils.get_or_insert_function(builder.module, thread, "llvm.nvvm.read.ptx.sreg.tid.x")
        offset = builder.mul(builder.call(read, []), ir.Constant(ir.IntType(32), each))
        near = builder.gep(place, [ir.Constant(ir.IntType(32), 0), offset])
        data = builder.addrspacecast(near, item.as_pointer(), "generic")
    else:
        data = builder.bitcast(cgutils.alloca_once(builder, ir.ArrayType(item, count)), item.as_pointer())
    local = make_array(kind)(context, builder)
    populate_array(
        local,
        data=data,
        shape=[context.get_constant(types.intp, length) for length in shape],
        strides=[context.get_constant(types.intp, size * math.prod(shape[at + 1 :])) for at in range(len(shape))],
        itemsize=context.get_constant(types.intp, size),
        meminfo=None,
    )
    return local._getvalue()


def _copy(context: Any, builder: Any, source: Any, target: Any, plan: Held, own_is_target: bool) -> None:
    """Copy an array of a known shape entry by entry."""
    from numba.cuda import cgutils
    from numba.cuda.np.arrayobj import load_item, make_array, store_item

    pairs = [(kind, make_array(kind)(context, builder, value)) for kind, value in (source, target)]
    shape, is_near = plan.shape, plan.threads > 0
    count = math.prod(shape)

    def copy_one(flat: Any) -> None:
        index, rest = [], flat
        for length in reversed(shape):
            size = context.get_constant(types.intp, length)
            index.append(builder.urem(rest, size))
            rest = builder.udiv(rest, size)
        places = []
        for side, (_kind, array) in enumerate(pairs):
            if side == own_is_target and (count <= UNROLLED or is_near):
                # A pointer made from a number, as below, keeps the compiler from putting the array into registers.
                places.append(builder.gep(array.data, [flat]))
                continue
            strides = cgutils.unpack_tuple(builder, array.strides, len(shape))
            offset = context.get_constant(types.intp, 0)
            for at, stride in zip(reversed(index), strides, strict=True):
                offset = builder.add(offset, builder.mul(at, stride))
            places.append(cgutils.pointer_add(builder, array.data, offset))
        item = load_item(context, builder, pairs[0][0], places[0])
        item = context.cast(builder, item, pairs[0][0].dtype, pairs[1][0].dtype)
        store_item(context, builder, pairs[1][0], item, places[1])

    if count <= UNROLLED:
        for flat in range(count):
            copy_one(context.get_constant(types.intp, flat))
        return
    with cgutils.for_range(builder, context.get_constant(types.intp, count)) as loop:
        copy_one(loop.index)
