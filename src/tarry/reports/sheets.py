"""Sheets: tables for a page, for Markdown and for LaTeX (booktabs), numbers with their errors."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from math import floor, isfinite, log10
from typing import NamedTuple

DASH = "–"
PAGE = 40
"""More rows than this do not fit on a page of LaTeX."""

TEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"${sign}$" for sign in "<>|"},
    "±": r"$\pm$",
    "σ": r"$\sigma$",
    "²": r"$^2$",
    "∞": r"$\infty$",
    "√": r"$\surd$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "–": "--",
    "…": r"\dots{}",
    "η": r"$\eta$",
    "λ": r"$\lambda$",
    "Σ": r"$\Sigma$",
}


class Sheet(NamedTuple):
    """A table: ``left`` columns of text, the others right-aligned."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    left: int = 2
    note: str = ""


def number(mean: float | None, half: float | None = None) -> str:
    """A number with its error: both to the error's second digit; four digits where there is none.

    >>> number(1234.567, 12.3), number(0.5, None), number(float("nan")), number(3.14159, 0.0)
    ('1,235 ± 12', '0.5', '–', '3.142')
    """
    if mean is None or not isfinite(mean):
        return DASH
    if half is None or not isfinite(half) or half <= 1e-12 * abs(mean):  # none, or rounding
        return f"{mean:,.0f}" if abs(mean) >= 1000 else f"{mean:.4g}"
    places = max(0, min(8, 1 - floor(log10(half))))
    return f"{mean:,.{places}f} ± {half:,.{places}f}"


def share(value: float | None) -> str:
    """A share as per cent."""
    if value is None or not isfinite(value):
        return DASH
    return f"{100 * value:.1f} %" if value == 0 or value >= 0.001 else "< 0.1 %"


def markdown(sheets: Iterable[Sheet]) -> str:
    """The sheets as GitHub's tables."""
    return "\n".join(_markdown(sheet) for sheet in sheets)


def _markdown(sheet: Sheet) -> str:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = ["---" if i < sheet.left else "---:" for i in range(len(sheet.columns))]
    lines = [f"## {sheet.title}", "", line(sheet.columns), line(rule), *map(line, sheet.rows), ""]
    return "\n".join([*lines, *([sheet.note, ""] if sheet.note else [])])


def latex(sheets: Iterable[Sheet]) -> str:
    """The sheets as tables that need the packages below, and may be read in with \\input; long ones run over pages."""
    return "% needs \\usepackage{booktabs,longtable}\n" + "\n".join(_latex(sheet) for sheet in sheets)


def _latex(sheet: Sheet) -> str:
    columns = "l" * sheet.left + "r" * (len(sheet.columns) - sheet.left)
    # The braces keep a row that begins with a bracket from being read as an argument of the line before.
    rows = "\n".join(f"{{}}{' & '.join(map(tex, row))} \\\\" for row in sheet.rows)
    caption = tex(f"{sheet.title}. {sheet.note}" if sheet.note else sheet.title)
    said = f"\\caption{{{caption}}}\n\\label{{tab:{sheet.name}}}"
    head = f"\\toprule\n{' & '.join(map(tex, sheet.columns))} \\\\\n\\midrule"
    if len(sheet.rows) > PAGE:
        return (
            f"\\begin{{longtable}}{{{columns}}}\n{said}\\\\\n{head}\n\\endfirsthead\n{head}\n\\endhead\n"
            f"\\bottomrule\n\\endfoot\n{rows}\n\\end{{longtable}}\n"
        )
    return (
        f"\\begin{{table}}\n\\centering\n{said}\n\\begin{{tabular}}{{{columns}}}\n{head}\n"
        f"{rows}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def tex(text: str) -> str:
    """Text as LaTeX sets it.

    >>> tex("50% of σ_max")
    '50\\\\% of $\\\\sigma$\\\\_max'
    """
    return "".join(TEX.get(sign, sign) for sign in text)


def html(sheet: Sheet, most: int | None = None) -> str:
    """The sheet for a page; of a long one the first rows, and a sentence on the others."""
    kept = sheet.rows if most is None else sheet.rows[:most]
    head = "".join(f"<th{_side(i, sheet)}>{escape(name)}</th>" for i, name in enumerate(sheet.columns))
    body = "".join(
        "<tr>" + "".join(f"<td{_side(i, sheet)}>{escape(cell)}</td>" for i, cell in enumerate(row)) + "</tr>"
        for row in kept
    )
    left = len(sheet.rows) - len(kept)
    notes = [sheet.note, f"{left:,} more rows are in tables.md and tables.tex." if left else ""]
    note = "".join(f"<p class=note>{escape(text)}</p>" for text in notes if text)
    return f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{note}"


def _side(column: int, sheet: Sheet) -> str:
    return " class=text" if column < sheet.left else ""
