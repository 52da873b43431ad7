"""Members written in a sweep: names checked against :mod:`tarry.members` or the user's own, made with what games tell.

A member is its name, ``"VarOpt"``, or a table of its ``type`` and parameters, which may be members themselves. A
required parameter that is left out is read off the game; so is one given as ``"game.max_backlog"``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from tarry import theory
from tarry.checks import pick
from tarry.experiments.files import is_data, read_data
from tarry.experiments.own import FROM, NONE, Own, find_member, ways
from tarry.game import Game
from tarry.members import INSIDE, MEMBERS

Spec = dict[str, Any]
Known = Callable[[str], Any]  # a fact of the game by its name
GAME = "game."
# Parameters that are members themselves, so that a bare name in them is looked up.
NESTED = frozenset(("base", "domain", "first", "norm", "rate", "rows", "second", "smoothing", "targets"))
# What a part of the game may be told, in the order in which parts are made; players may ask for everything.
TOLD = {"domain": ("dimension",), "delays": ("horizon", "rng"), "losses": ("dimension", "horizon", "rng", "domain")}


def _spread(game: Game) -> float:
    """Return νk, from the bounds of the losses."""
    bounds = {name: FACTS[name](game) for name in ("value_bound", "gradient_bound")}
    return float(theory.spread_of(**bounds, inner_radius=game.domain.inner_radius, dimension=game.dimension))


# What a game knows about itself, for players that are tuned to it.
FACTS: dict[str, Callable[[Game], Any]] = {
    **{name: attrgetter(name) for name in ("domain", "horizon", "dimension", "capacity")},
    "diameter": lambda game: float(game.domain.diameter),
    "inner_radius": lambda game: float(game.domain.inner_radius),
    "outer_radius": lambda game: float(game.domain.outer_radius),
    "gradient_bound": lambda game: float(game.losses.gradient_bound(game.domain)),
    "value_bound": lambda game: float(game.losses.value_bound(game.domain)),
    "strong_convexity": lambda game: float(game.losses.strong_convexity),
    "spread": _spread,
    "total_delay": lambda game: game.delays.summary().total_delay,
    "max_delay": lambda game: game.delays.summary().max_delay,
    "max_backlog": lambda game: game.delays.summary().max_backlog,
    # What the ready players call the whole game.
    "game": lambda game: game,
    "target": lambda game: game,
}


def names(key: str, inside: bool = False, own: Own = NONE) -> list[str]:
    """Return the members that may stand for this key, or inside a member of it."""
    ours = [name for name in (INSIDE if inside else MEMBERS)[key] if "." not in name]
    return own.names(key, inside) + ours


def find(
    key: str, name: str, place: str, inside: bool = False, own: Own = NONE
) -> tuple[Callable[..., Any], dict[str, str] | None]:
    """Return a constructor by its name, and its home (None: the library); raise ValueError with the names there are."""
    if (constructor := own.find(key, name, inside)) is not None:
        return constructor
    table = (INSIDE if inside else MEMBERS)[key]
    base, _, way = name.partition(".")
    pick(base, names(key, inside, own), place, what="member")
    if way:
        ways_to_make = [other.partition(".")[2] for other in table if other.startswith(f"{base}.")]
        if (constructor_of_base := own.find(key, base, inside)) is not None:
            ways_to_make = ways(constructor_of_base[0])
        if not ways_to_make:
            raise ValueError(f"{place}: {base} is made in one way only, got {name!r}: write {base!r}")
        pick(way, ways_to_make, place, what=f"way to make {base}")
    return table[f"{base}.{way}" if way else base], None


def constructor_of(key: str, spec: Spec, place: str) -> Callable[..., Any]:
    """Return the constructor that a checked member names, the user's by the home that the member holds."""
    if FROM in spec:
        return find_member(spec[FROM], spec["type"], place)
    return find(key, spec["type"], place, inside=True)[0]


