"""Hash what a member from outside the package is made of: its code, and all code that it reaches by name.

Comments, docstrings and blank lines are not part of a hash, nor is what stands beside a member in its file and is not
used by it: results and compiled code of one member outlive an edit of another.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any, NamedTuple

IMPORTED = time.time()  # a file changed later is not what runs
LIBRARY = tuple(dict.fromkeys(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")))
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
ALL = "*"  # what a star imports
Reached = dict[tuple[str, int], str]  # texts of statements, by file and place
_loaded: dict[str, str] = {}  # texts that were handed to Python by ``note_text``, by file


class Unknown(Exception):
    """The text that runs is not known: it has no file (a notebook), or its file was edited after its import."""


class Statement(NamedTuple):
    """A statement of a module: the names it binds and uses, and its text in one spelling."""

    binds: frozenset[str]
    uses: frozenset[str]
    concerns: frozenset[str]  # names it says something about, without binding them: ``@value.on(Mine)``
    imports: tuple[Any, ...]  # the nodes of its imports, those inside functions too
    text: str


def note_text(file: str, text: str) -> None:
    """Take this for the text that runs under a file's name, whatever becomes of the file."""
    _loaded[file] = text


def text_of(file: str) -> str:
    """Return the text that runs under a file's name; raise Unknown where the file was edited after its import."""
    if file in _loaded:
        return _loaded[file]
    path = Path(file)
    if path.suffix != ".py" or not path.is_file() or path.stat().st_mtime > IMPORTED:
        raise Unknown(file)
    return path.read_text(encoding="utf-8")


def file_of(thing: Any) -> str:
    """Return the file of a class or a function, empty where it is not known."""
    if hasattr(thing, "__code__"):
        return str(thing.__code__.co_filename)
    return getattr(sys.modules.get(thing.__module__), "__file__", None) or ""


def digest_of(thing: Any) -> str:
    """Return a hash of the code of a class or a function, and of what it reaches; raise Unknown without its text."""
    return _hash(sorted(_reached_by(thing).values()))  # whichever way names led there


def files_of(thing: Any) -> list[str]:
    """Return the files of the code that a class or a function reaches; raise Unknown without their texts."""
    return list(dict.fromkeys(file for file, _ in _reached_by(thing)))


def _reached_by(thing: Any) -> Reached:
    reached: Reached = {}
    if file_of(thing) != getattr(sys.modules.get(thing.__module__), "__file__", None):
        raise Unknown(thing.__qualname__)  # code made by code
    _reach(thing.__module__, {thing.__qualname__.partition(".")[0]}, reached)
    return reached


def digest_of_file(file: str) -> str:
    """Return a hash of all code in a file; raise Unknown without its text."""
    return _hash(one.text for one in statements(text_of(file)))


def _hash(texts: Any) -> str:
    hasher = hashlib.sha256()
    for text in texts:
        hasher.update(text.encode() + b"\0")
    return hasher.hexdigest()


def _reach(module: str, names: set[str] | None, reached: Reached) -> None:
    """Add the statements of a module that these names lead to (None: all of them), and those of modules it imports."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    listed = statements(text_of(file))
    local = {name for one in listed for name in one.binds}
    known = local if names is None else {*names, ALL}
    new = True
    while new:
        new = False
        for at, one in enumerate(listed):
            is_asked = names is None or one.binds & known or one.concerns & known & local
            if is_asked and (file, at) not in reached:
                reached[file, at] = one.text
                known, new = known | one.uses, True
                for node in one.imports:
                    _follow(module, node, reached)


def _follow(module: str, node: Any, reached: Reached) -> None:
    """Go on in the modules of an import, but not in Python's, in Tarry's or in those installed beside it."""
    asked: dict[str, set[str] | None]
    if isinstance(node, ast.Import):
        asked = {alias.name: None for alias in node.names}
    else:
        package = module if hasattr(sys.modules.get(module), "__path__") else module.rpartition(".")[0]
        home = node.module or ""
        if node.level:
            home = importlib.util.resolve_name("." * node.level + home, package)
        names = {alias.name for alias in node.names}
        inner = {name for name in names if f"{home}.{name}" in sys.modules}  # modules of a package
        asked = dict.fromkeys(f"{home}.{name}" for name in inner)
        if names - inner:
            asked[home] = None if ALL in names else names - inner
    for name, wanted in asked.items():
        found = sys.modules.get(name)
        file = getattr(found, "__file__", None)
        if file and is_outside(found, module) and not _is_known(file, wanted, reached):
            _reach(name, wanted, reached)


def _is_known(file: str, names: set[str] | None, reached: Reached) -> bool:
    """Return whether these names were followed already: modules may import each other."""
    listed = statements(text_of(file))
    return all((file, at) in reached for at, one in enumerate(listed) if names is None or one.binds & names)


def is_outside(module: Any, root: str) -> bool:
    """Return whether a module is a user's: no installed one, or of the same package as the one that asks."""
    name, file = module.__name__.partition(".")[0], getattr(module, "__file__", None) or ""
    if name == "tarry" or name in sys.stdlib_module_names:
        return False
    return name == root.partition(".")[0] or not file.startswith(LIBRARY)


@functools.lru_cache(maxsize=64)
def statements(text: str) -> tuple[Statement, ...]:
    """Return the statements of a module's text, but for docstrings and what runs in a script only."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise Unknown(str(error)) from error
    for node in ast.walk(tree):
        if isinstance(node, (*_DEFINITIONS, ast.Module)) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or ([] if isinstance(node, ast.Module) else [ast.Pass()])
    kept = [node for node in tree.body if not _is_of_script(node)]
    return tuple(_statement(part) for node in kept for part in _parts(node))


def _parts(node: ast.stmt) -> list[ast.stmt]:
    """Return an import as one for each name: only those that are used count."""
    if isinstance(node, ast.Import):
        return [ast.Import([alias]) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [ast.ImportFrom(node.module, [alias], node.level) for alias in node.names]
    return [node]


def _statement(node: ast.stmt) -> Statement:
    inside = list(ast.walk(node))
    names = [one for one in inside if isinstance(one, ast.Name)]
    uses = frozenset(one.id for one in names if isinstance(one.ctx, ast.Load))
    binds = frozenset(one.id for one in names if not isinstance(one.ctx, ast.Load))
    imports = tuple(one for one in inside if isinstance(one, (ast.Import, ast.ImportFrom)))
    concerns: frozenset[str] = frozenset()
    if isinstance(node, _DEFINITIONS):
        binds = frozenset((node.name,))
        told = [part for decorator in node.decorator_list for part in ast.walk(decorator)]
        concerns = frozenset(one.id for one in told if isinstance(one, ast.Name))
    elif not isinstance(node, (ast.Assign, ast.AnnAssign)) or not binds:
        # An import, a call, a block, or an assignment to a part of something.
        binds |= {one.name for one in inside if isinstance(one, _DEFINITIONS)}
        binds |= {(one.asname or one.name).partition(".")[0] for given in imports for one in given.names}
        concerns = uses
    return Statement(binds, uses, concerns, imports, ast.unparse(node))


def _is_of_script(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(getattr(one, "id", "") == "__name__" for one in ast.walk(node.test))
