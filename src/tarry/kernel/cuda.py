"""Run a step on a GPU, one thread a replica; ``numba.cuda`` is loaded here, when it is asked for, and nowhere else.

A thread keeps the small arrays of its replica in memory of its own, where neighbouring threads lie side by side, and
writes them back at the end. Their sizes are constants of the compiled code: loops over them unroll, counters become
registers, and what is switched off by an empty array is not compiled. Large arrays stay where they are.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from llvmlite.ir import Constant
from numba import typeof
from numba.core import types
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype, from_dtype

from tarry.kernel.compile import INLINED
from tarry.kernel.views import _remade, leaves, replica, replicate

INSTALL = "pip install 'tarry[cuda]'"
HELD_BYTES = 4096  # of one array: larger ones would push a replica's hot state out of the caches
UNROLLED = 13  # entries that are copied one by one, so that counters become registers; more would only crowd them
SCRATCH = ("scratch", "row")  # names of arrays whose contents do not outlast a round
FEW = 4  # entries that are in registers anyway
THREADS = (128, 64, 32)  # of a block, the most that fit with all that is to be near
BLOCK_BYTES = 48 << 10  # of fast memory, for a block of threads
# Of a multiprocessor of compute capability 9.0; on others a kernel is as right, and perhaps less fast.
FAST_BYTES, BLOCK_EXTRA, REGISTERS = 228 << 10, 1 << 10, 1 << 16
FEWEST_REGISTERS, MOST_REGISTERS = 160, 255  # of a thread: with fewer, more is spilled than other threads make up for
# Contraction would round a·b + c once where the CPU rounds twice, and decisions could differ.
NVVM_OPTIONS = {"opt": 3, "fma": 0}
# The keyed generator wraps around in uint64 by design, and compiled code divides as IEEE 754 says.
_UNCHECKED = np.errstate(over="ignore", divide="ignore", invalid="ignore")

cuda: Any = None  # numba.cuda once it is loaded: in a global the simulator puts its own in its place


class NoDevice(RuntimeError):
    """Say why nothing can run on a GPU here."""


class Held(NamedTuple):
    """The shape and dtype of an array that a thread holds itself: in fast memory if a block has ``threads``, not 0."""

    shape: tuple[int, ...]
    dtype: Any
    threads: int = 0
    is_kept: bool = True  # from one launch to the next


def is_simulated() -> bool:
    """Return whether Numba's simulator stands in for the GPU."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def load_cuda() -> None:
    """Load ``numba.cuda``; raise NoDevice, with the way out, where it is missing."""
    global cuda
    if cuda is None and find_spec("numba_cuda") is None:  # older versions of Numba have a numba.cuda of their own
        raise NoDevice(f"numba-cuda is not installed: {INSTALL}")
    cuda = import_module("numba.cuda")
    if not is_simulated():
        _add_floor()


