"""Bounds of the batching scheduler against sums over its exact moments."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import theory

DELAYS = {
    "equal": lambda T, d, rng: np.full(T, d),
    "mixed": lambda T, d, rng: rng.integers(0, d + 1, T),
    "short": lambda T, d, rng: np.zeros(T, int),
}


def summed(delays, batch):
    """½E[w_t²] + Σ_{s∈B_t} E[w_s w_t] by round; feedback of one's own batch waits for its end, and weighs nothing."""
    horizon = delays.size
    t = np.arange(horizon)
    pending = (t[:, None] > t) & (t + delays >= t[:, None])
    apart = t[:, None] // batch != t // batch
    return batch / 2 + (pending & apart).sum(axis=1)


@pytest.mark.parametrize("kind", DELAYS)
@pytest.mark.parametrize(("horizon", "max_delay", "capacity"), [(60, 7, 2), (61, 20, 3), (5, 9, 2), (64, 12, 9)])
def test_costs(kind, horizon, max_delay, capacity):
    delays = DELAYS[kind](horizon, max_delay, np.random.default_rng(1))
    delays = np.minimum(delays, np.arange(horizon)[::-1])
    game = {"horizon": horizon, "total_delay": int(delays.sum()), "max_delay": max_delay, "capacity": capacity}
    batch = theory.batch_length(max_delay=max_delay, capacity=capacity)
    exact = summed(delays, batch).sum()
    if kind == "equal":
        assert theory.batching_costs(**game, is_fixed=True).cost == exact
    assert theory.batching_costs(**game).cost >= exact
    if kind == "short":
        assert theory.batching_costs(**game).cost == exact


def test_convex_bound_is_that_of_its_rate():
    game = {"horizon": 60, "total_delay": 392, "max_delay": 7, "capacity": 3}
    scale = {"diameter": 2.0, "gradient_bound": 3.0}
    for fixed in (False, True):
        cost = theory.batching_costs(**game, is_fixed=fixed).cost
        rate = theory.optimised_rate(**scale, cost=cost)
        noise = 4 / (2 * rate) + 9 * rate * cost
        assert theory.batching_bound(**scale, **game, is_fixed=fixed) == pytest.approx(noise, rel=1e-12)


@pytest.mark.parametrize("delay", [0, 11])
def test_strongly_convex_bound_is_above_its_sum(delay):
    delays = np.minimum(np.full(90, delay), np.arange(90)[::-1])
    rates = 1.0 / (0.5 * np.maximum(1, np.arange(90)))
    noise = 9.0 * float(np.sum(rates * summed(delays, 4)))
    bound = theory.batching_bound(
        gradient_bound=3.0, strong_convexity=0.5, horizon=90, max_backlog=delay, max_delay=11, capacity=4
    )
    assert noise <= bound * (1 + 1e-12)
    assert delay > 0 or noise == pytest.approx(bound, rel=1e-12)  # attained where nobody waits


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"horizon": 0}, "horizon must be a whole number of at least 1"),
        ({"total_delay": -3}, "total_delay must be finite and not negative, got -3"),
        ({"diameter": -1.0}, "diameter must be positive"),
        ({"gradient_bound": 0.0}, "gradient_bound must be positive"),
        ({"is_fixed": True, "total_delay": 391}, "60 delays of 7, cut at the end, add up to 392"),
    ],
)
def test_refusals(changes, sentence):
    game = {"horizon": 60, "total_delay": 392, "max_delay": 7, "capacity": 3, "diameter": 2.0, "gradient_bound": 3.0}
    with pytest.raises(ValueError, match=sentence):
        theory.batching_bound(**game | changes)


@pytest.mark.parametrize("name", ["horizon", "max_backlog", "gradient_bound", "strong_convexity"])
def test_strongly_convex_refusals(name):
    game = {"horizon": 60, "max_backlog": 7, "max_delay": 7, "capacity": 3, "gradient_bound": 3.0}
    with pytest.raises(ValueError, match=name):
        theory.batching_bound(**game | {"strong_convexity": 1.0} | {name: -1})


def test_fixed_means_that_every_delay_is_the_longest():
    """With shorter ones, rounds of a batch need not wait together: the smaller cost would be no bound."""
    delays = np.minimum(np.full(60, 2), np.arange(60)[::-1])
    game = {"horizon": 60, "total_delay": int(delays.sum()), "max_delay": 20, "capacity": 2}
    assert summed(delays, 20).sum() > 0.5 * 60 + delays.sum()
    with pytest.raises(ValueError, match="every delay equals max_delay"):
        theory.batching_costs(**game, is_fixed=True)


def test_one_slot():
    assert theory.batch_length(max_delay=0, capacity=1) == 1
    with pytest.raises(ValueError, match="capacity must be at least 2 for batches and delays of up to 4, got 1"):
        theory.batch_length(max_delay=4, capacity=1)
