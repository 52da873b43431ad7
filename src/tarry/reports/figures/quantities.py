"""What varies in a sweep, and the exponents of regret in it."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, NamedTuple

from tarry.reports.view import AXIS
from tarry.results.exponents import Exponent, fit_exponent
from tarry.results.intervals import lost

if TYPE_CHECKING:
    import polars as pl

    from tarry.reports.view import View


class Quantity(NamedTuple):
    """Something to plot against: ``column`` of the runs, in words, and the keys that make it vary."""

    name: str
    column: str
    words: str
    title: str
    drivers: list[str]


class Fit(NamedTuple):
    """An exponent with where it was found; None where it cannot be."""

    quantity: Quantity
    panel: str
    name: str
    exponent: Exponent | None


def quantities(view: View) -> list[Quantity]:
    """Everything that varies in this sweep and has a scale."""
    import polars as pl

    late, limited = view.delay_keys, view.runs["capacity"].drop_nulls().n_unique() > 1
    found = []
    if limited:
        found.append(Quantity("capacity", "capacity", "capacity C (slots)", "Regret against capacity", ["capacity"]))
    if limited or (late and view.runs["capacity"].drop_nulls().len()):
        drivers = ["capacity", *late]
        found.append(Quantity("load", "load", "σ_max / C", "Regret against the load σ_max/C", drivers))
    if late:
        backlog = "largest backlog σ_max"
        found.append(Quantity("backlog", "max_backlog", backlog, "Regret against the largest backlog", late))
        found.append(Quantity("delay", "total_delay", "total delay d_tot", "Regret against total delay", late))
    for name, words in (("dimension", "dimension k"), ("horizon", "horizon T (rounds)")):
        if name in view.game_keys:
            found.append(Quantity(name, name, words, f"Regret against {words.partition(' ')[0]}", [name]))
    for key in dict.fromkeys([*view.game_keys, *view.player_keys]):
        if key.startswith(AXIS) and key not in late and view.runs.schema[key].is_numeric():
            words = key.removeprefix(AXIS)
            found.append(Quantity(words, key, words, f"Regret against {words}", [key]))
    return [q for q in found if measured(view, q).select(pl.col("x").drop_nulls().n_unique()).item() > 1]


def measured(view: View, quantity: Quantity) -> pl.DataFrame:
    """Runs with columns panel, name, x: the quantity, on average over the seeds of a setting."""
    import polars as pl

    runs = view.runs.with_columns((pl.col("max_backlog") / pl.col("capacity")).alias("load"))
    named = view.named(runs, quantity.drivers)
    x = pl.col(quantity.column).cast(pl.Float64).mean().over("setting", "line").alias("x")
    return named.with_columns(x).filter(pl.col("x").is_not_null())


def fits(view: View, quantity: Quantity) -> list[Fit]:
    """An exponent for each panel and line."""
    found = []
    for (panel, name), runs in measured(view, quantity).group_by("panel", "name", maintain_order=True):
        found.append(Fit(quantity, str(panel), str(name), _fitted(runs)))
    return found


def _fitted(runs: pl.DataFrame) -> Exponent | None:
    """The exponent; None with fewer than two positive means, or where a run has no finite regret."""
    if lost(runs["regret"]):  # a run that went astray is not one that was never run
        return None
    table = runs.pivot(on="seed", index=["setting", "line", "x"], values="regret", aggregate_function="mean").sort("x")
    try:
        return fit_exponent(table["x"].to_numpy(), table.drop("setting", "line", "x").to_numpy())
    except ValueError:
        return None


def told(exponent: Exponent | None) -> str:
    """A slope with its interval, in a few characters."""
    if exponent is None:
        return "no slope"
    if isnan(exponent.low):
        return f"slope {exponent.slope:.2f}"
    return f"slope {exponent.slope:.2f} [{exponent.low:.2f}, {exponent.high:.2f}]"
