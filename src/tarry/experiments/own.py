"""Members of the user's own: ``members = ["mymethods.py", "lab.methods", "lab.methods:Momentum"]`` in a sweep.

A file is found beside the sweep and run once, with the files beside it that it imports; a module is imported. A cell
names a member's file and holds the hash of its code (:mod:`tarry.kernel.sources`). Workers are sent the texts.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
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
FILE = ".py"
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

Texts = dict[str, tuple[str, str]]  # file and text of a module, by its name
Member = Callable[..., Any]


class Home(NamedTuple):
    """A file or a module with members: its name in cells, the members, hashes of their code, and the texts run."""

    name: str
    members: dict[str, Member]
    digests: dict[str, str]
    texts: Texts


class Shadowed(ValueError):
    """A file that members import has the name of a module that Python would take instead."""


_homes: dict[str, Home] = {}  # what was loaded in this process, by name
_known: Texts = {}  # modules that were run from texts, or may be
_beside: list[Path] = []  # the folder of the file that is being run
_lock = threading.RLock()  # cells are made in several threads


class _Texts:
    """Python's protocol of finding and loading modules, over the texts of members' files and of those beside them."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        file = _beside[-1] / f"{name}{FILE}" if _beside else None
        if file is not None and file.is_file():  # read anew: one that could not be run may have been mended
            _known[name] = str(file), file.read_text(encoding="utf-8")
        if name not in _known:
            return None
        spec = ModuleSpec(name, _Texts, origin=_known[name][0])  # type: ignore[arg-type]
        spec.has_location = True
        return spec

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        file, text = _known[module.__name__]
        _check_beside(Path(file), text)
        sources.note_text(file, text)
        exec(compile(text, file, "exec"), module.__dict__)


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
        found = {name: home.members[name] for name, home in self._homes.items()}
        return [name for name, one in found.items() if not isinstance(one, type) or issubclass(one, kinds)]

    def find(self, key: str, name: str, inside: bool = False) -> tuple[Member, dict[str, str]] | None:
        """Return a constructor and where it comes from, as a cell has it; None where no such name may stand here."""
        base, _, way = name.partition(".")
        if base not in self.names(key, inside):
            return None
        home = self._homes[base]
        made = _constructor(home, name) if not way or way in ways(home.members[base]) else None
        return None if made is None else (made, {"file": home.name, "digest": home.digests[base]})

    @property
    def kinds(self) -> dict[str, type]:
        """The classes among the members, by name."""
        found = {name: home.members[name] for name, home in self._homes.items()}
        return {name: one for name, one in found.items() if isinstance(one, type)}

    @property
    def texts(self) -> dict[Path, str]:
        """The texts of all files that were run, by path."""
        return {Path(file): text for home in self._homes.values() for file, text in home.texts.values()}


NONE = Own()


def ways(member: Any) -> list[str]:
    """Return the constructors with names of their own that a class has."""
    kinds = [kind for kind in getattr(member, "__mro__", ()) if not kind.__module__.startswith(("tarry.", "builtins"))]
    return [n for kind in kinds for n, one in vars(kind).items() if isinstance(one, classmethod) and _is_way(n)]


def _is_way(name: str) -> bool:
    return not name.startswith("_") and name not in ("make", "complete")


def _constructor(home: Home, name: str) -> Member:
    base, _, way = name.partition(".")
    found: Member = getattr(home.members[base], way) if way else home.members[base]
    return found


def load_members(listed: Iterable[tuple[str, Path, str]]) -> Own:
    """Run or import what sweeps name, each with the folder of its file and its place for errors."""
    return Own([load_home(name, folder, place) for name, folder, place in listed])


