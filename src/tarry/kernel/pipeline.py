"""Numba's compiler, told to optimise and translate an entry once, with all its steps.

Numba compiles each function for its own sake: it optimises the function with everything inlined, and makes machine code
of it. A step is only ever inlined, so all of that is thrown away but the work on the root, the entry. Here a step
stays as it was written down, lightly cleaned, until an entry takes it. What is used of Numba beyond ``pipeline_class``
are its code libraries, which have kept their form for years; with another form steps would fail to compile, not err.
"""

from __future__ import annotations

import copy
import functools
import gc
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.environment import lookup_environment
from numba.core.errors import NumbaError, TypingError
from numba.core.ir_utils import build_definitions
from numba.core.lowering import Lower
from numba.core.ssa import reconstruct_ssa
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering, PreLowerStripPhis
from numba.core.types import BaseFunction, Boolean, Float, Integer
from numba.core.typing.context import Context
from numba.core.typing.templates import _OverloadFunctionTemplate
from numba.core.untyped_passes import ReconstructSSA

from tarry.kernel.blame import does_not_compile, is_foreign, is_known, returned_by
from tarry.kernel.lowering import StepContext, StepLower

logger = logging.getLogger("tarry.compiling")

PATIENCE = 1.0  # seconds without a word
# Passes over a step that find nothing to do: array expressions would allocate, and closures are looked for first.
NEEDLESS = {"NopythonRewrites"}
OF_CLOSURES = {"InlineClosureLikes"}
OF_REFERENCES = {"IRLegalization"}  # writes down where each variable ends
LARGE_WRAPPER = 256  # blocks: of dozens of arrays, which are called for many rounds at a time

# What a verb's implementation may return, by the verb's annotation.
RETURNS = {
    "int": ((Integer,), "a whole number"),
    "float": ((Float, Integer), "a number"),
    "bool": ((Boolean,), "True or False"),
}
_refused: list[tuple[Any, Exception]] = []  # users' functions that did not compile for the entry under way

_known_flags: dict[Flags, _FixedFlags] = {}
_subroutines: dict[bool, dict[Any, Any]] = {False: {}, True: {}}  # of Numba's own, by whether references are counted


class WrongReturn(TypingError):  # type: ignore[misc]
    """A verb's implementation returns what its callers cannot take."""


class StepLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a step, neither optimised with what it calls nor translated."""

    is_step = True

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

    is_step = False

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
    """Return the libraries that a library calls, through steps too, each after all that call it.

    LLVM drops a step that nobody calls when it is linked, and would miss it where somebody does later.
    """
    libraries: list[Any] = []  # in an order that does not depend on addresses: nor should machine code
    visited = {library}

    def visit(called: Any) -> None:
        for inner in called:
            if inner not in visited:
                visited.add(inner)
                visit(inner._linking_libraries if isinstance(inner, StepLibrary) else ())
                libraries.append(inner)

    visit(library._linking_libraries)
    return libraries[::-1]


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
        """Return the flags of what a function calls: a step is compiled once, whoever calls it."""
        return _fixed(self, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, release_gil=False)


def _fixed(flags: Flags, **options: Any) -> _FixedFlags:
    """Return the one object for these flags, with other options."""
    fixed_flags = Flags(flags)
    for name, value in options.items():
        setattr(fixed_flags, name, value)
    return _known_flags.setdefault(fixed_flags, _FixedFlags(fixed_flags))


class _Typing(Context):  # type: ignore[misc]
    """Numba's typing context, which remembers: a game has thousands of operations, on a hundred and fifty types."""

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        function = self._lookup_global(func) or func
        if kws or not isinstance(function, BaseFunction):
            return super().resolve_function_type(func, args, kws)
        # By identity: the hash of a state's type is that of all its parts. Equal types are one object.
        remembered = _resolved.setdefault((id(ConfigStack.top_or_none()), id(function), *map(id, args)), [])
        if not remembered:
            kind = super().resolve_function_type(func, args, kws)
            remembered[:] = (
                () if kind is None else (kind, function, args)
            )  # held, so that no other takes their identity
            return kind
        return remembered[0]

    def refresh(self) -> None:
        """Do nothing: all that Numba knows was looked through when the entry began."""


_resolved: dict[tuple[int, ...], list[Any]] = {}


def forget_types() -> None:
    """Forget the types of operations: another target has compiled steps, which overloads remember by types alone."""
    _resolved.clear()


@functools.cache
def _remembering(context: Any) -> Any:
    copied = copy.copy(context)  # all that it knows is shared
    copied.__class__ = _Typing
    return copied


def _step_context(context: Any) -> Any:
    stepping = context.subtarget(_internal_codegen=_step_codegen("tarry.steps"))
    stepping.__class__ = StepContext
    return stepping


class _Passes(PassManager):  # type: ignore[misc]
    """Passes without the account of them, which writes down the type of the state each time."""

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:
        pss.analysis = self._analysis
        for part in (pss.run_initialization, pss.run_pass, pss.run_finalizer):
            part(internal_state)


