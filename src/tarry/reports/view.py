"""Results as a report sees them: runs with the names of their setting and of their player.

A *setting* is a game with all its values; a *line* is a player with the values of its own. Names mention only what
varies; where two contents still share one, a number tells them apart. What is plotted against, the *drivers*, is taken
out of the names: what is left tells panels and lines apart. Delays that are plotted against leave their *kind* behind,
a law with all its parameters but one, so that no panel and no slope mixes laws.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import polars as pl

from tarry.experiments.columns import GAME_PARTS, GAME_RULES, GAME_SIZES, contents_of, labelled, told_apart
from tarry.experiments.folder import BOUND
from tarry.experiments.members import is_drawn

AXIS = "axis_"
PLAIN = (*GAME_SIZES, *GAME_RULES)
# Keys of a game whose values take a line each; an axis that explains them is named instead.
WORDY = tuple(reversed(GAME_PARTS))
KIND = "kind"
NAMES = {"capacity": "C", "horizon": "T", "dimension": "k"}
NAMED = 6  # games in a sentence: more nobody reads
# What intervals are over, by what seeds draw of a game: losses, delays.
OVER: dict[tuple[bool | None, ...], str] = {
    (True, True): "Seeds draw losses, delays and the players' chance.",
    (
        True,
        False,
    ): "Seeds draw losses and the players' chance; delays are given, and intervals tell of no others.",
    (
        False,
        True,
    ): "Seeds draw delays and the players' chance; losses are given, and intervals tell of no others.",
    (False, False): "Seeds draw no game: intervals are over the players' chance alone, and tell of no other game.",
}
UNKNOWN = "What seeds draw of a game, only the code of its members tells: intervals tell of no more than that."


class View(NamedTuple):
    """``cells`` and ``runs`` side by side; ``game_keys`` and ``player_keys`` vary within a game, a player."""

    cells: pl.DataFrame
    runs: pl.DataFrame
    curves: pl.DataFrame
    game_keys: list[str]
    player_keys: list[str]
    delay_keys: list[str]

    @property
    def lines(self) -> list[str]:
        """The players' names, in the order of the file."""
        return list(dict.fromkeys(self.cells["line"]))

    @property
    def settings(self) -> list[str]:
        """The settings' names, in the order of the file."""
        return list(dict.fromkeys(self.cells["setting"]))

    def panel_keys(self, drivers: Iterable[str]) -> list[str]:
        """Return the keys that tell panels apart where the drivers are plotted against."""
        gone = set(drivers)
        left = [key for key in self.game_keys if key not in gone]
        return [*left, KIND] if gone & set(self.delay_keys) and self.cells[KIND].drop_nulls().len() else left

    def levels(self, names: str, drivers: Iterable[str] = ()) -> dict[str, set[Hashable]]:
        """Return what each panel, or each setting, has of every key: pairs of a key and its value."""
        found: dict[str, set[Hashable]] = defaultdict(set)
        keys = ["game", *self.panel_keys(drivers)]
        for name, *values in self.named(self.cells, drivers).select(names, *keys).iter_rows():
            found[name] |= set(zip(keys, values, strict=True))
        return found

    def named(self, frame: pl.DataFrame, drivers: Iterable[str]) -> pl.DataFrame:
        """Return the frame with columns ``panel`` and ``name``: setting and line without the drivers."""
        gone = set(drivers)
        panels = _labels(frame, "game", self.panel_keys(gone))
        names = _labels(frame, "player", [key for key in self.player_keys if key not in gone])
        return frame.with_columns(
            panel=panels if gone & set(self.game_keys) else frame["setting"],
            name=names if gone & set(self.player_keys) else frame["line"],
        )


