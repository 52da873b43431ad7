"""Hash what a member from outside the package is made of: code that it reaches, and code that runs.

All code counts that the import of a user's file runs, and every definition and constant that a name leads to, through
the user's other files as well. Comments, docstrings and what only stands beside a member count nothing: results and
compiled code of one member outlive an edit of another.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
import sysconfig
import time
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NamedTuple

IMPORTED = time.time()  # a file changed later is not what runs
LIBRARY = tuple(dict.fromkeys(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")))
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_QUIET = ("classmethod", "property", "setter", "staticmethod")  # decorators that change nothing elsewhere
_HOOK = "__init_subclass__"  # code that classes run by being there
ALL = "*"  # what a star imports
Reached = dict[tuple[str, int], str]  # texts of statements, by file and place
_loaded: dict[str, str] = {}  # texts that were handed to Python by ``note_text``, by file


class Unknown(Exception):
    """The text that runs is not known: it has no file (a notebook), or its file was edited after its import."""


class Statement(NamedTuple):
    """A statement of a module: the names it binds and uses, whether it runs code, and its text in one spelling."""

    binds: frozenset[str]
    uses: frozenset[str]
    is_run: bool
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


def _reached_by(thing: Any) -> Reached:
    reached: Reached = {}
    module, file = thing.__module__, getattr(sys.modules.get(thing.__module__), "__file__", None)
    if not file or file_of(thing) != file:
        raise Unknown(thing.__qualname__)  # code made by code
    _reach(module, file, {thing.__qualname__.partition(".")[0]}, reached)
    return reached


def digest_of_file(file: str) -> str:
    """Return a hash of all code in a file; raise Unknown without its text."""
    return _hash(statement.text for statement in statements(text_of(file)))


def _hash(texts: Iterable[str]) -> str:
    return hashlib.sha256(b"".join(text.encode() + b"\0" for text in texts)).hexdigest()


def _reach(module: str, file: str, names: set[str] | None, reached: Reached) -> None:
    """Add what a module's import runs, what these names lead to (None: all), and the same of modules it imports."""
    # A file that a function will import is read now: only what has run already can have been edited since.
    text = text_of(file) if module in sys.modules else Path(file).read_text(encoding="utf-8")
    parts = statements(text)
    is_whole = names is None or _HOOK in text
    reachable, new = set(names or ()), True
    while new:
        new = False
        for at, part in enumerate(parts):
            if (is_whole or part.is_run or part.binds & reachable) and (file, at) not in reached:
                reached[file, at] = part.text
                reachable, new = reachable | part.uses, True
                for node in part.imports:
                    _follow(module, file, node, reached)


def _follow(module: str, file: str, node: Any, reached: Reached) -> None:
    """Go on in the modules of an import, but not in Python's, in Tarry's or in those installed beside it."""
    imports: dict[str, set[str] | None]
    if isinstance(node, ast.Import):
        imports = {alias.name: None for alias in node.names}
    else:
        package = module if Path(file).stem == "__init__" else module.rpartition(".")[0]
        home = node.module or ""
        if node.level:
            home = importlib.util.resolve_name("." * node.level + home, package)
        names = {alias.name for alias in node.names}
        inner = {name for name in names if _file_for(f"{home}.{name}", module, file)}  # modules of a package
        imports = dict.fromkeys(f"{home}.{name}" for name in inner)
        if names - inner:
            imports[home] = None if ALL in names else names - inner
    for name, inner_names in imports.items():
        path = _file_for(name, module, file)
        if path:
            _reach(name, path, inner_names, reached)


def _file_for(name: str, module: str, file: str) -> str:
    """Return the file of a user's module that another imports; empty for Python's, Tarry's and installed ones."""
    if _is_of_library(name):
        return ""
    beside = Path(file).with_name(f"{name}.py")
    if name in sys.modules:
        path = getattr(sys.modules[name], "__file__", None) or ""
    elif "." not in module and beside.is_file():
        path = str(beside)
    else:
        path = _search(name)
    return path if is_users(name, path, module) else ""


def _is_of_library(module: str) -> bool:
    top = module.partition(".")[0]
    return top == "tarry" or top in sys.stdlib_module_names


def is_users(module: str, file: str, asking: str) -> bool:
    """Return whether a module is a user's: no installed one, or of the same package as the one that asks."""
    is_near = module.partition(".")[0] == asking.partition(".")[0]
    return not _is_of_library(module) and (is_near or not file.startswith(LIBRARY))


def _search(name: str) -> str:
    """Return the file that Python would import; unlike Python's own question, this one runs no package's code."""
    folders: list[str] | None = None
    whole, spec = "", None
    for part in name.split("."):
        if whole and folders is None:
            return ""  # a name inside a module
        whole = f"{whole}.{part}".lstrip(".")
        spec = PathFinder.find_spec(whole, folders)
        folders = spec.submodule_search_locations if spec else None
    return (spec and spec.origin) or ""


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
    return tuple(_statement(node) for node in tree.body if not _is_of_script(node))


def _statement(node: ast.stmt) -> Statement:
    inside = list(ast.walk(node))
    names = [child for child in inside if isinstance(child, ast.Name)]
    uses = frozenset(child.id for child in names if isinstance(child.ctx, ast.Load))
    binds = frozenset(child.id for child in names if not isinstance(child.ctx, ast.Load))
    imports = tuple(child for child in inside if isinstance(child, (ast.Import, ast.ImportFrom)))
    if isinstance(node, _DEFINITIONS):
        binds = frozenset((node.name,))
    return Statement(binds, uses, _is_run(node), imports, ast.unparse(node))


def _is_run(node: ast.stmt) -> bool:
    """Return whether the import of a statement does more than bind names: such code may change any other global."""
    if isinstance(node, _DEFINITIONS):
        if any(getattr(part, "attr", getattr(part, "id", "")) not in _QUIET for part in node.decorator_list):
            return True
        if isinstance(node, ast.ClassDef):
            return bool(node.keywords) or _calls(*node.bases) or any(map(_is_run, node.body))
        return _calls(*node.args.defaults, *filter(None, node.args.kw_defaults))
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return not all(isinstance(part, ast.Name) for part in targets) or _calls(node)
    return not isinstance(node, ast.Pass)


def _calls(*nodes: ast.AST) -> bool:
    return any(isinstance(child, ast.Call) for node in nodes for child in ast.walk(node))


def _is_of_script(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(getattr(child, "id", "") == "__name__" for child in ast.walk(node.test))
