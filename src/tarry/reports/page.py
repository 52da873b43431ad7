"""One page for everything: text, figures as inline SVG, tables; self-contained, without scripts or network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tarry.charts import DARK, draw
from tarry.reports.style import Figure
from tarry.reports.table import Table

ROWS = 120  # of a table on a page: a browser lays out more slowly than a reader scrolls


class Page(NamedTuple):
    """What a page holds, in this order: paragraphs, small notes, warnings under their headings, figures and tables.

    At the end stand the command that makes the page again, versions, and the sweep's file (None: there is no sweep).
    Before all of it there may be a guide: short texts by heading, with commands in backticks.
    """

    title: str
    paragraphs: Iterable[str] = ()
    notes: Iterable[str] = ()
    warnings: dict[str, list[str]] = {}
    parts: Sequence[Figure | Table] = ()
    command: str = ""
    versions: Sequence[str] = ()
    file: str | None = None
    guide: dict[str, str] = {}

    @property
    def figures(self) -> list[Figure]:
        return [part for part in self.parts if isinstance(part, Figure)]

    @property
    def tables(self) -> list[Table]:
        return [part for part in self.parts if isinstance(part, Table)]

    def svgs(self) -> dict[str, str]:
        """Return the figures by name as SVG, without a ground: the page has its own, light or dark."""
        return {figure.name: draw(figure.chart, ground="transparent").decode() for figure in self.figures}

    def html(self, svgs: dict[str, str] | None = None) -> str:
        """Return the page as text; ``svgs`` has the figures by name where they are drawn already."""
        try:
            from jinja2 import Environment, FileSystemLoader, StrictUndefined
            from markupsafe import Markup, escape
        except ImportError as error:
            raise ImportError("pages need jinja2: pip install 'tarry[report]'") from error
        svgs = self.svgs() if svgs is None else svgs
        # Figures and tables come escaped; everything else is escaped by the template.
        inside = [Markup(svgs[one.name] if isinstance(one, Figure) else one.html(ROWS)) for one in self.parts]
        settings: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined}
        here = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, **settings)
        here.filters["code"] = lambda text: Markup(re.sub("`(.*?)`", r"<code>\1</code>", str(escape(text))))
        return here.get_template("page.html").render(page=self, inside=inside, most=ROWS, dark=DARK)


def save_page(page: Page, path: Path) -> Path:
    """Write a page and return its absolute path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page.html(), encoding="utf-8")
    return path.resolve()
