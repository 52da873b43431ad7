"""DW-FTRL in the Mahalanobis norm against its definition, minimised by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import tarry
from tarry.domains import Ball, Box, Ellipsoid, Shift
from tarry.learners import DWFTRL, Mahalanobis

Q = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])


def brute_force_plays(domain, rates, gradients, rounds):
    """argmin ⟨x, Σ g_s⟩ + Σ (α_s/2)‖x − x_s‖²_Q over the ellipsoid, without delays, round by round."""
    plays = [np.array(domain.center)]
    for t in range(1, rounds):
        total = gradients[:t].sum(axis=0)
        increments = np.diff(1.0 / rates[:t], prepend=0.0)

        def objective(x, total=total, increments=increments):
            apart = [0.5 * a * (x - y) @ Q @ (x - y) for a, y in zip(increments, plays, strict=True)]
            return x @ total + sum(apart)

        def slope(x, total=total, increments=increments):
            return total + Q @ sum(a * (x - y) for a, y in zip(increments, plays, strict=True))

        def room(x):
            return domain.radius**2 - (x - domain.center) @ domain.matrix @ (x - domain.center)

        solved = minimize(
            objective,
            plays[-1],
            jac=slope,
            method="SLSQP",
            constraints={"type": "ineq", "fun": room},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        plays.append(solved.x)
    return np.array(plays)


@pytest.mark.parametrize(("scale", "radius"), [(1.0, 0.7), (4.0, 1.6)])
def test_plays_are_the_argmin(scale, radius):
    rounds = 8
    gradients = np.random.default_rng(2).standard_normal((rounds, 3)) + 0.4
    rates = 0.8 / np.sqrt(np.arange(1, rounds + 1))
    domain = Ellipsoid(scale * Q, radius=radius, center=[0.5, 0.0, -0.5])
    game = tarry.WeightedGame(
        domain=domain,
        losses=tarry.losses.Linear(gradients),
        delays=tarry.delays.fixed(horizon=rounds, delay=0),
        weights=np.ones(rounds),
    )
    record = tarry.simulate(game, DWFTRL(domain, rate=rates, norm=Mahalanobis(Q)), keep_rounds=True)
    expected = brute_force_plays(domain, rates, gradients, rounds)
    assert record.plays() == pytest.approx(expected, abs=2e-6)
    away = expected - domain.center
    reached = np.sqrt(np.einsum("ti,ij,tj->t", away, domain.matrix, away))
    assert np.sum(reached > 0.999 * domain.radius) >= 2, "the boundary must matter in this test"
    assert np.sum(reached < 0.95 * domain.radius) >= 2


def test_a_ball_is_a_ball_of_a_multiple_of_the_identity():
    DWFTRL(Ball(3), rate=0.1, norm=Mahalanobis(2.5 * np.eye(3)))


@pytest.mark.parametrize(
    "domain",
    [
        Box(-1.0, [1.0, 1.0, 1.0]),
        Ball(3),
        Ellipsoid(np.eye(3)),
        Ellipsoid(Q + 1e-6 * np.eye(3)),
        Ellipsoid(np.eye(2)),
        Ball(2),
        Shift(Ellipsoid(Q), [1.0, 0.0, 0.0]),
    ],
)
def test_other_pairs_are_refused(domain):
    with pytest.raises(ValueError, match=r"a Mahalanobis norm needs an Ellipsoid .* use the Euclidean norm"):
        DWFTRL(domain, rate=0.1, norm=Mahalanobis(Q))


def test_a_small_matrix_is_compared_at_its_own_scale():
    with pytest.raises(ValueError, match="needs an Ellipsoid"):
        DWFTRL(Ellipsoid(1e-14 * np.eye(2)), rate=0.1, norm=Mahalanobis(1e-14 * np.diag([1.0, 2.0])))


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        ([[1.0, 0.0]], "the norm's matrix must be square"),
        ([[1.0, 1.0], [0.0, 1.0]], "the norm's matrix must be symmetric"),
        ([[0.0, 0.0], [0.0, 1.0]], "the norm's matrix must be positive definite"),
    ],
)
def test_bad_matrices(matrix, sentence):
    with pytest.raises(ValueError, match=sentence):
        Mahalanobis(matrix)
