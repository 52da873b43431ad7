"""Players held against each other: differences paired by seed, and baselines tuned on other seeds than those shown."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from tarry.charts import CONFIDENCE, HALF, INK, altair, data_of, intervals, student
from tarry.checks import pick
from tarry.errors import ArgumentError
from tarry.outcomes import number
from tarry.reports import style
from tarry.reports.style import Cast, Figure, short
from tarry.reports.table import Table
from tarry.reports.view import AXIS, View, draws, over_what, said, unlimited_note, with_baselines

KEYS = ["setting", "line"]
WIDEST = 8  # players of a table with a column for each
SAME = 1e-6  # relative, of the comparator's loss: what it differs by in one and the same game is rounding


def differences(view: View, against: str) -> pl.DataFrame:
    """Return how much more final regret each line has than one of them, by setting: the mean over seeds of differences.

    Columns are setting, line, mean, half, low, high (the 95 % interval), seeds and ``better``, the seeds in which the
    line has less. Runs of one seed have met one game, so its luck cancels. Raise ValueError where no line is so called.
    """
    beside = with_baselines(view)
    base = pick(against, view.lines, "against", what="player")
    runs = beside.runs.select(*KEYS, "seed", "regret")
    own = runs.filter(pl.col("line") == base).select("setting", "seed", theirs="regret")
    paired = runs.filter(pl.col("line") != base).join(own, on=["setting", "seed"], maintain_order="left")
    paired = paired.with_columns(more=pl.col("regret") - pl.col("theirs")).filter(pl.col("more").is_finite())
    better = paired.group_by(KEYS).agg(better=(pl.col("more") < 0).sum().cast(pl.Int64))
    return intervals(paired, KEYS, "more").join(better, on=KEYS, how="left", maintain_order="left")


def pairing_note(view: View) -> str:
    """Return sentences on what is paired: what seeds draw, who has no limit, and where players met different games."""
    # The comparator's loss and the delays are the game's own, and so alike for all players unless they react.
    best, finite = pl.col("loss") - pl.col("regret"), pl.col("regret").is_finite()
    by_game = with_baselines(view).runs.filter(finite).group_by("setting", "seed", maintain_order=True)
    spread = (best.max() - best.min()) / (1.0 + best.abs().max()) > SAME
    apart = by_game.agg(apart=spread | (pl.col("total_delay").n_unique() > 1)).filter("apart")["setting"]
    places = "; ".join(apart.unique(maintain_order=True))
    reacts = f" {places}: losses or delays react, so players met games of their own, and pairs share their seed alone."
    return over_what(view.cells) + unlimited_note(view) + (reacts if places else "")


def difference_table(found: pl.DataFrame, against: str, note: str = "") -> Table:
    """Return paired differences as a table; those that are clear among so many have a mark."""
    many = int((found["half"] > 0).sum())  # seeds that are all alike are one
    rows = [
        (
            row["setting"],
            row["line"],
            number(row["mean"], row["half"]) + (" *" if _is_clear(row, many) else ""),
            f"{row['better']} of {row['seeds']}",
        )
        for row in found.to_dicts()
    ]
    told = style.captions()["differences"]
    columns = ("setting", "player", "difference", "less in seeds")
    title = f"{told['title']} from {against}"
    marks = told["mark"].format(many=many) if many else ""
    return Table(title, columns, rows, told["text"] + marks + note, text=("setting", "player"), name="differences")


def _is_clear(row: dict[str, Any], many: int) -> bool:
    """Return whether the interval of a difference excludes zero also when so many hold together (Bonferroni)."""
    if not row["half"]:
        return False
    wider = student(1.0 - (1.0 - CONFIDENCE) / many, row["seeds"] - 1) / student(CONFIDENCE, row["seeds"] - 1)
    return bool(abs(row["mean"]) > wider * row["half"])


def difference_figures(view: View, found: pl.DataFrame, cast: Cast, against: str, note: str = "") -> list[Figure]:
    """Return a figure of paired differences, a panel for each setting; nothing where there is one player."""
    if not found.height:
        return []
    alt = altair()
    settings = list(dict.fromkeys(found["setting"]))
    many = found["line"].n_unique()
    chosen = style.choose(settings, with_baselines(view).levels("setting"), style.PANELS if many <= 10 else 2)
    order = [line for line in view.lines if line in set(found["line"])]
    colour = style.encodings(cast)["color"]
    colour.legend = None  # rows have their names beside them
    y = alt.Y("line:N", sort=order, title=None, axis=alt.Axis(labelLimit=150, ticks=False, domain=False))
    drawn = {}
    for setting in chosen:
        rows = cast.rows(found.filter(pl.col("setting") == setting).drop("half").to_dicts())
        highest = max(max(abs(row["low"]), abs(row["high"])) for row in rows)
        x = alt.X("mean:Q", title=f"regret minus that of {against}", axis=alt.Axis(tickCount=4, **short(highest)))
        base = alt.Chart(data_of(rows))
        drawn[setting] = alt.layer(
            alt.Chart(data_of([{"zero": 0}])).mark_rule(color=INK, strokeDash=[3, 3]).encode(x="zero:Q"),
            base.mark_rule(strokeWidth=2).encode(y=y, x="low:Q", x2="high:Q", color=colour),
            *style.spots(base, 45, y=y, x=x, color=colour),
        )
    chart = style.panels(drawn, style.rows_height(many), width=HALF - 60)
    made = style.figure("differences", chart, note, style.left_out(chosen, settings), cast.note)
    return [made._replace(title=f"{made.title} from {against}")]


def pivot_table(view: View) -> Table | None:
    """Return final regret with a row for each setting and a column for each player; None for one or many players."""
    if not 1 < len(view.lines) <= WIDEST:
        return None
    found = intervals(view.runs, KEYS, "regret")
    told = {(row["setting"], row["line"]): number(row["mean"], row["half"]) for row in found.to_dicts()}
    rows = [(s, *(told.get((s, line), "") for line in view.lines)) for s in dict.fromkeys(found["setting"])]
    words = style.captions()["regret-by-player"]
    text = words["text"] + over_what(view.cells)
    return Table(words["title"], ("setting", *view.lines), rows, text, text=("setting",), name="pivot")


class Tuned(NamedTuple):
    """A view of the best levels only, on seeds that had no say in the choice; the choice; and a sentence on both."""

    view: View
    table: Table
    note: str


def tuned(view: View, axes: list[str]) -> Tuned:
    """Keep of every player the level of the axes with the least mean regret in its setting.

    The first half of the seeds chooses, the other half is shown, of every player: the least of many means is too low
    on the seeds that chose it. Where seeds draw no games, table and note say so. Raise ArgumentError where an axis
    belongs to no player, or there is one seed.
    """
    known = [key.removeprefix(AXIS) for key in view.player_keys]
    for axis in axes:
        if axis not in known:
            remedy = f"take one of {', '.join(known)}" if known else "no player of this sweep has an axis"
            raise ArgumentError("tune", "takes an axis along which players differ, and games do not", axis, remedy)
    keys = [AXIS + axis for axis in axes]
    seeds = sorted(view.runs["seed"].unique())
    if len(seeds) < 2:
        raise ArgumentError("tune", "needs two seeds or more: some choose and others are shown", len(seeds))
    choosing, shown = seeds[: len(seeds) // 2], seeds[len(seeds) // 2 :]
    has_level = pl.any_horizontal(pl.col(key).is_not_null() for key in keys)
    asked = view.named(view.runs, keys).filter(has_level & pl.col("seed").is_in(choosing))
    means = asked.group_by("setting", "name", "line", *keys, maintain_order=True).agg(pl.col("regret").mean())
    # A level that went astray under one seed has no finite mean, and is not chosen.
    best = means.filter(pl.col("regret").is_finite()).sort("regret", maintain_order=True)
    best = best.unique(["setting", "name"], keep="first", maintain_order=True)
    best = best.with_columns(tuned=pl.format("{}, best {}", "name", pl.lit(" and ".join(axes))))
    renamed = best.select(*KEYS, "tuned")

    def kept(frame: pl.DataFrame) -> pl.DataFrame:
        marked = frame.join(renamed, on=KEYS, how="left", maintain_order="left")
        along = pl.col("line").is_in(means["line"].unique().to_list())
        marked = marked.filter(pl.col("tuned").is_not_null() | ~along)
        return marked.with_columns(line=pl.coalesce("tuned", "line")).drop("tuned")

    seen = [frame.filter(pl.col("seed").is_in(shown)) for frame in (view.runs, view.curves)]
    left = [key for key in view.player_keys if key not in keys]
    made = View(kept(view.cells), kept(seen[0]), kept(seen[1]), view.game_keys, left, view.delay_keys)
    note = (
        f"{', '.join(dict.fromkeys(best['tuned']))}: chosen in each setting by the mean regret over seeds "
        f"{_listed(choosing)}. Everything here is over seeds {_listed(shown)}, for every player."
    )
    caution = _caution(view)
    return Tuned(made, _choice_table(view, best, keys, caution), note + caution)


def _caution(view: View) -> str:
    """Return a sentence on settings whose game is one and the same for all seeds, empty where there are none."""
    drawn = draws(view.cells)
    alike = [name for name, what in drawn.items() if what == (False, False)]
    unknown = [name for name, what in drawn.items() if True not in what and None in what]
    told = ""
    if alike:
        told += (
            f" No other data: in {'; '.join(alike)} seeds draw neither losses nor delays, so the seeds shown meet the "
            "very game that chose, and differ by the players' own chance alone. The regret shown is too low for a game "
            "that was not tuned on."
        )
    if unknown:
        told += (
            f" Whether seeds draw the game of {'; '.join(unknown)} is known only with the code of its members: where "
            "they do not, the seeds shown are no other data than those that chose."
        )
    return told


def _choice_table(view: View, best: pl.DataFrame, keys: list[str], caution: str) -> Table:
    """Return which level was chosen where, and whether it lies at an end of what was tried."""
    tried = {key: sorted(view.cells[key].drop_nulls().unique().to_list()) for key in keys}
    rows = []
    for row in best.sort(pl.col("setting").cast(pl.Enum(view.settings)), maintain_order=True).to_dicts():
        level = ", ".join(said(key, row[key]) for key in keys if row[key] is not None)
        ends = [key for key in keys if view.cells.schema[key].is_numeric() and len(tried[key]) > 1]
        at_end = any(row[key] in (tried[key][0], tried[key][-1]) for key in ends)
        rows.append((row["setting"], row["name"], level, "yes" if at_end else ""))
    told = style.captions()["tuned"]
    columns = ("setting", "player", "chosen", "at an end")
    return Table(told["title"], columns, rows, told["text"] + caution, text=columns, name="tuned")


def _listed(seeds: list[int]) -> str:
    """Return seeds in words, as a range where they are one.

    >>> _listed([0, 1, 2, 3]), _listed([4, 9])
    ('0 to 3', '4, 9')
    """
    is_range = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if is_range else ", ".join(map(str, seeds))