def load_home(name: str, folder: Path, place: str) -> Home:
    """Return the members of a file or a module; raise ValueError where it cannot be run or has none."""
    if name.endswith(FILE):
        path = (folder / name).resolve()
        home = _of_file(path, place)
    else:
        module, _, chosen = name.partition(":")
        with _telling(f"{place}: {module} cannot be imported", f"for a file beside the sweep write 'FILE{FILE}'"):
            imported = importlib.import_module(module)
        home = _home(name, imported, chosen, {}, place)
    for member, one in home.members.items():
        kinds = [key for key, table in INSIDE.items() if member in table]
        if kinds and isinstance(one, (type, FunctionType)):
            raise ValueError(f"{place}: {name} has a member {member}, which Tarry has too: give yours another name")
    _homes[home.name] = home
    return home


def find_member(home: dict[str, str], name: str, place: str) -> Member:
    """Return the constructor that a cell means; raise ValueError where the code is not there, or is another one."""
    file, digest = home["file"], home["digest"]
    with _lock:
        base = name.partition(".")[0]
        same = [home for home in _homes.values() if home.digests.get(base) == digest]  # a file may have moved
        if file not in _homes and not same:  # results may come from anybody: they name no code to run
            raise ValueError(
                f"{place}: {name} is of {file}, which no sweep that is loaded names: load_sweep(FILE) loads it, "
                "--members FILE in a command"
            )
        found = _homes[file] if file in _homes else same[0]
    if found.digests.get(base) != digest:
        raise ValueError(f"{place}: the code of {base} in {file} has changed since the sweep was listed: run it again")
    return _constructor(found, name)


def texts_for(contents: Iterable[str]) -> dict[str, Home]:
    """Return what workers need beside these cells: homes by name, without the members themselves."""
    listed = {name: home._replace(members={}) for name, home in _homes.items()}
    told = list(contents) if listed else []
    return {name: home for name, home in listed.items() if any(name in content for content in told)}


def receive(homes: dict[str, Home]) -> None:
    """Run texts that were sent from elsewhere, unless the same are here already; raise ValueError where that fails."""
    for name, home in homes.items():
        with _lock:
            if name in _homes and _homes[name].texts == home.texts:
                continue
            if not home.texts:  # a module, which is installed there too
                load_home(name, Path(), "members")
                continue
            _install(home.texts)
            with _telling(f"{name} cannot be run on a worker", "install there what it imports", name):
                module = importlib.import_module(Path(name).stem)
                _homes[name] = home._replace(members={one: getattr(module, one) for one in home.digests})


def _of_file(path: Path, place: str) -> Home:
    """Return the home of a file: the one that was run before, where no text of it has changed."""
    known, name = _homes.get(str(path)), path.stem
    if known is not None and all(_reads(file) == text for file, text in known.texts.values()):
        return known
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{place}: {path} cannot be read: {getattr(error, 'strerror', error)}") from error
    if not name.isidentifier() or (name not in _known and _holder(name, path)):
        raise ValueError(f"{place}: {path.name} has the name of another module, or of none: rename the file")
    if known is None and _runs(name, str(path), text):  # imported by somebody, whose classes these are then
        _known[name] = str(path), text
        return _home(str(path), sys.modules[name], "", {name: _known[name]}, place)
    _install({**dict.fromkeys(known.texts if known else (), ("", "")), name: (str(path), text)})
    remedy = "run it with Python to see where"
    with _telling(f"{place}: {path.name} cannot be run", remedy, str(path)), _finding_beside(path.parent):
        module = importlib.import_module(name)
    return _home(str(path), module, "", {name: _known[name]}, place)


def _install(texts: Texts) -> None:
    """Let modules of these names be those of these texts; empty ones are to be read anew."""
    if not any(finder is _Texts for finder in sys.meta_path):
        sys.meta_path.insert(0, _Texts)
    for name, (file, text) in texts.items():
        sys.modules.pop(name, None)
        _known.pop(name, None)
        if file:
            _known[name] = file, text


