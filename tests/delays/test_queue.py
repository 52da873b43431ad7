"""The queue against an event simulation written the other way round: events first, jobs second."""

from __future__ import annotations

import heapq
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tarry import delays
from tarry.testing import DelaysContract


def departures(times: list[float], servers: int) -> list[float]:
    """An event list: arrivals and departures in order of time, a waiting line, a number of idle servers."""
    events = [(float(t), 1, t) for t in range(1, len(times) + 1)]
    heapq.heapify(events)
    waiting: list[int] = []
    idle, left = servers, [0.0] * len(times)
    while events:
        now, is_arrival, job = heapq.heappop(events)
        if is_arrival:
            waiting.append(job)
        else:
            idle += 1
        while idle and waiting:
            job = waiting.pop(0)
            idle -= 1
            left[job - 1] = now + times[job - 1]
            heapq.heappush(events, (left[job - 1], 0, job))
    return left


@pytest.mark.parametrize("service", ["exponential", "lognormal", "pareto"])
class TestQueue(DelaysContract):
    @pytest.fixture(autouse=True)
    def _choose(self, service: str) -> None:
        self.service = service

    def make(self, horizon: int, rng: int) -> delays.Delays:
        return delays.queue(horizon=horizon, servers=3, service=self.service, load=0.9, rng=rng)


class TestFixedService(DelaysContract):
    random = False

    def make(self, horizon: int, rng: int) -> delays.Delays:
        return delays.queue(horizon=horizon, servers=3, service="fixed", mean=3.5, rng=rng)


@given(
    times=st.lists(
        st.one_of(st.integers(0, 8).map(float), st.floats(0, 30, allow_subnormal=False)),
        min_size=1,
        max_size=40,
    ),
    servers=st.integers(1, 5),
)
def test_equals_event_simulation(times: list[float], servers: int) -> None:
    found = delays.queue(horizon=len(times), servers=servers, service=times)
    left = departures(times, servers)
    expected = delays.array([floor(d) - t for t, d in enumerate(left, 1)])
    assert found == expected
    # The same times as a trace: round t is decided at time t.
    assert np.array_equal(found.values, delays.trace(np.arange(1.0, len(times) + 1), left).values)


def test_enough_servers_means_no_waiting() -> None:
    times = np.random.default_rng(3).exponential(20.0, 500)
    found = delays.queue(horizon=500, servers=10**9, service=times)
    assert found == delays.array(np.floor(times + np.arange(1, 501)) - np.arange(1, 501))


def first_times(service: str, mean: float, **options: float) -> np.ndarray:
    """Whole service times of jobs that never wait."""
    found = delays.queue(horizon=40_000, servers=40_000, service=service, mean=mean, rng=5, **options)
    return found.values[:20_000]


@pytest.mark.parametrize(
    ("service", "options", "law"),
    [
        ("exponential", {}, stats.expon(scale=300)),
        pytest.param(
            *("lognormal", {"spread": 0.5}, stats.lognorm(0.5, scale=300 * np.exp(-0.125))), marks=pytest.mark.slow
        ),
        pytest.param("pareto", {"shape": 5.0}, stats.lomax(5.0, scale=1200), marks=pytest.mark.slow),
    ],
)
def test_service_law(service: str, options: dict[str, float], law) -> None:
    times = first_times(service, 300.0, **options)
    assert law.mean() == pytest.approx(300)
    error = times.std() / np.sqrt(times.size)
    assert abs(times.mean() - 300) < 4 * error
    # Whole parts of a law with this density are close to the law itself: one round in 300.
    assert stats.kstest(times, law.cdf).statistic < 0.015
    assert stats.kstest(times * 1.06, law.cdf).statistic > 0.015


def test_a_planted_error_in_the_service_fails() -> None:
    times = first_times("lognormal", 300.0, spread=0.5)
    assert abs(1.02 * times.mean() - 300) > 4 * times.std() / np.sqrt(times.size)


def test_load_is_mean_per_server() -> None:
    by_load = delays.queue(horizon=200, servers=4, load=0.5, rng=1)
    assert by_load == delays.queue(horizon=200, servers=4, mean=2.0, rng=1)


def test_function_gets_a_generator_and_a_number() -> None:
    found = delays.queue(horizon=50, servers=2, service=lambda rng, n: rng.exponential(1.5, n), rng=9)
    times = np.random.default_rng(9).exponential(1.5, 50)
    assert found == delays.queue(horizon=50, servers=2, service=times)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"servers": 0, "mean": 1}, "servers must be a whole number of at least 1"),
        ({}, "either mean or load"),
        ({"mean": 1, "load": 1}, "either mean or load"),
        ({"mean": -1}, "mean must be positive"),
        ({"service": "gamma", "mean": 1}, "service must be .* got 'gamma'"),
        ({"service": "pareto", "mean": 1, "shape": 1.0}, "shape must be above 1"),
        ({"service": "lognormal", "mean": 1, "spread": 0.0}, "spread must be positive"),
        ({"service": [1.0, 2.0]}, r"shape \(5,\), got shape \(2,\)"),
        ({"service": [1.0, 2.0, -1.0, 0.0, 0.0]}, "not negative, got -1.0 in round 3"),
        ({"service": [1.0, 2.0, 0.0, 0.0, np.nan]}, "finite"),
        ({"service": [1.0] * 5, "mean": 2.0}, "their own"),
    ],
)
def test_refuses(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        delays.queue(**{"horizon": 5, "servers": 2, **options})
