"""The pathwise bound against exact worst cases of DW-FTRL, found by semidefinite programming (PEPit).

G = D = 1. The set is any convex set of that diameter in any dimension, the losses any convex functions of slope at most
1; nothing here uses the library but for the bound.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from PEPit import PEP
from PEPit.functions import ConvexIndicatorFunction, ConvexLipschitzFunction
from PEPit.primitive_steps import proximal_step

from tests.oracles import theory

CLOSE = 1e-3


def worst_regret(weights, delays, rates):
    """max Σ w_t (f_t(x_t) − f_t(u)) with x_{t+1} = Π(η_t(Σ_{s≤t} α_s x_s − Σ_{s+d_s≤t} w_s g_s))."""
    problem, horizon = PEP(), len(delays)
    domain = problem.declare_function(ConvexIndicatorFunction, D=1.0)
    u, x = problem.set_initial_point(), problem.set_initial_point()
    domain.oracle(u)
    domain.oracle(x)
    increments = np.diff(1.0 / np.asarray(rates, dtype=float), prepend=0.0)
    anchor, gradients, regret = 0.0 * x, [], 0.0
    for t in range(horizon):
        loss = problem.declare_function(ConvexLipschitzFunction, M=1.0)
        gradient, value = loss.oracle(x)
        gradients.append(gradient)
        regret = regret + float(weights[t]) * (value - loss(u))
        anchor = anchor + float(increments[t]) * x
        if t + 1 < horizon:
            known = [s for s in range(t + 1) if s + delays[s] <= t]
            leader = float(rates[t]) * (anchor - sum((float(weights[s]) * gradients[s] for s in known), start=0.0 * x))
            x, _, _ = proximal_step(leader, domain, 1.0)
    problem.set_performance_metric(regret)
    return problem.solve(verbose=0, solver="CLARABEL")


def bound_by_arrival(weights, delays, rates, half=0.5):
    """D²/(2η_T) + Σ_v η_v (½ A_v² + A_v Σ_{s≤v<a(s)} w_s), as certificates add it up."""
    ends, t = np.arange(len(delays)) + delays, np.arange(len(delays))
    news = np.array([np.sum(np.asarray(weights)[ends == v]) for v in t])
    waiting = np.array([np.sum(np.asarray(weights)[(t <= v) & (v < ends)]) for v in t])
    return 0.5 / rates[-1] + float(np.sum(rates * (half * news**2 + news * waiting)))


def bound_of(weights, delays, rates):
    own, pairs = theory.backlog_sums(weights, delays, rates)
    return float(theory.bound_from_sums(diameter=1.0, gradient_bound=1.0, last_rate=rates[-1], own=own, pairs=pairs))


@pytest.mark.parametrize(
    ("weights", "delays", "square", "worst", "attained"),
    [
        ([1, 1, 1, 1, 1], [2, 2, 2, 1, 0], 19, 4.3118, False),
        ([1, 1, 1, 1, 1], [4, 0, 0, 0, 0], 13, 3.3575, False),
        ([1, 1, 1, 1, 1], [3, 2, 1, 0, 0], 17, 4.1231, True),
        ([1, 1, 1, 1, 1], [0, 0, 0, 0, 0], 5, 2.2361, True),
        ([1, 1, 1, 1, 1, 1], [2, 2, 2, 2, 1, 0], 24, 4.7753, False),
        ([1, 1, 1, 1, 1, 1], [4, 3, 2, 1, 0, 0], 26, 5.0990, True),
        ([3, 0, 0, 2, 1], [2, 2, 2, 1, 0], 19, 4.2442, True),
    ],
)
def test_known_values(weights, delays, square, worst, attained):
    rates = np.full(len(weights), square**-0.5)
    found, bound = worst_regret(weights, delays, rates), bound_of(weights, delays, rates)
    assert found == pytest.approx(worst, abs=CLOSE)
    assert found <= bound + 1e-5
    assert (bound - found < CLOSE) == attained
    tighter = bound_by_arrival(weights, delays, rates)
    assert found - 1e-5 <= tighter <= bound + 1e-9
    assert bound_by_arrival(weights, delays, rates, half=0.25) < found or not attained


def best_rate(weights, delays):
    """The constant rate that makes the bound least."""
    own, pairs = theory.backlog_sums(weights, delays, np.ones(len(weights)))
    return float(1.0 / np.sqrt(own + 2.0 * pairs))


@pytest.mark.slow
@pytest.mark.parametrize("delays", list(itertools.product(range(4), range(3), range(2), range(1))), ids=str)
def test_every_delay_of_four_rounds(delays):
    rng = np.random.default_rng(sum(d * 5**i for i, d in enumerate(delays)))
    drawn = rng.choice([0.0, 0.5, 1.0, 2.0, 3.5], 4)
    drawn[-1] += 1.0
    for weights, power in ((np.ones(4), 0.0), (drawn, 0.5)):
        rates = best_rate(weights, delays) * (2.0 / np.arange(1, 5)) ** power
        by_arrival = bound_by_arrival(weights, delays, rates)
        assert worst_regret(weights, delays, rates) <= by_arrival + 1e-5
        assert by_arrival <= bound_of(weights, delays, rates) + 1e-9


@pytest.mark.parametrize("horizon", [1, 2, 4, 6])
@pytest.mark.parametrize("waits", ["none", "all"])
def test_attained_without_delays_and_without_arrivals(horizon, waits):
    """Both ends of the range: Σ½ with η = 1/√T, and every pair with η = 1/T."""
    delays = [0] * horizon if waits == "none" else list(range(horizon))[::-1]
    weights = np.ones(horizon)
    rates = np.full(horizon, best_rate(weights, delays))
    found = worst_regret(weights, delays, rates)
    assert found == pytest.approx(bound_of(weights, delays, rates), abs=CLOSE)
    assert found == pytest.approx(np.sqrt(horizon) if waits == "none" else horizon, abs=CLOSE)
