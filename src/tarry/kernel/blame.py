"""Say which member, verb and line of a user's code an error comes from."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from tarry.errors import MemberError, TarryError
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
_ALLOCATES = "NRT required"
_RETURNS_ARRAY = "Only accept returning of array passed into the function"
# What Numba says of a function of the user's that is no step.
_HELPER = re.compile(r"Untyped global name '(\w+)'.{0,200}class 'function'", re.DOTALL)
_PRODUCT = "numba.core.extending._Intrinsic"  # what Numba says of products that need a library
REMEDY = "docs/members.md says what each verb may do"
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
    quoted = f" `{text}`" if text else ""
    at = "" if t is None else f", in round {t}"
    return f"{title} {problem} (line {line} of {Path(file).name}{at}:{quoted}): {remedy}"


def outside_array(error: IndexError) -> Exception:
    """Return the error to raise where compiled code of a user's member leaves an array."""
    parts = str(error).split(_PLACE)
    if len(parts) != 3:
        return error
    problem, remedy = "reads or writes outside an array", "simulate(…, debug=True) says which index"
    return MemberError(sentence(parts[0], parts[1], int(parts[2]), problem, remedy))


def raised_by(members: Iterable[Any], error: Exception) -> Exception:
    """Return the error to raise for one that compiled verbs raised: it names the members that are a user's."""
    users = (
        member for member in members if isinstance(member, tuple) and not type(member).__module__.startswith("tarry.")
    )
    names = list(dict.fromkeys(type(member).__name__ for member in users))
    if not names or isinstance(error, (TarryError, MemoryError)):
        return error
    problem = f"a verb of {', '.join(names)} raised {type(error).__name__}: {error}"
    return MemberError(f"{problem}: verbs answer by what they return; simulate(…, debug=True) names the line")


def frames_of(trace: TracebackType | None) -> list[tuple[FrameType, int]]:
    """Return the frames of a traceback with their lines, the innermost last."""
    frames = []
    while trace is not None:
        frames.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return frames


def failing(error: Exception, t: int | None = None, anywhere: bool = False) -> MemberError | None:
    """Return an error that names the member and line at fault; None where no verb of a member was under way.

    ``anywhere`` names any function of a user's: where a command plays, all of them are members'.
    """
    frames = frames_of(error.__traceback__)
    users = [(frame.f_code, line) for frame, line in frames if is_foreign(frame.f_code.co_filename)]
    verbs = [(frame.f_code, line) for frame, line in frames if is_known(frame.f_code)]
    blamed = users[-1:] if anywhere or any(is_known(code) for code, _ in users) else verbs[-1:]
    if not blamed:
        return None
    (code, line), problem = blamed[0], f"fails: {type(error).__name__}: {error}"
    return MemberError(sentence(title_of(code), code.co_filename, line, problem, REMEDY, t))


def does_not_compile(code: CodeType, error: Exception, returns_wrong: bool) -> MemberError:
    """Return an error for a function that Numba refuses, with what Numba says of it in a line or two."""
    numba_line = getattr(getattr(error, "loc", None), "line", None) or 0
    line = (
        numba_line if numba_line in {words for _, _, words in code.co_lines()} else code.co_firstlineno
    )  # it may be one of Numba's
    lines = [words.strip() for words in str(error).splitlines()]
    reasons = [words for words in lines if not _NEEDLESS.match(words) and words != _text(code, line)]
    problem, remedy = "does not compile", _PLAIN
    if returns_wrong:
        problem, reasons = str(error), []
    elif helper := _HELPER.search(str(error)):
        problem, reasons = f"calls {helper[1]}, which is not compiled", []
        remedy = f"write @tarry.kernel.step above def {helper[1]}"
    elif reasons and reasons[0].startswith(_RETURNS_ARRAY):
        problem, remedy, reasons = "returns an array, which verbs cannot", "write into the array that is handed in", []
    elif _PRODUCT in str(error):
        problem, remedy, reasons = "multiplies arrays (@, np.dot), which verbs cannot", "loop over the entries", []
    elif any(sign in str(error) for sign in (_ALLOCATES, _RETURNS_ARRAY)):
        problem, remedy = "allocates memory, which verbs cannot", "keep the array in the state, and loop"
        reasons = [words for words in reasons if not words.startswith("-")][:1]
    beneath = "".join(f"\n  Numba: {words[:MOST]}" for words in list(dict.fromkeys(reasons))[:LINES])
    return MemberError(sentence(title_of(code), code.co_filename, line, problem, remedy) + beneath)


def _text(code: CodeType, line: int) -> str:
    return linecache.getline(code.co_filename, line).strip()
