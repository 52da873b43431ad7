"""Members of the user's own: ``members = ["lab.methods", "lab.methods:Momentum"]`` in a sweep.

A module is imported by its name: it is installed, or its folder is on Python's path. A cell names a member's module and
holds the hash of its code (:mod:`tarry.kernel.sources`). Workers import the same modules, and refuse other code.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from tarry.delays.base import Delays
from tarry.domains import Domain
from tarry.kernel import sources
from tarry.kernel.compile import values_read_by
from tarry.learners.base import Learner
from tarry.learners.norms import Norm
from tarry.losses.base import Losses, RowSource
from tarry.members import INSIDE
from tarry.rates.base import Rate
from tarry.schedulers.base import Scheduler

FROM = "from"  # the key of a member's home in a cell: no parameter can have this name
# What classes may stand for a key of a sweep; functions, which make members, may stand for all.
ROOMS: dict[str, tuple[type, ...]] = {
    "domain": (Domain,),
    "losses": (Losses, RowSource),
    "delays": (Delays,),
    "learner": (Learner,),
    "scheduler": (Scheduler,),
}
INNER = {"learner": (Rate, Norm)}  # and inside a member of that key
KINDS = tuple({kind for kinds in (*ROOMS.values(), *INNER.values()) for kind in kinds})

Member = Callable[..., Any]


class Home(NamedTuple):
    """A module with members, as a sweep names it: the members, and hashes of their code."""

    name: str
    members: dict[str, Member]
    digests: dict[str, str]


_homes: dict[str, Home] = {}  # what sweeps of this process named


class Own:
    """The members that a sweep's files name, beside those of the library."""

    def __init__(self, homes: Iterable[Home] = ()) -> None:
        self._homes: dict[str, Home] = {}
        for home in homes:
            for name in home.members:
                other = self._homes.setdefault(name, home)
                if other.name != home.name:
                    raise ValueError(f"members: both {other.name} and {home.name} have {name}: rename one of them")

    def names(self, key: str, inside: bool = False) -> list[str]:
        """Return the names that may stand for a key, or inside a member of it."""
        kinds = ROOMS.get(key, ()) + (INNER.get(key, ()) if inside else ())
        members = {name: home.members[name] for name, home in self._homes.items()}
        return [name for name, member in members.items() if not isinstance(member, type) or issubclass(member, kinds)]

    def find(self, key: str, name: str, inside: bool = False) -> tuple[Member, dict[str, str]] | None:
        """Return a constructor and where it comes from, as a cell has it; None where no such name may stand here."""
        base, _, way = name.partition(".")
        if base not in self.names(key, inside):
            return None
        home = self._homes[base]
        if way and way not in ways(home.members[base]):
            return None
        return _constructor(home, name), {"file": home.name, "digest": home.digests[base]}

    @property
    def kinds(self) -> dict[str, type]:
        """The classes among the members, by name."""
        members = {name: home.members[name] for name, home in self._homes.items()}
        return {name: member for name, member in members.items() if isinstance(member, type)}


NONE = Own()


def ways(member: Any) -> list[str]:
    """Return the constructors with names of their own that a class has."""
    kinds = [kind for kind in getattr(member, "__mro__", ()) if not kind.__module__.startswith(("tarry.", "builtins"))]
    return [
        name
        for kind in kinds
        for name, attribute in vars(kind).items()
        if isinstance(attribute, classmethod) and _is_way(name)
    ]


def _is_way(name: str) -> bool:
    return not name.startswith("_") and name not in ("make", "complete")


def _constructor(home: Home, name: str) -> Member:
    base, _, way = name.partition(".")
    constructor: Member = getattr(home.members[base], way) if way else home.members[base]
    return constructor


def load_members(named: Iterable[tuple[str, str]]) -> Own:
    """Import what sweeps name, each with its place for errors."""
    return Own([load_home(name, place) for name, place in named])


def load_home(name: str, place: str) -> Home:
    """Return the members of a module, or the one after its colon; raise ValueError where it has none of that name."""
    path, _, only = name.partition(":")
    if path.endswith(".py"):
        remedy = f"write {Path(path).stem!r}, and put its folder on Python's path (PYTHONPATH=…)"
        raise ValueError(f"{place}: names a module and not a file, got {name!r}: {remedy}")
    is_new = path not in sys.modules
    try:
        module = importlib.import_module(path)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        remedy = "install it, or put its folder on Python's path (PYTHONPATH=…)"
        raise ValueError(f"{place}: {path} cannot be imported: {reason}: {remedy}") from error
    if is_new and (file := getattr(module, "__file__", None)):  # edited a moment ago, it is what runs all the same
        sources.note_text(file, Path(file).read_text(encoding="utf-8"))
    home = _homes[name] = _home(name, module, only, place)
    return home


def find_member(home: dict[str, str], name: str, place: str) -> Member:
    """Return the constructor that a cell means; raise ValueError where the code is not there, or is another one."""
    module, base = home["file"], name.partition(".")[0]
    if module not in _homes:  # results may come from anybody: they name no code to run
        raise ValueError(
            f"{place}: {name} is of {module}, which no sweep that is loaded names: load_sweep(FILE) imports it"
        )
    if _homes[module].digests.get(base) != home["digest"]:
        raise ValueError(
            f"{place}: the code of {base} in {module} is not that of the sweep: start anew where it is played"
        )
    return _constructor(_homes[module], name)


def import_members(modules: Iterable[str]) -> None:
    """Import what cells name, on a worker, each module once."""
    for name in modules:
        if name not in _homes:
            load_home(name, "members")


def modules_for(contents: Iterable[str]) -> list[str]:
    """Return the modules that workers import to play these cells, as sweeps name them."""
    texts = list(contents) if _homes else []
    return [name for name in _homes if any(name in text for text in texts)]


def _home(name: str, module: ModuleType, only: str, place: str) -> Home:
    """Return a module's members: those it exports, or its own public classes and functions, or the only one."""
    public = [only] if only else getattr(module, "__all__", [name for name in vars(module) if name[0] != "_"])
    members: dict[str, Member] = {}
    for key in public:
        member = getattr(module, key, None)
        is_member = isinstance(member, type) and issubclass(member, KINDS)
        is_here = getattr(member, "__module__", "") == module.__name__ or key == only
        if is_here and (is_member or isinstance(member, FunctionType)):
            members[key] = member  # type: ignore[assignment]
    if not members:
        kinds = "Learner, Scheduler, Losses, Delays or Domain"
        raise ValueError(f"{place}: {name} has no member{f' {only}' * bool(only)}: a class that inherits {kinds}")
    for key in members:
        if any(key in table for table in INSIDE.values()):
            raise ValueError(f"{place}: {name} has a member {key}, which Tarry has too: give yours another name")
    try:
        return Home(name, members, {key: _digest_of(member) for key, member in members.items()})
    except sources.Unknown as error:
        raise ValueError(f"{place}: {error} was edited after it was imported, or has no text: start anew") from error


def _digest_of(member: Any) -> str:
    """Return a hash of a member's code, and of the values of globals that its verbs read: of a file, for example."""
    code, kinds = sources.digest_of(member), [member] if isinstance(member, type) else []
    values = sorted(f"{value.name} {value.digest}" for value in values_read_by(kinds))  # not the name of the file
    return hashlib.sha256("\0".join((code, *values)).encode()).hexdigest() if values else code
