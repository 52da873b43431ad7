"""Games and players of a file with the axes' values put in: plain data, checked name by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tarry.experiments.cells import canonical
from tarry.experiments.data import nameless
from tarry.experiments.members import Spec, check, describe, members
from tarry.experiments.words import pick

if TYPE_CHECKING:
    from tarry.experiments.files import Text
    from tarry.experiments.tables import SweepTable

AXIS = "axis."
MEMBERS = ("player", "learner", "scheduler", "epochs")


class Resolved(NamedTuple):
    """Canonical JSON, the same without the names of files, and the columns it is known by."""

    content: str
    nameless: str
    columns: dict[str, Any]

    @classmethod
    def of(cls, tree: dict[str, Any], columns: dict[str, Any]) -> Self:
        """From what was resolved."""
        return cls(canonical(tree), canonical(nameless(tree)), columns)


class Resolver:
    """Games and players by name, resolved once for each set of the values they use."""

    def __init__(self, table: SweepTable, text: Text) -> None:
        from tarry.experiments.tables import GAME_KEYS

        self._text = text
        self._game_keys = GAME_KEYS
        self._games = {name: game.model_dump() for name, game in table.games.items()}
        self._players = {name: player.model_dump() for name, player in table.players.items()}
        self._uses = {
            **{("games", name): _references(tree) | set(GAME_KEYS) for name, tree in self._games.items()},
            **{("players", name): _references(tree) for name, tree in self._players.items()},
        }
        self._done: dict[tuple[str, str, str], Resolved] = {}
        self._said = _places(table)

    def used(self, game: str, player: str) -> set[str]:
        """The axes that make a difference to a pair; keys of the game are axes without being named."""
        return self._uses["games", game] | self._uses["players", player]

    def check_axes(self, names: list[str], games: Iterable[str], players: Iterable[str]) -> None:
        """Refuse axes that nobody uses, and uses of axes that are not there."""
        rooms = [("games", name) for name in games] + [("players", name) for name in players]
        used = {one for room in rooms for one in self._uses[room]}
        for name in names:
            if name not in used:
                referred = sorted(used - set(self._game_keys))
                pick(name, [*self._game_keys, *referred], self._axis(name), what="use of the axis")
        for room in rooms:
            for name in sorted(self._uses[room] - set(self._game_keys)):
                pick(name, names, self._text.place(*room), what="axis")

    def _axis(self, name: str) -> str:
        return self._text.place(*self._said[name])

    def both(self, game: str, player: str, axes: dict[str, Any]) -> tuple[Resolved, Resolved]:
        """A game and a player with these values."""
        return self._once("games", game, axes, self._game), self._once("players", player, axes, self._player)

    def _once(self, room: str, name: str, axes: dict[str, Any], resolve: Callable[..., Resolved]) -> Resolved:
        values = {axis: value for axis, value in axes.items() if axis in self._uses[room, name]}
        key = (room, name, canonical(values))
        if key not in self._done:
            self._done[key] = resolve(name, values)
        return self._done[key]

    def _game(self, name: str, axes: dict[str, Any]) -> Resolved:
        from tarry.experiments.tables import PARTS, UNLIMITED, check_value

        tree = _filled(self._games[name], axes)
        for key, value in axes.items():
            if key in self._game_keys:
                tree[key] = check_value(key, _filled(value, axes), self._axis(key))
        for key in PARTS:
            place = self._text.place("games", name, key)
            if tree[key] is None:
                raise ValueError(f"{place}: is missing: take one of {', '.join(members(key))}")
            tree[key] = check(key, tree[key], place)
        tree["capacity"] = None if tree["capacity"] == UNLIMITED else tree["capacity"]
        return Resolved.of(tree, tree | {key: describe(tree[key]) for key in PARTS})

    def _player(self, name: str, axes: dict[str, Any]) -> Resolved:
        tree = {key: value for key, value in _filled(self._players[name], axes).items() if value is not None}
        place = self._text.place("players", name)
        if ("player" in tree) == ("learner" in tree):
            raise ValueError(f"{place}: give either a learner, with a scheduler, or a ready player, got {sorted(tree)}")
        if "player" in tree:
            tree = {"player": tree["player"]}
        made: dict[str, Spec] = {key: check(key, value, f"{place}.{key}") for key, value in tree.items()}
        shown = {key: describe(made[key]) if key in made else None for key in MEMBERS}
        ready = shown.pop("player")
        return Resolved.of(made, shown | {"ready": ready})


def _places(table: SweepTable) -> dict[str, tuple[str | int, ...]]:
    """The key under which each axis is said first."""
    found: dict[str, tuple[str | int, ...]] = {}
    rooms: list[tuple[tuple[str | int, ...], Any]] = [((), table)]
    rooms += [(("blocks", number), block) for number, block in enumerate(table.blocks)]
    for above, room in rooms:
        for name in room.axes:
            found.setdefault(name, (*above, "axes", name))
        for name in (name for point in room.points for name in point):
            found.setdefault(name, (*above, "points", name))
    return found


def _references(tree: Any) -> set[str]:
    if isinstance(tree, str):
        return {tree.removeprefix(AXIS)} if tree.startswith(AXIS) else set()
    inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return {name for value in inside for name in _references(value)}


def _filled(tree: Any, axes: dict[str, Any]) -> Any:
    """The tree with every ``"axis.NAME"`` replaced by its value."""
    if isinstance(tree, str) and tree.startswith(AXIS):
        return axes[tree.removeprefix(AXIS)]
    if isinstance(tree, dict):
        return {name: _filled(value, axes) for name, value in tree.items()}
    return [_filled(value, axes) for value in tree] if isinstance(tree, list) else tree
