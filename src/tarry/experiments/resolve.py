"""Games and players of a file with the axes' values put in: plain data, checked name by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tarry.experiments.axes import circle, filled, is_reference, links, reached, references
from tarry.experiments.cells import canonical
from tarry.experiments.data import nameless
from tarry.experiments.members import Spec, check, describe, members
from tarry.experiments.words import pick
from tarry.results.columns import GAME_KEYS, GAME_PARTS, PLAYER_KEYS
from tarry.results.labels import READY, Labels

if TYPE_CHECKING:
    from tarry.experiments.files import Text
    from tarry.experiments.tables import SweepTable

Key = tuple[str | int, ...]


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
        self._text = text
        self._games = {name: dict(game) for name, game in table.games.items()}
        self._players = {name: dict(player) for name, player in table.players.items()}
        self._named = {("games", name): references(tree) for name, tree in self._games.items()}
        self._named |= {("players", name): references(tree) for name, tree in self._players.items()}
        self._done: dict[tuple[str, str, str], Resolved] = {}
        self._labels = {name: Labels() for name in (*GAME_PARTS, *PLAYER_KEYS)}
        self._said = _places(table)

    def used(self, games: list[str], players: list[str], linked: Mapping[str, set[str]]) -> set[str]:
        """The axes that make a difference to some pair of these; keys of the game are axes without being named."""
        named = {axis for room in _rooms(games, players) for axis in self._named[room]}
        return reached(named | (linked.keys() & set(GAME_KEYS)), linked)

    def check_axes(self, axes: dict[str, Any], points: dict[Key, Any], games: list[str], players: list[str]) -> None:
        """Refuse axes that nobody uses, uses of axes that are not there, and values that lead back to themselves.

        ``points`` go by their keys in the file.
        """
        along, rooms = links(axes), _rooms(games, players)
        linked = {key: along | links(point) for key, point in points.items()}
        names = list(dict.fromkeys(name for one in linked.values() for name in one))
        used = {name for one in linked.values() for name in self.used(games, players, one)}
        for name in names:
            if name not in used:
                referred = sorted(used - set(GAME_KEYS))
                pick(name, [*GAME_KEYS, *referred], self._axis(name), what="use of the axis")
        for room in rooms:
            for name in sorted(self._named[room]):
                pick(name, names, self._text.place(*room), what="axis")
        for key, one in linked.items():
            self._check_values(one, names)
            for name in sorted(self.used(games, players, one) - one.keys()):
                users = [".".join(room) for room in rooms if name in self._named[room]]
                users += [f"the axis {axis}" for axis, named in one.items() if name in named]
                place = self._text.place(*key)
                raise ValueError(f"{place}: lacks {name}, which {users[0]} uses: give {name} = …, or make it an axis")

    def _check_values(self, linked: Mapping[str, set[str]], names: list[str]) -> None:
        for axis, named in linked.items():
            for name in sorted(named):
                pick(name, names, self._axis(axis), what="axis")
        if turning := circle(linked):
            told = ", ".join(turning)
            raise ValueError(f"{self._axis(turning[0])}: values refer in a circle to the axes {told}: leave one out")

    def _axis(self, name: str) -> str:
        return self._text.place(*self._said[name])

    def settled(self, game: str, player: str, axes: dict[str, Any]) -> dict[str, Any]:
        """The axes with references among their values replaced, without those that no value names then."""
        used = self.used([game], [player], links(axes))
        return {name: filled(value, axes) for name, value in axes.items() if name in used}

    def both(self, game: str, player: str, axes: dict[str, Any]) -> tuple[Resolved, Resolved]:
        """A game and a player with these values, which refer to no axes themselves."""
        return self._once("games", game, axes, self._game), self._once("players", player, axes, self._player)

    def _once(self, room: str, name: str, axes: dict[str, Any], resolve: Callable[..., Resolved]) -> Resolved:
        used = self._named[room, name] | (set(GAME_KEYS) if room == "games" else set())
        values = {axis: value for axis, value in axes.items() if axis in used}
        key = (room, name, canonical(values))
        if key not in self._done:
            self._done[key] = resolve(name, values)
        return self._done[key]

    def _game(self, name: str, axes: dict[str, Any]) -> Resolved:
        from tarry.experiments.tables import UNLIMITED, check_value

        said = self._games[name]
        tree = filled(said, axes)
        for key in GAME_KEYS:
            if key in axes:
                tree[key] = check_value(key, axes[key], self._axis(key))
            elif is_reference(said[key]):
                tree[key] = check_value(key, tree[key], self._text.place("games", name, key))
        for key in GAME_PARTS:
            place = self._text.place("games", name, key)
            if tree[key] is None:
                raise ValueError(f"{place}: is missing: take one of {', '.join(members(key))}")
            tree[key] = check(key, tree[key], place)
        tree["capacity"] = None if tree["capacity"] == UNLIMITED else tree["capacity"]
        return Resolved.of(tree, tree | {key: self._label(key, tree[key]) for key in GAME_PARTS})

    def _player(self, name: str, axes: dict[str, Any]) -> Resolved:
        tree = {key: value for key, value in filled(self._players[name], axes).items() if value is not None}
        place = self._text.place("players", name)
        if ("player" in tree) == ("learner" in tree):
            raise ValueError(f"{place}: give either a learner, with a scheduler, or a ready player, got {sorted(tree)}")
        if "player" in tree:
            tree = {"player": tree["player"]}
        made: dict[str, Spec] = {key: check(key, value, f"{place}.{key}") for key, value in tree.items()}
        return Resolved.of(made, {key: self._label(key, made.get(READY.get(key, key))) for key in PLAYER_KEYS})

    def _label(self, column: str, spec: Spec | None) -> str | None:
        """A member in one line, which no other member of the sweep has in this column."""
        return None if spec is None else self._labels[column](describe(spec), canonical(nameless(spec)))


def _rooms(games: list[str], players: list[str]) -> list[tuple[str, str]]:
    return [("games", name) for name in games] + [("players", name) for name in players]


def _places(table: SweepTable) -> dict[str, Key]:
    """The key under which each axis is said first."""
    found: dict[str, Key] = {}
    rooms: list[tuple[Key, Any]] = [((), table)]
    rooms += [(("blocks", number), block) for number, block in enumerate(table.blocks)]
    for above, room in rooms:
        for name in room.axes:
            found.setdefault(name, (*above, "axes", name))
        for name in (name for point in room.points for name in point):
            found.setdefault(name, (*above, "points", name))
    return found
