"""list_bounds: every bound the constants determine, and no other."""

from __future__ import annotations

import pytest

from tarry import theory
from tarry.planning import Constants, list_bounds, trivial_bound

ALL = {
    "horizon": 20_000,
    "capacity": 32,
    "total_delay": 4_000_000,
    "max_backlog": 240,
    "max_delay": 600,
    "diameter": 2.0,
    "gradient_bound": 1.0,
    "strong_convexity": 0.5,
    "value_bound": 1.0,
    "inner_radius": 1.0,
    "dimension": 3,
}


def some(*names):
    return {name: ALL[name] for name in names}


def find(bounds, **wanted):
    return [b for b in bounds if all(getattr(b, name) == value for name, value in wanted.items())]


def test_convex_bounds_are_those_of_theory():
    game = some("horizon", "capacity", "total_delay", "diameter", "gradient_bound")
    bounds = list_bounds(Constants(**game))
    assert {b.game for b in bounds} == {"convex"}
    assert find(bounds, source="paper")[0].value == theory.convex_bound(**game)
    assert find(bounds, source="paper, sharpened")[0].value == theory.convex_bound(**game, sharpened=True)
    fewer = {**game, "capacity": 31}
    assert find(bounds, scheduler="Priority")[0].value == theory.tracking_convex_bound(**game)
    assert find(bounds, scheduler="VarOpt")[0].value == theory.tracking_convex_bound(**fewer)
    assert find(bounds, scheduler="VarOpt")[1].value == theory.tracking_convex_bound(**fewer, tuned=False)
    assert find(bounds, scheduler="VarOpt")[2].value == theory.tracking_anytime_bound(**fewer)
    morris = find(bounds, scheduler="Morris")[0]
    assert morris.value <= min(theory.morris_convex_bound(**game, epsilon=e) for e in (0.1, 0.4, 1.0, 3.0)) * 1.001


def test_all_games():
    bounds = list_bounds(Constants(**ALL))
    assert list(dict.fromkeys(b.game for b in bounds)) == [
        "convex",
        "strongly convex",
        "bandit, convex",
        "bandit, strongly convex",
    ]
    curved = some("horizon", "max_backlog", "gradient_bound", "strong_convexity")
    found = find(bounds, game="strongly convex")
    assert found[0].value == theory.strongly_convex_bound(**curved, capacity=32)
    assert found[2].value == theory.tracking_strongly_convex_bound(**curved, capacity=31)
    level = theory.moment_level(max_backlog=240, capacity=32, horizon=20_000)
    bandit = find(bounds, game="bandit, strongly convex", scheduler="Priority")[0]
    assert bandit.value == theory.tracking_strongly_convex_bandit_bound(**curved, spread=3.0, level=level)
    flat = find(bounds, game="bandit, convex", scheduler="Priority", note="rate from the moment level")[0]
    game = some("diameter", "gradient_bound", "horizon", "total_delay")
    assert flat.value == theory.tracking_bandit_bound(**game, spread=3.0, level=level)
    batches = find(bounds, scheduler="Batching")
    assert [b.value for b in batches] == [
        theory.batching_convex_bound(**game, max_delay=600, capacity=32),
        theory.batching_strongly_convex_bound(**curved, max_delay=600, capacity=32),
    ]
    assert all(b.value is not None and b.value > 0 for b in bounds)


def test_a_longest_delay_that_cannot_be():
    with pytest.raises(ValueError, match="no more than 100 rounds wait, got max_backlog=240"):
        Constants(**{**ALL, "max_delay": 100, "total_delay": 1_000_000})
    with pytest.raises(ValueError, match="add up to at most 20000, got 4000000"):
        Constants(**{**ALL, "max_delay": 1, "max_backlog": None})


def test_a_theorem_that_asks_for_more_slots_says_so():
    bounds = list_bounds(Constants(**{**ALL, "capacity": 1}))
    printed = find(bounds, game="convex", source="paper")[0]
    assert printed.value is None
    assert "ln T + 1 = 10.90, got 1" in printed.note
    assert find(bounds, game="convex", scheduler="VarOpt")[0].value is None
    assert find(bounds, game="convex", source="paper, sharpened")[0].value > 0


def test_constants_that_determine_nothing():
    assert list_bounds(Constants(horizon=10, capacity=2)) == []
    assert trivial_bound(Constants(horizon=10, capacity=2)) is None
    assert trivial_bound(Constants(**ALL)) == 40_000


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"horizon": 0}, "horizon must be a whole number of at least 1, got 0"),
        ({"capacity": 2.5}, "capacity must be"),
        ({"diameter": -1.0}, "diameter must be positive and finite, got -1"),
        ({"total_delay": 20_000 * 241}, "has a total delay between 28920 and 4800000"),
        ({"total_delay": 100}, "has a total delay between"),
        ({"max_backlog": 20_000}, "max_backlog must be below the horizon 20000"),
        ({"total_delay": 10**9, "max_backlog": None}, "at most T"),
    ],
)
def test_refusals(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        Constants(**{**ALL, **changes})
