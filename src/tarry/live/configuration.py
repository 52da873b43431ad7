"""What a session is, as plain text: enough to open it again in another process, without pickle.

A member is written as its short name and its fields. What a store names is looked up in one table of the library's
members and built by their constructors; nothing is imported because a store says so. A player with members or
functions from elsewhere is opened by passing the same player again.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from functools import cache
from math import isfinite
from typing import Annotated, Any, NamedTuple, get_args, get_origin
from zlib import crc32

import numpy as np

from tarry import domains, learners, rates, schedulers, tracking
from tarry.checks import as_int
from tarry.errors import StoreError
from tarry.game.problem import check_capacity, check_grants
from tarry.kernel import Parameters
from tarry.learners.base import queries_of
from tarry.tracking import Player, Terms, terms_of

FORMAT = 2
SESSION, JOIN = "session", "join"
STATED = ("gradient_bound", "value_bound", "strong_convexity")
_ROOMS = (domains, rates, learners, schedulers, tracking)  # whose members a player can be made of
# Classes of the first version that have another name now and the same fields.
_FORMER = {**domains.RENAMED, **schedulers.RENAMED, **rates.RENAMED}
_ELSEWHERE = "own:"  # before the name of a member that is not of this package
_ABSENT: Any = object()
_SHOWN = 6  # entries of an array


class Configuration(NamedTuple):
    """Everything that never changes about a session or join."""

    kind: str
    player: Player
    capacity: int | None
    information: str
    preemption: bool
    seed: int
    memory: int
    options: dict[str, Any]


def settled(wanted: Configuration) -> Configuration:
    """Return a configuration in plain numbers; refuse a player that needs more than it is granted, or an end."""
    check_capacity(wanted.capacity)
    capacity = None if wanted.capacity is None else int(wanted.capacity)  # NumPy's become Python's: a store keeps text
    memory = as_int(wanted.memory, "memory", 1)
    player = wanted.player
    check_grants(
        player,
        feedback=None,
        capacity=capacity,
        information=wanted.information,
        preemption=wanted.preemption,
        queries=queries_of(player.learner),  # whoever calls evaluates the losses, at as many points as are asked for
    )
    player.learner.check_horizon(None)
    return wanted._replace(capacity=capacity, memory=memory, preemption=bool(wanted.preemption))


def disclosed_delay(configuration: Configuration, delay: int | None) -> int:
    """Return the delay told with a round, -1 where none is to be told."""
    information, kind = configuration.information, configuration.kind
    if information == "clairvoyant":
        return as_int(delay, f"the delay (a clairvoyant {kind} needs each round's)", 0)
    if delay is not None:
        raise ValueError(f"a {information} {kind} takes no delay, got {delay}: leave it out")
    return -1


def check_naming(configuration: Configuration, *, is_named: bool) -> None:
    """Refuse an id of the other kind than those before."""
    used = "round numbers" if is_named else "your own ids"
    raise ValueError(f"this {configuration.kind} has used {used} so far: give ids always or never")


def terms_for(configuration: Configuration) -> Terms | None:
    """Return the constants of certificates, as far as they were stated."""
    player, options = configuration.player, configuration.options
    given = {name: options[name] for name in STATED if name in options}
    return terms_of(player.learner, **given, restarts=player.epochs.needs_preemption)


# Text out


def encode(configuration: Configuration, layout: str = "") -> str:
    """Return a configuration as JSON, with a description of how the state lies in its bytes."""
    return json.dumps(_plain_configuration(configuration) | {"format": FORMAT, "layout": layout})


def _plain_configuration(configuration: Configuration) -> dict[str, Any]:
    return configuration._asdict() | {"player": _plain(configuration.player)}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # Parameters, or a user's own named tuple
        fields = {n: _plain(v) for n, v in zip(value._fields, value, strict=True)}
        return {"type": _name_of(type(value)), "fields": fields}
    if isinstance(value, np.ndarray):
        return {"array": value.dtype.str, "shape": list(value.shape), "data": b64encode(value.tobytes()).decode()}
    if callable(value):
        return {"function": str(getattr(value, "__qualname__", "?"))}
    if isinstance(value, (float, np.floating)):
        return float(value) if isfinite(value) else {"float": repr(float(value))}
    return value.item() if isinstance(value, np.generic) else value


def _name_of(kind: type) -> str:
    """Return the name of a member in a store: short, and marked where it is not the library's."""
    if issubclass(kind, Player):
        return Player.__name__  # a recommended player is a player
    return kind.__name__ if members().get(kind.__name__) is kind else f"{_ELSEWHERE}{kind.__qualname__}"


