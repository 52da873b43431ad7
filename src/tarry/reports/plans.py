"""Plans and bounds as tables, and a plan as a picture or a page."""

from __future__ import annotations

from pathlib import Path

from tarry.outcomes import DASH
from tarry.planning import Plan
from tarry.planning.bounds import Bound
from tarry.planning.measure import Figures
from tarry.planning.plan import few
from tarry.reports.page import Page, save_page
from tarry.reports.style import Figure, captions, figure
from tarry.reports.table import STAR, Table, moment

NOT_OFFERED = "– not offered at so few (or so many) slots: see docs/planning.md."
SUFFIXES = (".svg", ".png", ".html")


def plan_tables(plan: Plan) -> list[Table]:
    """Return the recommended scheduler in full, and the effective sample size of all of them."""
    shares = {(f.capacity, f.scheduler): f.effective for f in plan.figures}
    capacities = sorted({f.capacity for f in plan.figures})
    # At the largest capacity every scheduler takes part.
    last = [f for f in plan.figures if f.capacity == capacities[-1]]
    rows = []
    for capacity in capacities:
        found = [shares.get((capacity, f.scheduler)) for f in last]
        told = (DASH if share is None else f"{share:.1%}" if share >= 0.001 else "< 0.1%" for share in found)
        rows.append((f"{capacity:,}", *told))
    star = "" if all(f.is_unbiased for f in last) else STAR
    not_offered = NOT_OFFERED if any(DASH in row for row in rows) else ""
    comparison = Table(
        "Effective sample size by scheduler",
        ("slots", *map(_heading, last)),
        rows,
        "\n".join(filter(None, [star, not_offered])),
        bold=tuple(i for i, capacity in enumerate(capacities) if capacity == plan.capacity),
        gap=0,  # fourteen schedulers fill eighty columns
        name="schedulers",
    )
    # Of one scheduler the first table says all.
    return [_details(plan), comparison] if len(last) > 1 else [_details(plan)]


def _details(plan: Plan) -> Table:
    """Return the figures of the recommended scheduler (or the first), a row for each capacity."""
    name = plan.figures[0].scheduler if plan.choice is None else plan.choice.scheduler
    a_day = ("a day",) if plan.backlog.per_day else ()
    columns = ("slots", "seen", "mean w²", "effective", *a_day, "errors", "refused")
    shown = [f for f in plan.figures if f.scheduler == name]
    rows = []
    for f in shown:
        daily = () if (labels := plan.daily(f)) is None else (few(labels),)
        # An error below a twentieth would not change what a reader does.
        is_known = f.second_moment_error < 0.05 * f.second_moment
        square = moment(f.second_moment) + ("" if is_known else f" (s.e. {f.second_moment_error:.0f})")
        figures = (f"{f.seen:.1%}", square, f"{f.effective:.1%}", *daily, f"×{f.error_factor:.2f}")
        rows.append((f"{f.capacity:,}", *figures, f"{f.saturated:.1%}"))
    bold = tuple(i for i, f in enumerate(shown) if f.capacity == plan.capacity)
    return Table(name, columns, rows, captions()["figures"]["text"], bold=bold, name="figures")


def _heading(f: Figures) -> str:
    """Return the scheduler's name on two lines, so that all fit a terminal."""
    first, _, rest = f.scheduler.replace("(", "").replace(")", "").partition(" ")
    return "\n".join(part for part in (first, rest) if part) + ("" if f.is_unbiased else " *")


def check_chart(path: Path) -> None:
    """Raise ValueError if a chart cannot be written as this file."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"a chart is written as {', '.join(SUFFIXES)}, got {path.name!r}")


def save_plan(plan: Plan, path: Path) -> Path:
    """Write the plan's picture (.svg, .png) or a page that holds it (.html); return the absolute path."""
    check_chart(path)
    if path.suffix.lower() != ".html":
        path.parent.mkdir(parents=True, exist_ok=True)
        plan.plot().save(path)
        return path.resolve()
    text = [plan.keep_all, plan.backlog.sentence, plan.backlog.little, plan.recommendation]
    warnings = {"Before you trust the numbers:": [f"{sentence}." for sentence in plan.warnings]}
    parts: list[Figure | Table] = [figure("plan", plan.plot()), _details(plan)]
    return save_page(Page("How many slots?", text, warnings=warnings, parts=parts), path)


def bounds_table(bounds: list[Bound], trivial: float | None) -> Table:
    """Return bounds by game, with the share of GDT where that is known."""
    rows: list[tuple[str, ...]] = []
    games = []
    previous = None
    for b in bounds:
        if b.game != previous:  # a row of its own before the bounds of a game
            games.append(len(rows))
            rows.append((b.game, "", "", "", ""))
        value = DASH if b.value is None else f"{b.value:,.0f}" if b.value >= 100 else f"{b.value:.3g}"
        part = "" if b.value is None or trivial is None else f"{b.value / trivial:.3g}"
        rows.append((f"  {b.scheduler}", b.source, value, part, b.note))
        previous = b.game
    columns = ("scheduler", "source", "bound", "/ GDT", "note")
    known = [column for column in columns if trivial is not None or column != "/ GDT"]
    return Table(
        "Bounds on expected regret",
        tuple(known),
        [tuple(row[columns.index(column)] for column in known) for row in rows],
        "" if trivial is None else f"GDT = {trivial:,.0f} holds for every player: a bound above it is empty.",
        text=("scheduler", "source", "note"),
        wrap=("note",),
        bold=tuple(games),
        sections=tuple(games),
    )


def delays_table(found: dict[int, list[Bound]], horizon: int) -> Table:
    """Return bounds with a column for each mean delay."""
    rows = []
    for i, first in enumerate(next(iter(found.values()))):
        values = [bounds[i].value for bounds in found.values()]
        told = (DASH if value is None else f"{value:,.0f}" for value in values)
        rows.append((first.scheduler, first.source, *told, first.note))
    return Table(
        "Bounds on expected regret by mean delay, convex losses",
        ("scheduler", "source", *(f"delay {mean:,}" for mean in found), "note"),
        rows,
        f"In units of GD (G: largest norm of a gradient, D: diameter of the domain). {horizon:,} GD holds for every "
        "player: a bound above it is empty. --diameter, --gradient-bound and --total-delay give those of one game.",
        text=("scheduler", "source", "note"),
        wrap=("note",),
    )
