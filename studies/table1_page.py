"""Table 1 as measured: a table for each row of the table, a figure of all slopes, one page, and the command."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from math import ceil, floor, isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from studies.numbers import Values, Write, lines_of, short, write_numbers
from studies.table1 import (
    ATTAINED,
    EVIDENCE,
    LOGARITHM,
    LOWER,
    SLACK,
    UPPER,
    VERDICTS,
    Line,
    MeasuredLine,
    Slope,
    hush,
    lines,
    measure,
)
from studies.table1_games import COLUMNS, CONTROLS, CONVEX, CURVED, PLAYER
from tarry.charts import FAINT, INK, altair, data_of, dressed
from tarry.checks import as_choice
from tarry.cli.console import Format, refusing, screen
from tarry.experiments.parts import write_whole
from tarry.game.device import has_device
from tarry.game.simulate import DEVICES
from tarry.outcomes import DASH
from tarry.reports.page import Page
from tarry.reports.style import Figure, rows_height
from tarry.reports.table import Table, latex, markdown

TITLE = "Table 1, as measured"
HEADS = ("column", "along", "range", "points", "verdict", "claimed", "measured", "of bound", *CONTROLS, "seeds")
SAID = (
    "Each line is a series of games along one quantity. Claimed is the slope that the column's rate has over these "
    "very games, on logarithmic axes and with its terms added up; measured is that of the player's regret, ± 95 %. A "
    "logarithm is regressed on ln T: its figure is the curvature q, the power of T by which the growth per unit of "
    "ln T grows."
)
CONTROLLED = (
    "Three controls play every line: the player with a rate of nearly 0, which never moves; with a rate 30 times too "
    "large; and with a scheduler that weighs nothing (drop newest, in 4 slots where the player has no limit). A line "
    "is evidence only if the player's whole interval lies within 0.1 of the claim (for an upper bound: at most 0.1 "
    "above), its regret is below the bound that is proved for this very player, and every control misses that: no part "
    "of its interval within the fences, or (†) its regret above the bound. An interval across a fence is no success."
)
ROOM = (
    "Along C at one T the claim is the level: regret does not grow, and keeps below the bound with every capacity, "
    "from the fewest slots on. Controls miss it by their level alone. Where C grows with T the line is about T: any "
    "dependence on C from C^(-1/2) to C^0.1 would pass it."
)
APART = (
    "On signs nothing can be learnt, and whoever plays has the slope of a random walk. The lines say that no player "
    "can do better, and nothing about this one."
)
FENCES = "Slopes less their claims, the player's with its interval. An upper bound has only the right-hand fence."

SYMBOLS = {
    "harmonic": "Σ(½ + σ_t)/t",
    "C": "C, at one T",
    "crowding": "1 + σ_max/C, at one T",
}  # of names of lines; the others are their own
# Along convex games the total delay has rivals; where their slopes differ from the claim, the line rules them out.
RIVALS = {
    "√(T σ_max)": lambda f: (f.T * f.sigma_max) ** 0.5,
    "√(T d_max)": lambda f: (f.T * f.d_max) ** 0.5,
}
NOT_SHOWN = [
    ("T^(2/3) from values, strongly convex", "what can be learnt costs far less, at 30 times the rate as well"),
    (
        "(1 + σ_max/C)^(1/3) from values, strongly convex",
        "regret is far below T^(2/3) there, and the player at 30 times its rate has that slope as well",
    ),
    ("T^(3/4) of ryabchenko2026, from values", "at 30 times its rate it still learns, with the same slope"),
    ("√T with the printed scheduler", "at sizes that can be played its constants hide the order"),
    ("√(T d_max), √d_tot, √(T σ_max), d_max, σ_max from values", "T^(3/4) and T^(2/3) are larger at these sizes"),
    ("√k and k^(2/3) from values", "on cones exploration alone has these slopes; elsewhere T^(3/4) √k is near T"),
    (
        "k^0, and C^0 from values",
        "who never moves has the slope 0 too, and no bound is low enough to tell it by its level",
    ),
    ("√d_tot of min{Σ σ_t/t, √d_tot}", "it is the smaller one only at delays near T/ln² T"),
]


def tables(measured: Sequence[MeasuredLine]) -> list[Table]:
    """Return the count of evidence by column, a table of lines for each row, and what is shown apart."""
    made = [_counted(measured)]
    for i, row in enumerate(dict.fromkeys(column.row for column in COLUMNS), 1):
        mine = [one for one in measured if one.line.column.row == row and one.line.kind != LOWER]
        rates = "; ".join(f"{column.name}: {column.words}" for column in COLUMNS if column.row == row)
        made.append(_table(row, mine, f"{rates}.{_rivals(mine) if row == CONVEX else ''}", f"row-{i}"))
    lower = [one for one in measured if one.line.kind == LOWER]
    made.append(_table("Lower bounds, for everybody", lower, APART, "lower"))
    why = "What the paper's table claims beyond this, and why no line here shows it."
    made.append(Table("Not shown", ("claim", "why"), NOT_SHOWN, why, text=("claim", "why"), wrap=("why",), name="not"))
    return made


def _table(title: str, measured: list[MeasuredLine], caption: str, name: str) -> Table:
    words = ("column", "along", "range", "verdict")
    return Table(title, HEADS, [_row(one) for one in measured], caption, text=words, wrap=words, name=name)


def _counted(measured: Sequence[MeasuredLine]) -> Table:
    """Return how many lines are evidence by column, and how often a control passed one of these."""
    rows = []
    for column in COLUMNS:
        # Processes return copies of columns, whose functions are others: row and name say which one it is.
        mine = [one for one in measured if one.line.column[:2] == column[:2] and one.line.kind != LOWER]
        shown = [one for one in mine if one.verdict == EVIDENCE]
        passed = sum(bool(one.passed) for one in shown)
        rows.append((column.row, column.name, str(len(mine)), str(len(shown)), str(passed)))
    heads = ("row", "column", "lines", "evidence", "of these passed by a control")
    return Table("Evidence by column", heads, rows, "", text=heads[:2], name="evidence")


def _rivals(measured: list[MeasuredLine]) -> str:
    """Return the slopes that other measures of delay would have along each line."""
    told = {}
    for one in (one for one in measured if one.line.kind == ATTAINED):
        slopes = (f"{name} {_rounded(one.line.slope_of(rate))}" for name, rate in RIVALS.items())
        told[one.line.name] = f"along {_symbol(one.line)} {' and '.join(slopes)}"
    return f" Other measures of delay would have the slopes: {'; '.join(told.values())}." if told else ""


def _row(one: MeasuredLine) -> tuple[str, ...]:
    line, own = one.line, one.slopes[PLAYER]
    claim = "ln T: q = 0" if line.kind == LOGARITHM else ("≤ " if line.kind == UPPER else "") + _rounded(line.claim)
    found = f"{_rounded(own.slope)} ± {_rounded((own.high - own.low) / 2)}"
    why = f": {one.reason}" if one.reason else ""
    share = f"{_at_most(own)} %" if own.level[1] > 0 else DASH
    controls = (_rounded(one.slopes[who].slope) + "†" * (one.slopes[who].level[0] > 1) for who in CONTROLS)
    reach = f"{_short(line.at.min())} to {_short(line.at.max())}"
    where = line.column.name, _symbol(line), reach, str(line.at.size)
    return *where, one.verdict + why, claim, found, share, *controls, str(own.seeds)


def _at_most(own: Slope) -> int:
    """Return what the player pays at most, in per cents of its bound."""
    return ceil(100 * own.level[1])


def _symbol(line: Line) -> str:
    return SYMBOLS.get(line.name, line.name)


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _rounded(number: float) -> str:
    return f"{round(number, 2) + 0.0:.2f}" if isfinite(number) else DASH  # adding 0 takes the sign off a zero


MARKS = {PLAYER: "circle", **dict(zip(CONTROLS, ("square", "triangle-up", "cross"), strict=True))}
COLOURS = {PLAYER: INK, **dict(zip(CONTROLS, ("#0072B2", "#D55E00", "#009E73"), strict=True))}


def slopes_chart(measured: Sequence[MeasuredLine]) -> Any:
    """Return a chart of everybody's slope less the claim, line by line."""
    alt = altair()
    rows = [_off(one, who, slope) for one in measured for who, slope in one.slopes.items() if isfinite(slope.slope)]
    y = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=460))
    x = alt.X("off:Q", title="measured slope less the claimed one", axis=alt.Axis(tickCount=6))
    legend = alt.Legend(title=None, orient="bottom", symbolFillColor=INK)
    domain = list(MARKS)
    shape = alt.Shape("who:N", scale=alt.Scale(domain=domain, range=[MARKS[who] for who in domain]), legend=legend)
    colour = alt.Color("who:N", scale=alt.Scale(domain=domain, range=[COLOURS[who] for who in domain]), legend=legend)
    fences = alt.Chart(data_of([{"at": -SLACK}, {"at": SLACK}]))
    own = alt.Chart(data_of([row for row in rows if row["who"] == PLAYER]))
    layers = alt.layer(
        fences.mark_rule(color=FAINT, strokeDash=[3, 3]).encode(x="at:Q"),
        own.mark_rule(strokeWidth=1.4, color=INK).encode(x="low:Q", x2="high:Q", y=y),
        alt.Chart(data_of(rows))
        .mark_point(filled=True, size=50, opacity=1)
        .encode(x=x, y=y, shape=shape, color=colour),
    )
    return dressed(layers.properties(width=360, height=rows_height(len(measured))))


def _off(one: MeasuredLine, who: str, slope: Slope) -> dict[str, Any]:
    line = one.line
    ends = {"off": slope.slope, "low": slope.low, "high": slope.high}
    away = {name: end - line.claim if isfinite(end) else None for name, end in ends.items()}
    apart = ", signs" if line.kind == LOWER else ""
    return {"name": f"{line.column.row}: {line.column.name}, {_symbol(line)}{apart}", "who": who, **away}


def told(measured: Sequence[MeasuredLine]) -> str:
    """Return how many lines came out how, in a sentence."""
    counts = Counter(one.verdict for one in measured)
    return f"Of {len(measured)} lines: {'; '.join(f'{counts[one]} {one}' for one in VERDICTS if counts[one])}."


def save_table1(measured: Sequence[MeasuredLine], folder: Path, command: str) -> list[Path]:
    """Write table1.html, .md, .tex and .json, each whole or not at all; return their paths."""
    made, said = tables(measured), (SAID, CONTROLLED, ROOM, told(measured))
    drawn = [Figure("slopes", "All of them at once", FENCES, slopes_chart(measured))] if measured else []
    texts = {
        "html": Page(TITLE, said, parts=[*made, *drawn], command=command).html(),
        "md": "\n\n".join([f"# {TITLE}", *said, markdown(made)]),
        "tex": latex(made),
        "json": as_json(measured),
    }
    folder.mkdir(parents=True, exist_ok=True)
    paths = {kind: folder / f"table1.{kind}" for kind in texts}
    for kind, path in paths.items():
        write_whole(path, texts[kind].encode())
    return list(paths.values())


