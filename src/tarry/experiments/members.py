"""Members of the library by name: found in the rooms' exports, checked against their constructors, and made.

A member is written as its name, ``"VarOpt"``, or as a table with its ``type`` and the constructor's parameters,
``{type = "geometric", mean = 200}``; constructors that have a name of their own, as ``"Morris.for_backlog"``, too.
What a parameter takes may be a member itself. A required parameter that is left out is read off the game, if the
game knows it (see :mod:`tarry.experiments.facts`); so is one given as ``"game.max_backlog"``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tarry import delays, domains, learners, losses, players, schedulers, theory, tracking
from tarry.experiments.data import is_data, read_data
from tarry.experiments.facts import FACTS
from tarry.experiments.words import pick
from tarry.kernel import Parameters

Spec = dict[str, Any]
Known = Callable[[str], Any]
"""A fact of the game by its name."""

GAME = "game."
# The first room has the members asked for; the others those that only stand inside them.
ROOMS: dict[str, tuple[ModuleType, ...]] = {
    "domain": (domains,),
    "losses": (losses,),
    "delays": (delays,),
    "learner": (learners, theory),
    "scheduler": (schedulers,),
    "epochs": (tracking,),
    "player": (players,),
}
# Of theory's functions, those that tune: nobody is made from a bound or a tail.
TUNINGS = ("_rate", "_smoothing", "_probability", "_safety", "_epsilon")
# What a part of the game may be told, in the order in which parts are made; players may ask for everything.
TOLD = {
    "domain": ("dimension",),
    "delays": ("horizon", "rng"),
    "losses": ("dimension", "horizon", "rng", "domain"),
}


@functools.cache
def members(key: str, inside: bool = False) -> dict[str, Callable[..., Any]]:
    """What may stand for this key, by name, or inside it; a room's name shadows one of the rooms after it."""
    found: dict[str, Callable[..., Any]] = {}
    for room in reversed(ROOMS[key] if inside else ROOMS[key][:1]):
        listed = {name: thing for name in room.__all__ if _is_member(thing := getattr(room, name))}
        found |= getattr(room, "MEMBERS", listed)
    return found


def _is_member(thing: Any) -> bool:
    if isinstance(thing, type):
        is_made = issubclass(thing, Parameters) and not issubclass(thing, tracking.Player)
        return is_made and not any(_is_function(p) for p in _required(thing))
    if not inspect.isfunction(thing) or hasattr(thing, "registry"):
        return False
    answer = thing.__annotations__.get("return", "")
    made = thing.__globals__.get(answer)
    is_made = isinstance(made, type) and issubclass(made, Parameters)
    is_tuning = answer == "float" and thing.__name__.endswith(TUNINGS)
    return (is_made or is_tuning) and not any(_is_function(p) for p in _required(thing))


def _is_function(parameter: inspect.Parameter) -> bool:
    return str(parameter.annotation).startswith("Callable")


def parameters_of(constructor: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """A constructor's parameters by name."""
    return dict(_parameters(constructor))


@functools.cache
def _parameters(constructor: Callable[..., Any]) -> tuple[tuple[str, inspect.Parameter], ...]:
    kept = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple((n, p) for n, p in inspect.signature(constructor).parameters.items() if p.kind in kept)


def _required(constructor: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    return (p for _, p in _parameters(constructor) if p.default is inspect.Parameter.empty)


def find(key: str, name: str, place: str, inside: bool = False) -> Callable[..., Any]:
    """The constructor of this name, or a sentence with those there are."""
    known = members(key, inside)
    base, _, way = name.partition(".")
    base = getattr(ROOMS[key][0], "RENAMED", {}).get(base, base)
    kind = known[pick(base, known, place, what="member")]
    if not way:
        return kind
    ways = _ways(kind)
    if not ways:
        raise ValueError(f"{place}: {base} is made in one way only, got {name!r}: write {base!r}")
    made: Callable[..., Any] = getattr(kind, pick(way, ways, place, what=f"way to make {base}"))
    return made


def _ways(kind: Any) -> list[str]:
    found = vars(kind) if isinstance(kind, type) else {}
    return [name for name, way in found.items() if isinstance(way, classmethod) and not name.startswith("_")]


def check(key: str, value: Any, place: str, inside: bool = False) -> Spec:
    """The same member as a table of its type and parameters, every name in it checked."""
    given: Spec = {"type": value} if isinstance(value, str) else dict(value) if isinstance(value, dict) else {}
    if not isinstance(given.get("type"), str):
        choices = ", ".join(members(key, inside))
        raise ValueError(f"{place}: a member needs its type, as in {{type = …}}, got {value!r}: take one of {choices}")
    constructor = find(key, given["type"], f"{place}.type" if isinstance(value, dict) else place, inside)
    takes = parameters_of(constructor)
    checked: Spec = {"type": given.pop("type")}
    for name, argument in given.items():
        pick(name, takes, f"{place}.{name}", what=f"parameter of {checked['type']}")
        checked[name] = _check_argument(key, takes[name], argument, f"{place}.{name}")
    for name in (p.name for p in _required(constructor) if p.name not in given):
        if name not in TOLD.get(key, FACTS):
            raise ValueError(f"{place}: {checked['type']} needs {name}, which no game tells: give {name} = …")
    return checked


def _check_argument(key: str, parameter: inspect.Parameter, value: Any, place: str) -> Any:
    if is_data(value):
        return value
    if isinstance(value, dict):
        return check(key, value, place, inside=True)
    if isinstance(value, str) and value.startswith(GAME):
        pick(value.removeprefix(GAME), TOLD.get(key, FACTS), place, what="fact of the game")
    elif isinstance(value, str) and "Any" in str(parameter.annotation):
        return check(key, value, place, inside=True)
    return value


def make(key: str, spec: Spec, known: Known, place: str = "") -> Any:
    """The member itself; what it leaves out is asked of ``known``, and what it refuses is said with its key."""
    place = place or key
    constructor = find(key, spec["type"], place, inside=True)
    given = {name: _made(key, value, known, f"{place}.{name}") for name, value in spec.items() if name != "type"}
    for name, parameter in parameters_of(constructor).items():
        is_needed = parameter.default is inspect.Parameter.empty or name == "rng"
        if name not in given and is_needed:
            given[name] = known(name)
    try:
        return constructor(**given)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{place}, {spec['type']}: {error}") from error


def _made(key: str, value: Any, known: Known, place: str) -> Any:
    if is_data(value):
        return read_data(value)
    if isinstance(value, dict):
        return make(key, value, known, place)
    if isinstance(value, str) and value.startswith(GAME):
        return known(value.removeprefix(GAME))
    return value


def describe(spec: Any) -> str:
    """A member in one line.

    >>> describe({"type": "Linear", "rows": {"type": "blocks", "length": 50}})
    'Linear(rows=blocks(length=50))'
    """
    if isinstance(spec, list) and len(spec) > 4:
        return f"[{len(spec)} entries]"
    if is_data(spec):
        return Path(spec["file"]).name
    if not isinstance(spec, dict):
        return str(spec)
    inside = ", ".join(f"{name}={describe(value)}" for name, value in spec.items() if name != "type")
    return f"{spec['type']}({inside})" if inside else str(spec["type"])