def _check_beside(file: Path, text: str) -> None:
    """Raise Shadowed where a file imports one beside it and would get another module of that name."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    for name in sorted({one.partition(".")[0] for one in named}):
        beside = file.with_name(f"{name}{FILE}")
        holder = _holder(name, beside) if beside.is_file() else ""
        if holder:
            raise Shadowed(f"{file} imports {name}, and {beside} has the name of {holder}: rename {beside.name}")


def _holder(name: str, path: Path) -> str:
    """Return what other module has this name, empty for none: what others would import should stay what it is."""
    if name in sys.stdlib_module_names:
        return "a module of Python's"
    if name in _known:
        spec = ModuleSpec(name, None, origin=_known[name][0]) if name in sys.modules else None
    elif name in sys.modules:
        spec = sys.modules[name].__spec__  # none for a script
    else:
        finders = [finder for finder in sys.meta_path if finder is not _Texts]
        spec = next(filter(None, (finder.find_spec(name, None) for finder in finders)), None)
    if spec is None or (spec.origin and Path(spec.origin).resolve() == path.resolve()):
        return ""
    return f"a module that is {'loaded' if name in sys.modules else 'installed'} ({spec.origin or 'a folder'})"


def _runs(name: str, file: str, text: str) -> bool:
    """Return whether a module was imported from this text."""
    try:
        return getattr(sys.modules.get(name), "__file__", None) == file and sources.text_of(file) == text
    except sources.Unknown:
        return False


def _reads(file: str) -> str:
    path = Path(file)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _home(name: str, module: ModuleType, chosen: str, texts: Texts, place: str) -> Home:
    """Return a module's members: those it exports, or its own public classes and functions, or the chosen one."""
    public = [chosen] if chosen else getattr(module, "__all__", [one for one in vars(module) if one[0] != "_"])
    members: dict[str, Member] = {}
    for one in public:
        found = getattr(module, one, None)
        is_member = isinstance(found, type) and issubclass(found, KINDS)
        is_here = getattr(found, "__module__", "") == module.__name__ or one == chosen
        if is_here and (is_member or isinstance(found, FunctionType)):
            members[one] = found  # type: ignore[assignment]
    if not members:
        kinds = "Learner, Scheduler, Losses, Delays or Domain"
        raise ValueError(f"{place}: {name} has no member{f' {chosen}' * bool(chosen)}: a class that inherits {kinds}")
    try:
        digests = {one: _digest_of(found) for one, found in members.items()}
        if texts:
            beside = {file: Path(file).stem for found in members.values() for file in sources.files_of(found)}
            # What a function will import lies beside it too, and is later found by its text.
            here = {file: one for file, one in beside.items() if Path(file).parent == Path(name).parent}
            _install({one: (file, _reads(file)) for file, one in here.items() if one not in sys.modules})
            texts = texts | {one: told for one, told in _known.items() if told[0] in beside}
    except sources.Unknown as error:
        raise ValueError(f"{place}: {error} was edited after it was imported, or has no text: start anew") from error
    return Home(name, members, digests, texts)


def _digest_of(member: Any) -> str:
    """Return a hash of a member's code, and of the values of globals that its verbs read: of a file, for example."""
    code, kinds = sources.digest_of(member), [member] if isinstance(member, type) else []
    read = sorted(f"{one.name} {one.digest}" for one in values_read_by(kinds))  # not the name of the file
    return hashlib.sha256("\0".join((code, *read)).encode()).hexdigest() if read else code


@contextmanager
def _finding_beside(folder: Path) -> Iterator[None]:
    _beside.append(folder)
    try:
        yield
    finally:
        _beside.pop()


@contextmanager
def _telling(problem: str, remedy: str, file: str = "") -> Iterator[None]:
    """Raise ValueError for whatever a user's code raises while it is run, with its line."""
    try:
        yield
    except Shadowed as error:
        raise ValueError(f"{problem}: {error}") from error
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if file and frame.filename == file]
        where = f" (line {lines[-1]})" if lines else ""
        said = " ".join(str(error).split())
        raise ValueError(f"{problem}{where}: {type(error).__name__}: {said}: {remedy}") from error
