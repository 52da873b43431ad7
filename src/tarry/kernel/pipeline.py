"""Numba's compiler, told to optimise and translate an entry once, with all its steps.

Numba compiles each function for its own sake: it optimises the function with everything inlined, and makes machine code
of it. A step is only ever inlined, so all of that is thrown away but the work on the root, the entry. Here a step
stays as it was written down, lightly cleaned, until an entry takes it. What is used of Numba beyond ``pipeline_class``
are its code libraries, which have kept their form for years; with another form steps would fail to compile, not err.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler, Flags
from numba.core.environment import lookup_environment
from numba.core.targetconfig import ConfigStack

# Passes over a step that find nothing to do: array expressions would allocate, and closures are looked for first.
NEEDLESS = {"NopythonRewrites"}
OF_CLOSURES = {"InlineClosureLikes"}
LARGE_WRAPPER = 256  # blocks: of dozens of arrays, which are called for many rounds at a time

_known_flags: dict[Flags, Flags] = {}
_subroutines: dict[bool, dict[Any, Any]] = {False: {}, True: {}}  # of Numba's own, by whether references are counted


class StepLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a step, neither optimised with what it calls nor translated."""

    def finalize(self) -> None:
        """Leave the work to the entry."""
        self._finalized = True


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
    """Return the libraries that a library calls, through steps too."""
    found: dict[Any, None] = {}  # an ordered set: machine code should not depend on addresses
    left = list(library._linking_libraries)
    while left:
        one = left.pop()
        if one not in found:
            found[one] = None
            left.extend(one._linking_libraries if isinstance(one, StepLibrary) else ())
    return list(found)


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
            pipeline.passes = [one for one in pipeline.passes if one[0].__name__ not in needless]
            pipeline.finalize()
        return pipelines


class EntryCompiler(StepCompiler):
    """Numba's compiler for an entry, which takes in its steps."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function into a library of its own."""
        self.state.library = EntryLibrary(self.codegen, func.__qualname__)
        self.state.library.enable_object_caching()
        with _without_collection():
            return super().compile_extra(func)


def _do_nothing() -> None:
    pass


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