@functools.cache
def parameters_of(constructor: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(constructor).parameters


def check(key: str, value: Any, place: str, own: Own = NONE, inside: bool = False) -> Spec:
    """Return the member as a table of its type and parameters; raise ValueError where a name in it is unknown."""
    spec: Spec = {"type": value} if isinstance(value, str) else dict(value) if isinstance(value, dict) else {}
    if not isinstance(spec.get("type"), str):
        choices = ", ".join(names(key, inside, own))
        raise ValueError(f"{place}: a member needs its type, as in {{type = …}}, got {value!r}: take one of {choices}")
    at = f"{place}.type" if isinstance(value, dict) else place
    constructor, home = find(key, spec["type"], at, inside, own)
    takes = parameters_of(constructor)
    facts: Collection[str] = TOLD.get(key, FACTS)
    checked: Spec = {"type": spec.pop("type")}
    if home is not None:
        checked[FROM] = home
        if spec.get(FROM) == home:  # checked before
            del spec[FROM]
    for name, argument in spec.items():
        here = f"{place}.{name}"
        pick(name, takes, here, what=f"parameter of {checked['type']}")
        checked[name] = argument
        if isinstance(argument, str) and argument.startswith(GAME):
            pick(argument.removeprefix(GAME), facts, here, what="fact of the game")
        elif (isinstance(argument, str) and name in NESTED) or (isinstance(argument, dict) and not is_data(argument)):
            checked[name] = check(key, argument, here, own, inside=True)
    for name, parameter in takes.items():
        if parameter.default is parameter.empty and name not in spec and name not in facts:
            raise ValueError(f"{place}: {checked['type']} needs {name}, which no game tells: give {name} = …")
    return checked


def make(key: str, value: Any, known: Known, place: str = "") -> Any:
    """Return the member that a table stands for, or the value itself; ``known`` is asked for what a table leaves out.

    Raise ValueError, with the key, where the constructor refuses its arguments.
    """
    if isinstance(value, str) and value.startswith(GAME):
        return known(value.removeprefix(GAME))
    if is_data(value):
        return read_data(value["file"], value["digest"], tuple(value.get("columns", ())))
    if not isinstance(value, dict):
        return value
    place = place or key
    constructor = constructor_of(key, value, place)
    specs = {name: argument for name, argument in value.items() if name not in ("type", FROM)}
    arguments = {name: make(key, argument, known, f"{place}.{name}") for name, argument in specs.items()}
    for name, parameter in parameters_of(constructor).items():
        # A member that draws is drawn by the seed, although its rng has a default.
        if name not in arguments and (parameter.default is parameter.empty or name == "rng"):
            arguments[name] = known(name)
    try:
        return constructor(**arguments)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{place}, {value['type']}: {error}") from error


def is_drawn(key: str, value: Any) -> bool | None:
    """Return whether seeds draw a member, or one inside it; None where the code that would tell is not loaded.

    >>> is_drawn("losses", {"type": "Linear", "rows": {"type": "drifting"}})
    True
    >>> is_drawn("losses", {"type": "Linear", "rows": {"type": "drifting", "rng": 3}})
    False
    """
    if not isinstance(value, dict) or is_data(value):
        return bool(value == f"{GAME}rng")
    drawn = [is_drawn(key, part) for name, part in value.items() if name not in ("type", FROM)]
    try:
        drawn.append("rng" in parameters_of(constructor_of(key, value, key)) and "rng" not in value)
    except ValueError:
        drawn.append(None)
    return True if True in drawn else None if None in drawn else False


def describe(spec: Any) -> str:
    """Return a member, or a value, in one line.

    >>> describe({"type": "Linear", "rows": {"type": "blocks", "length": 50}})
    'Linear(rows=blocks(length=50))'
    """
    if isinstance(spec, list) and len(spec) > 4:
        return f"[{len(spec)} entries]"
    if is_data(spec):
        return Path(spec["file"]).name
    if not isinstance(spec, dict):
        return str(spec)
    inside = ", ".join(f"{name}={describe(value)}" for name, value in spec.items() if name not in ("type", FROM))
    return f"{spec['type']}({inside})" if inside else str(spec["type"])
