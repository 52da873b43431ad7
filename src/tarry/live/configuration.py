"""What a session is, as plain text: enough to open it again in another process, without pickle.

A member is written as its short name and its fields, and looked up in one table: nothing is imported because a store
says so. A player with members or functions from elsewhere is opened by passing the same player again.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import cache
from math import isfinite
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import numpy as np

from tarry import domains, learners, rates, schedulers, tracking
from tarry.checks import as_int
from tarry.errors import Mismatch, StoreError
from tarry.game.grants import check_grants
from tarry.game.problem import check_capacity
from tarry.kernel import Parameters
from tarry.live.values import brief
from tarry.tracking import Player

FORMAT = 1  # of everything that is stored
SESSION, JOIN = "session", "join"
# Options of a join: every one has LABELS; the others stand there only where they are in use.
LABELS, WINDOW, MISSING, RELEASE, OUTBOX = "labels", "window", "missing", "release", "outbox"
SHARD = "shard"  # of a shard of a join: which of how many it is, as "3/16"
KEEP = "keep"  # how long entries of the journal stay beyond a snapshot
CHANGING = ("capacity", "memory", WINDOW)  # of a join that lives
_ROOMS = (domains, rates, learners, schedulers, tracking)  # whose members a player can be made of
_ELSEWHERE = "own:"  # before the name of a member that is not of this package
_ABSENT: Any = object()
_KINDS: dict[Any, Any] = {float: (int, float), Any: (Parameters, np.ndarray)}  # what a field of such a type may hold
_SHOWN = 6  # entries of an array


class Configuration(NamedTuple):
    """What a session or join is; of a join, capacity, memory and some options may change while it lives.

    ``forgotten`` are the first so many rounds, whose fates a smaller memory has not kept.
    """

    kind: str
    player: Player
    capacity: int | None
    information: str
    preemption: bool
    seed: int | str
    memory: int
    options: dict[str, Any]
    forgotten: int = 0


def settled(wanted: Configuration) -> Configuration:
    """Return a configuration in plain numbers; refuse a player that needs more than it is granted, or an end."""
    check_capacity(wanted.capacity)
    # NumPy's numbers become Python's: a store keeps text.
    capacity = None if wanted.capacity is None else int(wanted.capacity)
    memory = as_int(wanted.memory, "memory", 1)
    learner = wanted.player.learner
    check_grants(
        wanted.player,
        feedback=None,
        capacity=capacity,
        information=wanted.information,
        preemption=wanted.preemption,
        queries=learner.queries,  # whoever calls evaluates the losses, at as many points as are asked for
    )
    learner.check_horizon(None)
    return wanted._replace(capacity=capacity, memory=memory, preemption=bool(wanted.preemption))


def plain_configuration(configuration: Configuration) -> dict[str, Any]:
    """Return a configuration as JSON has it."""
    fields: dict[str, Any] = _plain(configuration)["fields"]
    return fields


def plain_member(member: Any) -> Any:
    """Return a player, learner or scheduler as an export has it."""
    return _plain(member)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what JSON does not have becomes a dictionary that says so."""
    kind = Player if isinstance(value, Player) else type(value)  # a recommended player is a player
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # Parameters, or a user's own named tuple
        is_ours = members().get(kind.__name__) is kind
        name = kind.__name__ if is_ours else f"{_ELSEWHERE}{kind.__qualname__}"
        return {"type": name, "fields": {n: _plain(v) for n, v in zip(value._fields, value, strict=True)}}
    if isinstance(value, np.ndarray):
        return {"array": value.dtype.str, "shape": list(value.shape), "data": b64encode(value.tobytes()).decode()}
    if callable(value):
        return {"function": str(getattr(value, "__qualname__", "?"))}
    if isinstance(value, (float, np.floating)):
        return float(value) if isfinite(value) else {"float": repr(float(value))}
    return value.item() if isinstance(value, np.generic) else value


@cache
def members() -> dict[str, type]:
    """Return the members a player can be made of, and the parts of members, by their short names."""
    kinds: list[type] = Parameters.__subclasses__()
    for kind in kinds:
        kinds += kind.__subclasses__()  # and theirs, when the loop comes to them
    places = tuple(f"{room.__name__}." for room in _ROOMS)
    return {kind.__name__: kind for kind in kinds if kind.__module__.startswith(places)}


def check_same(was: dict[str, Any], wanted: Configuration, *, with_seed: bool) -> None:
    """Refuse to continue what is stored as something else."""
    now = json.loads(json.dumps(plain_configuration(wanted)))
    if was["kind"] != now["kind"]:
        kinds = f"a {was['kind']} of this name, not a {now['kind']}"
        raise Mismatch(f"the store holds {kinds}: give another name or store")
    for name in (name for name in Configuration._fields if name != "forgotten"):
        if was[name] != now[name] and (name != "seed" or with_seed):
            path, then, today = difference(was[name], now[name])
            said = f"value of {path}" if name == "options" else ".".join(filter(None, (name, path)))
            problem = f"the store holds a {was['kind']} with another {said} ({then}, not {today})"
            field = path if name == "options" else name
            change = ""
            # A join gets no window while it lives, and loses none.
            if was["kind"] == JOIN and field in CHANGING and not (field == WINDOW and "None" in (then, today)):
                change = f", change it by resize({field}={today}) (tarry join resize --{field})"
            raise Mismatch(f"{problem}: open it with the same arguments{change}, or give another store or name")


