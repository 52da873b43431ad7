"""Say which member, verb and line of a user's code an error comes from."""

from __future__ import annotations

import linecache
import os
import re
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from tarry.errors import MemberError
from tarry.kernel.sources import LIBRARY

_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep
_titles: dict[CodeType, str] = {}  # "Momentum.absorb" by the code of the implementation
_returns: dict[CodeType, str] = {}  # what its verb returns: "int", "float", "bool", "None" or whatever else
_PLAIN = "NUMBA_DISABLE_JIT=1 runs it in Python, and docs/members.md says what verbs may do"
LINES, MOST = 3, 200  # of Numba's words: lines, and characters of a line
# What Numba says of itself, of where, and of what it tried.
_NEEDLESS = re.compile(
    r"(Failed in |During: |File |raised from |<source elided>|\^|def |>>> |There are \d|- Of which|Overload |"
    r"With argument|Rejected as |Enter with|$)"
)
_ALLOCATES = ("NRT required", "Only accept returning of array passed into the function")
_PLACE = "\n"  # between the parts of a place that compiled code carries


def note_title(function: Any, verb: str, member: str, returns: str) -> None:
    """Remember for which member's verb a function stands, and what the verb returns."""
    _titles.setdefault(function.__code__, f"{member}.{verb}")
    _returns.setdefault(function.__code__, returns)


def returned_by(code: CodeType) -> str:
    """Return what an implementation of a verb should return, as the verb is annotated; empty for other functions."""
    return _returns.get(code, "")


def title_of(code: CodeType) -> str:
    """Return the name of a function as its author knows it."""
    return _titles.get(code, code.co_qualname.rpartition("<locals>.")[2])


def is_known(code: CodeType) -> bool:
    """Return whether a function stands for a verb."""
    return code in _titles


def is_foreign(file: str) -> bool:
    """Return whether code of this file is a user's: of no installed package, and not Tarry's."""
    return not file.startswith((_PACKAGE, *LIBRARY, "<frozen", "<string>"))


def place_of(code: CodeType, line: int) -> str:
    """Return a place in a function, as compiled code carries it in an error."""
    return _PLACE.join((title_of(code), code.co_filename, str(line)))


def sentence(title: str, file: str, line: int, problem: str, remedy: str, t: int | None = None) -> str:
    """Return what is wrong where: the member and its verb, the line and its text, what may help."""
    text = linecache.getline(file, line).strip()
    shown = f" `{text}`" if text else ""
    at = "" if t is None else f", in round {t}"
    return f"{title} {problem} (line {line} of {Path(file).name}{at}:{shown}): {remedy}"


def outside_array(error: IndexError) -> Exception:
    """Return the error to raise where compiled code of a user's member leaves an array."""
    parts = str(error).split(_PLACE)
    if len(parts) != 3:
        return error
    problem, remedy = "reads or writes outside an array", "simulate(…, debug=True) says which index"
    return MemberError(sentence(parts[0], parts[1], int(parts[2]), problem, remedy))


def frames_of(trace: TracebackType | None) -> list[tuple[FrameType, int]]:
    """Return the frames of a traceback with their lines, the innermost last."""
    found = []
    while trace is not None:
        found.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return found


def does_not_compile(code: CodeType, error: Exception, returns_wrong: bool) -> MemberError:
    """Return an error for a function that Numba refuses, with what Numba says of it in a line or two."""
    line = getattr(getattr(error, "loc", None), "line", None) or code.co_firstlineno
    lines = [one.strip() for one in str(error).splitlines()]
    said = [one for one in lines if not _NEEDLESS.match(one) and one != _text(code, line)]
    problem, remedy = "does not compile", _PLAIN
    if returns_wrong:
        problem, said = str(error), []
    elif any(sign in str(error) for sign in _ALLOCATES):
        problem, remedy, said = (
            "allocates memory, which verbs cannot",
            "keep the array in the state, and loop",
            said[:1],
        )
    beneath = "".join(f"\n  Numba: {one[:MOST]}" for one in list(dict.fromkeys(said))[:LINES])
    return MemberError(sentence(title_of(code), code.co_filename, line, problem, remedy) + beneath)


def _text(code: CodeType, line: int) -> str:
    return linecache.getline(code.co_filename, line).strip()
