"""From a file's tables to cells: every game against every player along every axis, checked name by name.

``"axis.NAME"`` stands for a value of an axis, in a game or in a player.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from tarry.checks import pick
from tarry.experiments.columns import GAME_KEYS, GAME_PARTS, PLAYER_KEYS, READY, Labels
from tarry.experiments.files import Text, without_file_names
from tarry.experiments.members import Spec, check, describe, names
from tarry.experiments.own import Own
from tarry.experiments.sweep import BEST, REVISION, Cell, canonical, identity
from tarry.experiments.tables import AXIS, UNLIMITED, BlockTable, SweepTable, check_value, is_reference, seed_numbers

Key = tuple[str | int, ...]
Room = tuple[str, str]  # ("games", NAME) or ("players", NAME)
Axes = Mapping[str, list[Any]]
# A game or a player as canonical JSON, the same without names of files, and the columns it is known by.
Resolved = tuple[str, str, dict[str, Any]]


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
    """Return the tree with every ``"axis.NAME"`` replaced by its value.

    >>> filled(["axis.a", {"mean": "axis.b"}], {"a": 2, "b": 3})
    [2, {'mean': 3}]
    """
    if is_reference(tree):
        return axes[tree.removeprefix(AXIS)]
    if isinstance(tree, dict):
        return {name: filled(value, axes) for name, value in tree.items()}
    return [filled(value, axes) for value in tree] if isinstance(tree, list) else tree


class Expansion:
    """The products of a sweep's games, players, axes and seeds."""

    def __init__(self, table: SweepTable, text: Text, own: Own) -> None:
        self._table, self._text, self._own = table, text, own
        self._trees: dict[Room, dict[str, Any]] = {("games", name): dict(game) for name, game in table.games.items()}
        self._trees |= {("players", name): dict(player) for name, player in table.players.items()}
        self._named = {room: references(tree) for room, tree in self._trees.items()}
        # Few games and players make many cells: each is resolved once for each set of the values it uses.
        self._resolved: dict[tuple[Room, str], Resolved] = {}
        self._labels = {name: Labels() for name in (*GAME_PARTS, *PLAYER_KEYS)}
        self._seen: set[tuple[Room, Room, str, str]] = set()
        self.replaced: dict[str, dict[str, None]] = {}  # by axis, the games whose own value it takes the place of
        self._said: dict[str, Key] = {}  # where each axis is said first, for sentences about it
        above: list[tuple[Key, Any]] = [((), table)]
        above += [(("blocks", number), block) for number, block in enumerate(table.blocks)]
        for key, place in above:
            for name in place.axes:
                self._said.setdefault(name, (*key, "axes", name))

    def cells(self) -> Iterator[Cell]:
        """Yield cells in the order of the file, each combination once."""
        for number, block in enumerate(self._table.blocks or [BlockTable()]):
            yield from self._block(block, number)

    def _block(self, block: BlockTable, number: int) -> Iterator[Cell]:
        axes = self._table.axes | block.axes
        games = self._rooms("games", block.games, number)
        players = self._rooms("players", block.players, number)
        chunks = self._chunks(block.seeds if block.seeds is not None else self._table.seeds)
        self._check_axes(axes, [*games, *players])
        for game, player in product(games, players):
            used = self._used([game, player], axes)
            along = {name: values for name, values in axes.items() if name in used}
            for values in product(*along.values()):
                yield from self._cells(game, player, dict(zip(along, values, strict=True)), chunks)

    def _rooms(self, key: str, chosen: list[str] | None, number: int) -> list[Room]:
        """Return a block's games or players, all of them where the block names none."""
        tables = getattr(self._table, key)
        place = self._text.place("blocks", number, key)
        return [(key, pick(name, tables, place, what=key[:-1])) for name in (tables if chosen is None else chosen)]

    def _chunks(self, seeds: Any) -> list[list[int]]:
        """Return the seeds of each cell; raise ValueError where there are none, or one twice."""
        place, size = self._text.place("seeds"), self._table.seeds_per_cell
        try:
            numbers = seed_numbers(seeds)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
        if not numbers or len(set(numbers)) != len(numbers):
            what = "is empty" if not numbers else "repeats: every seed gives the same run again"
            raise ValueError(f"{place}: the list of seeds {what}, got {numbers!r}")
        return [numbers[i : i + size] for i in range(0, len(numbers), size)]

    def _used(self, rooms: list[Room], axes: Axes) -> set[str]:
        """Return the axes that make a difference to some of these; keys of the game do without being named."""
        return {axis for room in rooms for axis in self._named[room]} | (axes.keys() & set(GAME_KEYS))

    def _axis(self, name: str) -> str:
        return self._text.place(*self._said[name])

    def _check_axes(self, axes: Axes, rooms: list[Room]) -> None:
        """Raise ValueError for axes that nothing uses, uses of unknown axes, and values that name an axis."""
        used = self._used(rooms, axes)
        for name, values in axes.items():
            if name not in used:
                pick(name, [*GAME_KEYS, *sorted(used - set(GAME_KEYS))], self._axis(name), what="use of the axis")
            for other in sorted(references(values)):
                raise ValueError(
                    f"{self._axis(name)}: a value cannot name the axis {other}: name it in a game or player"
                )
        for room in rooms:
            for name in sorted(self._named[room]):
                pick(name, list(axes), self._text.place(*room), what="axis")

    def _cells(self, game: Room, player: Room, axes: dict[str, Any], chunks: list[list[int]]) -> Iterator[Cell]:
        rules, nameless_rules, game_columns = self._resolve(game, axes)
        actor, nameless_actor, player_columns = self._resolve(player, axes)
        against = self._table.comparator
        before = self._before(rules, actor, against)
        named = self._before(nameless_rules, nameless_actor, without_file_names(against))
        columns = {"game": game[1], "player": player[1], **game_columns, **player_columns}
        columns |= {"combination": identity(named), "axes": axes}
        where = canonical(axes)
        for seeds in chunks:
            rest = f',"seeds":{canonical(seeds)}}}'
            cell = Cell(identity(named + rest), before + rest, columns | {"seeds": len(seeds), "first_seed": seeds[0]})
            if (key := (game, player, where, cell.id)) not in self._seen:
                self._seen.add(key)
                yield cell

    def _before(self, game: str, player: str, against: Any) -> str:
        """Return the content of cells up to their seeds, keys in order, as ``canonical`` would write it."""
        # Written by hand: a sweep has a hundred thousand cells, and few games and players to encode.
        before = f'{{"bound":{canonical(self._table.bound)},"checkpoints":{self._table.checkpoints},'
        before += f'"comparator":{canonical(against)},' if against != BEST else ""
        return f'{before}"game":{game},"player":{player},"revision":{REVISION}'

    def _resolve(self, room: Room, axes: dict[str, Any]) -> Resolved:
        """Return a game or a player with these values."""
        is_game = room[0] == "games"
        used = self._named[room] | (set(GAME_KEYS) if is_game else set())
        values = {axis: value for axis, value in axes.items() if axis in used}
        key = (room, canonical(values))
        if key not in self._resolved:
            tree, members = (self._game if is_game else self._player)(room, values)
            labels: dict[str, str | None] = dict.fromkeys(members)
            for column, spec in members.items():
                if spec is not None:  # one line, which no other member of the sweep has in this column
                    labels[column] = self._labels[column](describe(spec), canonical(without_file_names(spec)))
            columns = tree | labels if is_game else labels
            self._resolved[key] = canonical(tree), canonical(without_file_names(tree)), columns
        return self._resolved[key]

    def _game(self, room: Room, axes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Spec | None]]:
        """Return a game's content, checked, and its members by column."""
        written = self._trees[room]
        tree = filled(written, axes)
        for key in GAME_KEYS:
            if key in axes:
                tree[key] = check_value(key, axes[key], self._axis(key), self._own)
                if key in self._table.games[room[1]].model_fields_set and written[key] != f"{AXIS}{key}":
                    self.replaced.setdefault(key, {})[".".join(room)] = None
            elif is_reference(written[key]):
                tree[key] = check_value(key, tree[key], self._text.place(*room, key), self._own)
        for key in GAME_PARTS:
            place = self._text.place(*room, key)
            if tree[key] is None:
                raise ValueError(f"{place}: is missing: take one of {', '.join(names(key, own=self._own))}")
            tree[key] = check(key, tree[key], place, self._own)
        tree["capacity"] = None if tree["capacity"] == UNLIMITED else tree["capacity"]
        return tree, {key: tree[key] for key in GAME_PARTS}

    def _player(self, room: Room, axes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Spec | None]]:
        tree = {key: value for key, value in filled(self._trees[room], axes).items() if value is not None}
        place = self._text.place(*room)
        if ("player" in tree) == ("learner" in tree):
            raise ValueError(f"{place}: give either a learner, with a scheduler, or a ready player, got {sorted(tree)}")
        if "player" in tree:
            tree = {"player": tree["player"]}  # a ready player has a scheduler of its own
        members = {key: check(key, value, f"{place}.{key}", self._own) for key, value in tree.items()}
        return members, {key: members.get(READY.get(key, key)) for key in PLAYER_KEYS}
