"""Find the values of globals that functions read: compiled code holds them as constants, and never looks again."""

from __future__ import annotations

import dis
import hashlib
from collections.abc import Iterable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from tarry.errors import MemberError
from tarry.kernel.sources import is_users

LOADS = ("LOAD_GLOBAL", "LOAD_NAME")


class Value(NamedTuple):
    """A global, or a variable of an outer function: the names it stands under, itself, and its hash."""

    names: Mapping[str, Any]
    name: str
    home: str
    value: Any
    digest: str

    def check(self) -> None:
        """Raise MemberError where another value stands under the name by now."""
        now = self.names.get(self.name)
        if hash_of(now) != self.digest:  # of arrays the entries may change
            change = "" if isinstance(now, np.ndarray) else f" from {self.value!r} to {now!r}"
            raise MemberError(
                f"{self.name} of {self.home} has changed{change}, and code that was compiled before keeps its first "
                "value: make it a field of the member, or start Python anew"
            )


class Values:
    """All that some functions read, through the user's functions and modules that they name."""

    def __init__(self, functions: Iterable[Any]) -> None:
        self._found: dict[tuple[int, str], Value] = {}
        self._seen: set[Any] = set()
        for function in functions:
            self._read(function)

    def __iter__(self) -> Any:
        return iter(self._found.values())

    def digests(self) -> set[str]:
        """Return hashes of the values with their names."""
        return {f"{frozen_value.home}.{frozen_value.name} {frozen_value.digest}" for frozen_value in self}

    def _read(self, function: Any) -> None:
        codes = [function.__code__]
        for code in codes:  # and of functions inside
            codes += [item for item in code.co_consts if isinstance(item, CodeType)]
        if codes[0] in self._seen:
            return
        self._seen.add(codes[0])
        asking, attributes = function.__module__, {name for code in codes for name in code.co_names}
        loads = {item.argval for code in codes for item in dis.get_instructions(code) if item.opname in LOADS}
        outer = zip(codes[0].co_freevars, function.__closure__ or (), strict=True)
        closed = {name: cell.cell_contents for name, cell in outer}
        for name in loads & function.__globals__.keys():
            self._note(function.__globals__, name, asking, asking, attributes)
        for name in closed:
            self._note(closed, name, f"{asking}.{function.__qualname__}", asking, attributes)

    def _note(self, names: Mapping[str, Any], name: str, home: str, asking: str, attributes: set[str]) -> None:
        value = getattr(names[name], "py_func", names[name])
        digest = hash_of(value)
        if digest:
            self._found[id(names), name] = Value(names, name, home, value, digest)
        elif isinstance(value, FunctionType) and is_users(value.__module__, value.__code__.co_filename, asking):
            self._read(value)
        elif isinstance(value, ModuleType) and is_users(value.__name__, getattr(value, "__file__", None) or "", asking):
            # Which of the attributes are this module's is not known: too many do no harm. Modules form circles.
            unseen = {
                attribute for attribute in attributes & vars(value).keys() if (value, attribute) not in self._seen
            }
            self._seen |= {(value, attribute) for attribute in unseen}
            for attribute in unseen:
                self._note(vars(value), attribute, value.__name__, asking, attributes)


def hash_of(value: Any) -> str:
    """Return a hash of what compiled code can hold as a constant, empty for anything else."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        content = f"{value.dtype.str} {value.shape} ".encode() + value.tobytes()
    elif isinstance(value, tuple):
        parts = [hash_of(entry) for entry in value]
        content = f"{type(value).__qualname__} {parts}".encode() if all(parts) else b""
    else:
        is_plain = value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic))
        content = f"{type(value).__qualname__} {value!r}".encode() if is_plain else b""
    return hashlib.sha256(content).hexdigest() if content else ""
