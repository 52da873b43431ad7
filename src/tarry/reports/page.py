"""One page for everything: text, figures as inline SVG, tables; self-contained, without scripts or network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tarry.charts import DARK, draw
from tarry.reports.style import Figure
from tarry.reports.table import Table

if TYPE_CHECKING:
    from jinja2 import Template

ROWS = 120  # of a table on a page: a browser lays out more slowly than a reader scrolls


class Origin(NamedTuple):
    """Where a page comes from: the command that makes it again, versions, and the sweep's file (None: no sweep)."""

    command: str
    versions: tuple[str, ...] = ()
    file: str | None = None


class Page(NamedTuple):
    """What a page holds, in this order: paragraphs, small notes, warnings under their headings, figures and tables."""

    title: str
    paragraphs: Iterable[str] = ()
    notes: Iterable[str] = ()
    warnings: dict[str, list[str]] = {}
    parts: Sequence[Figure | Table] = ()
    origin: Origin | None = None

    def html(self, drawn: dict[str, str] | None = None) -> str:
        """Return the page as text; ``drawn`` has figures by name that are SVG already."""
        from markupsafe import Markup

        shown: list[dict[str, Any]] = []
        for part in self.parts:
            is_figure = isinstance(part, Figure)
            inside = svg(part, drawn or {}) if isinstance(part, Figure) else part.html(ROWS)
            # Both are escaped by whoever wrote them; everything else is escaped by the template.
            shown.append({"part": part, "is_figure": is_figure, "inside": Markup(inside), "left": _left_out(part)})
        return _template().render(page=self, parts=shown, dark=DARK)


def svg(figure: Figure, drawn: dict[str, str]) -> str:
    """Return a figure as SVG without a ground, from those drawn already if it is among them."""
    return drawn.get(figure.name) or draw(figure.chart, ground="transparent").decode()


def _left_out(part: Figure | Table) -> int:
    return max(0, len(part.rows) - ROWS) if isinstance(part, Table) else 0


@cache
def _template() -> Template:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ImportError("pages need jinja2: pip install 'tarry[report]'") from error
    here = FileSystemLoader(Path(__file__).parent)
    settings: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined}
    return Environment(loader=here, autoescape=True, **settings).get_template("page.html")


def save_page(page: Page, path: Path) -> Path:
    """Write a page and return its absolute path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page.html(), encoding="utf-8")
    return path.resolve()
