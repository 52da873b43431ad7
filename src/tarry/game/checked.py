"""Debug mode: the same rounds in plain Python, where every index, slot and answer of a verb is checked.

Arrays are views that refuse indices outside them and those that count from the end. What a verb returns or writes is
looked at when it returns, so that an error names the member, its verb and the line.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from tarry.delays.base import delay
from tarry.delays.base import react as react_delays
from tarry.domains.base import project
from tarry.errors import MemberError, TarryError
from tarry.game.world import play_rounds, run_rounds
from tarry.kernel.blame import REMEDY, failing, frames_of, is_foreign, sentence, title_of
from tarry.kernel.packed import Packed
from tarry.kernel.views import remade
from tarry.learners.base import predict
from tarry.losses.base import fetch, gradient, value
from tarry.losses.base import react as react_rows
from tarry.schedulers.base import SATURATED, admit, arrive, expired, withholds

_lock = threading.RLock()  # verbs are watched for all threads at once


class Where(NamedTuple):
    """A place in somebody's function."""

    code: CodeType
    line: int


class Wrong(Exception):
    """A verb returned or wrote what it may not."""

    def __init__(self, problem: str, where: Where) -> None:
        super().__init__(problem)
        self.where = where


class Checked(np.ndarray):
    """An array that refuses indices outside it and from its end, and remembers who first wrote what is not finite."""

    spoiled: Where | None = None  # of the class: arrays come and go with each view

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(_forward(self, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_forward(self, key), value)
        if self.dtype.kind == "f" and Checked.spoiled is None and not np.all(np.isfinite(value)):
            caller = sys._getframe(1)
            if is_foreign(caller.f_code.co_filename):
                Checked.spoiled = Where(caller.f_code, caller.f_lineno)


def _forward(array: np.ndarray, key: Any) -> Any:
    """Return a key; raise IndexError for an index outside the array, or from its end."""
    for axis, index in enumerate(key if isinstance(key, tuple) else (key,)):
        if isinstance(index, (int, np.integer)) and not 0 <= index < (array.shape[axis] if axis < array.ndim else 0):
            what = f"the index {index} is outside an array of shape {array.shape}"
            raise IndexError(f"{what}, or counts from its end" if index < 0 else what)
    return key


def checked(tree: Any) -> Any:
    """Return a (nested) tuple with its arrays as checked views."""
    if isinstance(tree, tuple):
        return remade(tree, map(checked, tree))
    return tree.view(Checked) if isinstance(tree, np.ndarray) else tree


def play_checked(cells: Any, packed: Any, stop: Any, first: int, last: int) -> int:
    """Play rounds as ``run_rounds`` does; raise MemberError for whatever a member does wrong."""
    trees = checked(packed.trees)
    with watching(trees.state.table.rounds[0]), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        played: int = run_rounds.function(cells._replace(words=checked(cells.words)), Packed(trees), stop, first, last)
    return played


@contextmanager
def watching(rounds: np.ndarray | None = None) -> Iterator[None]:
    """Check what verbs return and write meanwhile; raise MemberError with member, verb and line for every error.

    ``rounds`` are those in the slots, by which slots are judged.
    """
    checks: dict[Any, Callable[..., str]] = {
        admit: functools.partial(_check_admitted, rounds),
        expired: functools.partial(_check_expired, rounds),
        arrive: lambda returned, *_: "" if _is_number(returned, 0.0) else f"returns the weight {returned!r}",
        withholds: lambda returned, *_: "" if isinstance(returned, (bool, np.bool_)) else f"returns {returned!r}",
        delay: _check_delay,
        react_delays: _check_reaction,
        value: lambda returned, *_: "" if _is_number(returned) else f"returns the loss {returned!r}",
    }
    # The array that a verb fills, its last argument; a play stays where a learner has nothing new to say.
    written = {predict: True, gradient: False, fetch: False, react_rows: False}
    with _lock:
        Checked.spoiled = None
        try:
            for verb, check in checks.items():
                verb._found = _wrapped(verb, functools.partial(_returning, check))
            for verb, stays in written.items():
                verb._found = _wrapped(verb, functools.partial(_writing, stays))
            project._found = _wrapped(project, _projecting)
            yield
        except (TarryError, MemoryError):
            raise
        except Exception as error:
            blamed = blame(error)
            if blamed is None:
                raise
            raise blamed from error
        finally:
            for verb in (*checks, *written, project):
                verb._found = functools.cache(verb.find)


def _wrapped(verb: Any, call: Callable[..., Any]) -> Any:
    return functools.cache(lambda kind: functools.partial(call, verb.find(kind)))


def _returning(check: Callable[..., str], implementation: Any, *arguments: Any) -> Any:
    """Return what a verb returns, looked at together with the line that returns it."""
    code = implementation.__code__
    before, lines = sys.getprofile(), [code.co_firstlineno]

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is code:
            lines[0] = frame.f_lineno

    sys.setprofile(note)
    try:
        returned = implementation(*arguments)
    finally:
        sys.setprofile(before)
    if problem := check(returned, *arguments):
        raise Wrong(problem, Where(code, lines[0]))
    return returned


def _writing(stays: bool, implementation: Any, *arguments: Any) -> Any:
    """Call a verb that fills an array; unless what was there ``stays``, every entry must be written."""
    out = np.asarray(arguments[-1])
    if not stays:
        out.fill(np.nan)
    returned, code = implementation(*arguments), implementation.__code__
    if returned is not None:
        problem = f"returns {type(returned).__name__}, which nobody reads, and does not write into its last argument"
        raise Wrong(problem, Where(code, code.co_firstlineno))
    if not np.all(np.isfinite(out)):
        missing = int(np.argmin(np.isfinite(out)))
        gap = f"leaves {out[missing]} in entry {missing} of {code.co_varnames[code.co_argcount - 1]}"
        raise Wrong(gap, Checked.spoiled or Where(code, code.co_firstlineno))
    return returned


def _projecting(implementation: Any, domain: Any, x: Any, scratch: Any) -> Any:
    was_finite, point = bool(np.all(np.isfinite(x))), np.asarray(x)
    if np.size(scratch) < point.size:
        raise IndexError(f"scratch has {np.size(scratch)} entries, and project needs {point.size}")
    returned = implementation(domain, x, scratch)
    if was_finite and not np.all(np.isfinite(point)):
        code = implementation.__code__
        raise Wrong(f"projects to {point}", Checked.spoiled or Where(code, code.co_firstlineno))
    return returned


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: Any, least: float = -np.inf) -> bool:
    is_real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return bool(is_real and np.isfinite(value) and value >= least)