def _add_floor() -> None:
    """Let kernels call ``np.floor``, which numba-cuda lacks; its ``math.floor`` gives a float, the CPU's none."""
    from numba.cuda.mathimpl import get_unary_impl_for_fn_and_ty
    from numba.cuda.ufuncs import ufunc_db

    def floor(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = get_unary_impl_for_fn_and_ty(math.floor, signature.args[0])
        return found(context, builder, signature, arguments)

    ufunc_db().setdefault(np.floor, {"d->d": floor})


def find_device() -> None:
    """Raise NoDevice, with the way out, where no GPU answers."""
    load_cuda()
    if not cuda.is_available():
        raise NoDevice(f"no GPU answers: its driver is missing, or the CUDA libraries are ({INSTALL})")


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
    wanted = sum(size for _leaf, size in _near_sizes(near, Layout()))
    threads = next((count for count in THREADS if count * wanted <= BLOCK_BYTES), THREADS[-1])
    # A thread may have as many registers as leave room for all blocks that fast memory has room for.
    blocks = FAST_BYTES // (BLOCK_EXTRA + threads * min(wanted, BLOCK_BYTES // threads))
    registers = REGISTERS // (blocks * threads) // 8 * 8
    return Layout(threads, registers if FEWEST_REGISTERS <= registers < MOST_REGISTERS else None)


def _near_sizes(near: Any, layout: Layout) -> list[tuple[Any, int]]:
    """Return the arrays that belong in fast memory, each with the bytes it takes there, the smallest first."""
    found = [(leaf, _padded(leaf.size, kind.itemsize) * kind.itemsize) for leaf, kind in _narrowed(near, layout)]
    return sorted((pair for pair in found if pair[0].size > FEW), key=lambda pair: pair[1])


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
    named = [getattr(tree, name) for name in SCRATCH if name in getattr(tree, "_fields", ())]
    return named + [leaf for part in tree for leaf in _scratch(part)]


def _narrowed(tree: Any, layout: Layout) -> list[Any]:
    """Return the arrays of a tree, each with the dtype it needs."""
    found: list[Any] = []
    _planned(tree, layout, lambda leaf, kind: found.append((leaf, kind)))
    return found


def _movers(plan: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return functions that take a replica's tree into a thread's own arrays, and put it back."""
    if is_simulated():
        return functools.partial(_copied, plan=plan), functools.partial(_write_back, plan=plan)

    # The kernel calls these itself: arrays that a function in between had made would be gone when it returns, and the
    # compiler, which knows that, leaves out what is written into them.
    @intrinsic  # type: ignore[untyped-decorator]
    def hold(typing: Any, shared: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _take_in(context, builder, shared, arguments[0], plan)

        return _held_type(shared, plan)(shared), build

    @intrinsic  # type: ignore[untyped-decorator]
    def give(typing: Any, mine: Any, shared: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _put_back(context, builder, (mine, shared), arguments, plan)
            return context.get_dummy_value()

        return types.void(mine, shared), build

    return hold, give


class _Narrow(np.ndarray):
    """Whole numbers in few bits, as in compiled code: what is read is wide again; what is written has to fit."""

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return found if isinstance(found, np.ndarray) else np.int64(found)

    def __setitem__(self, place: Any, value: Any) -> None:
        super().__setitem__(place, value)
        if np.any(self[place] != value):
            raise OverflowError(f"{value} does not fit an array of {self.dtype}")


def _copied(shared: Any, plan: Any) -> Any:
    if isinstance(plan, Held):
        own = np.array(shared, as_dtype(plan.dtype)) if plan.is_kept else np.full_like(shared, np.nan)
        return own if own.dtype == shared.dtype else own.view(_Narrow)
    if not isinstance(shared, tuple):
        return shared
    parts = [_copied(part, how) for part, how in zip(shared, plan, strict=True)]
    return type(shared)(*parts) if hasattr(shared, "_fields") else tuple(parts)


def _write_back(mine: Any, shared: Any, plan: Any) -> None:
    if isinstance(plan, Held):
        shared[...] = mine
    elif isinstance(shared, tuple):
        for one, other, how in zip(mine, shared, plan, strict=True):
            _write_back(one, other, how)


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
        own = _make_own(context, builder, _held_type(shared, plan), plan)
        if plan.is_kept:
            _copy(context, builder, (shared, value), (_held_type(shared, plan), own), plan, own_is_target=True)
        return own
    if not isinstance(shared, types.BaseTuple):
        return value
    made = [
        _take_in(context, builder, part, builder.extract_value(value, at), how)
        for at, (part, how) in enumerate(zip(shared.types, plan, strict=True))
    ]
    return context.make_tuple(builder, _held_type(shared, plan), made)


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
    own = make_array(kind)(context, builder)
    populate_array(
        own,
        data=data,
        shape=[context.get_constant(types.intp, length) for length in shape],
        strides=[context.get_constant(types.intp, size * math.prod(shape[at + 1 :])) for at in range(len(shape))],
        itemsize=context.get_constant(types.intp, size),
        meminfo=None,
    )
    return own._getvalue()


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


def make_kernel(body: Callable[..., None], rules: Any, plan: Any) -> Callable[..., None]:
    """Return the kernel that runs ``body(rules, fixed, replica, first, last)`` for ``count`` replicas.

    ``rules`` are numbers that the compiled code knows as constants.
    """
    load_cuda()
    hold, give = _movers(plan)
    run = _UNCHECKED(body) if is_simulated() else body

    def kernel(fixed: Any, stacked: Any, count: int, first: int, last: int) -> None:
        i = cuda.grid(1)
        if i < count:
            mine = hold(replica(stacked, i))
            run(rules, fixed, mine, first, last)
            give(mine, replica(stacked, read_place()))

    return kernel


def read_place() -> int:
    """Return this thread's place, read anew: so what depends on it takes no registers while rounds are played."""
    return cuda.grid(1)  # type: ignore[no-any-return]


@intrinsic  # type: ignore[untyped-decorator]
def _read_place(typing: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        word = ir.IntType(32)
        asm = ir.InlineAsm(
            ir.FunctionType(word, []),
            "{ .reg .u32 a, b, c; mov.u32 a, %ctaid.x; mov.u32 b, %ntid.x; mov.u32 c, %tid.x; "
            "mad.lo.u32 $0, a, b, c; }",
            "=r",
            side_effect=True,
        )
        return builder.zext(builder.call(asm, []), ir.IntType(64))

    return types.int64(), build


@overload(read_place, target="generic", strict=False, jit_options=INLINED)  # type: ignore[untyped-decorator]
def _choose_place() -> Any:
    return lambda: _read_place()


def compile_kernel(
    kernel: Callable[..., None],
    kinds: tuple[Any, ...],
    capability: tuple[int, int],
    registers: int | None = None,
    lineinfo: bool = False,
) -> Any:
    """Return a kernel compiled for arguments of these types, of so many registers at most; needs no GPU."""
    # ``cuda.jit`` has no way to switch contraction off, so this does what its dispatcher does, with one option more.
    from numba.cuda.compiler import compile_cuda, kernel_fixup
    from numba.cuda.dispatcher import _Kernel

    options = {"nvvm_options": dict(NVVM_OPTIONS), "max_registers": registers, "lineinfo": lineinfo}
    with _indexing_forward():
        found = compile_cuda(kernel, types.void, kinds, cc=capability, **options)
    library, name = found.library, found.fndesc.llvm_func_name
    kernel_fixup(library.get_function(name), False)
    library._entry_name = name
    return _Kernel._rebuild(False, name, found.signature, library, False, False, found.call_helper, [_Nothing])


@contextmanager
def _indexing_forward() -> Iterator[None]:
    """Let compiled code not ask of each index whether it counts from the end: steps have no such indices."""
    from numba.cuda.np import arrayobj

    def as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        if isinstance(index, Constant):
            return usual(context, builder, kind, index, size)
        return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)

    usual = arrayobj.fix_integer_index
    arrayobj.fix_integer_index = as_it_is
    try:
        yield
    finally:
        arrayobj.fix_integer_index = usual


class _Nothing:
    """Hand over arguments that are nothing at run time, None and functions, as Numba's kernels expect them."""

    @staticmethod
    def prepare_args(kind: Any, value: Any, stream: Any, retr: Any) -> tuple[Any, Any]:
        empty = isinstance(kind, (types.NoneType, types.Dispatcher))
        return (types.CPointer(types.void), 0) if empty else (kind, value)


def kinds_of(tree: Any, order: str = "C") -> Any:
    """Return the types of a tree whose arrays lie on the device in this order."""
    if isinstance(tree, tuple):
        return types.BaseTuple.from_types(
            [kinds_of(part, order) for part in tree], type(tree) if hasattr(tree, "_fields") else None
        )
    if isinstance(tree, np.ndarray):
        return types.Array(typeof(tree).dtype, tree.ndim, order if tree.ndim > 1 else "C")
    return typeof(tree)


class Kernel(NamedTuple):
    """A compiled kernel, and of how many threads its blocks are."""

    code: Any
    threads: int

    def load(self) -> None:
        """Bring it onto the device: the last part of compiling, and the longest."""
        if not is_simulated():
            self.code.bind()

    def run(self, arguments: tuple[Any, ...], count: int) -> None:
        """Launch it for this many replicas, and wait for its end."""
        if is_simulated():
            self.code[1, count](*arguments)
            return
        from numba.cuda.cudadrv.driver import _to_core_stream

        self.code.launch(arguments, (-(-count // self.threads), 1, 1), (self.threads, 1, 1), _to_core_stream(0))
        cuda.synchronize()

    def words(self) -> str:
        """Say what it takes of the device."""
        if is_simulated():
            return "simulated"
        code, threads = self.code, self.threads
        held = f"{code.regs_per_thread} registers, {code.local_mem_per_thread} B spilled or local"
        return f"{threads} threads a block, {held}, {code.shared_mem_per_block} B of fast memory a block"


class Launcher:
    """Makes kernels that run a step for replicas: compiled once for each set of types, shapes and rules."""

    def __init__(self, body: Callable[..., None]) -> None:
        self._body, self._made = body, dict[Any, Kernel]()

    def kernel_for(self, rules: Any, shared: Any, fresh: Any, near: Any, far: Any) -> Kernel:
        """Return the kernel that plays replicas of ``fresh`` with what all of them ``shared``, both on the host."""
        layout = layout_for(near)
        plan = plan_of(fresh, layout, near, far)
        kinds = (kinds_of(shared), _stacked_kinds(fresh), types.int64, types.int64, types.int64)
        known = (rules, plan, kinds)
        if known not in self._made:
            find_device()
            kernel = make_kernel(self._body, rules, plan)
            if is_simulated():
                code = cuda.jit(kernel)
            else:
                capability = cuda.get_current_device().compute_capability
                code = compile_kernel(kernel, kinds, capability, layout.registers)
            self._made[known] = Kernel(code, layout.threads)
        return self._made[known]


def _stacked_kinds(fresh: Any) -> Any:
    """Return the types of stacked replicas of a tree, neighbours side by side."""
    return kinds_of(replicate(fresh, 1, "F"), "F")


def to_device(tree: Any) -> Any:
    """Return a tree with its arrays on the device; numbers stay."""
    if isinstance(tree, tuple):
        return _remade(tree, map(to_device, tree))
    if not isinstance(tree, np.ndarray):
        return tree
    return np.array(tree) if is_simulated() else cuda.to_device(np.ascontiguousarray(tree))


class Mirror:
    """Copies on the device of arrays that lie on the host: one for all views of an array."""

    def __init__(self) -> None:
        self._kept = dict[int, tuple[np.ndarray, Any]]()

    def place(self, array: np.ndarray) -> tuple[int, tuple[int, ...]]:
        """Return the address of an array on the device, and its strides there."""
        whole = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        owner = whole.base if isinstance(whole.base, np.ndarray) else whole
        if id(owner) not in self._kept:
            self._kept[id(owner)] = owner, cuda.to_device(np.ravel(owner, order="K"))
        start = whole.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        device = self._kept[id(owner)][1]
        return int(device.__cuda_array_interface__["data"][0]) + start, whole.strides


def spread(tree: Any, count: int) -> Any:
    """Return this many replicas of a tree on the device, neighbours side by side."""
    if is_simulated():
        return replicate(tree, count, "F")
    if isinstance(tree, tuple):
        return _remade(tree, (spread(part, count) for part in tree))
    leaf = np.asarray(tree)
    rows = cuda.device_array((count, *leaf.shape), leaf.dtype, order="F")
    respread(rows, leaf)
    return rows


def respread(rows: Any, leaf: Any) -> None:
    """Let all rows of a stacked array be this leaf again."""
    if is_simulated():
        rows[...] = leaf
    elif rows.size:
        flat = cuda.to_device(np.ravel(leaf, order="F"))
        _fill()[4096, THREADS[0]](rows.ravel(order="F"), flat, rows.shape[0])


@functools.cache
def _fill() -> Any:
    def fill(rows: Any, leaf: Any, count: int) -> None:
        for i in range(cuda.grid(1), rows.size, cuda.gridsize(1)):
            rows[i] = leaf[i // count]

    return cuda.jit(fill)


def lay(rows: Any, values: np.ndarray) -> None:
    """Let the first rows of a stacked array be these."""
    count = values.shape[0]
    if is_simulated():
        rows[:count] = values
    elif values.size:
        flat = cuda.to_device(np.ravel(values, order="F"))
        _lay()[4096, THREADS](rows.ravel(order="F"), flat, rows.shape[0], count)


@functools.cache
def _lay() -> Any:
    def lay(rows: Any, values: Any, room: int, count: int) -> None:
        for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
            rows[i // count * room + i % count] = values[i]

    return cuda.jit(lay)


def put(rows: Any, values: np.ndarray) -> None:
    """Write the first entries of a stacked array of numbers."""
    if is_simulated():
        rows[: values.size] = values
    else:
        rows[: values.size].copy_to_device(np.ascontiguousarray(values, rows.dtype))


def fetch(rows: Any, count: int) -> np.ndarray:
    """Return the first rows of a stacked array, on the host."""
    found = np.array(rows) if is_simulated() else rows.copy_to_host()
    return np.ascontiguousarray(found[:count])


def free_bytes() -> int:
    """Return the free memory of the device."""
    return 1 << 26 if is_simulated() else int(cuda.current_context().get_memory_info().free)
