"""Moments and lengths of time, beside what datetime itself says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.times import as_length, as_moment

MILLION = 1_000_000


@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1)))
def test_a_moment_is_what_datetime_says(when):
    exact = as_moment(when, "at")
    assert datetime(1970, 1, 1) + timedelta(microseconds=exact) == when
    assert exact == as_moment(when.isoformat(), "at") == as_moment(np.datetime64(when), "at")
    assert exact == as_moment(when.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=-7))), "at")


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("30d", 30 * 86400), ("36h", 36 * 3600), ("15min", 900), ("2w", 14 * 86400), ("1.5", 1.5), (7, 7), (0.25, 0.25)],
)
def test_lengths(given, seconds):
    assert as_length(given, "window") == seconds * MILLION
    assert as_length(timedelta(seconds=seconds), "window") == as_length(
        np.timedelta64(int(seconds * MILLION), "us"), ""
    )


def test_a_date_is_its_first_moment():
    assert as_moment(date(2026, 1, 31), "at") == as_moment("2026-01-31T00:00:00+00:00", "at")


@pytest.mark.parametrize(
    "bad", ["30 days", "", "d", 0, -1, True, None, float("nan"), float("inf"), "1e99d", "1e300d", 1e308, 10**400]
)
def test_no_length(bad):
    with pytest.raises(ValueError, match=r"window must be a positive length of time.* '30d' \(w, d, h, min, s\)"):
        as_length(bad, "window")


@pytest.mark.parametrize(
    "bad", ["yesterday", "3d", None, True, float("nan"), np.datetime64("NaT"), "nan", 1e308, 10**400, []]
)
def test_no_moment(bad):
    with pytest.raises(ValueError, match="at must be a moment"):
        as_moment(bad, "at")


def test_milliseconds_are_no_seconds():
    for moment in (1_767_225_600_000, 1_767_225_600_000.0, "1767225600000"):
        with pytest.raises(ValueError, match="seconds before the year 10000"):
            as_moment(moment, "at")