def _check_admitted(rounds: Any, slot: Any, scheduler: Any, state: Any, draws: Any, request: Any) -> str:
    if not _is_whole(slot):
        return f"returns {slot!r}, which is no slot"
    if slot < SATURATED:
        return f"returns {slot}, which is neither a slot nor UNTRACKED (-1) nor SATURATED (-2)"
    if rounds is not None and slot >= rounds.size:
        return f"returns slot {slot} of {rounds.size}"
    if rounds is not None and slot >= 0 and slot != request.vacancy and rounds[slot] == 0:
        return f"returns slot {slot}, which is free, but is not request.vacancy ({request.vacancy})"
    return ""


def _check_expired(rounds: Any, slot: Any, *_: Any) -> str:
    if not _is_whole(slot):
        return f"returns {slot!r}, which is no slot"
    if rounds is None or slot < 0:
        return ""
    if slot >= rounds.size:
        return f"returns slot {slot} of {rounds.size}"
    return "" if rounds[slot] else f"returns slot {slot}, in which there is no round"


def _check_delay(waited: Any, delays: Any, t: int) -> str:
    if not _is_whole(waited):
        return f"returns {waited!r}, which is no whole number of rounds"
    room = int(delays.horizon) - t
    return "" if 0 <= waited <= room else f"returns {waited} in round {t}, and {room} rounds are left"


def _check_reaction(waited: Any, delays: Any, state: Any, t: int, *_: Any) -> str:
    if not _is_whole(waited):
        return f"returns {waited!r}, which is no whole number of rounds"
    return "" if 0 <= waited <= delays.longest else f"returns {waited} in round {t}, and longest is {delays.longest}"


def blame(error: Exception) -> MemberError | None:
    """Return an error that names the member and line at fault; None where no member's code was under way."""
    frames = frames_of(error.__traceback__)
    rounds = [frame.f_locals.get("t") for frame, _ in frames if frame.f_code is play_rounds.__code__]
    t = rounds[-1] if rounds else None
    if not isinstance(error, Wrong):
        return failing(error, t)
    where = error.where
    return MemberError(sentence(title_of(where.code), where.code.co_filename, where.line, str(error), REMEDY, t))
