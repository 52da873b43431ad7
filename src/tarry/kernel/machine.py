"""Tell Numba what there is to compile; loaded with Numba, which takes half a second, when a first entry compiles."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba import config, jit, njit, typeof
from numba.core.dispatcher import Dispatcher
from numba.extending import overload

from tarry.kernel.compile import INLINED
from tarry.kernel.intrinsics import PackedType
from tarry.kernel.pipeline import EntryCompiler, StepCompiler

# Numba's own locators, tried after ours: another thread's cached function may be made at the same moment.
NUMBAS_LOCATORS = "UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator,ZipCacheLocator"
# Weak, so that a user's function that is gone takes what was compiled of it along.
_foreign: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_lock = threading.Lock()  # of Numba's list of locators, which is the process's
_asked = threading.local()  # the folder that this thread compiles into


def inline(function: Any, choose: Callable[..., Any], inlined: bool) -> None:
    """Let compiled code on any target call what ``choose`` returns for the types of arguments."""
    generic = {**INLINED, "forceinline": inlined}
    # Other targets have compilers of their own; of two that fit, Numba takes the nearer target's.
    for target, options in (("generic", generic), ("cpu", {**generic, "pipeline_class": StepCompiler})):
        overload(function, target=target, strict=False, jit_options=options)(choose)


def packed_type(trees: Any) -> PackedType:
    """Return the type of packed replicas."""
    return PackedType(typeof(trees))


class FolderLocator:
    """Numba's locator protocol over the folder that this thread asks for; the folder's name is the whole stamp."""

    def __init__(self, folder: Path, py_file: str) -> None:
        self._folder = folder
        self._py_file = py_file

    @classmethod
    def from_function(cls, _function: Any, py_file: str) -> FolderLocator | None:
        """Return a locator for a function of ours, None for anybody else's."""
        folder = getattr(_asked, "folder", None)
        return None if folder is None else cls(folder, py_file)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return hashlib.sha256(self._py_file.encode()).hexdigest()[:8]

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)


def make_dispatcher(function: Callable[..., Any], options: dict[str, Any], folder: Path | None) -> Any:
    """Return Numba's dispatcher of a function, with a disk cache in a folder if there is one."""
    options = {**options, "pipeline_class": EntryCompiler}
    # Without the hook (an older Numba) its own locators would be asked, and would serve stale code.
    if folder is not None and hasattr(config, "CACHE_LOCATOR_CLASSES"):
        try:
            with _locating(folder):
                return njit(cache=True, **options)(function)
        except RuntimeError:  # a locator of that name is gone: only the disk cache is lost
            pass
    return njit(**options)(function)


@contextmanager
def _locating(folder: Path) -> Iterator[None]:
    """Let Numba find this folder for what this thread compiles, whatever the user's locators are."""
    with _lock:
        before = config.CACHE_LOCATOR_CLASSES
        ours = f"{FolderLocator.__module__}.{FolderLocator.__qualname__}"
        config.CACHE_LOCATOR_CLASSES = f"{ours},{before or NUMBAS_LOCATORS}"
        _asked.folder = folder
        try:
            yield
        finally:
            _asked.folder = None
            config.CACHE_LOCATOR_CLASSES = before


def foreign(function: Any) -> Any:
    """Return a user's compiled function, compiled again with its own options and allocation allowed."""
    if not isinstance(function, Dispatcher) or "_nrt" in function.targetoptions:
        return function
    # Numba hands a caller's options down to what it calls, and our ban on allocation would bind users too.
    # One function, one dispatcher: Numba takes another for another type and would compile every game anew.
    if function not in _foreign:
        _foreign[function] = jit(**{**function.targetoptions, "_nrt": True})(function.py_func)
    return _foreign[function]
