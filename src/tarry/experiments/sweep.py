"""From a file to cells: every game against every player, along every axis."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tarry.experiments.axes import links
from tarry.experiments.cells import REVISION, Cell, canonical, identity
from tarry.experiments.resolve import Key, Resolver
from tarry.experiments.words import pick

if TYPE_CHECKING:
    from tarry.experiments.files import Text
    from tarry.experiments.tables import BlockTable, SweepTable


class Sweep(NamedTuple):
    """A file's cells; one that stands under two names is listed twice and run once.

    ``sources`` are the texts it was read from, its own and those of the files it includes, by path.
    """

    name: str
    path: Path
    axes: list[str]
    cells: list[Cell]
    sources: dict[Path, str] = {}

    @property
    def contents(self) -> dict[str, str]:
        """What there is to run: content by identity, in the order of the identities, which is no order at all."""
        return {cell.id: cell.content for cell in sorted(self.cells, key=lambda cell: cell.id)}


def load_sweep(path: str | Path) -> Sweep:
    """Read a sweep and list its cells; what is wrong is said with file, key, value and choices."""
    try:
        from tarry.experiments.tables import read_sweep
    except ImportError as error:
        raise ImportError(f"sweeps need {error.name}: pip install 'tarry[cli]'") from error
    table, text = read_sweep(Path(path))
    cells = list(_Expansion(table, text).cells())
    if not cells:
        raise ValueError(f"{text.place()}: there is nothing to run: a block names no game or no player")
    axes = list(dict.fromkeys(name for cell in cells for name in cell.columns["axes"]))
    name = table.name or Path(path).stem
    if Path(name).name != name or name in (".", ".."):
        raise ValueError(f"{text.place('name')}: must name a folder, not . or .. and without /, got {name!r}")
    return Sweep(name, Path(path), axes, cells, text.sources)


class _Expansion:
    """The products of a sweep."""

    def __init__(self, table: SweepTable, text: Text) -> None:
        self._table, self._text = table, text
        self._resolver = Resolver(table, text)
        self._seen: set[tuple[str, str, str, str]] = set()

    def cells(self) -> Iterator[Cell]:
        """Cells in the order of the file, each combination once."""
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
        linked = links(axes)
        for game, player, point in product(games, players, points.values()):
            here = linked | links(point)
            used = self._resolver.used([game], [player], here)
            along = {name: values for name, values in axes.items() if name in used and name not in point}
            fixed = {name: value for name, value in point.items() if name in used}
            for values in product(*along.values()):
                chosen = dict(zip(along, values, strict=True)) | fixed
                if any(here.values()):
                    chosen = self._resolver.settled(game, player, chosen)
                yield from self._cells(game, player, chosen, chunks)

    def _points(self, block: BlockTable, number: int) -> dict[Key, dict[str, Any]]:
        """A block's points by their keys in the file; the one without values where there are none."""
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
        """The content of cells up to their seeds, keys in order, as ``canonical`` would write it."""
        before = f'{{"bound":{canonical(self._table.bound)},"checkpoints":{self._table.checkpoints},"game":{game},'
        return f'{before}"player":{player},"revision":{REVISION}'

    def _named(self, key: str, chosen: list[str] | None, number: int) -> list[str]:
        known = getattr(self._table, key)
        if chosen is None:
            return list(known)
        return [pick(name, known, self._text.place("blocks", number, key), what=key[:-1]) for name in chosen]

    def _chunks(self, seeds: Any) -> list[list[int]]:
        from tarry.experiments.tables import seed_numbers

        try:
            listed, size = seed_numbers(seeds), self._table.seeds_per_cell
        except ValueError as error:
            raise ValueError(f"{self._text.place('seeds')}: {error}") from error
        if not listed or len(set(listed)) != len(listed):
            what = "is empty" if not listed else "repeats: every seed gives the same run again"
            raise ValueError(f"{self._text.place('seeds')}: the list of seeds {what}, got {listed!r}")
        return [listed[i : i + size] for i in range(0, len(listed), size)]
