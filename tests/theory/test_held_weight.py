"""The theorems on the held weight, by exact enumeration of every path of small games.

Probabilities and weights are rational and come from the definition of VarOpt; plays are the library's. Each theorem
has a control: the same formula with one error in it, which must fail.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import isclose, sqrt

import numpy as np
import pytest
from paths import coin_paths, varopt_paths

import tarry
from tarry import theory

HALF = Fraction(1, 2)
CAPACITIES = [1, 2, 3]


def sequences(horizon):
    """All delays of so many rounds, cut at the end of the game."""
    return list(product(*(range(horizon - t) for t in range(horizon))))


def drawn(count, longest=7):
    """Random delays of six and seven rounds."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(6, longest + 1, count)
    return [tuple(int(rng.integers(0, n - t)) for t in range(n)) for n in lengths]


def backlog(delays, t):
    """B_t: the rounds before t that have not arrived before t."""
    return [s for s in range(1, t) if s + delays[s - 1] >= t]


def mean(delays, capacity, number):
    """The exact mean of a number of the path."""
    return sum(path.probability * number(path) for path in varopt_paths(delays, capacity))


def in_order_of_play(path, delays, own=HALF):
    """Σ_t (½ w_t² + w_t Σ_{s∈B_t} w_s)."""
    w = path.weights
    pairs = (w[t - 1] * sum(w[s - 1] for s in backlog(delays, t)) for t in range(1, len(w) + 1))
    return sum(own * x * x for x in w) + sum(pairs)


def in_order_of_arrival(path, delays, later=1):
    """Σ_v A_v (½ A_v + h_{v+1})."""
    h = path.held(delays)
    return sum(a * (HALF * a + h[v - 1 + later]) for v in range(1, len(delays) + 1) for a in [path.arrived(delays, v)])


ALL = [delays for horizon in (1, 2, 3, 4, 5) for delays in sequences(horizon)]


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("order", [in_order_of_play, in_order_of_arrival])
def test_what_the_weights_cost_is_what_unlimited_capacity_costs(capacity, order):
    for delays in (*ALL, *drawn(6)):
        cost = mean(delays, capacity, lambda path: order(path, delays))  # noqa: B023
        assert cost == Fraction(len(delays), 2) + sum(delays)
        assert float(cost) == theory.varopt_costs(delays, capacity).cost


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_the_held_weight_estimates_the_backlog(capacity):
    for delays in ALL:
        for v in range(1, len(delays) + 1):
            found = mean(delays, capacity, lambda path: path.held(delays)[v - 1])  # noqa: B023
            assert found == len(backlog(delays, v))


def test_controls_of_the_identity():
    """½ left out, h_v in place of h_{v+1}, and two schedulers whose weights are not conserved."""
    delays, capacity = (3, 2, 1, 0), 1
    exact = Fraction(len(delays), 2) + sum(delays)
    assert mean(delays, capacity, lambda path: in_order_of_play(path, delays, own=1)) != exact
    assert mean(delays, capacity, lambda path: in_order_of_arrival(path, delays, later=0)) != exact
    # Independent coins are unbiased as well, but pay for their variance: nothing is paid back.
    coins = list(coin_paths(len(delays), Fraction(1, 4)))
    for t in range(len(delays)):
        assert sum(path.probability * path.weights[t] for path in coins) == 1
    assert sum(path.probability * in_order_of_play(path, delays) for path in coins) > exact
    # Survivors that do not rise to θ.
    fixed = varopt_paths(delays, capacity, renew=lambda weight, theta: weight)
    assert sum(path.probability * in_order_of_play(path, delays) for path in fixed) < exact


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_second_moments(capacity):
    for delays in (*ALL, *drawn(6)):
        found = mean(delays, capacity, lambda path: sum(w * w for w in path.weights))
        gain = mean(delays, capacity, lambda path: sum(2 * theta - 1 for theta in path.thresholds if theta))
        assert found <= len(delays) + gain
        assert found <= theory.varopt_costs(delays, capacity).second_moments + 1e-9
        if capacity == 1:
            assert found == len(delays) + 2 * sum(delays)


BALL = tarry.domains.Ball(1)
FREE = tarry.learners.DWFTRL(BALL, rate=tarry.rates.Anytime(2.0, 1.0))