def as_json(measured: Sequence[MeasuredLine]) -> str:
    """Return every slope with its interval, games and verdict."""
    return json.dumps([_plain(one) for one in measured], indent=2) + "\n"


def shown(measured: Sequence[MeasuredLine]) -> Values:
    """Return what docs/table1.md shows: what was found in a sentence, and each line by row, column and its name."""
    values = Values(found=told(measured), evidence=lines_of(_counted(measured)), controls=_controls(measured))
    for one in measured:
        own, line = one.slopes[PLAYER], one.line
        name = line.name + (", signs" if line.kind == LOWER else "")
        reach, level = (own.high - own.low) / 2, float(_at_most(own))
        found = {"claim": line.claim, "slope": own.slope, "reach": reach, "level": level, "verdict": one.verdict}
        for who in CONTROLS:
            found |= {who: one.slopes[who].slope, f"{who}, level": one.slopes[who].level[0]}
        values.setdefault(line.column.row, {}).setdefault(line.column.name, {})[name] = {
            key: short(value) if isinstance(value, float) and isfinite(value) else str(value)
            for key, value in found.items()
        }
    return values


def _controls(measured: Sequence[MeasuredLine]) -> dict[str, Values]:
    """Return how the controls fare by row: slopes of the fast one, its lines above the bound, the least level at one T.

    All of them are rounded outwards.
    """
    values = {}
    for row in (CONVEX, CURVED):
        mine = [one for one in measured if one.line.column.row == row and one.line.kind != LOWER]
        fast = [one.slopes["rate × 30"] for one in mine]
        slopes = [one.slopes["rate × 30"].slope for one in mine if one.line.name in ("T", "d_tot", "harmonic")]
        slopes = [slope for slope in slopes if isfinite(slope)]
        levels = [one.slopes[who].level[0] for one in mine if one.line.name == "C" for who in CONTROLS]
        values[row] = {
            "fast": [floor(100 * min(slopes)) / 100, ceil(100 * max(slopes)) / 100],
            "above": sum(one.level[0] > 1 for one in fast),
            "of": len(fast),
            "least at one T": floor(10 * min(levels)) / 10,
        }
    return values


