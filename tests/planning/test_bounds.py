"""list_bounds: every bound the constants determine, and no other."""

from __future__ import annotations

import pytest

import tarry
from tarry.planning import Constants, list_bounds
from tests.oracles import theory

ALL = {
    "horizon": 20_000,
    "capacity": 32,
    "total_delay": 4_000_000,
    "max_backlog": 240,
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
    assert find(bounds, source="paper")[0].value == theory.pareto_bound(**game)
    assert find(bounds, source="paper, sharpened")[0].value == theory.pareto_bound(**game, sharpened=True)
    free = some("horizon", "total_delay", "diameter", "gradient_bound")
    assert find(bounds, scheduler="Priority")[0].value == theory.priority_bound(**game)
    assert find(bounds, scheduler="VarOpt")[0].value == theory.varopt_bound(**free, rate="tuned")
    assert find(bounds, scheduler="VarOpt")[1].value == theory.varopt_bound(**free)
    morris = find(bounds, scheduler="Morris")[0]
    assert morris.value <= min(theory.morris_bound(**game, epsilon=e) for e in (0.1, 0.4, 1.0, 3.0)) * 1.001


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
    assert found[0].value == theory.bernoulli_bound(**curved, capacity=32)
    assert find(found, scheduler="VarOpt")[0].value == theory.varopt_bound(**curved)
    level = theory.moment_level(max_backlog=240, capacity=32, horizon=20_000)
    bandit = find(bounds, game="bandit, strongly convex", scheduler="Priority")[0]
    assert bandit.value == theory.bandit_bound(**curved, spread=3.0, level=level)
    flat = find(bounds, game="bandit, convex", scheduler="Priority", note="rate from the moment level")[0]
    game = some("diameter", "gradient_bound", "horizon", "total_delay")
    assert flat.value == theory.bandit_bound(**game, spread=3.0, level=level)
    assert all(b.value is not None and b.value > 0 for b in bounds)


def test_a_theorem_that_asks_for_more_slots_says_so():
    bounds = list_bounds(Constants(**{**ALL, "capacity": 1}))
    printed = find(bounds, game="convex", source="paper")[0]
    assert printed.value is None
    assert "ln T + 1 = 10.90, got 1" in printed.note
    assert find(bounds, game="convex", scheduler="Priority")[0].value is None
    assert find(bounds, game="convex", scheduler="VarOpt")[0].value > 0
    assert find(bounds, game="convex", source="paper, sharpened")[0].value > 0


def test_constants_that_determine_nothing():
    assert list_bounds(Constants(horizon=10, capacity=2)) == []
    assert Constants(horizon=10, capacity=2).trivial_bound is None
    assert Constants(**ALL).trivial_bound == 40_000


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


def test_a_longest_delay_brings_batching():
    longest = 300
    bounds = list_bounds(Constants(**ALL, max_delay=longest))
    batch = theory.batch_length(max_delay=longest, capacity=32)
    assert batch == 10
    flat = some("diameter", "gradient_bound", "horizon", "total_delay", "capacity")
    found = find(bounds, scheduler="Batching")
    assert [b.game for b in found] == ["convex", "strongly convex", *["bandit, convex"] * 2, "bandit, strongly convex"]
    assert found[0].value == theory.batching_bound(**flat, max_delay=longest)
    values = {**some("diameter", "gradient_bound", "horizon", "total_delay"), "spread": 3.0, "level": batch}
    assert found[2].value == theory.bandit_bound(**values)
    assert found[3].value == theory.bandit_bound(**values, anytime=True)
    assert not find(list_bounds(Constants(**ALL)), scheduler="Batching")


def test_delays_that_must_all_be_equal():
    horizon, longest = 100, 7
    equal = int(tarry.delays.fixed(horizon=horizon, delay=longest).values.sum())
    game = {**some("diameter", "gradient_bound"), "horizon": horizon, "capacity": 4, "max_delay": longest}
    notes = {}
    for total in (equal, equal - 1):
        (one,) = find(list_bounds(Constants(**game, total_delay=total)), scheduler="Batching")
        notes[total] = one.note
        assert one.value == theory.batching_bound(**game, total_delay=total, is_fixed=total == equal)
    assert notes == {equal: "rate tuned to the bound, all delays equal", equal - 1: "rate tuned to the bound"}


def test_restarts_and_running_rates():
    bounds = list_bounds(Constants(**ALL))
    flat = some("diameter", "gradient_bound", "horizon", "total_delay", "capacity")
    restarts = find(bounds, note="restarts over T + total delay")
    assert [b.value for b in restarts] == [
        theory.priority_bound(**flat, rate="restarted"),
        theory.pareto_bound(**flat, restarted=True),
    ]
    (coin,) = find(bounds, game="convex", scheduler="Bernoulli")
    assert coin.value == theory.bernoulli_bound(**flat, max_backlog=240)
    # 18(G²/λ)(σ+1)H_T + 4G²/λ restarted: the free term J + 1 times, J = ⌈log2 241⌉ = 8, and 2^0 + … + 2^8 = 511
    (guessing,) = find(bounds, scheduler="DoublingBernoulli")
    assert guessing.value == pytest.approx(9 * 8.0 + 18 * 2.0 * theory.harmonic(20_000) * 511)
    (thinning,) = find(bounds, scheduler="Thinning")
    (sharpened,) = find(bounds, game="strongly convex", scheduler="Bernoulli", source="paper, sharpened")
    assert thinning.value == sharpened.value


def test_morris_with_values_and_with_running_rates():
    bounds = list_bounds(Constants(**ALL))
    game = some("diameter", "gradient_bound", "horizon", "total_delay")
    for e in (0.1, 0.4, 1.0, 3.0):
        full = theory.morris_costs(epsilon=e, capacity=32, horizon=20_000, total_delay=4_000_000).saturation
        level = 1 + 240 * e
        flat, running = find(bounds, game="bandit, convex", scheduler="Morris")
        values = {**game, "spread": 3.0, "level": level}
        assert flat.value <= (theory.bandit_bound(**values) + 2 * full) * 1.001
        assert running.value <= (theory.bandit_bound(**values, anytime=True) + 2 * full) * 1.001
        assert running.note.startswith("anytime rates, at ε = ")
        (curved,) = find(bounds, game="bandit, strongly convex", scheduler="Morris")
        bent = {**some("gradient_bound", "strong_convexity", "horizon", "max_backlog"), "spread": 3.0, "level": level}
        assert curved.value <= (theory.bandit_bound(**bent) + 8 * full) * 1.001
    best = find(bounds, game="bandit, convex", scheduler="Morris")[0]
    epsilon = float(best.note.split(" = ")[1].split(",")[0])
    full = theory.morris_costs(epsilon=epsilon, capacity=32, horizon=20_000, total_delay=4_000_000).saturation
    at_best = theory.bandit_bound(**game, spread=3.0, level=1 + 240 * epsilon) + 2 * full
    assert best.value == pytest.approx(at_best, rel=0.02)


@pytest.mark.parametrize(("capacity", "horizon", "least"), [(2, 100, "3"), (3, 20, "5"), (5, 20_000, "12")])
def test_varopt_says_how_many_slots_its_bound_needs(capacity, horizon, least):
    game = {**ALL, "capacity": capacity, "horizon": horizon, "total_delay": 19, "max_backlog": 5}
    notes = [b.note for b in find(list_bounds(Constants(**game)), scheduler="VarOpt") if b.value is None]
    assert f"VarOpt's bound needs a capacity of at least {least}, got {capacity}" in notes
    assert not any("got 1" in note or f"got {capacity - 1}" in note for note in notes)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"strong_convexity": 1.01}, "allow a diameter of at most 2G/λ = 1.98"),
        ({"max_delay": 20_000}, "max_delay must be below the horizon"),
        ({"max_delay": 239}, "max_backlog is at most 239 where rounds wait at most 239 rounds, got 240"),
        ({"max_delay": 240, "total_delay": 4_771_081}, "a total delay between 240 and 4771080, got 4771081"),
    ],
)
def test_contradictions(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        Constants(**{**ALL, **changes})
    assert Constants(**{**ALL, "strong_convexity": 1.0}).strong_convexity == 1.0
