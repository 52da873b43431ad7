"""The numbers of a sweep as sheets: results, exponents, ledger; and who did best."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from tarry.reports.figures.choices import not_finite
from tarry.reports.figures.quantities import Fit
from tarry.reports.sheets import DASH, Sheet, number, share
from tarry.results import FATES
from tarry.results.intervals import intervals, lost

if TYPE_CHECKING:
    from tarry.reports.view import View

BENT = 1.15
"""A mean farther than this factor from its fitted line makes the law doubtful."""

RESULTS = (
    "± is half the 95 % interval of the mean over seeds. Bound: on the weighted regret, from what was observed, mean "
    "over seeds. Seen: share of rounds whose feedback was used. Mean w and w²: of the weights, unseen rounds weighing "
    "0; unbiased schedulers have mean w = 1. Effective: effective sample size as a share of the rounds."
)
EXPONENTS = (
    "Least squares slopes on log-log axes, with 95 % intervals from the seeds; runs under one seed are taken to err "
    "together. Off the line: the farthest a mean lies from the fitted law, of three points or more. * more than 15 %: "
    "hardly a power law, and the slope depends on the range. No slope: fewer than two means are positive, or a run's "
    "regret is not finite."
)
LEDGER = (
    "Every round has one fate, and the shares of a row sum to 100 %. Used: its feedback reached the learner. "
    "Untracked: the scheduler declined it. Saturated: it found no room. Preempted: dropped again for another. Expired: "
    "given up. Pending: still out at the end."
)


def ranking(view: View) -> list[str]:
    """Lines by their mean rank in final regret over the settings, best first; unfinished ones last."""
    import polars as pl

    means = view.runs.group_by("setting", "line").agg(pl.col("regret").mean())
    ranked = means.with_columns(pl.col("regret").rank().over("setting").alias("rank"))
    average = dict(ranked.group_by("line").agg(pl.col("rank").mean()).iter_rows())
    return sorted(view.lines, key=lambda line: average.get(line, float("inf")))


def result_sheet(view: View) -> Sheet:
    """A row for each setting and line."""
    import polars as pl

    keys = ["setting", "line"]
    regret = intervals(view.runs, keys, "regret")
    seen = pl.col("used") / pl.col("horizon")
    effective = pl.col("effective_sample_size") / pl.col("horizon")
    others = view.runs.group_by(keys, maintain_order=True).agg(
        pl.len().alias("runs"),
        pl.col("bound").filter(pl.col("bound").is_finite()).mean().alias("bound"),
        seen.mean().alias("seen"),
        pl.col("weight_mean").mean().alias("w"),
        pl.col("weight_second_moment").mean().alias("w²"),
        effective.mean().alias("effective"),
        pl.col("occupancy_full").mean().alias("full"),
    )
    rows = [_result(row) for row in others.join(regret, on=keys, how="left", maintain_order="left").to_dicts()]
    gone = not_finite(lost(view.runs["regret"]))
    columns = ("setting", "player", "seeds", "regret", "bound", "seen", "mean w", "mean w²", "effective", "set full")
    return Sheet("results", "Results", columns, rows, note=RESULTS + gone)


def _result(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["setting"],
        row["line"],
        str(row["runs"]) if row["seeds"] == row["runs"] else f"{row['seeds'] or 0} of {row['runs']}",
        number(row["mean"], row["half"]),
        number(row["bound"]),
        share(row["seen"]),
        f"{row['w']:.3f}",
        number(row["w²"]),
        share(row["effective"]),
        share(row["full"]),
    )


def exponent_sheet(fits: list[Fit]) -> Sheet:
    """A row for each slope."""
    rows: list[tuple[str, ...]] = []
    for fit in fits:
        found = fit.exponent
        if found is None:
            rows.append((fit.quantity.words, fit.panel, fit.name, DASH, DASH, "0", DASH))
            continue
        interval = DASH if isnan(found.low) else f"[{found.low:.3f}, {found.high:.3f}]"
        off = f"{100 * (found.residual - 1):.0f} %" + (" *" if found.residual > BENT else "")
        off = off if found.points > 2 else DASH
        rows.append((fit.quantity.words, fit.panel, fit.name, f"{found.slope:.3f}", interval, str(found.points), off))
    columns = ("against", "setting", "player", "slope", "95 % interval", "points", "off the line")
    return Sheet("exponents", "Exponents", columns, rows, left=3, note=EXPONENTS)


def ledger_sheet(view: View) -> Sheet:
    """Shares of rounds by fate."""
    import polars as pl

    shares = view.runs.group_by("setting", "line", maintain_order=True).agg(
        (pl.col(fate) / pl.col("horizon")).mean() for fate in FATES
    )
    rows = [(row["setting"], row["line"], *(share(row[fate]) for fate in FATES)) for row in shares.to_dicts()]
    return Sheet("ledger", "What became of the rounds", ("setting", "player", *FATES), rows, note=LEDGER)


def warning_lines(view: View) -> list[str]:
    """What the cells warn of, each sentence once, with how many cells say it and where first."""
    found: dict[str, list[str]] = {}
    for row in view.cells.select("setting", "line", "warnings").drop_nulls().iter_rows():
        for sentence in str(row[2]).splitlines():
            found.setdefault(_common(sentence), []).append(f"{row[1]} ({row[0]})")
    return [_warning(sentence, list(dict.fromkeys(places))) for sentence, places in found.items()]


def _common(sentence: str) -> str:
    """The sentence without its first figure, in which cells differ."""
    head, _, tail = sentence.partition(" of rounds found no room")
    return f"Some rounds found no room{tail}" if tail and head.endswith("%") else sentence


def _warning(sentence: str, places: list[str]) -> str:
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{sentence[0].upper()}{sentence[1:]}. Told by {places[0]}{more}."
