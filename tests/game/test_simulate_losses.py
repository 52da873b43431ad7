"""One game per loss type; a pair of functions plays exactly as the loss it writes down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tarry
from tarry import losses as room
from tarry.kernel import is_compiled
from tarry.learners import DWFTRL

T, K = 150, 3
RNG = np.random.default_rng(2)
X, Y = RNG.normal(size=(T, K)), RNG.normal(size=T)
S = np.where(Y > 0, 1.0, -1.0)


def value(row, x):
    total = 0.0
    for i in range(x.size):
        total += row[i] * x[i]
    return total


def gradient(row, x, out):
    for i in range(x.size):
        out[i] = row[i]


def called_value(x, t):
    return float(X[t - 1] @ x)


def called_gradient(x, t):
    return X[t - 1]


def compiled_pair() -> tuple[Any, Any]:
    if not is_compiled():
        return value, gradient
    from numba import njit

    return njit(value), njit(gradient)


def run(losses: Any) -> Any:
    domain = tarry.domains.Ball(K)
    game = tarry.Game(domain, losses, tarry.delays.fixed(horizon=T, delay=20), capacity=4)
    player = tarry.Player(learner=DWFTRL(domain, rate=0.05), scheduler=tarry.schedulers.VarOpt())
    return tarry.simulate(game, player, seeds=1, keep_rounds=True)


MEMBERS = {
    "Linear": lambda: room.Linear(room.drifting(K, rng=1)),
    "Quadratic": lambda: room.Quadratic(room.Drawn.block_targets(K, rng=1)),
    "LeastSquares": lambda: room.LeastSquares(X, Y, ridge=0.1),
    "Logistic": lambda: room.Logistic(X, S),
    "Quantile": lambda: room.Quantile(X, Y, 0.7),
    "Absolute": lambda: room.Absolute(X, Y),
    "Hinge": lambda: room.Hinge(X, S),
    "Huber": lambda: room.Huber(X, Y),
    "Custom": lambda: room.Custom(X, *compiled_pair(), dimension=K),
    "Callables": lambda: room.Callables(called_value, called_gradient, dimension=K, horizon=T),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_every_loss_plays(name):
    record = run(MEMBERS[name]())
    assert np.isfinite(record.regret).all()
    assert np.isfinite(record.plays()).all()
    assert record.comparators[0].gap <= 1e-4 * max(1.0, abs(record.comparators[0].losses[-1]))


def test_a_pair_of_functions_plays_as_the_loss_it_writes_down():
    known = run(room.Linear(X))
    others = [
        run(room.Custom(X, *compiled_pair(), dimension=K)),
        run(room.Custom(X, value, gradient, dimension=K)),
        run(room.Callables(called_value, called_gradient, dimension=K, horizon=T)),
    ]
    for other in others:
        np.testing.assert_allclose(other.plays(), known.plays(), rtol=0, atol=1e-12)
        assert other.loss[0] == pytest.approx(known.loss[0], abs=1e-9)
        assert other.regret[0] == pytest.approx(known.regret[0], abs=1e-6)
        assert other.certificates[0].gradient_bound is None
        assert other.bound[0] < known.bound[0]  # from the norms observed, where no bound is stated


def test_offsets_change_the_loss_but_not_the_plays():
    plain, lifted = run(room.Linear(X)), run(room.Linear(X, offsets=Y))
    np.testing.assert_array_equal(lifted.plays(), plain.plays())
    assert lifted.loss[0] == pytest.approx(plain.loss[0] + Y.sum(), rel=1e-12)
    assert lifted.regret[0] == pytest.approx(plain.regret[0], abs=1e-9)
