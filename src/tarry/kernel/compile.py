"""Compile verbs, steps and entries.

A *step* is a plain function that compiled code may call. A *verb* is a generic step: one name, one implementation per
parameter type, chosen by the type of the first argument. An *entry* is a compiled function that Python calls. With
``NUMBA_DISABLE_JIT=1`` all three are plain Python; so is an entry whose parameters hold a plain Python function.

Numba takes half a second to load, so it waits until an entry is compiled: ``numba_side`` loads it.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import CO_VARARGS
from typing import Annotated, Any, TypeVar, cast

import numpy as np

from tarry.kernel.blame import note_title, outside_array, title_of
from tarry.kernel.cache import Fingerprint, make_folder, verbs_from_outside, walk
from tarry.kernel.frozen import Value, Values

logger = logging.getLogger("tarry")

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Indices = Annotated[
    np.ndarray, "indices"
]  # of slots or places: no number is larger than the longest such array beside it

# No exceptions for division by zero (IEEE instead), no reference counting: a step that allocates
# does not compile at all. ``nogil`` lets seeds run in threads.
# And no pointer to compiled code is ever taken: without a wrapper for C, a game compiles in less time and memory.
OPTIONS = {"error_model": "numpy", "_nrt": False, "nogil": True, "no_cfunc_wrapper": True}
# A step's arguments are dozens of arrays, and handing them over costs more than most steps do.
INLINED = {"forceinline": True, "no_cfunc_wrapper": True}

_sources_of: dict[type, set[Any]] = {}  # implementations of verbs by their type; steps stand under ``object``
_announced: set[str] = set()  # plain functions that were logged
_fingerprints: dict[tuple[Any, ...], tuple[Fingerprint | None, list[Value]]] = {}
_frozen: dict[tuple[int, str], Value] = {}  # what steps may hold as constants, as it was when first asked for
_untold: list[tuple[Any, Callable[..., Any], bool]] = []  # what Numba is to hear of once it is loaded
_is_loaded = False
_lock = threading.RLock()  # two threads may ask for one entry at a time; Numba locks while it compiles


def numba_side() -> Any:
    """Return the module that talks to Numba, which has heard of all verbs and steps."""
    return _tell_numba() if _is_loaded and not _untold else uninterrupted(_tell_numba)


def _tell_numba() -> Any:
    global _is_loaded
    with _lock:
        from tarry.kernel import machine

        _is_loaded = True
        while _untold:
            machine.inline(*_untold.pop(0))
    return machine


def uninterrupted(load: Callable[[], T]) -> T:
    """Return what ``load`` returns, which no interrupt stops: only the main thread hears interrupts, and it waits.

    A package whose import is stopped halfway cannot be imported again.
    """
    if threading.current_thread() is not threading.main_thread():
        return load()
    with ThreadPoolExecutor(1) as thread:
        try:
            loading = thread.submit(load)
        except RuntimeError:  # Python ends, and starts no more threads
            return load()
        return loading.result()


def _inline(function: Any, choose: Callable[..., Any], inlined: bool = True) -> None:
    """Let compiled code on any target call what ``choose`` returns for the types of arguments."""
    _untold.append((function, choose, inlined))
    if _is_loaded:
        numba_side()


def step(function: F, inlined: bool = True) -> F:
    """Let compiled code on any target call this function."""
    _inline(function, lambda *_types: function, inlined)
    _sources_of.setdefault(object, set()).add(function)
    return function


# For a long step that is called rarely: its arguments stand still in a call of its own, and the code is as fast as an
# entry's. Inlined into a loop that makes them, it was a tenth slower.
long_step = functools.partial(step, inlined=False)


def _arguments_of(function: Callable[..., Any]) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


class Verb:
    """A function generic in the type of its first argument.

    The decorated body documents the signature and is never run. ``@name.on(Type)`` registers an
    implementation in ``members``, ``@name.otherwise`` one for every other type.
    """

    __name__: str
    __qualname__: str

    def __init__(self, signature: Callable[..., Any]) -> None:
        functools.update_wrapper(self, signature)
        self.arguments, self.returns = _arguments_of(signature), str(signature.__annotations__.get("return", ""))
        self.default: Callable[..., Any] | None = None
        self.members: dict[type, Callable[..., Any]] = {}
        self._found = functools.cache(self.find)  # the ancestors of a type do not change

        _inline(self, lambda first, *_rest: self.find(getattr(first, "instance_class", type(first))))

    def __call__(self, first: Any, *rest: Any) -> Any:
        return self._found(type(first))(first, *rest)  # type: ignore[arg-type]

    def __reduce__(self) -> str:
        return self.__qualname__  # by name, like any function: Numba would not know a copy

    def find(self, cls: type) -> Callable[..., Any]:
        """Return the implementation for a type, that of its nearest ancestor; raise TypeError where there is none."""
        for ancestor in cls.__mro__:
            if ancestor in self.members:
                return self.members[ancestor]
        if self.default is None:
            name = self.__name__
            remedy = f"register one with @{name}.on({cls.__name__}), a function of {', '.join(self.arguments)}"
            raise TypeError(f"{cls.__name__} has no {name}(): {remedy}, or give {cls.__name__} such a method")
        return self.default

    def on(self, *classes: type) -> Callable[[F], F]:
        """Register the decorated function for these types and their descendants."""

        def register(implementation: F) -> F:
            self._check(implementation)
            for cls in classes:
                self.members[cls] = implementation
                _sources_of.setdefault(cls, set()).add(implementation)
                note_title(implementation, self.__name__, cls.__name__, self.returns)
            self._found = functools.cache(self.find)  # anew, after the change: another thread may be asking
            return implementation

        return register

    def otherwise(self, implementation: F) -> F:
        """Register the decorated function for all types that have none."""
        self._check(implementation)
        self.default = implementation
        self._found = functools.cache(self.find)
        return implementation

    def _check(self, implementation: Callable[..., Any]) -> None:
        """Raise TypeError for a function that cannot be called as the verb is: compiled code would fail elsewhere."""
        arguments, code = _arguments_of(implementation), implementation.__code__
        spare = len(getattr(implementation, "__defaults__", None) or ())
        if len(arguments) - spare <= len(self.arguments) <= len(arguments) or code.co_flags & CO_VARARGS:
            return
        name, expected = self.__name__, self.arguments
        raise TypeError(
            f"{name}({', '.join(expected)}) has {len(expected)} arguments, the function given for it, "
            f"{title_of(code)}({', '.join(arguments)}) in line {code.co_firstlineno} of {code.co_filename}, has "
            f"{len(arguments)}: give it those of {name}"
        )


verb = Verb  # as a decorator


def verb_with_default(implementation: Callable[..., Any]) -> Verb:
    """Make a verb whose decorated body answers for every type that registers nothing."""
    with_default = verb(implementation)
    with_default.otherwise(implementation)
    return with_default


def register_methods(cls: type, verbs: Iterable[Verb]) -> None:
    """Register the methods of a class that are named as one of these verbs: compiled code knows no methods."""
    for method_verb in verbs:
        if method_verb.__name__ in vars(cls):
            method_verb.on(cls)(vars(cls)[method_verb.__name__])


def _fingerprint(file: str, parameters: tuple[Any, ...]) -> Fingerprint | None:
    """Return the fingerprint of an entry and its parameters, read from the disk once per set of types."""
    # A verb may be registered later, so the number of sources is part of the key.
    sources = sum(map(len, _sources_of.values()))
    kinds = [type(value) for value in walk(parameters)]
    key = (file, sources, *kinds)
    if key not in _fingerprints:
        read = [
            _frozen.setdefault((id(global_value.names), global_value.name), global_value)
            for global_value in values_read_by(kinds)
        ]
        _fingerprints[key] = Fingerprint.of(file, parameters, _sources_of), read
    fingerprint, read = _fingerprints[key]
    for global_value in read:
        global_value.check()
    return fingerprint


def values_read_by(kinds: Iterable[type]) -> Values:
    """Return the values of globals that users' verbs of these types read, now."""
    return Values(verbs_from_outside(kinds, _sources_of))


