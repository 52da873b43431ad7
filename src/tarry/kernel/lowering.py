"""From typed steps to LLVM's text, with less of it than Numba would write.

Numba passes a tuple field by field, an array as seven numbers or more, and a state is a hundred arrays. So how arrays
are handed from step to step, and which variables are kept in memory, decides how long a game takes to compile.
"""

from __future__ import annotations

import copy
import functools
from collections import Counter
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs, must_use_alloca
from numba.core.callconv import CPUCallConv
from numba.core.cpu import CPUContext
from numba.core.datamodel import ArgPacker, DataModelManager, default_manager
from numba.core.datamodel.models import ArrayModel
from numba.core.ir import Assign
from numba.core.lowering import Lower
from numba.np import arrayobj
from numba.np.numpy_support import as_dtype

from tarry.kernel.blame import is_foreign, place_of

UNUSED = -1
FORWARD = (
    "tarry.kernel.",
    "tarry.tracking.",
    "tarry.schedulers.",
    "tarry.game.",
    "tarry.losses.",
    "tarry.delays.",
    "tarry.learners.",
    "tarry.domains.",
)


def product(builder: Any, factors: list[Any]) -> Any:
    """Return the product of numbers."""
    return functools.reduce(builder.mul, factors)


def build_array(model: Any, builder: Any, data: Any, shape: Any, strides: Any = None) -> Any:
    """Return the value of an array whose references nobody counts; without strides it lies in one piece."""
    kinds = dict(zip(model._fields, model.get_value_type().elements, strict=True))
    size = kinds["itemsize"](as_dtype(model._fe_type.dtype).itemsize)
    strides = strides or [product(builder, [size, *shape[at + 1 :]]) for at in range(len(shape))]
    parts = {
        "meminfo": ir.Constant(kinds["meminfo"], None),
        "parent": ir.Constant(kinds["parent"], None),
        "nitems": product(builder, [kinds["nitems"](1), *shape]),
        "itemsize": size,
        "data": data,
        "shape": _put_together(builder, kinds["shape"], shape),
        "strides": _put_together(builder, kinds["strides"], strides),
    }
    return _put_together(builder, model.get_value_type(), [parts[name] for name in model._fields])


def _put_together(builder: Any, kind: Any, parts: Any) -> Any:
    array_value = ir.Constant(kind, ir.Undefined)
    for at, part in enumerate(parts):
        array_value = builder.insert_value(array_value, part, at)
    return array_value


class _ShortModel(ArrayModel):  # type: ignore[misc]
    """An array as steps hand it on: where it lies and its shape. If it lies in one piece, the rest is known."""

    def _cut(self, parts: Any) -> Any:
        if self._fe_type.layout != "C" or self._fe_type.ndim == 0:
            return parts
        return tuple(parts[self.get_field_position(name)] for name in ("data", "shape"))

    def get_argument_type(self) -> Any:
        return self._cut(super().get_argument_type())

    def as_argument(self, builder: Any, value: Any) -> Any:
        return self._cut(super().as_argument(builder, value))

    def from_argument(self, builder: Any, value: Any) -> Any:
        whole = len(value) == len(self._fields)
        return super().from_argument(builder, value) if whole else build_array(self, builder, *value)


_short_models = DataModelManager().chain(default_manager)
_short_models.register(types.Array, _ShortModel)
_takes_short: set[str] = set()  # names of functions


class _ShortPacker(ArgPacker):  # type: ignore[misc]
    def assign_names(self, args: Any, names: Any) -> None:
        """Leave arguments without names, which nobody reads."""


_short_packer = functools.cache(functools.partial(_ShortPacker, _short_models))


class _CallConvention(CPUCallConv):  # type: ignore[misc]
    """Numba's way to call functions, but for steps that take arrays in short."""

    def decode_arguments(self, builder: Any, argtypes: Any, func: Any) -> Any:
        return CPUCallConv(self.context.calling(func.name)).decode_arguments(builder, argtypes, func)

    def return_user_exc(self, builder: Any, exc: Any, exc_args: Any = None, *where: Any, **options: Any) -> None:
        """Let an index outside an array say where it stands."""
        if exc is IndexError and self.context.lowering is not None:
            function, line = self.context.lowering.func_ir.func_id, self.context.lowering.loc.line
            exc_args = (place_of(function.code, line),)
        super().return_user_exc(builder, exc, exc_args, *where, **options)

    def call_function(self, builder: Any, callee: Any, *arguments: Any, **options: Any) -> Any:
        return CPUCallConv(self.context.calling(callee.name)).call_function(builder, callee, *arguments, **options)


class StepContext(CPUContext):  # type: ignore[misc]
    """Numba's context, which knows for each function how it takes arrays, and whether indices count from the end."""

    counts_back = True
    lowering: Any = None  # of a user's function

    @property
    def call_conv(self) -> Any:
        return _CallConvention(self)

    def calling(self, name: str) -> Any:
        """Return the context in which to call a function."""
        if name not in _takes_short:
            return self
        short = copy.copy(self)
        short.get_arg_packer = _short_packer
        return short

    def declare_function(self, module: Any, fndesc: Any) -> Any:
        return CPUContext.declare_function(self.calling(fndesc.mangled_name), module, fndesc)

    def refresh(self) -> None:
        """Take in what typing has brought (intrinsics); all else was looked through just now."""
        for registry in tuple(self._registries):
            self.install_registry(registry)


_usual_index = arrayobj.fix_integer_index


