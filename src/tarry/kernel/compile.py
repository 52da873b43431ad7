"""How we compile: verbs, steps and entries.

A *step* is a plain function that also compiles on any Numba target. A *verb* is a generic step: one
name, one implementation per parameter type, chosen by the type of its first argument. An *entry* is
a compiled function that Python calls; it is the only thing that ever reaches Numba's dispatcher.
With ``NUMBA_DISABLE_JIT=1`` all three are the plain Python text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import config, njit
from numba.extending import overload

from tarry.kernel.cache import Fingerprint, attach_cache

F = TypeVar("F", bound=Callable[..., Any])

# No exceptions for division by zero (IEEE instead), no reference counting: a step that allocates
# does not compile at all. ``nogil`` lets seeds run in threads.
OPTIONS = {"error_model": "numpy", "_nrt": False, "nogil": True}

_sources_of: dict[type, set[str]] = {}


def step(function: F) -> F:
    """Let compiled code on any target call this function."""

    @overload(function, target="generic", strict=False)
    def choose(*_types: Any) -> Any:
        return function

    function.generic_target = True  # type: ignore[attr-defined]
    return function


class Verb:
    """A generic step; see :func:`verb`."""

    def __init__(self, signature: Callable[..., Any]) -> None:
        self.name = signature.__name__
        self.default: Callable[..., Any] | None = None
        self.members: dict[type, Callable[..., Any]] = {}

    def find(self, cls: type) -> Callable[..., Any]:
        for ancestor in cls.__mro__:
            if ancestor in self.members:
                return self.members[ancestor]
        if self.default is None:
            raise TypeError(
                f"{cls.__name__} has no {self.name}(): register one with @{self.name}.on({cls.__name__})"
            )
        return self.default


def verb(signature: F) -> Any:
    """A generic function of its first argument's type.

    The decorated body documents the signature and is never run. ``@name.on(Type)`` registers an
    implementation, ``@name.otherwise`` one for every other type.
    """
    registry = Verb(signature)

    @functools.wraps(signature)
    def call(first: Any, *rest: Any) -> Any:
        return registry.find(type(first))(first, *rest)

    @overload(call, target="generic", strict=False)
    def choose(first: Any, *_rest: Any) -> Any:
        return registry.find(getattr(first, "instance_class", type(first)))

    def on(*classes: type) -> Callable[[F], F]:
        def register(implementation: F) -> F:
            for cls in classes:
                registry.members[cls] = implementation
                _sources_of.setdefault(cls, set()).add(implementation.__code__.co_filename)
            return implementation

        return register

    def otherwise(implementation: F) -> F:
        registry.default = implementation
        return implementation

    call.on = on  # type: ignore[attr-defined]
    call.otherwise = otherwise  # type: ignore[attr-defined]
    call.registry = registry  # type: ignore[attr-defined]
    call.generic_target = True  # type: ignore[attr-defined]
    return call


class Entry:
    """A compiled function called from Python, one dispatcher per set of foreign sources."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._dispatchers: dict[Fingerprint | None, Callable[..., Any]] = {}
        functools.update_wrapper(self, function)

    def of(self, *parameters: Any) -> Callable[..., Any]:
        """The callable to use with these parameters (their defining files key the disk cache)."""
        if config.DISABLE_JIT or _holds_plain_function(parameters):
            return self._plain()
        fingerprint = Fingerprint.of(parameters, _sources_of)
        if fingerprint not in self._dispatchers:
            dispatcher = njit(**OPTIONS)(self.function)
            if fingerprint is not None:
                attach_cache(dispatcher, fingerprint)
            self._dispatchers[fingerprint] = dispatcher
        return self._dispatchers[fingerprint]

    def _plain(self) -> Callable[..., Any]:
        @functools.wraps(self.function)
        def run(*args: Any) -> Any:
            # The keyed generator wraps around in uint64 by design.
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                return self.function(*args)

        return run

    @property
    def dispatchers(self) -> list[Any]:
        """Dispatchers made so far; tests read their signatures and their machine code."""
        return list(self._dispatchers.values())


def entry(function: Callable[..., Any]) -> Entry:
    """Make a function an :class:`Entry`."""
    return Entry(function)


def is_compiled() -> bool:
    """Whether entries compile (they do not under ``NUMBA_DISABLE_JIT=1``)."""
    return not config.DISABLE_JIT


def as_step(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user's function as it may travel inside parameters; a plain one makes its entries run uncompiled."""
    return function


def _holds_plain_function(value: Any) -> bool:
    """Whether a (nested) tuple holds a Python function that Numba has not compiled."""
    if isinstance(value, tuple):
        return any(_holds_plain_function(item) for item in value)
    return callable(value) and not hasattr(value, "py_func")