@cache
def members() -> dict[str, type]:
    """Return the members a player can be made of, by their short names."""
    return {name: kind for room in _ROOMS for name, kind in members_of(room).items()}


def members_of(room: Any) -> dict[str, type]:
    """Return the members of a room by name: its own table, or the parameter types defined in it."""
    table: dict[str, type] | None = getattr(room, "MEMBERS", None)
    found = {} if table is None else dict(table)
    for kind in _kinds_of(Parameters):
        if kind.__module__.startswith(f"{room.__name__}."):
            found.setdefault(kind.__name__, kind)  # the parts of members, such as a constant rate
    return found


def _kinds_of(kind: Any) -> Iterator[type]:
    inner: type
    for inner in kind.__subclasses__():
        yield inner
        yield from _kinds_of(inner)


# Text in


class Parsed(NamedTuple):
    """The configuration a store holds: as its plain values, and built."""

    plain: dict[str, Any]
    configuration: Configuration

    def check_layout(self, layout: str) -> None:
        """Refuse to read bytes that another version laid out otherwise."""
        if self.plain["layout"] != layout:
            raise other_version(self.plain)

    def check_same(self, wanted: Configuration, *, with_seed: bool) -> None:
        """Refuse to continue a session as something else."""
        was, now = self.plain, json.loads(json.dumps(_plain_configuration(wanted)))
        if was["kind"] != now["kind"]:
            raise ValueError(
                f"the store holds a {was['kind']} of this name, not a {now['kind']}: give another name or store"
            )
        for name in Configuration._fields:
            if was[name] != now[name] and (name != "seed" or with_seed):
                path, then, today = difference(was[name], now[name])
                said = f"value of {path}" if name == "options" else ".".join(filter(None, (name, path)))
                raise ValueError(
                    f"the store holds a {was['kind']} with another {said} ({then}, not {today}): "
                    "open it with the same arguments, or give another store or name"
                )


def parse(stored: tuple[str, int], where: str, player: Player | None = None) -> Parsed:
    """Return what is stored; ``player`` stands in where it has parts that cannot be built from names."""
    text, checksum = stored
    if crc32(text.encode()) != checksum:
        raise StoreError(f"{where} is damaged (tarry_sessions) and was left as it is: restore a copy")
    plain = json.loads(text)
    if plain.get("format") != FORMAT or plain.keys() != {*Configuration._fields, "format", "layout"}:
        raise other_version(plain)
    if plain["kind"] == JOIN and plain["options"].keys() != {"labels"}:
        raise other_version(plain)
    built = _built_player(plain, player)
    return Parsed(plain, Configuration(**{name: plain[name] for name in Configuration._fields} | {"player": built}))


def _built_player(plain: dict[str, Any], player: Player | None) -> Player:
    try:
        built = _built(plain["player"])
    except StoreError:  # it has parts from elsewhere, which only their owner can judge
        if player is None:
            raise
        return player
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise other_version(plain) from error
    return built if player is None else player


def other_version(plain: dict[str, Any]) -> StoreError:
    """Return what to raise where this version would have stored something else."""
    return StoreError(
        f"this {plain.get('kind', SESSION)} was written by another version of Tarry: open it with that version"
    )