class Compiled:
    """The function of an entry for one set of sources: Numba's dispatcher, made when it is first called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], fingerprint: Fingerprint | None) -> None:
        self.py_func, self._options = function, options
        self._folder = None if fingerprint is None else make_folder(fingerprint)
        self._made: Any = None

    @property
    def dispatcher(self) -> Any:
        """Numba's dispatcher, one for all threads: each would compile anew."""
        if self._made is None:
            side = numba_side()
            with _lock:
                self._made = self._made or side.make_dispatcher(self.py_func, self._options, self._folder)
        return self._made

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.dispatcher(*arguments)
        except IndexError as error:
            raise outside_array(error) from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dispatcher, name)

    @property
    def signatures(self) -> list[Any]:
        """Types of arguments for which there is machine code."""
        return [] if self._made is None else self._made.signatures


class Entry:
    """A compiled function called from Python, with one dispatcher per set of sources."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._compiled: dict[Fingerprint | None, Compiled] = {}
        self.__doc__ = function.__doc__

    def dispatcher_for(self, *parameters: Any) -> Callable[..., Any]:
        """Return the callable to use with these parameters, whose defining files key the disk cache."""
        if runs_plain(parameters):
            return self.plain
        fingerprint = _fingerprint(self.function.__code__.co_filename, parameters)
        with _lock:
            if fingerprint not in self._compiled:
                self._compiled[fingerprint] = Compiled(self.function, OPTIONS, fingerprint)
            return self._compiled[fingerprint]

    @functools.cached_property
    def plain(self) -> Callable[..., Any]:
        """The function in plain Python."""
        # The keyed generator wraps around in uint64 by design, and compiled code divides as IEEE 754 says.
        return np.errstate(over="ignore", divide="ignore", invalid="ignore")(self.function)

    def machine_code_for(self, arguments: tuple[Any, ...], *parameters: Any) -> Callable[..., Any]:
        """Return the machine code for arguments of these types, without Numba's type check (0.5 µs a handle).

        Calling the code with other types, or arrays of another layout, is undefined behaviour.
        """
        run = self.dispatcher_for(*parameters)
        if not isinstance(run, Compiled):
            return run
        return cast(Callable[..., Any], run.compile(tuple(map(numba_side().typeof, arguments))))

    @property
    def dispatchers(self) -> list[Any]:
        """Dispatchers made so far; tests read their signatures and their machine code."""
        return list(self._compiled.values())


entry = Entry  # as a decorator


_in_python = ContextVar("in_python", default=False)


@contextmanager
def in_python(plain: bool = True) -> Iterator[None]:
    """Take entries in plain Python: for a little work, or the compiler takes longer than the work."""
    token = _in_python.set(plain)
    try:
        yield
    finally:
        _in_python.reset(token)


def is_compiled() -> bool:
    """Return whether entries compile (they do not under ``NUMBA_DISABLE_JIT=1``)."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def runs_plain(parameters: Any) -> bool:
    """Return whether entries with these parameters run in plain Python here and now."""
    return _in_python.get() or must_run_plain(parameters)


def must_run_plain(parameters: Any) -> bool:
    """Return whether the JIT is off or a function inside the parameters is not compiled (logged once each)."""
    if not is_compiled():
        return True
    for value in walk(parameters):
        if callable(value) and not isinstance(value, tuple) and not hasattr(value, "py_func"):
            name = getattr(value, "__qualname__", repr(value))
            if name not in _announced:
                _announced.add(name)
                logger.info(
                    "%s is a plain Python function, so runs with it are not compiled: "
                    "decorate it with numba.njit to make them fast",
                    name,
                )
            return True
    return False


def as_step(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a user's function as it may travel inside parameters; raise TypeError for what is no function.

    A compiled function is compiled again, with its own options and allocation allowed; the user's stays as it is.
    """
    if not callable(function):
        raise TypeError(f"a function is needed here, got {function!r}")
    return cast(Callable[..., Any], numba_side().foreign(function)) if hasattr(function, "py_func") else function
