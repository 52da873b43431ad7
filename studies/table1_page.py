"""Table 1 as measured: a table for each row of the table, a figure of all exponents, one page, and the command."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from studies.table1 import (
    ATTAINED,
    CELLS,
    FINE,
    FLATTER,
    FULL,
    OK,
    QUICK,
    SLACK,
    STEEPER,
    SYMBOLS,
    UPPER,
    VERDICTS,
    WIDE,
    Claim,
    MeasuredClaim,
    claims,
    measure,
)
from tarry.charts import FAINT, INK, altair, data_of, dressed
from tarry.cli.console import Format, refusing, screen
from tarry.cli.sweep import EngineOption, SchedulerOption, TaskOption, WorkersOption, play_sweep
from tarry.experiments import Folder, Sweep, load_sweep
from tarry.experiments.parts import write_whole
from tarry.experiments.run import parse_task
from tarry.reports.exponents import Exponent
from tarry.reports.page import Page
from tarry.reports.style import Figure, rows_height
from tarry.reports.table import DASH, Table, latex, markdown

FAILED = 1  # the exit code of a sweep in which cells failed
TITLE = "Table 1, as measured"
COLUMNS = ("source", "in", "game", "claimed", "measured", "95 % interval", "points", "verdict")
SAID = (
    "Each line is one exponent of the paper's Table 1: the power of T, of the delay, of the capacity C or of the "
    "dimension k in a player's bound on regret, and beside it the slope of its measured regret on logarithmic axes. A "
    "logarithm counts as the power 0."
)
JUDGED = (
    "A slope is ok if it is at most 0.1 above the claim and, where the game attains the rate, at most 0.1 below. 'ok' "
    "says so of the whole interval, 'ok, wide' of the slope only: its interval crosses a fence, and more seeds would "
    "tell. 'steeper' and 'flatter' are beyond a fence. 'undecided' has been played and has no slope, 'missing' has "
    "not been played; both say why. Points are the means that the slope goes through, of those played: a mean that "
    "is not positive has no logarithm."
)
WORDS = ("source", "in", "game", "verdict")  # columns of words; a verdict says why, where there is something to say

FENCES = "Every slope with its interval, less its claim: what lies between the dashed lines at -0.1 and 0.1 is ok."
MARKS = {ATTAINED: "circle", UPPER: "triangle-left"}
COLOURS = {OK: INK, WIDE: "#0072B2", FLATTER: "#E69F00", STEEPER: "#D55E00"}
UPPER_SAID = (
    "Lines marked 'upper bound' are of games that have to be learnt: there the rate is a ceiling, and nothing says "
    "that it is reached. In 'signs' no player whatsoever does better than the rate. In the games of cones and late "
    "starts these players pay the rate because they are tuned as their theorems say; other players might pay less. So "
    "the exponents of the bandits' half, and those of k and C, are attained by the methods, and are upper bounds only "
    "on what a method must pay."
)


def power(exponent: float) -> str:
    """An exponent as a fraction.

    >>> power(0.75), power(-1 / 3), power(0.0)
    ('3/4', '-1/3', '0')
    """
    return str(Fraction(exponent).limit_denominator(12))


def tables(measured: Sequence[MeasuredClaim]) -> list[Table]:
    """Return a table of claims for each row of the paper's table."""
    rates: dict[str, list[str]] = {}
    for cell in CELLS:
        rates.setdefault(cell.row, []).append(f"{cell.column}: {cell.rate}")
    return [
        Table(
            row,
            COLUMNS,
            [_line(one) for one in measured if one.claim.row == row],
            "; ".join(said),
            text=WORDS,
            wrap=("verdict",),
            name=f"row-{i}",
        )
        for i, (row, said) in enumerate(rates.items(), 1)
    ]


def _line(one: MeasuredClaim) -> tuple[str, ...]:
    claim = one.claim
    kind = f" ({claim.kind})" if claim.kind == UPPER else ""
    why = f": {one.reason}" if one.reason else ""
    figures = _figures(one)
    return claim.column, SYMBOLS[claim.by], claim.game, power(claim.exponent), *figures, one.verdict + kind + why


def _figures(one: MeasuredClaim) -> tuple[str, str, str]:
    """Return slope, interval and points as text."""
    found = one.found
    if found is None:
        return DASH, DASH, DASH
    interval = f"{_rounded(found.low)} to {_rounded(found.high)}" if isfinite(found.low) else DASH
    points = str(found.points) if found.points == one.played else f"{found.points} of {one.played}"
    return _rounded(found.slope), interval, points


def _rounded(number: float) -> str:
    return f"{round(number, 2) + 0.0:.2f}"  # adding 0 takes the sign off a zero


