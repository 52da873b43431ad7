"""Numba's compiler, told to optimise and translate an entry once, with all its steps.

Numba compiles each function for its own sake: it optimises the function with everything inlined, and makes machine code
of it. A step is only ever inlined, so all of that is thrown away but the work on the root, the entry. Here a step
stays as it was written down, lightly cleaned, until an entry takes it. What is used of Numba beyond ``pipeline_class``
are its code libraries, which have kept their form for years; with another form steps would fail to compile, not err.
"""

from __future__ import annotations

import functools
import gc
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs, must_use_alloca
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.ir import Assign
from numba.core.lowering import Lower
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering

logger = logging.getLogger("tarry.compiling")

PATIENCE = 1.0  # seconds without a word
# Passes over a step that find nothing to do: array expressions would allocate, and closures are looked for first.
NEEDLESS = {"NopythonRewrites"}
OF_CLOSURES = {"InlineClosureLikes"}
UNUSED = -1
LARGE_WRAPPER = 256  # blocks: of dozens of arrays, which are called for many rounds at a time

_known_flags: dict[Flags, Flags] = {}
_subroutines: dict[bool, dict[Any, Any]] = {False: {}, True: {}}  # of Numba's own, by whether references are counted


class StepLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a step, neither optimised with what it calls nor translated."""

    def finalize(self) -> None:
        """Leave the work to the entry."""
        self._finalized = True

    def _optimize_functions(self, ll_module: Any) -> None:
        if not hasattr(self._codegen, "_pass_builder"):  # an older Numba sets passes up once for a module
            super()._optimize_functions(ll_module)
            return
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:  # Numba sets passes up, a millisecond, for all that is called too
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)


class EntryLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of an entry and of all its steps, optimised and translated as a whole."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Add a module; what unpacks dozens of arrays for one call is not worth a fifth of LLVM's time."""
        for function in ir_module.functions if ir_module.name == "wrapper" else ():
            if len(function.blocks) > LARGE_WRAPPER:
                function.attributes.add("optnone")
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)

    def finalize(self) -> None:
        """Link all steps, then optimise and translate."""
        self._linking_libraries = _called_by(self)
        super().finalize()

    def _finalize_specific(self) -> None:
        super()._finalize_specific()
        # Python's objects that steps name (a string to print) are found through these.
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if environment is not None:
                self._codegen.set_env(variable.name, environment)


def _called_by(library: Any) -> list[Any]:
    """Return the libraries that a library calls, through steps too: callers before what they call."""
    # LLVM takes from a library only what is asked for by then, so one that came before a caller would be left out.
    found: dict[Any, None] = {}  # an ordered set: machine code should not depend on addresses

    def visit(one: Any) -> None:
        for called in one._linking_libraries if one is library or isinstance(one, StepLibrary) else ():
            if called not in found:
                visit(called)
        found[one] = None

    visit(library)
    return list(found)[-2::-1]


class _StepCodegen(JITCPUCodegen):  # type: ignore[misc]
    _library_class = StepLibrary

    def set_env(self, env_name: str, env: Any) -> None:
        """Leave it to the entry: a step has no address."""


_step_codegen = functools.cache(_StepCodegen)


class _FixedFlags(Flags):  # type: ignore[misc]
    """Flags that do not change, one object for all that are equal.

    Numba looks overloads up by flags, several times for each operation, and compares them option by option.
    """

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def copy(self) -> _FixedFlags:
        return self


def _fixed(flags: Flags) -> Flags:
    if flags not in _known_flags:
        _known_flags[flags.copy()] = _FixedFlags(flags)
    return _known_flags[flags]


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


