"""From a file's tables to cells: every game against every player along every axis, checked name by name.

``"axis.NAME"`` stands for a value of an axis: in a game, in a player, or inside the values of another axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tarry.checks import pick
from tarry.experiments.columns import GAME_KEYS, GAME_PARTS, PLAYER_KEYS, READY, Labels
from tarry.experiments.files import Text, without_file_names
from tarry.experiments.members import Spec, check, describe, names
from tarry.experiments.sweep import REVISION, Cell, canonical, identity

if TYPE_CHECKING:
    from tarry.experiments.tables import BlockTable, SweepTable

AXIS = "axis."
Key = tuple[str | int, ...]
Links = Mapping[str, set[str]]
"""For each axis the axes that its values refer to."""


def is_reference(value: Any) -> bool:
    """Return whether this stands for a value of an axis."""
    return isinstance(value, str) and value.startswith(AXIS)


def references(tree: Any) -> set[str]:
    """Return the axes that are named anywhere in a tree.

    >>> sorted(references({"type": "geometric", "mean": "axis.mean", "rows": ["axis.a", 3]}))
    ['a', 'mean']
    """
    if isinstance(tree, str):
        return {tree.removeprefix(AXIS)} if is_reference(tree) else set()
    inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return {name for value in inside for name in references(value)}


def filled(tree: Any, axes: Mapping[str, Any]) -> Any:
    """Return the tree with every ``"axis.NAME"`` replaced by its value, and those inside values too.

    >>> filled(["axis.a"], {"a": {"mean": "axis.b"}, "b": 3})
    [{'mean': 3}]
    """
    if is_reference(tree):
        return filled(axes[tree.removeprefix(AXIS)], axes)
    if isinstance(tree, dict):
        return {name: filled(value, axes) for name, value in tree.items()}
    return [filled(value, axes) for value in tree] if isinstance(tree, list) else tree


def _links(axes: Mapping[str, Any]) -> dict[str, set[str]]:
    return {name: references(value) for name, value in axes.items()}


def _reached(start: Iterable[str], linked: Links) -> set[str]:
    """Return these axes, and those that their values lead to."""
    found: set[str] = set()
    left = list(start)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += linked.get(name, ())
    return found


class Resolved(NamedTuple):
    """A game or a player as canonical JSON, the same without names of files, and the columns it is known by."""

    content: str
    nameless: str
    columns: dict[str, Any]

    @classmethod
    def of(cls, tree: dict[str, Any], columns: dict[str, Any]) -> Self:
        """Return what a checked tree becomes."""
        return cls(canonical(tree), canonical(without_file_names(tree)), columns)


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
        self._said = _first_places(table)

    def used(self, games: list[str], players: list[str], linked: Links) -> set[str]:
        """Return the axes that make a difference to some pair of these; keys of the game do without being named."""
        named = {axis for room in _rooms(games, players) for axis in self._named[room]}
        return _reached(named | (linked.keys() & set(GAME_KEYS)), linked)

    def check_axes(self, axes: dict[str, Any], points: dict[Key, Any], games: list[str], players: list[str]) -> None:
        """Raise ValueError for axes that nothing uses, uses of unknown axes, and values that refer in a circle.

        ``points`` go by their keys in the file.
        """
        rooms = _rooms(games, players)
        linked = {key: _links(axes) | _links(point) for key, point in points.items()}
        known = list(dict.fromkeys(name for one in linked.values() for name in one))
        used = {name for one in linked.values() for name in self.used(games, players, one)}
        for name in known:
            if name not in used:
                referred = sorted(used - set(GAME_KEYS))
                pick(name, [*GAME_KEYS, *referred], self._axis(name), what="use of the axis")
        for room in rooms:
            for name in sorted(self._named[room]):
                pick(name, known, self._text.place(*room), what="axis")
        for key, one in linked.items():
            self._check_values(one, known)
            for name in sorted(self.used(games, players, one) - one.keys()):
                users = [".".join(room) for room in rooms if name in self._named[room]]
                users += [f"the axis {axis}" for axis, named in one.items() if name in named]
                place = self._text.place(*key)
                raise ValueError(f"{place}: lacks {name}, which {users[0]} uses: give {name} = …, or make it an axis")

    def _check_values(self, linked: Links, known: list[str]) -> None:
        for axis, named in linked.items():
            for name in sorted(named):
                pick(name, known, self._axis(axis), what="axis")
        turning = [name for name, named in linked.items() if name in _reached(named, linked)]
        if turning:
            told = ", ".join(turning)
            raise ValueError(f"{self._axis(turning[0])}: values refer in a circle to the axes {told}: leave one out")

    def _axis(self, name: str) -> str:
        return self._text.place(*self._said[name])

    def settled(self, game: str, player: str, axes: dict[str, Any]) -> dict[str, Any]:
        """Return the axes with references among their values replaced, without those that no value names then."""
        used = self.used([game], [player], _links(axes))
        return {name: filled(value, axes) for name, value in axes.items() if name in used}

    def both(self, game: str, player: str, axes: dict[str, Any]) -> tuple[Resolved, Resolved]:
        """Return a game and a player with these values, which refer to no axes themselves."""
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
                raise ValueError(f"{place}: is missing: take one of {', '.join(names(key))}")
            tree[key] = check(key, tree[key], place)
        tree["capacity"] = None if tree["capacity"] == UNLIMITED else tree["capacity"]
        return Resolved.of(tree, tree | {key: self._label(key, tree[key]) for key in GAME_PARTS})

    def _player(self, name: str, axes: dict[str, Any]) -> Resolved:
        tree = {key: value for key, value in filled(self._players[name], axes).items() if value is not None}
        place = self._text.place("players", name)
        if ("player" in tree) == ("learner" in tree):
            raise ValueError(f"{place}: give either a learner, with a scheduler, or a ready player, got {sorted(tree)}")
        if "player" in tree:
            tree = {"player": tree["player"]}  # a ready player has a scheduler of its own
        made: dict[str, Spec] = {key: check(key, value, f"{place}.{key}") for key, value in tree.items()}
        return Resolved.of(made, {key: self._label(key, made.get(READY.get(key, key))) for key in PLAYER_KEYS})

    def _label(self, column: str, spec: Spec | None) -> str | None:
        """Return a member in one line, which no other member of the sweep has in this column."""
        return None if spec is None else self._labels[column](describe(spec), canonical(without_file_names(spec)))


def _rooms(games: list[str], players: list[str]) -> list[tuple[str, str]]:
    return [("games", name) for name in games] + [("players", name) for name in players]


def _first_places(table: SweepTable) -> dict[str, Key]:
    """Return the key under which each axis is said first."""
    found: dict[str, Key] = {}
    rooms: list[tuple[Key, Any]] = [((), table)]
    rooms += [(("blocks", number), block) for number, block in enumerate(table.blocks)]
    for above, room in rooms:
        for name in room.axes:
            found.setdefault(name, (*above, "axes", name))
        for name in (name for point in room.points for name in point):
            found.setdefault(name, (*above, "points", name))
    return found


class Expansion:
    """The products of a sweep's games, players, points, axes and seeds."""

    def __init__(self, table: SweepTable, text: Text) -> None:
        self._table, self._text = table, text
        self._resolver = Resolver(table, text)
        self._seen: set[tuple[str, str, str, str]] = set()

    def cells(self) -> Iterator[Cell]:
        """Yield cells in the order of the file, each combination once."""
        from tarry.experiments.tables import BlockTable

        for number, block in enumerate(self._table.blocks or [BlockTable()]):
            yield from self._block(block, number)

    def _block(self, block: BlockTable, number: int) -> Iterator[Cell]:
        axes = self._table.axes | block.axes
        points = self._points(block, number)
        games = self._named("games", block.games, number)
        players = self._named("players", block.players, number)
        chunks = self._chunks(block.seeds if block.seeds is not None else self._table.seeds)
        self._resolver.check_axes(axes, points, games, players)
        among_axes = _links(axes)
        for game, player, point in product(games, players, points.values()):
            linked = among_axes | _links(point)
            used = self._resolver.used([game], [player], linked)
            along = {name: values for name, values in axes.items() if name in used and name not in point}
            fixed = {name: value for name, value in point.items() if name in used}
            for values in product(*along.values()):
                chosen = dict(zip(along, values, strict=True)) | fixed
                if any(linked.values()):
                    chosen = self._resolver.settled(game, player, chosen)
                yield from self._cells(game, player, chosen, chunks)

    def _points(self, block: BlockTable, number: int) -> dict[Key, dict[str, Any]]:
        """Return a block's points by their keys in the file; one without values where there are none."""
        above: Key = ("blocks", number, "points") if block.points else ("points",)
        points = block.points or self._table.points
        return {(*above, i): point for i, point in enumerate(points)} or {(): {}}

    def _cells(self, game: str, player: str, axes: dict[str, Any], chunks: list[list[int]]) -> Iterator[Cell]:
        rules, actor = self._resolver.both(game, player, axes)
        where, before = canonical(axes), self._before(rules.content, actor.content)
        named = self._before(rules.nameless, actor.nameless)
        columns = {"game": game, "player": player, **rules.columns, **actor.columns}
        columns |= {"combination": identity(named), "axes": axes}
        for seeds in chunks:
            rest = f',"seeds":{canonical(seeds)}}}'
            cell = Cell(identity(named + rest), before + rest, columns | {"seeds": len(seeds), "first_seed": seeds[0]})
            if (key := (game, player, where, cell.id)) not in self._seen:
                self._seen.add(key)
                yield cell

    def _before(self, game: str, player: str) -> str:
        """Return the content of cells up to their seeds, keys in order, as ``canonical`` would write it.

        Written by hand: a sweep has a hundred thousand cells, and few games and players to encode.
        """
        before = f'{{"bound":{canonical(self._table.bound)},"checkpoints":{self._table.checkpoints},"game":{game},'
        return f'{before}"player":{player},"revision":{REVISION}'

    def _named(self, key: str, chosen: list[str] | None, number: int) -> list[str]:
        known = getattr(self._table, key)
        if chosen is None:
            return list(known)
        return [pick(name, known, self._text.place("blocks", number, key), what=key[:-1]) for name in chosen]

    def _chunks(self, seeds: Any) -> list[list[int]]:
        from tarry.experiments.tables import seed_numbers

        place, size = self._text.place("seeds"), self._table.seeds_per_cell
        try:
            listed = seed_numbers(seeds)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
        if not listed or len(set(listed)) != len(listed):
            what = "is empty" if not listed else "repeats: every seed gives the same run again"
            raise ValueError(f"{place}: the list of seeds {what}, got {listed!r}")
        return [listed[i : i + size] for i in range(0, len(listed), size)]
