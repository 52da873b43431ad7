"""Sentences about names that are not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def pick(name: str, known: Iterable[str], place: str, *, what: str) -> str:
    """The name, if it is known; else a sentence with the place, the nearest name and all of them.

    >>> pick("VarOp", ["Pareto", "VarOpt"], "a.toml: players.ours.scheduler", what="member")
    Traceback (most recent call last):
    ValueError: a.toml: players.ours.scheduler: there is no member 'VarOp', did you mean 'VarOpt'? Take one of \
Pareto, VarOpt
    """
    choices = list(known)
    if name in choices:
        return name
    folded = {choice.lower(): choice for choice in choices}
    near = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    hint = f", did you mean {folded[near[0]]!r}? Take" if near else ": take"
    raise ValueError(f"{place}: there is no {what} {name!r}{hint} one of {', '.join(choices) or '(none)'}")