class _Lower(Lower):  # type: ignore[misc]
    """Numba's way to LLVM, with fewer variables in memory and fewer tuples taken apart and put together.

    Numba gives each variable that is used in several blocks a place on the stack: filled, read and cleared as a whole,
    which for a state of dozens of arrays is most of what LLVM then has to clean up. A variable that is assigned once,
    before all its uses, needs no place. Tuples are passed field by field, and put together again whether used or not.
    """

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        self.builder = _Builder(self.entry_block)

    def post_lower(self) -> None:
        super().post_lower()
        instructions = [one for block in self.function.blocks for one in block.instructions]
        uses = Counter(id(value) for one in instructions for value in one.operands)
        uses.update(id(value) for one in instructions for value, _ in getattr(one, "incomings", ()))
        for one in reversed(instructions):
            if one.opname in ("insertvalue", "extractvalue") and not uses[id(one)]:
                uses[id(one)] = UNUSED
                uses.subtract(map(id, one.operands))
        for block in self.function.blocks:
            block.instructions[:] = [one for one in block.instructions if uses[id(one)] != UNUSED]

    def _find_singly_assigned_variable(self) -> None:
        if self.context.enable_nrt or self.func_ir.func_id.is_generator:  # who counts references clears places
            super()._find_singly_assigned_variable()
            return
        blocks, found = self.func_ir.blocks, compute_use_defs(self.func_ir.blocks)
        assigned = Counter(one.target.name for block in blocks.values() for one in block.find_insts(Assign))
        home = {name: label for label, names in found.defmap.items() for name in names if assigned[name] == 1}
        before, strays = compute_cfg_from_blocks(blocks).dominators(), set(must_use_alloca(blocks))
        for label, names in found.usemap.items():
            # Blocks are written down by their labels, and a value has to be there before its uses.
            strays |= {name for name in names if home.get(name, label) not in before[label] - {label}}
            strays |= {name for name in names if home.get(name, label) >= label}
        self._singly_assigned_vars = home.keys() - strays
        self._blk_local_varmap: dict[str, Any] = {}


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    _name = "tarry_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return _Lower


class StepCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler for a step: down to its code, and no further."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # A function that is not ours may call steps as well, and Numba compiles them for it.
        if not isinstance(ConfigStack.top_or_none(), _FixedFlags) and not isinstance(self, EntryCompiler):
            return
        state = self.state
        state.flags = _fixed(state.flags)
        self.codegen = state.targetctx.codegen()
        state.targetctx = state.targetctx.subtarget(_internal_codegen=_step_codegen("tarry.steps"))
        state.targetctx.cached_internal_func = _subroutines[bool(state.flags.nrt)]
        state.targetctx.refresh = _do_nothing  # done just now, and again for each name that is looked up

    def define_pipelines(self) -> Any:
        """Return Numba's passes without those that would find nothing."""
        if not isinstance(self.state.flags, _FixedFlags):
            return super().define_pipelines()
        has_closures = any(hasattr(constant, "co_code") for constant in self.state.func_id.code.co_consts)
        needless = NEEDLESS if has_closures else NEEDLESS | OF_CLOSURES
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            kept = [(one, told) for one, told in pipeline.passes if one.__name__ not in needless]
            pipeline.passes = [(_Lowering if one is NativeLowering else one, told) for one, told in kept]
            pipeline.finalize()
        return pipelines


class EntryCompiler(StepCompiler):
    """Numba's compiler for an entry, which takes in its steps."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function into a library of its own."""
        self.state.library = EntryLibrary(self.codegen, func.__qualname__)
        self.state.library.enable_object_caching()
        with _saying(func.__name__, self.state.args), _without_collection():
            return super().compile_extra(func)


def _do_nothing() -> None:
    pass


@contextmanager
def _saying(name: str, arguments: tuple[Any, ...]) -> Iterator[None]:
    """Log that an entry is being compiled where it takes longer than a second."""
    kind = first = arguments[0]
    while getattr(first, "types", ()) and not hasattr(getattr(first, "instance_class", None), "_parameters"):
        first = first.types[0]  # a player may stand within other tuples
    kind = first if getattr(first, "types", ()) else kind
    parts = [getattr(part, "instance_class", None) for part in getattr(kind, "types", ())]
    members = ", ".join(part.__name__ for part in parts if part is not None)
    timer = threading.Timer(PATIENCE, logger.info, ("compiling %s for %s", name, members or "other types"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _without_collection() -> Iterator[None]:
    """Hold off the collection of cycles: compiling makes a million objects, and looks through them again and again."""
    was_on = gc.isenabled()  # Numba lets one thread compile at a time
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