def _plain(one: MeasuredLine) -> dict[str, Any]:
    line = one.line
    return {
        "row": line.column.row,
        "column": line.column.name,
        "along": line.name,
        "kind": line.kind,
        "games": [fact._asdict() | {"C": at.capacity} for fact, at in zip(line.facts, line.settings, strict=True)],
        "claim": line.claim,
        "slopes": {who: _finite(slope._asdict()) for who, slope in one.slopes.items()},
        "verdict": one.verdict,
        "reason": one.reason,
    }


def _finite(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in fields.items()}


QUICK_SEEDS, FULL_SEEDS = 256, 1024  # the most that a slope may take


def table1_command(
    quick: Annotated[bool, typer.Option("--quick", help="Shorter games and fewer seeds: minutes.")] = False,
    results: Annotated[
        Path | None, typer.Option("--results", "-r", help="Folder (default: out/table1[-quick]).")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes (default: one for each core).")] = None,
    device: Annotated[str, typer.Option(help="What seeds are played on: cpu, cuda or auto.")] = "cpu",
    output: Annotated[Format, typer.Option("--format", "-f", help="What to print.")] = Format.table,
    write: Write = False,
) -> None:
    """Play Table 1 with its controls and write a page; exit code 1 unless every line comes out as it should."""
    folder = results or Path("out") / ("table1-quick" if quick else "table1")
    command = f"python -m studies table1{' --quick' if quick else ''} --results {shlex.quote(str(folder))}"
    hush()
    with refusing():
        as_choice(device, "device", DEVICES)
        device = "cpu" if device == "cpu" or not has_device(device) else "cuda"
        most = QUICK_SEEDS if quick else FULL_SEEDS
        found = measure(lines(1 if quick else 4), most, workers, lambda text: typer.echo(text, err=True), device)
        paths = save_table1(found, folder, command)
    if write:
        name = "table1 quick" if quick else "table1"
        write_numbers(name, f"python -m studies table1{' --quick' if quick else ''} --write", shown(found))
    if output is Format.json:
        typer.echo(as_json(found), nl=False)
    else:
        for table in tables(found):
            screen().print(table.rich())
        typer.echo("\n".join([told(found), *map(str, paths)]))
    raise typer.Exit(0 if all(one.is_as_expected for one in found) else 1)
