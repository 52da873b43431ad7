"""A comparison of policies on a log as a table, and as a page."""

from __future__ import annotations

from pathlib import Path

from tarry.cases import Comparison
from tarry.outcomes import DASH
from tarry.reports.page import Page, save_page
from tarry.reports.style import captions
from tarry.reports.table import Table


def case_table(made: Comparison) -> Table:
    """Return a row for each model, release and policy."""
    rows, sections, bold = [], [], []
    previous = None
    for i, row in enumerate(made.table.sort("model", "release", maintain_order=True).iter_rows(named=True)):
        group = (row["model"], row["release"])
        if group != previous:
            sections.append(i)
        previous = group
        if row["policy"] == "VarOpt":
            bold.append(i)
        believed = DASH if not row["rows"] else f"{row['believed']:.4g}"
        if row["rows"] and row["believed_deviation"]:
            believed += f" ({row['believed_deviation']:.2g})"
        behind = DASH if row["behind"] is None else f"{row['behind']:+.4f}"
        if row["behind_half"] is not None:
            behind += f" ± {row['behind_half']:.4f}"
        slots = "no limit" if row["slots"] is None else f"{row['slots']:,}"
        figures = (f"{row['rows']:,.0f}", believed, f"{row['loss']:.4f}", behind, f"{row['calibration']:.3f}")
        rows.append((*group, row["policy"], slots, *figures, f"× {row['setting']:g}"))
    return Table(
        f"Policies on this log (true mean label, over the runs: {made.truth:.4g})",
        (
            "model",
            "release",
            "policy",
            "slots",
            "rows",
            "believed",
            "loss",
            "behind drop newest",
            "calibration",
            "setting",
        ),
        rows,
        captions()["case"]["text"],
        text=("model", "release", "policy"),
        bold=tuple(bold),
        sections=tuple(sections),
        name="case",
    )


def save_case(made: Comparison, path: Path) -> Path:
    """Write a page with the table and what to take; return the absolute path."""
    if path.suffix.lower() != ".html":
        raise ValueError(f"a page is written as .html, got {path.name!r}")
    return save_page(Page("Which policy, on this log?", [made.facts, *made.advice], parts=[case_table(made)]), path)
