"""Table 1 as measured: a sheet for each row of the table, a figure of all exponents, and one page."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

from tarry.experiments.table1 import CELLS, SYMBOLS, UPPER, Claim, Measured
from tarry.reports.figures.look import FAINT, INK, dressed, rows_height
from tarry.reports.page import document, svg_of
from tarry.reports.sheets import DASH, Sheet, html, latex, markdown
from tarry.reports.sweeps import style
from tarry.results.charts import altair

TITLE = "Table 1, as measured"
COLUMNS = ("source", "in", "game", "claimed", "measured", "95 % interval", "verdict")
SAID = (
    "Each line is one exponent of the paper's Table 1: the power of T, of the delay, of the capacity C or of the "
    "dimension k in a player's bound on regret, and beside it the slope of its measured regret on logarithmic axes. A "
    "logarithm counts as the power 0. A slope is ok if it is at most 0.1 above the claim and, where the game attains "
    "the rate, at most 0.1 below."
)
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


def sheets(measured: Sequence[Measured]) -> list[Sheet]:
    """A sheet for each row of the table."""
    rates: dict[str, list[str]] = {}
    for cell in CELLS:
        rates.setdefault(cell.row, []).append(f"{cell.column}: {cell.rate}")
    return [
        Sheet(f"row-{i}", row, COLUMNS, [_line(one) for one in measured if one.claim.row == row], 3, "; ".join(said))
        for i, (row, said) in enumerate(rates.items(), 1)
    ]


def _line(one: Measured) -> tuple[str, ...]:
    claim, found = one.claim, one.found
    kind = f" ({claim.kind})" if claim.kind == UPPER else ""
    slope = DASH if found is None else _rounded(found.slope)
    interval = DASH if found is None else f"{_rounded(found.low)} to {_rounded(found.high)}"
    return claim.column, SYMBOLS[claim.by], claim.game, power(claim.exponent), slope, interval, one.verdict + kind


def _rounded(number: float) -> str:
    return f"{round(number, 2) + 0.0:.2f}"  # adding 0 takes the sign off a zero


def exponent_chart(measured: Sequence[Measured]) -> Any:
    """Every slope with its interval, less its claim: all between the lines at -0.1 and 0.1 is ok."""
    alt = altair()
    rows = [
        {
            "name": _name(one.claim),
            "off": one.found.slope - one.claim.exponent,
            "low": one.found.low - one.claim.exponent,
            "high": one.found.high - one.claim.exponent,
            "kind": one.claim.kind,
        }
        for one in measured
        if one.found is not None
    ]
    base = alt.Chart(alt.Data(values=rows))
    y = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=340))
    x = alt.X("off:Q", title="measured slope less the claimed exponent")
    shape = alt.Shape("kind:N", title=None, scale=alt.Scale(range=["circle", "triangle-left"]))
    fences = alt.Chart(alt.Data(values=[{"at": -0.1}, {"at": 0.0}, {"at": 0.1}]))
    layers = alt.layer(
        fences.mark_rule(color=FAINT, strokeDash=[3, 3]).encode(x="at:Q"),
        base.mark_rule(color=INK).encode(x="low:Q", x2="high:Q", y=y),
        base.mark_point(color=INK, filled=True, size=60, opacity=1).encode(x=x, y=y, shape=shape),
    )
    return dressed(layers.properties(width=360, height=rows_height(len(rows))))


def _name(claim: Claim) -> str:
    return f"{claim.row}: {claim.column}, {SYMBOLS[claim.by]}^({power(claim.exponent)}), {claim.game}"


def save_table1(measured: Sequence[Measured], folder: Path, command: str) -> list[Path]:
    """Write table1.html, table1.md and table1.tex."""
    made = sheets(measured)
    figure = f'<figure role="img" aria-label="{TITLE}">{svg_of(exponent_chart(measured))}</figure>'
    tables = "".join(f"<section><h2>{escape(sheet.title)}</h2>{html(sheet)}</section>" for sheet in made)
    said = "".join(f"<p>{escape(text)}</p>" for text in (SAID, UPPER_SAID))
    body = f"<h1>{TITLE}</h1>{said}{tables}<section><h2>All of them at once</h2>{figure}</section>"
    body += f"<section><h2>Where this comes from</h2><pre>{escape(command)}</pre></section>"
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"html": document(TITLE, body, style()), "md": markdown(made), "tex": latex(made)}
    paths = [folder / f"table1.{kind}" for kind in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths
