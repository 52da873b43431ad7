"""The base class: lists, worked cases, a user's own type, and the streaming pass against the array one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from tarry import delays
from tarry.delays import laws
from tarry.delays.laws import survey
from tarry.testing import DelaysContract


@pytest.mark.cases("backlog")
def test_worked_case(given: dict[str, Any], expected: dict[str, Any]) -> None:
    listed = delays.array(given["delays"])
    rounds = range(1, listed.horizon + 1)
    assert listed.summary() == (expected["d_tot"], expected["d_max"], expected["sigma_max"])
    assert listed.backlog().tolist() == expected["sigma"]
    assert [listed.observed_set(t).tolist() for t in rounds] == expected["observed_sets"]
    assert [listed.backlog_set(t).tolist() for t in rounds] == expected["backlog_sets"]


@pytest.mark.cases("backlog")
def test_worked_case_streamed(given: dict[str, Any], expected: dict[str, Any]) -> None:
    values = np.array(given["delays"])
    found = survey(values.size, lambda rounds, start: values[start - 1 : start - 1 + rounds])
    assert found[0] == (expected["d_tot"], expected["d_max"], expected["sigma_max"])


def brute_force(uncut: list[int]) -> tuple[int, int, int, int]:
    horizon = len(uncut)
    cut = [min(d, horizon - t) for t, d in enumerate(uncut, 1)]
    peak = max(sum(s + cut[s - 1] >= t for s in range(1, t)) for t in range(1, horizon + 1))
    return sum(cut), max(cut), peak, sum(d != u for d, u in zip(cut, uncut, strict=True))


@drawn(
    uncut=st.lists(st.one_of(st.integers(0, 12), st.integers(0, 2**62)), min_size=1, max_size=60),
    block=st.integers(1, 70),
)
def test_survey_equals_counting(uncut: list[int], block: int) -> None:
    values = np.array(uncut)
    kept = laws.BLOCK
    laws.BLOCK = block
    try:
        found = survey(values.size, lambda rounds, start: values[start - 1 : start - 1 + rounds])
    finally:
        laws.BLOCK = kept
    assert (*found[0], found[1]) == brute_force(uncut)
    assert delays.array(values).truncated == found[1]
    assert delays.array(values).summary() == found[0]


@drawn(values=st.lists(st.integers(0, 40), min_size=1, max_size=40), data=st.data())
def test_sets_by_definition(values: list[int], data: st.DataObject) -> None:
    listed = delays.array(values)
    t = data.draw(st.integers(1, len(values)))
    assert listed.observed_set(t).tolist() == [s for s in range(1, t) if s + listed.values[s - 1] < t]
    assert listed.backlog_set(t).tolist() == [s for s in range(1, t) if s + listed.values[s - 1] >= t]


@pytest.mark.parametrize("t", [0, 4, 1.5])
def test_sets_refuse_rounds_outside(t: float) -> None:
    with pytest.raises(ValueError, match="t must be"):
        delays.array([1, 2, 3]).observed_set(t)


class TestListed(DelaysContract):
    def make(self, horizon: int, rng: int) -> delays.Delays:
        return delays.array(np.random.default_rng(rng).integers(0, 50, 1000)[:horizon])


def test_floats_that_are_whole_are_welcome() -> None:
    assert delays.array([2.0, 0.0, 9.0]) == delays.array([2, 0, 9])


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([], "one entry per round"),
        ([[1, 2]], "one entry per round"),
        ([1, 0.5], "whole numbers of rounds, got np.float64.0.5.: round them first"),
        ([1, np.nan], "whole numbers of rounds"),
        (["1"], "whole numbers of rounds"),
        ([0, -3], "not be negative, got -3 in round 2"),
        ([1e300], "at most 2"),
        (np.array([2**63], np.uint64), "at most 2"),
    ],
)
def test_a_list_refuses(values, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        delays.array(values)


class Square(delays.Delays):
    """A user's type that answers the verb alone."""

    horizon: int

    truncated = 0

    def delay(self, t: int) -> int:
        return min((t * t) % 7, self.horizon - t)


class TestUsersOwn(DelaysContract):
    random = False

    def make(self, horizon: int, rng: int) -> Square:
        return Square(horizon)


@pytest.mark.jit(only=True)
def test_ten_million_rounds_stream() -> None:
    found = delays.geometric(horizon=10_000_000, mean=20, rng=1)
    assert abs(found.total_delay / found.horizon - 20) < 4 * np.sqrt(20 * 21 / 10_000_000)
    assert found.max_backlog < 100


class Doubled(delays.array):  # type: ignore[misc, valid-type]
    """Twice the delays that are listed: what is told of them is what is played."""

    def delay(self, t: int) -> int:
        return min(2 * self.cut[t - 1], self.cut.size - t)  # type: ignore[no-any-return]


def test_a_subclass_of_listed_delays_tells_its_own() -> None:
    found, expected = Doubled([1, 2, 0, 1, 3, 0, 0]), delays.array([2, 4, 0, 2, 6, 0, 0])
    assert found.values.tolist() == expected.values.tolist()
    assert found.summary() == expected.summary()