def parse(plain: dict[str, Any], player: Player | None = None, own: Mapping[str, type] | None = None) -> Configuration:
    """Return the configuration of plain values; ``player`` stands in for parts that names cannot build.

    ``own`` are the caller's members by name, beside Tarry's.
    """
    known = {LABELS, WINDOW, MISSING, RELEASE, OUTBOX, SHARD, KEEP}
    is_join = plain.get("kind") == JOIN
    if plain.keys() != {*Configuration._fields} or (is_join and not {LABELS} <= plain["options"].keys() <= known):
        raise other_version(plain)
    try:
        built = _built(plain["player"], own or {})
    except StoreError:  # it has parts from elsewhere, which only their owner can judge
        if player is None:
            raise
        built = player
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise other_version(plain) from error
    return Configuration(**plain | {"player": built if player is None else player})


def other_version(plain: dict[str, Any]) -> StoreError:
    """Return what to raise where this version would have stored something else."""
    kind = plain.get("kind", SESSION)
    return StoreError(f"this {kind} was written by another version of Tarry: open it with that version")


def _built(plain: Any, own: Mapping[str, type] = MappingProxyType({})) -> Any:
    """Return the value of plain ones; a member by its constructor where that takes its fields, else after checks."""
    if not isinstance(plain, dict):
        return plain
    if "float" in plain:
        return float(plain["float"])
    if "array" in plain:
        return _array(plain).copy()
    name = plain["function"] if "function" in plain else plain["type"]
    kind: Any = None if "function" in plain else members().get(name) or own.get(name.removeprefix(_ELSEWHERE))
    if kind is None:
        problem = f"the player that is stored uses {name.removeprefix(_ELSEWHERE)}, which is not part of Tarry"
        raise StoreError(f"{problem}: pass the same player to open it, or in a command --members MODULE")
    if [*plain["fields"]] != [*kind._fields]:
        raise TypeError(f"{name} has other fields")
    fields = {n: _built(value, own) for n, value in plain["fields"].items()}
    for n, parameter in kind._parameters.items():
        hint = parameter.annotation
        _, *checks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        for check in checks:
            check(fields[n], n)
    made = kind.make(*fields.values())
    if kind.__new__ is not Parameters.__new__:
        return made  # its constructor works the fields out from other arguments
    built = kind(**fields)
    # What is worked out from other fields may be worked out twice; what was stored counts.
    return built if built == made else made


def built(plain: Any) -> Any:
    """Return the member that a caller wrote as an export has it; raise ValueError for what is none."""
    try:
        made = _built(plain)
        _check_fields(made)
        if isinstance(made, Player):
            made = Player(*made)  # which looks whether its parts fit each other
    except StoreError as error:
        raise ValueError(str(error)) from None
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"this is no member of Tarry as an export has it ({brief(str(error))})") from error
    if not isinstance(made, Parameters):
        raise ValueError(f"a member is an object with type and fields, got {brief(plain)}")
    return made


def _check_fields(made: Any) -> None:
    """Raise TypeError or ValueError where a field is not what its class holds; compiled code would trust it."""
    if not isinstance(made, Parameters):
        return
    name = type(made).__name__
    for field, value in zip(made._fields, made, strict=True):
        _check_fields(value)
        hint = made._parameters[field].annotation
        wanted = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        kinds = _KINDS.get(wanted, get_origin(wanted) or wanted)
        is_wrong = isinstance(value, bool) and wanted is not bool
        if is_wrong or not isinstance(value, kinds) or (isinstance(value, int) and abs(value) >= 1 << 63):
            raise TypeError(f"{name}.{field} cannot be {brief(value)}")
        if isinstance(value, np.ndarray):
            sides = {getattr(made, "dimension", side) for side in value.shape}
            if value.dtype.kind not in "iuf" or sides != {*value.shape}:
                raise ValueError(f"{name}.{field} is {value.dtype} of shape {value.shape}")


def _array(plain: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(b64decode(plain["data"]), np.dtype(plain["array"])).reshape(plain["shape"])


def difference(was: Any, now: Any) -> tuple[str, str, str]:
    """Return the first place at which two plain values differ, and what stands there; no place for all of them."""
    (kind, before), (other, after) = _parts(was), _parts(now)
    if kind == other:
        for name in dict.fromkeys([*before, *after]):
            one, two = before.get(name, _ABSENT), after.get(name, _ABSENT)
            if one != two:
                path, then, today = difference(one, two)
                return f"{name}{'' if not path or path.startswith('[') else '.'}{path}", then, today
    return "", _shown(was), _shown(now)


def _parts(plain: Any) -> tuple[Any, dict[str, Any]]:
    """Return what kind of value this is, and its named parts: fields, entries of an array, keys."""
    if not isinstance(plain, dict) or "float" in plain or "function" in plain:
        return plain, {}
    if "array" in plain:
        entries = {str(list(place)): value for place, value in np.ndenumerate(_array(plain))}
        return (plain["array"], plain["shape"]), entries
    return plain.get("type"), plain["fields"] if "type" in plain else plain


def _shown(plain: Any) -> str:
    if plain is _ABSENT:
        return "None"
    if not isinstance(plain, dict):
        return repr(plain.item() if isinstance(plain, np.generic) else plain)
    if "type" in plain:
        inner = ", ".join(f"{n}={_shown(v)}" for n, v in plain["fields"].items())
        return f"{plain['type'].removeprefix(_ELSEWHERE)}({inner})"
    if "array" in plain:
        entries = _array(plain).ravel()
        listed = ", ".join(repr(entry) for entry in entries[:_SHOWN].tolist())
        return f"[{listed}{', …' if entries.size > _SHOWN else ''}]"
    return str(plain.get("float") or plain.get("function") or plain)
