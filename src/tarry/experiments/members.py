"""Members written in a sweep: names checked against the library's tables, made with what the game tells.

A member is its name, ``"VarOpt"``, or a table of its ``type`` and its constructor's parameters,
``{type = "geometric", mean = 200}``; a parameter may be a member itself. A required parameter that is left out is read
off the game, if the game knows it; so is one given as ``"game.max_backlog"``. Names are those of
:mod:`tarry.members`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from tarry import theory
from tarry.checks import pick
from tarry.experiments.files import is_data, read_data
from tarry.game import Game
from tarry.members import INSIDE, MEMBERS, RENAMED

Spec = dict[str, Any]
Known = Callable[[str], Any]
"""A fact of the game by its name."""

GAME = "game."
# Parameters that are members themselves, so that a bare name in them is looked up.
NESTED = frozenset(("base", "domain", "first", "norm", "rate", "rows", "second", "smoothing", "targets"))
# What a part of the game may be told, in the order in which parts are made; players may ask for everything.
TOLD = {
    "domain": ("dimension",),
    "delays": ("horizon", "rng"),
    "losses": ("dimension", "horizon", "rng", "domain"),
}


def _spread(game: Game) -> float:
    """Return νk, from the bounds of the losses."""
    return float(
        theory.spread_of(
            value_bound=float(game.losses.value_bound(game.domain)),
            gradient_bound=float(game.losses.gradient_bound(game.domain)),
            inner_radius=game.domain.inner_radius,
            dimension=game.dimension,
        )
    )


FACTS: dict[str, Callable[[Game], Any]] = {
    "domain": lambda game: game.domain,
    "horizon": lambda game: game.horizon,
    "dimension": lambda game: game.dimension,
    "capacity": lambda game: game.capacity,
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
"""What a game knows about itself, for players that are tuned to it."""


def facts_of(game: Game) -> Known:
    """Return a function that looks up facts of one game, each computed once."""

    @functools.cache
    def known(name: str) -> Any:
        if name not in FACTS:
            raise ValueError(f"a game does not tell {name}: give {name} = …")
        return FACTS[name](game)

    return known


def names(key: str, inside: bool = False) -> list[str]:
    """Return the members that may stand for this key, or inside a member of it."""
    return [name for name in (INSIDE if inside else MEMBERS)[key] if "." not in name]


def find(key: str, name: str, place: str, inside: bool = False) -> Callable[..., Any]:
    """Return the constructor of this name; raise ValueError with the names there are."""
    table = (INSIDE if inside else MEMBERS)[key]
    base, _, way = name.partition(".")
    base, _, renamed_way = RENAMED.get(key, {}).get(base, base).partition(".")
    way = way or renamed_way
    pick(base, names(key, inside), place, what="member")
    if way:
        ways = [other.partition(".")[2] for other in table if other.startswith(f"{base}.")]
        if not ways:
            raise ValueError(f"{place}: {base} is made in one way only, got {name!r}: write {base!r}")
        pick(way, ways, place, what=f"way to make {base}")
    return table[f"{base}.{way}" if way else base]


@functools.cache
def _signature(constructor: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(constructor)


def parameters_of(constructor: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return a constructor's parameters by name."""
    return dict(_signature(constructor).parameters)


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def check(key: str, value: Any, place: str, inside: bool = False) -> Spec:
    """Return the member as a table of its type and parameters; raise ValueError where a name in it is unknown."""
    given: Spec = {"type": value} if isinstance(value, str) else dict(value) if isinstance(value, dict) else {}
    if not isinstance(given.get("type"), str):
        choices = ", ".join(names(key, inside))
        raise ValueError(f"{place}: a member needs its type, as in {{type = …}}, got {value!r}: take one of {choices}")
    constructor = find(key, given["type"], f"{place}.type" if isinstance(value, dict) else place, inside)
    takes = parameters_of(constructor)
    checked: Spec = {"type": given.pop("type")}
    for name, argument in given.items():
        pick(name, takes, f"{place}.{name}", what=f"parameter of {checked['type']}")
        checked[name] = _check_argument(key, name, argument, f"{place}.{name}")
    told: Collection[str] = TOLD.get(key, FACTS)
    for name, parameter in takes.items():
        if _is_required(parameter) and name not in given and name not in told:
            raise ValueError(f"{place}: {checked['type']} needs {name}, which no game tells: give {name} = …")
    return checked


def _check_argument(key: str, name: str, value: Any, place: str) -> Any:
    if is_data(value):
        return value
    if isinstance(value, str) and value.startswith(GAME):
        pick(value.removeprefix(GAME), TOLD.get(key, FACTS), place, what="fact of the game")
        return value
    if isinstance(value, dict) or (isinstance(value, str) and name in NESTED):
        return check(key, value, place, inside=True)
    return value


def make(key: str, spec: Spec, known: Known, place: str = "") -> Any:
    """Return the member itself; ``known`` is asked for what its table leaves out.

    Raise ValueError, with the key, where the constructor refuses its arguments.
    """
    place = place or key
    constructor = find(key, spec["type"], place, inside=True)
    given = {name: _made(key, value, known, f"{place}.{name}") for name, value in spec.items() if name != "type"}
    for name, parameter in parameters_of(constructor).items():
        # A member that draws is drawn by the seed, although its rng has a default.
        if name not in given and (_is_required(parameter) or name == "rng"):
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
    inside = ", ".join(f"{name}={describe(value)}" for name, value in spec.items() if name != "type")
    return f"{spec['type']}({inside})" if inside else str(spec["type"])