# Numba looks for the lives of variables after each of these; only who counts references, or a generator, asks.
@register_pass(mutates_CFG=False, analysis_only=False)
class _Assignments(ReconstructSSA):  # type: ignore[misc]
    _name = "tarry_assignments"

    def run_pass(self, state: Any) -> bool:
        state.func_ir = reconstruct_ssa(state.func_ir)
        self._patch_locals(state)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _Joins(PreLowerStripPhis):  # type: ignore[misc]
    _name = "tarry_joins"

    def run_pass(self, state: Any) -> bool:
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    _name = "tarry_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return StepLower


SHORTER = {ReconstructSSA: _Assignments, PreLowerStripPhis: _Joins}


class StepCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler for a step: down to its code, and no further."""

    def __init__(self, typing: Any, target: Any, *arguments: Any) -> None:
        is_called = isinstance(ConfigStack.top_or_none(), _FixedFlags)
        if is_called:  # what Numba knows was looked through when the entry began
            typing, target = _remembering(typing), _step_context(target)
        super().__init__(typing, target, *arguments)
        # A function that is not ours may call steps as well, and Numba compiles them for it.
        if not is_called and not isinstance(self, EntryCompiler):
            return
        state = self.state
        state.flags = _fixed(state.flags)
        self.codegen = target.codegen()
        state.typingctx = _remembering(state.typingctx)
        state.targetctx = _step_context(state.targetctx)
        state.targetctx.cached_internal_func = _subroutines[bool(state.flags.nrt)]

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function; note a user's that fails, for Numba wraps its words in those of all callers."""
        try:
            result = super().compile_extra(func)
            _check_returned(func.__code__, result.signature.return_type)
        except NumbaError as error:
            if is_foreign(func.__code__.co_filename) or is_known(func.__code__):
                _refused.append((func.__code__, error))
            raise
        return result

    def define_pipelines(self) -> Any:
        """Return Numba's passes without those that would find nothing."""
        if not isinstance(self.state.flags, _FixedFlags):
            return super().define_pipelines()
        function, counts = self.state.func_id, self.state.flags.nrt
        has_closures = any(hasattr(constant, "co_code") for constant in function.code.co_consts)
        needless, other = set(NEEDLESS), dict[Any, Any]({NativeLowering: _Lowering})
        if not has_closures:
            needless |= OF_CLOSURES
        if not counts and not function.is_generator:
            needless, other = needless | OF_REFERENCES, other | SHORTER
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.__class__ = _Passes
            needed = [(stage, words) for stage, words in pipeline.passes if stage.__name__ not in needless]
            pipeline.passes = [(other.get(stage, stage), words) for stage, words in needed]
            pipeline.finalize()
        return pipelines


def _check_returned(code: Any, kind: Any) -> None:
    """Raise WrongReturn for a verb's implementation that returns what its callers cannot take."""
    kinds, expected = RETURNS.get(returned_by(code), ((), ""))
    if kinds and not isinstance(kind, kinds):
        raise WrongReturn(f"returns {kind}, and not {expected} on every path")


def _compile_as_steps() -> None:
    """Let Numba compile its own functions (``min``, ``abs``) for an entry as it compiles steps."""
    usual = _OverloadFunctionTemplate._get_jit_decorator

    def choose(template: Any) -> Any:
        decorator = usual(template)
        if not isinstance(ConfigStack.top_or_none(), _FixedFlags):
            return decorator
        return lambda **options: decorator(**{"pipeline_class": StepCompiler, **options})

    _OverloadFunctionTemplate._get_jit_decorator = choose


_compile_as_steps()


class EntryCompiler(StepCompiler):
    """Numba's compiler for an entry, which takes in its steps."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function into a library of its own."""
        self.state.library = EntryLibrary(self.codegen, func.__qualname__)
        self.state.library.enable_object_caching()
        _refused.clear()
        with _saying(func.__name__, self.state.args), _without_collection():
            try:
                return super().compile_extra(func)
            except NumbaError:
                if not _refused:
                    raise
                code, error = _refused[0]  # the innermost: others fail since it does
                raise does_not_compile(code, error, isinstance(error, WrongReturn)) from None


@contextmanager
def _saying(name: str, arguments: tuple[Any, ...]) -> Iterator[None]:
    """Tell that an entry is being compiled where it takes longer than a second."""
    kind = first = arguments[0]
    while getattr(first, "types", ()) and not hasattr(getattr(first, "instance_class", None), "_parameters"):
        first = first.types[0]  # a player may stand within other tuples
    kind = first if getattr(first, "types", ()) else kind
    parts = [getattr(part, "instance_class", None) for part in getattr(kind, "types", ())]
    members = ", ".join(part.__name__ for part in parts if part is not None)
    timer = threading.Timer(PATIENCE, _tell, [f"compiling {name} for {members or 'other types'}"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell(text: str) -> None:
    """Log what takes its time; where no log is set up, write it to a terminal or a notebook."""
    logger.info(text)
    is_watched = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    if is_watched and not logger.hasHandlers():
        sys.stderr.write(f"tarry: {text}\n")


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