def view(cells: pl.DataFrame, runs: pl.DataFrame, curves: pl.DataFrame) -> View:
    """Return what the tables of a sweep say, by setting and line."""
    games, players = contents_of(cells)
    marked = labelled(cells, games, players).with_columns(
        pl.Series("of_game", list(map(repr, games)), dtype=pl.String),
        pl.Series("of_player", list(map(repr, players)), dtype=pl.String),
    )
    axes = [name for name in cells.columns if name.startswith(AXIS)]
    game_axes = [axis for axis in axes if _belongs(marked, axis, "game", "of_game")]
    player_axes = [axis for axis in axes if _belongs(marked, axis, "player", "of_player")]
    plain = [key for key in PLAIN if _varies(marked, key, "game")]
    known = ["game", *plain, *game_axes]
    wordy = [key for key in WORDY if _varies(marked, key, known)]
    late = [axis for axis in game_axes if _varies(marked, "delays", [key for key in known if key != axis])]
    keys = [*plain, *game_axes, *wordy]
    settings, lines = _labels(marked, "game", keys), _labels(marked, "player", player_axes)
    named = marked.with_columns(
        setting=pl.Series(told_apart(settings, marked["of_game"]), dtype=pl.String),
        line=pl.Series(told_apart(lines, marked["of_player"]), dtype=pl.String),
        kind=_kinds(marked, games),
    ).drop("of_game", "of_player")
    order = [pl.col(key).cast(pl.Enum(list(dict.fromkeys(named[key])))) for key in ("setting", "line")]
    told = named.select("cell", "setting", "line", "game", "player", KIND, *dict.fromkeys([*keys, *player_axes]))
    beside = [name for name in ("capacity", "horizon", "dimension") if name in told.columns]
    runs = runs.with_columns(bound=BOUND)
    # On the way the strongly convex form leaves out a sum, whose mean is zero only once all rounds are settled.
    sound = runs.filter(pl.col("bound").is_finite() & ~pl.col("holds").fill_null("").str.starts_with("second sum"))
    curves = curves.join(sound.select("cell", "seed", sound=True), on=["cell", "seed"], how="left")
    curves = curves.with_columns(bound=pl.when("sound").then("bound").otherwise(float("nan"))).drop("sound")
    return View(
        named,
        told.drop(beside).join(runs, on="cell", how="inner").sort(*order, "seed"),
        told.select("cell", "setting", "line").join(curves, on="cell", how="inner").sort(*order, "seed", "t"),
        keys,
        player_axes,
        [*late, *(key for key in wordy if key == "delays")],
    )


def _kinds(cells: pl.DataFrame, games: list[dict[str, Any]]) -> pl.Series:
    """Return the kind of delays of each cell, null where its game has delays of one kind only.

    Delays are of one kind if they differ in one number alone: that with the most values, where a law varies in several.
    """
    lines, names = cells["delays"].to_list(), cells["game"].to_list()
    specs = [game.get("delays") or {"type": line} for game, line in zip(games, lines, strict=True)]
    laws: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for name, spec in zip(names, specs, strict=True):
        laws[name, spec["type"]].append(spec)
    told = {law: _besides_one(found) for law, found in laws.items()}
    kinds: list[str] = []
    for name, line, spec in zip(names, lines, specs, strict=True):
        others = {key: spec[key] for key in told[name, spec["type"]] if key in spec}
        inside = ", ".join(f"{key}={value}" for key, value in others.items())
        is_short = not any(isinstance(value, (list, dict)) for value in others.values())
        kinds.append((f"{spec['type']}({inside})" if inside else spec["type"]) if is_short else line)
    counts = Counter(name for name, _ in set(zip(names, kinds, strict=True)))
    told_kinds = [kind if counts[name] > 1 else None for name, kind in zip(names, kinds, strict=True)]
    return pl.Series(told_kinds, dtype=pl.String)


def _besides_one(specs: list[dict[str, Any]]) -> list[str]:
    """Return the parameters that differ among the specs of one law, less the number with the most values."""
    names = sorted({name for spec in specs for name in spec})
    values = {name: {repr(spec.get(name)) for spec in specs} for name in names}
    differ = [name for name in names if len(values[name]) > 1]
    numbers = [name for name in differ if all(isinstance(spec.get(name), (int, float)) for spec in specs)]
    varied = max(numbers, key=lambda name: len(values[name]), default=None)
    return [name for name in differ if name != varied]


def _varies(frame: pl.DataFrame, column: str, within: str | list[str]) -> bool:
    """Return whether a column takes two values where the others take one; unknown values are one value."""
    counts = frame.group_by(within).agg(pl.col(column).n_unique())
    return bool((counts[column] > 1).any())


def _belongs(frame: pl.DataFrame, axis: str, name: str, content: str) -> bool:
    """Return whether an axis changes the content of something under one name."""
    spread = frame.group_by(name, content).agg(pl.col(axis).n_unique())
    settled = spread.group_by(name).agg((pl.col(axis) == 1).all().alias("settled"), pl.len().alias("contents"))
    return bool((settled["settled"] & (settled["contents"] > 1)).any()) and _varies(frame, axis, name)


def _labels(frame: pl.DataFrame, name: str, keys: list[str]) -> pl.Series:
    """Return the name of each row followed by the values of the keys; a missing value is told of the capacity only."""
    told = []
    for base, *values in frame.select(name, *keys).iter_rows():
        pairs = [pair for pair in zip(keys, values, strict=True) if pair[1] is not None or pair[0] == "capacity"]
        told.append(", ".join([base, *(said(*pair) for pair in pairs)]))
    return pl.Series(told, dtype=pl.String)