def _forward_index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """Return an index, fixed if it may count from the end: which a twelfth of a round's instructions would ask."""
    if getattr(context, "counts_back", True) or isinstance(index, ir.Constant):
        return _usual_index(context, builder, kind, index, size)
    return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)


arrayobj.fix_integer_index = _forward_index


class _Builder(ir.IRBuilder):  # type: ignore[misc]
    """Write instructions down, but none that takes a part out of a tuple just put together: the part is known."""

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        whole, place = agg, list(idx) if isinstance(idx, (tuple, list)) else [idx]
        while place and isinstance(whole, ir.instructions.InsertValue):
            put = list(whole.indices)
            if place[: len(put)] == put:
                whole, place = whole.value, place[len(put) :]
            elif put[: len(place)] == place:  # a part of which only a part was put
                break
            else:
                whole = whole.aggregate
        return super().extract_value(whole, place, name) if place else whole


def _copy_vector(target: Any, index: Any, source: Any) -> bool:
    """Write one array into a part of another, in the order that overlapping ones need; return whether that works."""
    room = target[index]
    if source.size == 1:
        for i in range(room.size):
            room[i] = source[0]
    if room.size != source.size:
        return bool(source.size == 1)
    to, origin, count = room.ctypes.data, source.ctypes.data, room.size
    if room.strides[0] != source.strides[0]:
        apart = abs(room.strides[0]) * count + abs(source.strides[0]) * count
        if count > 1 and abs(int(to) - int(origin)) < apart:  # near enough to overlap, and no order would do
            return False
    if to <= origin:
        for i in range(count):
            room[i] = source[i]
    else:
        for i in range(count - 1, -1, -1):
            room[i] = source[i]
    return True


class StepLower(Lower):  # type: ignore[misc]
    """Numba's way to LLVM, with fewer variables in memory and fewer tuples taken apart and put together.

    Numba gives each variable that is used in several blocks a place on the stack: filled, read and cleared as a whole,
    which for a state of dozens of arrays is most of what LLVM then has to clean up. A variable that is assigned once,
    before all its uses, needs no place. Tuples are passed field by field, and put together again whether used or not.
    """

    def setup_function(self, fndesc: Any) -> None:
        # References need the whole array, and Numba writes down how Python calls an entry.
        if self.library.is_step and not self.context.enable_nrt:
            _takes_short.add(fndesc.mangled_name)
        # In these rooms steps count from the start, which is tested; what users write or call may do as it likes.
        self.context.counts_back = not str(fndesc.modname).startswith(FORWARD)
        if is_foreign(self.func_ir.func_id.filename):  # an index of a user's must not reach what is not an array's
            self.context.enable_boundscheck, self.context.lowering = True, self
        super().setup_function(fndesc)
        self.builder = _Builder(self.entry_block)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Let ``play[:] = state.point`` do without the memory that Numba would copy through."""
        names = [part.name for part in (target_var, index_var, value_var)]
        target, index, source = kinds = [self.typeof(name) for name in names]
        is_vector = isinstance(target, types.Array) and isinstance(source, types.Array) and source.ndim == 1
        ints = [part for part in getattr(index, "types", (index,)) if isinstance(part, types.Integer)]
        if self.context.enable_nrt or not is_vector or target.ndim - len(ints) != 1 or isinstance(index, types.Array):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        values = [self.loadvar(name) for name in names]
        is_copied = self.context.compile_internal(self.builder, _copy_vector, types.boolean(*kinds), values)
        with cgutils.if_unlikely(self.builder, cgutils.is_false(self.builder, is_copied)):
            self.context.call_conv.return_user_exc(self.builder, IndexError, ("arrays of unlike size",))
        return None

    def post_lower(self) -> None:
        super().post_lower()
        instructions = [instruction for block in self.function.blocks for instruction in block.instructions]
        uses = Counter(id(value) for instruction in instructions for value in instruction.operands)
        uses.update(id(value) for instruction in instructions for value, _ in getattr(instruction, "incomings", ()))
        for instruction in reversed(instructions):
            if instruction.opname in ("insertvalue", "extractvalue") and not uses[id(instruction)]:
                uses[id(instruction)] = UNUSED
                uses.subtract(map(id, instruction.operands))
        for block in self.function.blocks:
            block.instructions[:] = [
                instruction for instruction in block.instructions if uses[id(instruction)] != UNUSED
            ]

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        if self.context.enable_nrt or name in self._singly_assigned_vars:
            super().storevar(value, name, argidx)
            return
        self._alloca_var(name, self.typeof(name))  # what was there before is not looked at: nobody counts references
        self.builder.store(value, self.getvar(name))

    def _find_singly_assigned_variable(self) -> None:
        if self.context.enable_nrt or self.func_ir.func_id.is_generator:  # who counts references clears places
            super()._find_singly_assigned_variable()
            return
        blocks, uses = self.func_ir.blocks, compute_use_defs(self.func_ir.blocks)
        assigned = Counter(statement.target.name for block in blocks.values() for statement in block.find_insts(Assign))
        home = {name: label for label, names in uses.defmap.items() for name in names if assigned[name] == 1}
        before, strays = compute_cfg_from_blocks(blocks).dominators(), set(must_use_alloca(blocks))
        for label, names in uses.usemap.items():
            # Blocks are written down by their labels, and a value has to be there before its uses.
            strays |= {name for name in names if home.get(name, label) not in before[label] - {label}}
            strays |= {name for name in names if home.get(name, label) >= label}
        self._singly_assigned_vars = home.keys() - strays
        self._blk_local_varmap: dict[str, Any] = {}
