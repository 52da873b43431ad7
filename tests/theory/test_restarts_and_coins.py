"""Bounds for restarts over T + d_tot and for a coin with running rates, against sums over the rounds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import theory


def _delays(kind, horizon=400):
    rng = np.random.default_rng(3)
    made = {
        "none": np.zeros(horizon, np.int64),
        "fixed": np.full(horizon, 25),
        "ramp": np.arange(horizon) // 4,
        "drawn": rng.geometric(0.05, horizon),
    }[kind]
    return np.minimum(made, np.arange(horizon)[::-1])


@pytest.mark.parametrize("kind", ["none", "fixed", "ramp", "drawn"])
def test_a_coin_with_running_rates(kind):
    """D²/(2η_T) + G²Ση_{t−1}(1/(2p) + σ_t) with those rates, plus the rounds without room."""
    delays, capacity, d, g = _delays(kind), 12, 3.0, 0.5
    sigma = theory.backlogs(delays)
    inverse = max(1.0, 8 * (sigma.max() + 1) / capacity)
    eta = d / (g * np.sqrt(np.cumsum(inverse + 2 * sigma)))  # the rate in force before round t
    rates = np.append(eta[1:], eta[-1])
    exact = d**2 / (2 * rates[-1]) + g**2 * float(np.sum(eta * (0.5 * inverse + sigma)))
    bound = theory.bernoulli_bound(
        diameter=d,
        gradient_bound=g,
        horizon=400,
        total_delay=int(delays.sum()),
        max_backlog=int(sigma.max()),
        capacity=capacity,
    )
    full = d * g * 400 * np.exp(-12.0) if sigma.max() >= capacity else 0.0
    assert exact + full <= bound * (1 + 1e-12)
    assert bound <= 1.5 * (exact + full)


@pytest.mark.parametrize("kind", ["none", "fixed", "ramp", "drawn"])
@pytest.mark.parametrize("pareto", [False, True])
def test_restarts_over_the_total(kind, pareto):
    """The sum over epochs that really occur."""
    delays, capacity, d, g = _delays(kind), 12, 3.0, 0.5
    labels = np.unique(theory.total_labels(delays))
    factor = 18.0 if pareto else 1.5 * (1 + theory.kappa(capacity))
    exact = d * g * sum(factor * 2.0**m + pareto for m in labels)
    game = {"diameter": d, "gradient_bound": g, "horizon": 400, "total_delay": int(delays.sum()), "capacity": capacity}
    bound = theory.pareto_bound(**game, restarted=True) if pareto else theory.priority_bound(**game, rate="restarted")
    assert exact <= bound <= 4.1 * exact


def test_pareto_asks_for_slots():
    with pytest.raises(ValueError, match="ln T"):
        theory.pareto_bound(diameter=1, gradient_bound=1, horizon=400, total_delay=0, capacity=2, restarted=True)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda **game: theory.bernoulli_bound(**game, max_backlog=3), "total_delay"),
        (lambda **game: theory.priority_bound(**game, total_delay=9), "diameter"),
        (lambda **game: theory.priority_bound(**game, strong_convexity=1.0), "max_backlog"),
        (lambda **game: theory.batching_bound(**game, max_delay=4, strong_convexity=1.0), "max_backlog"),
    ],
)
def test_a_constant_that_only_some_losses_need_is_asked_for(call, name):
    with pytest.raises(
        ValueError, match=f"{name} is needed for (strongly )?convex losses: give it, or strong_convexity="
    ):
        call(gradient_bound=1.0, horizon=50, capacity=6)


def test_only_known_rates_have_a_bound():
    with pytest.raises(ValueError, match="rate must be one of 'tuned', 'paper', 'anytime', 'restarted', got 'best'"):
        theory.priority_bound(gradient_bound=1.0, diameter=1.0, horizon=50, total_delay=9, capacity=6, rate="best")
