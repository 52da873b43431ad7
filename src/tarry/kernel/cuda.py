"""Run a step on a GPU, one thread a replica; ``numba.cuda`` is loaded here, when it is asked for, and nowhere else."""

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

from tarry.kernel.compile import INLINED, numba_side, uninterrupted
from tarry.kernel.held import THREADS, layout_for, movers, plan_of
from tarry.kernel.pipeline import forget_types
from tarry.kernel.views import remade, replica, replicate

INSTALL = "pip install 'tarry[cuda]'"
# Contraction would round a·b + c once where the CPU rounds twice, and decisions could differ.
NVVM_OPTIONS = {"opt": 3, "fma": 0}
OURS = "_ZN5tarry"  # how names of compiled functions of this package begin
# The keyed generator wraps around in uint64 by design, and compiled code divides as IEEE 754 says.
_UNCHECKED = np.errstate(over="ignore", divide="ignore", invalid="ignore")

cuda: Any = None  # numba.cuda once it is loaded: in a global the simulator puts its own in its place


class NoDevice(RuntimeError):
    """Say why nothing can run on a GPU here."""


def is_simulated() -> bool:
    """Return whether Numba's simulator stands in for the GPU."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def load_cuda() -> None:
    """Load ``numba.cuda``; raise NoDevice, with the way out, where it is missing."""
    global cuda
    if cuda is None and find_spec("numba_cuda") is None:  # older versions of Numba have a numba.cuda of their own
        raise NoDevice(f"numba-cuda is not installed: {INSTALL}")
    try:
        cuda = uninterrupted(lambda: import_module("numba.cuda"))
    except Exception as reason:  # libraries of several packages are looked for, each with errors of its own
        line = (str(reason).splitlines() or [type(reason).__name__])[0]
        raise NoDevice(f"numba-cuda does not load ({line}): {INSTALL}") from reason
    if not is_simulated():
        _add_floor()


def _add_floor() -> None:
    """Let kernels call ``np.floor``, which numba-cuda lacks; its ``math.floor`` gives a float, the CPU's none."""
    from numba.cuda.mathimpl import get_unary_impl_for_fn_and_ty
    from numba.cuda.ufuncs import ufunc_db

    def floor(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        implementation = get_unary_impl_for_fn_and_ty(math.floor, signature.args[0])
        return implementation(context, builder, signature, arguments)

    ufunc_db().setdefault(np.floor, {"d->d": floor})


def find_device() -> None:
    """Raise NoDevice, with the way out, where no GPU answers."""
    load_cuda()
    if not cuda.is_available():
        raise NoDevice(f"no GPU answers; either its driver is missing (nvidia-smi tells), or the libraries: {INSTALL}")


def make_kernel(body: Callable[..., None], rules: Any, plan: Any) -> Callable[..., None]:
    """Return the kernel that runs ``body(rules, fixed, replica, first, last)`` for ``count`` replicas.

    ``rules`` are numbers that the compiled code knows as constants.
    """
    numba_side()  # which compiled code asks for verbs and steps
    load_cuda()
    hold, give = movers(plan, is_simulated())
    run = _UNCHECKED(body) if is_simulated() else body

    def kernel(fixed: Any, stacked: Any, count: int, first: int, last: int) -> None:
        i = cuda.grid(1)
        if i < count:
            own_buffers = hold(replica(stacked, i))
            run(rules, fixed, own_buffers, first, last)
            give(own_buffers, replica(stacked, read_place()))

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
        compiled = compile_cuda(kernel, types.void, kinds, cc=capability, **options)
    forget_types()
    library, name = compiled.library, compiled.fndesc.llvm_func_name
    kernel_fixup(library.get_function(name), False)
    library._entry_name = name
    return _Kernel._rebuild(False, name, compiled.signature, library, False, False, compiled.call_helper, [_Nothing])


@contextmanager
def _indexing_forward() -> Iterator[None]:
    """Let our compiled code not ask of each index whether it counts from the end: our steps have no such indices."""
    from numba.cuda.np import arrayobj

    def as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        if isinstance(index, Constant) or not builder.function.name.startswith(OURS):
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
        key = (rules, plan, kinds)
        if key not in self._made:
            find_device()
            kernel = make_kernel(self._body, rules, plan)
            if is_simulated():
                code = cuda.jit(kernel)
            else:
                capability = cuda.get_current_device().compute_capability
                code = compile_kernel(kernel, kinds, capability, layout.registers)
            self._made[key] = Kernel(code, layout.threads)
        return self._made[key]


def _stacked_kinds(fresh: Any) -> Any:
    """Return the types of stacked replicas of a tree, neighbours side by side."""
    return kinds_of(replicate(fresh, 1, "F"), "F")


def to_device(tree: Any) -> Any:
    """Return a tree with its arrays on the device; numbers stay."""
    if isinstance(tree, tuple):
        return remade(tree, map(to_device, tree))
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
        return remade(tree, (spread(part, count) for part in tree))
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
        _lay()[4096, THREADS[0]](rows.ravel(order="F"), flat, rows.shape[0], count)


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
    host = np.array(rows) if is_simulated() else rows.copy_to_host()
    return np.ascontiguousarray(host[:count])


def free_bytes() -> int:
    """Return the free memory of the device."""
    return 1 << 26 if is_simulated() else int(cuda.current_context().get_memory_info().free)
