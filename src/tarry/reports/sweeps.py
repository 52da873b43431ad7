"""The report of a sweep: one self-contained page, figures as files, tables as text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tarry.reports.baselines import with_baselines
from tarry.reports.figures.cast import choose_cast
from tarry.reports.figures.comparators import comparator_figures
from tarry.reports.figures.curves import regret_curves
from tarry.reports.figures.ledger import ledger_figures
from tarry.reports.figures.look import DARK, Figure
from tarry.reports.figures.occupancy import occupancy_figures, tracked_figure
from tarry.reports.figures.scaling import scaling_figures
from tarry.reports.figures.survival import survival_figures
from tarry.reports.figures.timeline import timeline_figure
from tarry.reports.figures.weights import weight_figures
from tarry.reports.page import STYLE, document
from tarry.reports.sheets import Sheet, html, latex, markdown
from tarry.reports.summaries import exponent_sheet, ledger_sheet, ranking, result_sheet, warning_lines
from tarry.results.charts import draw

if TYPE_CHECKING:
    from tarry.experiments.replays import Replays
    from tarry.reports.view import View

KINDS = ("html", "svg", "pdf", "png", "tables")
ROWS = 120
DENSITY = 200


class Story(NamedTuple):
    """What a page says besides figures: where it comes from, how far it is, how to have it again."""

    name: str
    command: str
    planned: int
    finished: int
    failed: dict[str, str] = {}
    damaged: int = 0
    file: str = ""
    notes: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


class Report(NamedTuple):
    """Figures and sheets, ready to be written."""

    story: Story
    warnings: list[str]
    figures: list[Figure]
    sheets: list[Sheet]


def make_report(view: View, story: Story, replays: Replays | None = None) -> Report:
    """Everything that the results can show, and what a replay adds."""
    cast = choose_cast(ranking(view))
    scaled = scaling_figures(view, cast)
    figures = [*regret_curves(with_baselines(view), cast), *(figure for figure, _ in scaled)]
    if replays is not None:
        figures += comparator_figures(replays, cast)
    figures += [*weight_figures(view, cast), *occupancy_figures(view, cast), *ledger_figures(view)]
    if replays is not None:
        figures += [tracked_figure(replays, cast), timeline_figure(replays), *survival_figures(replays, cast)]
    fits = [fit for _, found in scaled for fit in found]
    sheets = [result_sheet(view), *([exponent_sheet(fits)] if fits else []), ledger_sheet(view)]
    return Report(story, warning_lines(view), figures, sheets)


def save_report(report: Report, folder: Path, kinds: Iterable[str] = KINDS) -> list[Path]:
    """Write index.html, figures/NAME.svg|pdf|png and tables.md|tex; the paths, the page first."""
    wanted, paths = set(kinds), []
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {figure.name: draw(figure.chart).decode() for figure in report.figures} if wanted & {"html", "svg"} else {}
    if "html" in wanted:
        paths.append(_write(folder / "index.html", page(report, drawn).encode()))
    if "tables" in wanted:
        paths.append(_write(folder / "tables.md", markdown(report.sheets).encode()))
        paths.append(_write(folder / "tables.tex", latex(report.sheets).encode()))
    for figure in report.figures:
        for kind in ("svg", "pdf", "png"):
            if kind in wanted:
                paths.append(_write(folder / "figures" / f"{figure.name}.{kind}", _drawn(figure, kind, drawn)))
    return paths


def _write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _drawn(figure: Figure, kind: str, drawn: dict[str, str]) -> bytes:
    if kind == "svg":
        return drawn[figure.name].encode()
    return draw(figure.chart.properties(background="white"), kind, density=DENSITY)


def page(report: Report, drawn: dict[str, str]) -> str:
    """The whole page, figures inside."""
    story = report.story
    parts = [f"<h1>{escape(story.name)}</h1>", *_standing(story), *_warnings(report.warnings), _contents(report)]
    for figure in report.figures:
        parts.append(
            f'<section id="{figure.name}"><h2>{escape(figure.title)}</h2><p>{escape(figure.text)}</p>'
            f'<figure role="img" aria-label="{escape(figure.title)}">{drawn[figure.name]}</figure></section>'
        )
    for sheet in report.sheets:
        parts.append(f'<section id="{sheet.name}"><h2>{escape(sheet.title)}</h2>{html(sheet, ROWS)}</section>')
    body = "\n".join([*parts, _origin(story)])
    return document(story.name, body, style())


def _standing(story: Story) -> list[str]:
    said = [f"{story.finished:,} of {story.planned:,} cells are finished."]
    if story.finished < story.planned:
        said.append("The others are left out of everything below; make the report again once they are there.")
    if story.damaged:
        said.append(f"{story.damaged} damaged files were skipped: run the sweep again.")
    parts = [f"<p>{escape(' '.join(said))}</p>"]
    parts += [f"<p class=note>{escape(note)}</p>" for note in story.notes]
    if story.failed:
        told = "".join(f"<li>{escape(sentence)}</li>" for sentence in dict.fromkeys(story.failed.values()))
        parts.append(f"<div class=warning><strong>{len(story.failed)} cells failed:</strong><ul>{told}</ul></div>")
    return parts


def _warnings(lines: list[str]) -> list[str]:
    if not lines:
        return []
    told = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return [f"<div class=warning><strong>Before you trust the numbers:</strong><ul>{told}</ul></div>"]


def _contents(report: Report) -> str:
    entries = [(figure.name, figure.title) for figure in report.figures]
    entries += [(sheet.name, sheet.title) for sheet in report.sheets]
    links = " · ".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in entries)
    return f"<nav>{links}</nav>"


def _origin(story: Story) -> str:
    parts = ['<section id="origin"><h2>Where this comes from</h2>']
    parts.append(f"<p>To have it again:</p><pre>{escape(story.command)}</pre>")
    if story.versions:
        parts.append("<p>Computed with:</p><ul>")
        parts += [f"<li>{escape(line)}</li>" for line in story.versions]
        parts.append("</ul>")
    if story.file:
        parts.append(f"<details open><summary>The sweep's file</summary><pre>{escape(story.file)}</pre></details>")
    else:
        parts.append("<p class=note>The sweep's file is not shown: <code>tarry report --file FILE</code> adds it.</p>")
    return "\n".join([*parts, "</section>"])


def style() -> str:
    """The page's style: that of all pages, with ink that changes on dark screens and stays on paper."""
    dark = "\n".join(
        f'  svg [fill="{light}" i] {{ fill: {other}; }} svg [stroke="{light}" i] {{ stroke: {other}; }}'
        for light, other in DARK.items()
    )
    return f"""{STYLE}
body {{ max-width: 54rem; }}
figure {{ background: none; color: inherit; padding: 0; }}
figure svg {{ display: block; }}
nav {{ font-size: .9rem; line-height: 1.9; }}
th.text, td.text {{ text-align: left; }}
table {{ font-size: .87rem; }}
th, td {{ padding: .2rem .45rem; }}
td.text {{ min-width: 6rem; }}
th:not(.text), td:not(.text) {{ text-align: right; white-space: nowrap; }}
.note {{ font-size: .9rem; }}
.warning {{ border-left: .3rem solid #E69F00; padding: .2rem 1rem; margin: 1rem 0; }}
pre {{ overflow-x: auto; padding: .75rem; border: 1px solid #8884; border-radius: .4rem; font-size: .85rem; }}
@media screen and (max-width: 50rem) {{
  figure svg {{ max-width: none; }}
  td.text {{ min-width: 3rem; }}
}}
@media screen and (prefers-color-scheme: dark) {{
  body {{ background: #161616; color: #e8e8e8; }}
  a {{ color: #8fd0f5; }}
{dark}
}}
@media print {{
  :root {{ color-scheme: light; }}
  body {{ font-size: 10pt; max-width: none; margin: 0; background: #fff; color: #000; }}
  nav {{ display: none; }}
  figure, tr, .warning {{ break-inside: avoid; }}
  h2, section > p {{ break-after: avoid; }}
  thead {{ display: table-header-group; }}
  table {{ font-size: 7.5pt; }}
  td.text {{ min-width: 0; }}
  th, td {{ padding: .1rem .35rem; }}
  .scroll, pre {{ overflow: visible; white-space: pre-wrap; }}
}}
"""
