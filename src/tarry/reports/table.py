"""One table for the terminal, for a page, for Markdown and for LaTeX (booktabs); numbers with their errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from tarry.outcomes import DASH, WITHOUT_WEIGHTS

if TYPE_CHECKING:
    from rich.table import Table as Grid

STAR = f"* unweighted: {WITHOUT_WEIGHTS}."  # under tables in which such policies carry one
PAGE = 40  # rows that fit on a page of LaTeX

# Text as LaTeX sets it: signs of its own escaped, symbols that the usual fonts lack as maths.
SYMBOLS = {"±": "pm", "σ": "sigma", "∞": "infty", "√": "surd", "×": "times", "≥": "geq", "≤": "leq", "η": "eta"}
SYMBOLS |= {"λ": "lambda", "Σ": "Sigma"}
TEX: dict[str, Any] = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {sign: f"${sign}$" for sign in "<>|"}
TEX |= {sign: f"$\\{name}$" for sign, name in SYMBOLS.items()} | {"²": "$^2$", "–": "--", "…": r"\dots{}"}
TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


class Table(NamedTuple):
    """A table of text, with figures written out already; columns without names have no head in the terminal."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    caption: str = ""
    text: tuple[str, ...] = ()  # columns of words, which stand left; the others hold figures and stand right
    wrap: tuple[str, ...] = ()  # columns that may take several lines in the terminal
    bold: tuple[int, ...] = ()  # rows that stand out in the terminal
    sections: tuple[int, ...] = ()  # rows with a line before them in the terminal
    gap: int = 1  # spaces between columns in the terminal
    name: str = "table"  # the table's address on a page, and its label in LaTeX

    def html(self, most: int | None = None) -> str:
        """Return the table as HTML, escaped, with the first rows only if there are more than ``most``."""
        return _written(self.columns, self.rows[:most], self._sides, "html")

    def markdown(self) -> str:
        """Return the table in GitHub's Markdown, under its title."""
        columns, *rows = ([cell.replace("|", "\\|") for cell in row] for row in (self.columns, *self.rows))
        caption = f"\n{self.caption}\n" if self.caption else ""
        return f"## {self.title}\n\n{_written(columns, rows, self._sides, 'pipe')}\n{caption}"

    def latex(self) -> str:
        """Return the table as LaTeX; one that fits no page runs over several, with its head on each."""
        from tabulate import DataRow, Line, TableFormat

        rules = [Line(f"\\{rule}", "", "", "") for rule in ("toprule", "midrule", "bottomrule")]
        # The braces keep a row that begins with a bracket from being read as an argument of the line before.
        head, row = (DataRow(begin, " & ", " \\\\") for begin in ("", "{}"))
        kind = TableFormat(rules[0], rules[1], None, rules[2], head, row, 0, None)
        columns, *rows = ([tex(cell) for cell in row] for row in (self.columns, *self.rows))
        written = _written(columns, rows, self._sides, kind)
        sides = "".join(side[0] for side in self._sides)
        said = f"{self.title}. {self.caption}" if self.caption else self.title
        caption = f"\\caption{{{tex(said)}}}\n\\label{{tab:{self.name}}}"
        if len(rows) <= PAGE:
            tabular = f"\\begin{{tabular}}{{{sides}}}\n{written}\n\\end{{tabular}}"
            return f"\\begin{{table}}\n\\centering\n{caption}\n{tabular}\n\\end{{table}}\n"
        top, _, body = written.partition("\\midrule\n")
        top += "\\midrule"
        body = body.removesuffix("\\bottomrule")
        return (
            f"\\begin{{longtable}}{{{sides}}}\n{caption}\\\\\n{top}\n\\endfirsthead\n{top}\n\\endhead\n"
            f"\\bottomrule\n\\endfoot\n{body}\\end{{longtable}}\n"
        )

    def rich(self) -> Grid:
        from rich import box
        from rich.table import Table as Grid
        from rich.text import Text

        # As Text, here and below, since a name may hold brackets, which rich would read as its markup.
        title, caption = (Text(text) if text else None for text in (self.title, self.caption))
        style: Any = {"title_justify": "left", "title_style": "bold", "caption_justify": "left", "pad_edge": False}
        style["show_header"] = any(self.columns)
        grid = Grid(box=box.SIMPLE_HEAD, title=title, caption=caption, padding=(0, self.gap, 0, 0), **style)
        for name, side in zip(self.columns, self._sides, strict=True):
            # A word that is longer than its column is folded, where rich would cut it.
            grid.add_column(Text(name), justify=side, no_wrap=name not in self.wrap, overflow="fold")  # type: ignore[arg-type]
        for i, row in enumerate(self.rows):
            if i in self.sections:
                grid.add_section()
            grid.add_row(*map(Text, row), style="bold" if i in self.bold else None)
        return grid

    @property
    def _sides(self) -> list[str]:
        return ["left" if name in self.text else "right" for name in self.columns]


def _written(columns: Sequence[str], rows: Sequence[Sequence[str]], sides: list[str], kind: Any) -> str:
    try:
        from tabulate import tabulate
    except ImportError as error:
        raise ImportError("tables need tabulate: pip install 'tarry[report]'") from error
    # Figures are written already: nothing is to be read as a number again. An empty table takes no sides.
    return str(tabulate(rows, columns, kind, disable_numparse=True, colalign=sides if rows else None))


def markdown(tables: Iterable[Table]) -> str:
    return "\n".join(table.markdown() for table in tables)


def latex(tables: Iterable[Table]) -> str:
    """Return tables as one file for LaTeX's \\input."""
    return "% needs \\usepackage{booktabs,longtable}\n" + "\n".join(table.latex() for table in tables)


def tex(text: str) -> str:
    """Return text as LaTeX sets it.

    >>> tex("50% of σ_max")
    '50\\\\% of $\\\\sigma$\\\\_max'
    """
    return text.translate(str.maketrans(TEX))


def share(value: float | None) -> str:
    if value is None or not isfinite(value):
        return DASH
    return f"{100 * value:.1f} %" if value == 0 or value >= 0.001 else "< 0.1 %"


def moment(value: float) -> str:
    """Return a second moment: two places, none from a hundred on."""
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
