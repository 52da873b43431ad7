"""What a session is, as plain text: enough to open it again in another process, without pickle.

A parameter type is written as its name and its fields. Only types of this package are built from a name found in a
file; a player with members or functions from elsewhere is opened by passing the same player again.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from importlib import import_module
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from tarry import learners, rates
from tarry.errors import StoreError
from tarry.kernel import Parameters
from tarry.live.differences import difference
from tarry.tracking import Player

FORMAT = 1
SESSION, JOIN = "session", "join"
# Where parameter types live. Nothing else is imported because a file says so.
_ROOMS = ("delays", "domains", "kernel", "learners", "losses", "players", "rates", "schedulers", "tracking")


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


def encode(configuration: Configuration, layout: str = "") -> str:
    """A configuration as JSON, with a description of how the state lies in its bytes."""
    plain = configuration._asdict() | {"player": _plain(configuration.player), "format": FORMAT, "layout": layout}
    return json.dumps(plain)


def decode(text: str, player: Player | None = None) -> Configuration:
    """The configuration of a JSON text; ``player`` stands in where it cannot be built from names."""
    plain = json.loads(text)
    _check_version(plain)
    built = player if player is not None else _built(plain["player"])
    return Configuration(**{name: plain[name] for name in Configuration._fields} | {"player": built})


def _check_version(plain: dict[str, Any]) -> None:
    """Refuse what has other fields than this version would write."""
    if plain.get("format") != FORMAT or plain.keys() != {*Configuration._fields, "format", "layout"}:
        raise other_version(plain)
    if plain["kind"] == JOIN and plain["options"].keys() != {"labels"}:
        raise other_version(plain)
    try:
        _built(plain["player"])
    except StoreError:
        pass  # it has parts from elsewhere, which only their owner can judge
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise other_version(plain) from error


def check_layout(text: str, layout: str) -> None:
    """Refuse to read bytes that another version laid out otherwise."""
    plain = json.loads(text)
    if plain["layout"] != layout:
        raise other_version(plain)


def other_version(plain: dict[str, Any]) -> StoreError:
    """What was stored is not what this version would store."""
    return StoreError(
        f"this {plain.get('kind', SESSION)} was written by another version of Tarry: open it with that version"
    )


def check_same(stored: str, wanted: Configuration, *, with_seed: bool) -> None:
    """Refuse to continue a session as something else."""
    was, now = json.loads(stored), json.loads(encode(wanted))
    _check_version(was)
    if was["kind"] != now["kind"]:
        raise ValueError(
            f"the store holds a {was['kind']} of this name, not a {now['kind']}: give another name or store"
        )
    names = [n for n in Configuration._fields if n != "seed" or with_seed]
    for name in names:
        if was[name] != now[name]:
            path, then, today = difference(was[name], now[name])
            said = f"value of {path}" if name == "options" else ".".join(filter(None, (name, path)))
            raise ValueError(
                f"the store holds a {was['kind']} with another {said} ({then}, not {today}): "
                "open it with the same arguments, or give another store or name"
            )


def _plain(value: Any) -> Any:
    if isinstance(value, Parameters):
        kind = type(value)
        fields = {n: _plain(v) for n, v in zip(kind._fields, value, strict=True)}
        return {"type": f"{kind.__module__}:{kind.__qualname__}", "fields": fields}
    if isinstance(value, np.ndarray):
        return {"array": value.dtype.str, "shape": list(value.shape), "data": b64encode(value.tobytes()).decode()}
    if callable(value):
        return {"function": f"{getattr(value, '__module__', '?')}:{getattr(value, '__qualname__', '?')}"}
    if isinstance(value, (float, np.floating)):
        return float(value) if isfinite(value) else {"float": repr(float(value))}
    return value.item() if isinstance(value, np.generic) else value


def _built(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    if "float" in plain:
        return float(plain["float"])
    if "array" in plain:
        data = np.frombuffer(b64decode(plain["data"]), np.dtype(plain["array"]))
        return data.reshape(plain["shape"]).copy()
    if "function" in plain:
        raise _not_ours(plain["function"])
    module, _, name = plain["type"].partition(":")
    kind = _found(module, name)
    if not (isinstance(kind, type) and issubclass(kind, Parameters)):
        raise _not_ours(plain["type"])
    if [*plain["fields"]] != [*kind._fields]:
        raise TypeError(f"{plain['type']} has other fields")
    return kind.make(*(_built(value) for value in plain["fields"].values()))


def _found(module: str, name: str) -> Any:
    package, room, *_ = [*module.split("."), ""]
    if package != "tarry" or room not in _ROOMS:
        return None
    known = {**learners.MEMBERS, **rates.MEMBERS}
    if name in known:
        return known[name]
    try:
        return getattr(import_module(module), name, None)
    except ImportError:  # of another version
        return None


def _not_ours(name: str) -> StoreError:
    return StoreError(
        f"the player that is stored uses {name}, which is not part of Tarry: pass the same player to open it"
    )
