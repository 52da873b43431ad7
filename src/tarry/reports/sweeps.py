"""The report of a sweep: one self-contained page, figures as files, tables as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tarry.charts import convert, intervals, lost
from tarry.experiments.folder import Folder, Tables
from tarry.experiments.sweep import BEST
from tarry.outcomes import DASH, FATES, counted, number
from tarry.reports import regret as regrets
from tarry.reports import tracking
from tarry.reports.comparisons import difference_figures, difference_table, differences, pairing_note, pivot_table
from tarry.reports.exponents import POINTS, Fit
from tarry.reports.page import Page
from tarry.reports.style import TOLD_APART, Cast, captions, choose, not_finite
from tarry.reports.table import Table, latex, markdown, share
from tarry.reports.view import View, over_what, unlimited_note, with_baselines

KINDS = ("html", "svg", "pdf", "png", "tables")
DENSITY = 200  # dots an inch of a .png, for print
ROUNDING = 1e-12  # relative, of a mean: an interval that is no wider is none


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


def tell_story(results: Folder, tables: Tables, file: Path | None) -> Story:
    """Return what a page says of the sweep in a folder of results; ``file`` is the sweep's, if not as it was run."""
    cells = tables.cells
    text = results.text() if file is None else file.read_text(encoding="utf-8")
    planned = set(cells["cell"])  # a folder may hold failures of cells that the sweep has no more
    versions = cells["versions"].drop_nulls().unique(maintain_order=True)
    name = str(cells["sweep"][0])
    command = f"tarry sweep run {file or f'{name}.toml'} --results {results.path}\ntarry report {results.path}"
    return Story(
        name=name,
        command=command,
        planned=len(planned),
        finished=tables.runs["cell"].n_unique(),
        failed={cell: sentence for cell, sentence in results.failed().items() if cell in planned},
        damaged=len(results.read(["cell"]).damaged),
        file=text,
        versions=tuple(", ".join(f"{name} {number}" for name, number in json.loads(said).items()) for said in versions),
    )


def make_report(view: View, story: Story, against: str | None = None, choices: Sequence[Table] = ()) -> Page:
    """Return the page of everything that the results can show.

    Differences are from the player ``against``, by default the first of the file; ``choices`` are tables of what was
    tuned.
    """
    base, told = against or view.lines[0], _comparator_note(view)
    shown = choose(view.lines, most=TOLD_APART)
    cast = Cast(shown, len(view.lines) - len(shown))
    over, free = over_what(view.cells), unlimited_note(view)
    scaled = regrets.scaling_figures(view, cast, over)
    apart, pairs = differences(view, base), pairing_note(view)
    figures = [*regrets.regret_curves(with_baselines(view), cast, over, free)]
    figures += [*difference_figures(view, apart, cast, base, pairs), *(figure for figure, _ in scaled)]
    figures += [*tracking.metric_figures(view, cast), *tracking.ledger_figures(view)]
    fits = [fit for _, found in scaled for fit in found if fit.points >= POINTS and fit.seeds[0] > 1]
    by_player = pivot_table(view)
    tables = [result_table(view), *([by_player] if by_player else [])]
    tables += [difference_table(apart, base, pairs)] if apart.height else []
    tables += [*choices, *([exponent_table(fits, over)] if fits else []), ledger_table(view)]
    said = [f"{story.finished:,} of {story.planned:,} cells are finished."]
    if story.finished < story.planned:
        said.append("The others are left out of everything below; make the report again once they are there.")
    if story.damaged:
        said.append(f"{story.damaged} damaged files were skipped: run the sweep again.")
    warnings = {
        f"{len(story.failed)} cells failed:": list(dict.fromkeys(story.failed.values())),
        "Before you trust the numbers:": warning_lines(view),
    }
    source = story.command, story.versions, story.file
    notes = (*story.notes, *told, *_one_seed_note(view))
    return Page(story.name, [" ".join(said)], notes, warnings, [*figures, *tables], *source)


def _one_seed_note(view: View) -> list[str]:
    """Return a sentence where means are of one seed."""
    counts = view.runs.group_by("setting", "line").agg(pl.col("seed").n_unique())["seed"]
    alone = int((counts == 1).sum())
    words = f"{alone:,} of {counted(counts.len(), 'mean')} {'is' if alone == 1 else 'are'} of one seed"
    return [f"{words}: without an interval, such a number tells of its seed alone."] if alone else []


def _comparator_note(view: View) -> list[str]:
    """Return a sentence where regret is not against the best fixed action; raise ValueError where there is none."""
    given = {
        json.dumps(json.loads(text).get("comparator", BEST)) for text in view.cells["content"] if '"comparator"' in text
    } - {f'"{BEST}"'}
    if '"none"' in given:
        raise ValueError(
            'these results have losses and no regret (comparator = "none" in the sweep), and a report is about regret: '
            "tarry results show has mean losses, and with another comparator the sweep has regret"
        )
    words = "Regret is against the action or path that the sweep gives as comparator, not against the best fixed action"
    return [f"{words}: it may be negative, and has no bound beside it."] if given else []