def _built(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    if "float" in plain:
        return float(plain["float"])
    if "array" in plain:
        return _array(plain).copy()
    name = plain["function"] if "function" in plain else plain["type"]
    kind = None if "function" in plain else members().get(name)
    if kind is None:
        raise StoreError(
            f"the player that is stored uses {name.removeprefix(_ELSEWHERE)}, which is not part of Tarry: pass the "
            "same player to open it"
        )
    if [*plain["fields"]] != [*kind._fields]:  # type: ignore[attr-defined]
        raise TypeError(f"{name} has other fields")
    return _restored(kind, {n: _built(value) for n, value in plain["fields"].items()})


def _restored(kind: Any, fields: dict[str, Any]) -> Any:
    """Return a member from its fields: by its constructor where that takes them, else after their own checks."""
    for name, parameter in kind._parameters.items():
        hint = parameter.annotation
        kept, *checks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if kept is bool and fields[name] in (0, 1):
            fields[name] = bool(fields[name])  # the first format held numbers
        for check in checks:
            check(fields[name], name)
    made = kind.make(*fields.values())
    if kind.__new__ is not Parameters.__new__:
        return made  # its constructor works the fields out from other arguments
    built = kind(**fields)
    # What is worked out from other fields may be worked out twice; what was stored counts.
    return built if built == made else made


def _array(plain: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(b64decode(plain["data"]), np.dtype(plain["array"])).reshape(plain["shape"])


def upgraded(text: str) -> str:
    """Return a configuration of the first format in this one: it named members by module and class."""
    plain = json.loads(text)
    if plain.get("format") != 1:
        return text
    return json.dumps(plain | {"player": _renamed(plain["player"]), "format": FORMAT})


def _renamed(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    if "function" in plain:
        return {"function": plain["function"].rpartition(":")[2]}
    if "type" not in plain:
        return plain
    module, _, name = plain["type"].rpartition(":")
    is_ours = module.startswith("tarry.")
    if is_ours and name in _FORMER:
        rate = rates.from_first_version(name, {n: _built(value) for n, value in plain["fields"].items()})
        if rate is not None:
            return _plain(rate)
        name = _FORMER[name]
    if module.startswith("tarry.players."):
        name = Player.__name__
    elif not (module.startswith("tarry.") and name in members()):
        name = f"{_ELSEWHERE}{name}"
    return {"type": name, "fields": {n: _renamed(value) for n, value in plain["fields"].items()}}


# Differences


def difference(was: Any, now: Any) -> tuple[str, str, str]:
    """Return the first place at which two plain values differ, and what stands there; no place for all of them.

    >>> difference({"labels": "sum"}, {"labels": "first"})
    ('labels', "'sum'", "'first'")
    """
    before, after = _parts(was), _parts(now)
    if before is None or after is None or _kind(was) != _kind(now):
        return "", _shown(was), _shown(now)
    for name in dict.fromkeys([*before, *after]):
        one, other = before.get(name, _ABSENT), after.get(name, _ABSENT)
        if one != other:
            path, then, today = difference(one, other)
            return f"{name}{'' if not path or path.startswith('[') else '.'}{path}", then, today
    return "", _shown(was), _shown(now)


def _kind(plain: Any) -> Any:
    return plain.get("type"), plain.get("array"), plain.get("shape")


def _parts(plain: Any) -> dict[str, Any] | None:
    """Return the named parts of a plain value: fields, entries of an array, keys; None where it has none."""
    if not isinstance(plain, dict) or "float" in plain or "function" in plain:
        return None
    if "array" in plain:
        return {str(list(place)): value for place, value in np.ndenumerate(_array(plain))}
    fields: dict[str, Any] = plain["fields"] if "type" in plain else plain
    return fields


def _shown(plain: Any) -> str:
    if plain is _ABSENT:
        return "none"
    if isinstance(plain, np.generic):
        return repr(plain.item())
    if not isinstance(plain, dict):
        return repr(plain)
    if "type" in plain:
        inner = ", ".join(f"{n}={_shown(v)}" for n, v in plain["fields"].items())
        return f"{plain['type'].removeprefix(_ELSEWHERE)}({inner})"
    if "array" in plain:
        entries = _array(plain).ravel()
        listed = ", ".join(repr(entry) for entry in entries[:_SHOWN].tolist())
        return f"[{listed}{', …' if entries.size > _SHOWN else ''}]"
    return str(plain.get("float") or plain.get("function") or plain)