def expected(signs, delays, capacity):
    """Expected regret, and the bound before the last step, of the player that knows nothing; G = 1, D = 2."""
    losses = tarry.losses.Linear(np.array(signs, dtype=float)[:, None])
    game = tarry.Game(BALL, losses, tarry.delays.array(delays), capacity=capacity, information="non-clairvoyant")
    regret = bound = 0.0
    for path in varopt_paths(delays, capacity):
        draws = tarry.Recorded(lost=path.lost)
        record = tarry.simulate(game, FREE, draws=draws, keep_rounds=True)
        assert np.allclose(record.rounds()["weight"], [float(w) for w in path.weights], rtol=1e-12)
        h = [float(x) for x in path.held(delays)]
        q = np.cumsum([1 + 2 * x for x in h])
        rates = [2 / sqrt(q[min(v + 1, len(signs)) - 1]) for v in range(1, len(signs) + 1)]  # the last stays in force
        steps = sum(eta * ((h[v] + 1) ** 2 - h[v + 1] ** 2) / 2 for v, eta in enumerate(rates))
        regret += float(path.probability) * float(record.plays()[:, 0] @ signs)
        bound += float(path.probability) * (4 / (2 * rates[-1]) + steps)
    return regret + abs(sum(signs)), bound


@pytest.mark.parametrize("capacity", [1, 2])
def test_expected_regret_is_below_every_step_of_the_proof(capacity):
    largest = 0.0
    for delays in sequences(4):
        for signs in [(1, 1, 1, 1), (1, 1, -1, -1), (1, -1, 1, -1), (1, -1, -1, -1)]:
            regret, bound = expected(signs, delays, capacity)
            stated = theory.varopt_bound(diameter=2.0, gradient_bound=1.0, horizon=4, total_delay=sum(delays))
            assert regret <= bound + 1e-12
            assert bound <= stated + 1e-12
            largest = max(largest, regret / bound)
    assert largest > 0.6, "else anything would pass"


def test_the_rate_is_that_of_the_held_weight():
    """One slot, everybody late: what is held is the number of rounds, whoever is tracked."""
    game = tarry.Game(BALL, tarry.losses.Linear(np.ones((9, 1))), tarry.delays.fixed(horizon=9, delay=9), capacity=1)
    silent = tarry.Game(game.domain, game.losses, game.delays, capacity=1, information="non-clairvoyant")
    found = [tarry.simulate(one, FREE, bound=True, seeds=2).certificates for one in (game, silent)]
    assert found[0] == found[1]
    wanted = 4 / 2 * sqrt(sum(1 + 2 * s for s in range(9))) / 2
    assert isclose(found[1][0].regularisation, wanted, rel_tol=1e-12)


def test_restarts_over_the_peak_need_acknowledgements():
    """Those over sums do not (test_restarts_by_held_weight.py): the held weight is unbiased, its peak is not."""
    losses, delays = tarry.losses.Linear(np.ones((20, 1))), tarry.delays.fixed(horizon=20, delay=7)
    game = tarry.Game(BALL, losses, delays, capacity=2, information="non-clairvoyant")
    pairs = tarry.Player(
        tarry.learners.DWFTRL(BALL, rate=tarry.rates.DoublingRate(2.0, 1.0)), epochs=tarry.Doubling("pair")
    )
    assert np.all(np.isfinite(tarry.simulate(game, pairs).regret))
    with pytest.raises(tarry.errors.NotGranted, match="doubling over 'backlog' watches the backlog"):
        tarry.simulate(game, tarry.Player(tarry.learners.DWFTRL(BALL, rate=0.1), epochs=tarry.Doubling("backlog")))


def test_what_expired_is_held_no_longer():
    session = tarry.Session(tarry.Player(FREE), capacity=1, information="non-clairvoyant", rng=1)
    session.expire(session.ask().id)
    session.ask()  # h_2 = 0
    assert isclose(session.status().certificate.regularisation, 4 / 2 * sqrt(2) / 2, rel_tol=1e-12)
    session.ask()  # h_3 = 1
    assert isclose(session.status().certificate.regularisation, 4 / 2 * sqrt(2 + 3) / 2, rel_tol=1e-12)