def save_report(report: Page, folder: Path, kinds: Iterable[str] = KINDS) -> list[Path]:
    """Write index.html, figures/NAME.svg|pdf|png and tables.md|tex; return the paths, the page first."""
    wanted = set(kinds)
    # The page and the files of figures show the same SVG, and drawing takes longest.
    svgs = report.svgs() if wanted & {"html", "svg", "pdf", "png"} else {}
    files: dict[str, bytes] = {}
    if "html" in wanted:
        files["index.html"] = report.html(svgs).encode()
    if "tables" in wanted:
        files["tables.md"] = markdown(report.tables).encode()
        files["tables.tex"] = latex(report.tables).encode()
    for figure in report.figures:
        if "svg" in wanted:
            files[f"figures/{figure.name}.svg"] = svgs[figure.name].encode()
        if "png" in wanted:
            files[f"figures/{figure.name}.png"] = convert(svgs[figure.name], "png", density=DENSITY, ground="white")
        if "pdf" in wanted:
            files[f"figures/{figure.name}.pdf"] = convert(svgs[figure.name], "pdf")
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


def result_table(view: View) -> Table:
    """Return a table with a row for each setting and line."""
    keys = ["setting", "line"]
    others = view.runs.group_by(keys, maintain_order=True).agg(
        pl.col("bound", "weight_mean", "weight_second_moment", "occupancy_full").mean(),
        runs=pl.len(),
        seen=(pl.col("used") / pl.col("horizon")).mean(),
        effective=(pl.col("effective_sample_size") / pl.col("horizon")).mean(),
    )
    regret = intervals(view.runs, keys, "regret")
    rows = [
        (
            row["setting"],
            row["line"],
            _counted(row),
            number(row["mean"], row["half"]),
            number(row["bound"]),
            share(row["seen"]),
            f"{row['weight_mean']:.3f}",
            number(row["weight_second_moment"]),
            share(row["effective"]),
            share(row["occupancy_full"]),
        )
        for row in others.join(regret, on=keys, how="left", maintain_order="left").to_dicts()
    ]
    gone = not_finite(lost(view.runs["regret"]))
    columns = ("setting", "player", "seeds", "regret", "bound", "seen", "mean w", "mean w²", "effective", "set full")
    return _table("results", columns, rows, over_what(view.cells) + gone)


def _counted(row: dict[str, Any]) -> str:
    """Return how many seeds a mean is over: some of the runs, all of them, or all alike and so one."""
    if (row["seeds"] or 0) < row["runs"]:
        return f"{row['seeds'] or 0} of {row['runs']}"
    is_alike = row["runs"] > 1 and row["half"] <= ROUNDING * abs(row["mean"])
    return f"{row['runs']}, alike" if is_alike else str(row["runs"])


def exponent_table(fits: list[Fit], note: str = "") -> Table:
    rows: list[tuple[str, ...]] = []
    for fit in fits:
        slope = bend = DASH
        if (found := fit.exponent) is not None:
            bend = number(found.bend, found.bend_half)
            slope = DASH if found.is_bent else number(found.slope, found.half)
        reach = " to ".join(f"{end:,.4g}" if end < 1000 else f"{end:,.0f}" for end in fit.reach)
        seeds = str(fit.seeds[0]) if fit.seeds[0] == fit.seeds[1] else f"{fit.seeds[0]} to {fit.seeds[1]}"
        told = (slope, bend, fit.law, reach, str(fit.points), seeds)
        rows.append((fit.quantity.words, fit.panel, fit.name, *told))
    columns = ("against", "setting", "player", "slope", "bend", "law", "range", "points", "seeds")
    return _table("exponents", columns, rows, note)


def ledger_table(view: View) -> Table:
    shares = tracking.fate_shares(view).to_dicts()
    rows = [(row["setting"], row["line"], *(share(row[fate]) for fate in FATES)) for row in shares]
    return _table("ledger", ("setting", "player", *FATES), rows)


def _table(name: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], note: str = "") -> Table:
    told = captions()[name]
    words = ("against", "setting", "player", "law")
    return Table(told["title"], columns, rows, told["text"] + note, text=words, name=name)


def warning_lines(view: View) -> list[str]:
    """Return what the cells warn of, each sentence once, with how many cells say it and where first."""
    found: dict[str, dict[str, None]] = {}
    for setting, line, told in view.cells.select("setting", "line", "warnings").drop_nulls().iter_rows():
        for sentence in told.splitlines():
            # Cells differ in the figure that this sentence begins with; those of earlier versions do not say "chosen".
            common = re.sub(r"^\d+% of (?=(chosen )?rounds found no room)", "Some ", sentence)
            found.setdefault(common, {})[f"{line} ({setting})"] = None
    lines = []
    for sentence, places in found.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        lines.append(f"{sentence[0].upper()}{sentence[1:]}. Told by {next(iter(places))}{more}.")
    return lines