def said(key: str, value: Any) -> str:
    """Return a value with its name, as short as it can be understood; no two numbers are the same.

    >>> said("capacity", None), said("axis_mean", 20.0), said("information", "clairvoyant")
    ('C = ∞', 'mean = 20', 'clairvoyant')
    >>> said("axis_mean", 1000001.0)
    'mean = 1000001.0'
    """
    if key == "preemption":
        return "preemptive" if value else "non-preemptive"
    if key in ("feedback", "information", KIND, *WORDY):
        return str(value)
    number = "∞" if value is None else str(value)
    if isinstance(value, float) and float(f"{value:g}") == value:
        number = f"{value:g}"
    return f"{NAMES.get(key, key.removeprefix(AXIS))} = {number}"


def draws(cells: pl.DataFrame) -> dict[str, tuple[bool | None, ...]]:
    """Return by setting whether seeds draw its losses and its delays; None where only the members' code would tell."""
    firsts = cells.unique("setting", keep="first", maintain_order=True).select("setting", "content")
    games = {name: json.loads(text)["game"] for name, text in firsts.iter_rows()}
    return {
        name: tuple(is_drawn(part, game.get(part)) for part in ("losses", "delays")) for name, game in games.items()
    }


def over_what(cells: pl.DataFrame) -> str:
    """Return sentences on what intervals are over: what seeds draw, in which games."""
    drawn = draws(cells)
    if len(set(drawn.values())) == 1:
        return f" {OVER.get(next(iter(drawn.values())), UNKNOWN)}"
    # Games go by as little as tells those of one sort from those of another.
    kinds = cells.select("setting", "game", kind=pl.concat_str(["game", KIND], separator=", ", ignore_nulls=True))
    for called in ("game", "kind", "setting"):
        where: dict[tuple[bool | None, ...], list[str]] = defaultdict(list)
        for name, place in dict(zip(kinds["setting"], kinds[called], strict=True)).items():
            where[drawn[name]] += [place] if place not in where[drawn[name]] else []
        if len(set().union(*where.values())) == sum(map(len, where.values())):
            break
    return "".join(f" {_listed(places)}: {OVER.get(what, UNKNOWN)}" for what, places in where.items())


def _listed(places: list[str]) -> str:
    return "; ".join(places[:NAMED]) + (f" and {len(places) - NAMED} more" if len(places) > NAMED else "")


def unlimited_note(view: View) -> str:
    """Return a sentence on the players that stand in limited settings and have no limit, empty without any."""
    free = _moves(view)["line"].unique(maintain_order=True)
    return f" Without a limit, whatever the setting: {', '.join(free)}." if free.len() else ""


def with_baselines(view: View) -> View:
    """Return the view with players that never have a limit moved to the limited settings that match but for that.

    Their runs then carry the capacity of the setting they stand in. Players that are met with and without a limit stay
    where they are.
    """
    moves = _moves(view)
    if not moves.height:
        return view
    gone = pl.col("setting").is_in(moves["setting"].unique().to_list())
    order = [pl.col(key).cast(pl.Enum(names)) for key, names in (("setting", view.settings), ("line", view.lines))]

    def moved(frame: pl.DataFrame) -> pl.DataFrame:
        there = frame.filter(gone).join(moves, on=["line", "setting"]).with_columns(setting="place").drop("place")
        stayed = frame.filter(~gone).with_columns(room=pl.lit(None, pl.Int64))
        return pl.concat([stayed, there.select(stayed.columns)])

    runs = moved(view.runs).with_columns(capacity=pl.coalesce("room", "capacity")).drop("room").sort(*order, "seed")
    curves = moved(view.curves).drop("room").sort(*order, "seed", "t")
    return view._replace(cells=view.cells.filter(~gone), runs=runs, curves=curves)


def _moves(view: View) -> pl.DataFrame:
    """Return the lines without a limit by setting, with each ``place`` they are moved to and its slots, ``room``."""
    keys = ["game", *(key for key in view.game_keys if key != "capacity")]
    limited = view.cells.filter(pl.col("capacity").is_not_null())
    always_free = ~pl.col("line").is_in(limited["line"].unique().to_list())
    places = limited.select(*keys, place="setting", room="capacity").unique()
    free = view.cells.filter(always_free).select(*keys, "line", "setting").unique()
    # A setting moves as a whole or not at all: others in it would lose their company.
    held = set(view.cells.filter(~always_free)["setting"])
    moves = free.join(places, on=keys, nulls_equal=True).select("line", "setting", "place", "room")
    return moves.filter(~pl.col("setting").is_in(list(held))).sort(pl.col("line").cast(pl.Enum(view.lines)))