def exponent_chart(measured: Sequence[MeasuredClaim]) -> Any:
    """Return a chart of every slope with its interval, less its claim: all between the lines at -0.1 and 0.1 is ok."""
    alt = altair()
    rows = [_off(one, one.found) for one in measured if one.found is not None and isfinite(one.found.slope)]
    base, known = (alt.Chart(data_of(part)) for part in (rows, [row for row in rows if row["low"] is not None]))
    y = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=460))
    x = alt.X("off:Q", title="measured slope less the claimed exponent", axis=alt.Axis(tickCount=5))
    kinds = [kind for kind in (ATTAINED, UPPER) if any(row["kind"] == kind for row in rows)]
    legend = alt.Legend(title=None, orient="bottom", symbolFillColor=INK, symbolStrokeColor=INK)
    shapes = alt.Scale(domain=kinds, range=[MARKS[kind] for kind in kinds])
    shape = alt.Shape("kind:N", scale=shapes, legend=legend)
    met = [verdict for verdict in COLOURS if any(row["verdict"] == verdict for row in rows)]
    scale = alt.Scale(domain=met, range=[COLOURS[verdict] for verdict in met])
    strokes = alt.Legend(title=None, orient="bottom", symbolType="stroke", symbolStrokeWidth=3, symbolSize=400)
    colour = alt.Color("verdict:N", scale=scale, legend=strokes)
    fences = alt.Chart(data_of([{"at": -SLACK}, {"at": 0.0}, {"at": SLACK}]))
    layers = alt.layer(
        fences.mark_rule(color=FAINT, strokeDash=[3, 3]).encode(x="at:Q"),
        known.mark_rule(strokeWidth=1.4).encode(x="low:Q", x2="high:Q", y=y, color=colour),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, shape=shape, color=colour),
    )
    return dressed(layers.properties(width=360, height=rows_height(len(rows))))


def _off(one: MeasuredClaim, found: Exponent) -> dict[str, Any]:
    """Return how far a slope and its interval, if that is known, are from the claim."""
    ends = {"low": found.low, "high": found.high, "off": found.slope}
    away = {name: end - one.claim.exponent if isfinite(end) else None for name, end in ends.items()}
    return {"name": _name(one.claim), "kind": one.claim.kind, "verdict": one.verdict, **away}


def _name(claim: Claim) -> str:
    return f"{claim.row}: {claim.column}, {SYMBOLS[claim.by]}^({power(claim.exponent)}), {claim.game}"


def told(measured: Sequence[MeasuredClaim]) -> str:
    """Return how many claims came out how, in a sentence."""
    counts = Counter(one.verdict for one in measured)
    return f"Of {len(measured)} exponents: {'; '.join(f'{counts[one]} {one}' for one in VERDICTS if counts[one])}."


def save_table1(measured: Sequence[MeasuredClaim], folder: Path, command: str) -> list[Path]:
    """Write table1.html, table1.md and table1.tex, each whole or not at all; return their paths."""
    made = tables(measured)
    said = (SAID, JUDGED, UPPER_SAID, told(measured))
    drawn = []
    if any(one.found is not None for one in measured):
        drawn.append(Figure("exponents", "All of them at once", FENCES, exponent_chart(measured)))
    texts = {
        "html": Page(TITLE, said, parts=[*made, *drawn], command=command).html(),
        "md": "\n\n".join([f"# {TITLE}", *said, markdown(made)]),
        "tex": latex(made),
    }
    paths = {kind: folder / f"table1.{kind}" for kind in texts}
    for kind, path in paths.items():
        write_whole(path, texts[kind].encode())
    return list(paths.values())


def table1_command(
    quick: Annotated[bool, typer.Option("--quick", help="Shorter games, minutes instead of hours.")] = False,
    results: Annotated[
        Path | None, typer.Option("--results", "-r", help="Folder (default: out/table1[-quick]).")
    ] = None,
    engine: EngineOption = "threads",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    task: TaskOption = "1/1",
    output: Annotated[Format, typer.Option("--format", "-f", help="What to print.")] = Format.table,
) -> None:
    """Play what is missing of Table 1, fit every exponent, and write a page; exit code 1 if one is not as claimed.

    With --task i/n only the i-th share is played: the same command without it measures once all are done.
    """
    with refusing():
        folder = Folder(results or Path("out") / ("table1-quick" if quick else "table1"))
        sweep = load_sweep(QUICK if quick else FULL)
        command = f"python -m studies table1{' --quick' if quick else ''} --results {shlex.quote(str(folder.path))}"
        is_share = parse_task(task)[1] > 1
        code = _played(sweep, folder, command, task, {"engine": engine, "workers": workers, "scheduler": scheduler})
        if is_share:
            typer.echo(f"once every task is done, {command} measures", err=True)
            raise typer.Exit(code)
        found = measure(folder.tables(), claims())
        paths = save_table1(found, folder.path, command)
    _show(found, paths, output)
    raise typer.Exit(code or (0 if all(one.verdict in FINE for one in found) else 1))


def _played(sweep: Sweep, folder: Folder, command: str, task: str, chosen: dict[str, Any]) -> int:
    """Play, and return the exit code: where cells failed there is still something to measure."""
    try:
        play_sweep(sweep, folder, command, task=task, aside=True, **chosen)
    except typer.Exit as ended:
        if ended.exit_code != FAILED:
            raise
        return FAILED
    return 0


def _show(found: list[MeasuredClaim], paths: list[Path], output: Format) -> None:
    if output is Format.json:
        typer.echo(json.dumps([_plain(one) for one in found], indent=2))
        return
    for table in tables(found):
        screen().print(table.rich())
    typer.echo(told(found))
    for path in paths:
        typer.echo(str(path))


def _plain(one: MeasuredClaim) -> dict[str, Any]:
    figures = {} if one.found is None else one.found._asdict()
    found = {name: value if isfinite(value) else None for name, value in figures.items()} or None
    return one.claim._asdict() | {"measured": found, "verdict": one.verdict, "reason": one.reason}
