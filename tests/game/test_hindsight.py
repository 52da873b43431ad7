"""The best fixed action against closed forms, scipy and linear programming, on a ball and a box."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from marking import slow_but
from scipy.optimize import linprog, minimize

from tarry.domains import Ball, Box
from tarry.game.hindsight import comparator, minimise
from tarry.losses import (
    Absolute,
    Callables,
    Custom,
    Distance,
    Hinge,
    Huber,
    LeastSquares,
    Linear,
    Logistic,
    Quadratic,
    Quantile,
)

# Older versions of SciPy tell that they stay inside, which is meant.
pytestmark = pytest.mark.filterwarnings("ignore:Values in x were outside bounds")

T, K = 40, 3
RNG = np.random.default_rng(11)
X = RNG.normal(size=(T, K))
Y = X @ [1.0, -2.0, 0.5] + 0.5 * RNG.normal(size=T)
S = np.where(Y + RNG.normal(size=T) > 0, 1.0, -1.0)
B = RNG.normal(size=T)


class Closed(Box):
    """A box that does not know its linear minimiser."""

    __slots__ = ()

    def linear_minimiser(self, g: Any) -> Any:
        return None


def plain_value(row, x):
    total = 0.0
    for i in range(x.size):
        total += row[i] * x[i]
    return np.sqrt(1.0 + (total - row[x.size]) ** 2)


def plain_gradient(row, x, out):
    total = -row[x.size]
    for i in range(x.size):
        total += row[i] * x[i]
    for i in range(x.size):
        out[i] = row[i] * total / np.sqrt(1.0 + total * total)


def called_value(x, t):
    return plain_value(np.append(X[t - 1], Y[t - 1]), x)


def called_gradient(x, t):
    out = np.zeros(K)
    plain_gradient(np.append(X[t - 1], Y[t - 1]), x, out)
    return out


DOMAINS = {
    "small ball": Ball(K, radius=0.8, center=[0.1, 0.2, -0.3]),
    "large ball": Ball(K, radius=5.0),
    "small box": Box([-0.5, -0.2, -1.0], [0.7, 0.4, 0.1]),
    "large box": Box([-4.0, -5.0, -6.0], [5.0, 4.0, 4.0]),
}
SMOOTH = {
    "Linear": lambda: Linear(X, offsets=B),
    "Linear-ridge": lambda: Linear(X, ridge=0.1),
    "Quadratic": lambda: Quadratic(X, 0.7, offsets=B),
    "Quadratic-ridge": lambda: Quadratic(X, 0.7, ridge=0.4),
    "LeastSquares": lambda: LeastSquares(X, Y),
    "LeastSquares-ridge": lambda: LeastSquares(X, Y, ridge=0.3),
    "Logistic": lambda: Logistic(X, S),
    "Logistic-ridge": lambda: Logistic(X, S, ridge=0.3),
    "Huber": lambda: Huber(X, Y, width=0.4),
    "Custom": lambda: Custom(np.column_stack((X, Y)), plain_value, plain_gradient, dimension=K),
    "Callables": lambda: Callables(called_value, called_gradient, dimension=K, horizon=T),
}
KINKED = {
    "Absolute": lambda **more: Absolute(X, Y, **more),
    "Quantile": lambda **more: Quantile(X, Y, 0.8, **more),
    "Hinge": lambda **more: Hinge(X, S, **more),
}
LAST = np.array([T])


def total(losses, x):
    return sum(losses.value(x, t) for t in range(1, T + 1))


def by_scipy(losses, domain):
    """A general solver over the same set, told nothing but values and gradients."""
    slope = lambda x: sum(losses.gradient(x, t) for t in range(1, T + 1))  # noqa: E731
    more: dict[str, Any] = {}
    if isinstance(domain, Ball):
        inside = {
            "type": "ineq",
            "fun": lambda x: domain.radius**2 - np.sum((x - domain.center) ** 2),
            "jac": lambda x: -2 * (x - domain.center),
        }
        more = {"constraints": [inside]}
    else:
        more = {"bounds": list(zip(domain.lower, domain.upper, strict=True))}
    options = {"maxiter": 500, "ftol": 1e-14}
    found = minimize(lambda x: total(losses, x), domain.center, jac=slope, method="SLSQP", options=options, **more)
    return total(losses, inside_of(domain, found.x))  # it may step out by its tolerance


def inside_of(domain, x):
    if isinstance(domain, Ball):
        away = x - domain.center
        return domain.center + away * min(1.0, domain.radius / max(np.linalg.norm(away), 1e-300))
    return np.clip(x, domain.lower, domain.upper)


def by_linear_programme(name, box):
    """min Σ c⁺ u⁺ + c⁻ u⁻ with u = u⁺ − u⁻ the affine argument of the kinked loss."""
    up, down = {"Absolute": (1, 1), "Quantile": (0.8, 0.2), "Hinge": (1, 0)}[name]
    a, b = (-S[:, None] * X, np.ones(T)) if name == "Hinge" else (-X, Y)
    cost = np.concatenate((np.zeros(K), np.full(T, up), np.full(T, down)))
    equal = np.hstack((a, -np.eye(T), np.eye(T)))  # a x + b = u⁺ − u⁻
    limits = [*zip(box.lower, box.upper, strict=True), *[(0, None)] * (2 * T)]
    return float(linprog(cost, A_eq=equal, b_eq=-b, bounds=limits).fun)


@pytest.mark.parametrize("where", DOMAINS)
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_losses_against_scipy(name, where):
    losses, domain = SMOOTH[name](), DOMAINS[where]
    best = comparator(domain, losses, T, LAST)
    scale = max(1.0, abs(best.losses[-1]))
    assert best.losses[-1] == pytest.approx(total(losses, best.point), rel=1e-12)
    theirs = by_scipy(losses, domain)
    assert best.losses[-1] - best.gap - 1e-9 * scale <= theirs
    assert best.losses[-1] <= theirs + 1e-9 * scale
    assert best.gap <= 1e-9 * scale


@pytest.mark.parametrize("where", ["small box", "large box"])
@pytest.mark.parametrize("name", KINKED)
def test_kinked_losses_against_linear_programming(name, where):
    losses, domain = KINKED[name](), DOMAINS[where]
    best, exact = comparator(domain, losses, T, LAST), by_linear_programme(name, domain)
    assert best.losses[-1] - best.gap - 1e-9 <= exact <= best.losses[-1] + 1e-9
    assert best.gap <= 1e-4 * max(1.0, exact)


@pytest.mark.parametrize("where", ["small ball", "large ball"])
@pytest.mark.parametrize("ridge", slow_but([0.0, 0.2], {0.2}))
@pytest.mark.parametrize("name", KINKED)
def test_kinked_losses_on_balls(name, ridge, where):
    """No sampled point, however close to the one found, beats the certified lower bound."""
    losses, domain = KINKED[name](ridge=ridge), DOMAINS[where]
    best = comparator(domain, losses, T, LAST)
    assert best.gap <= 1e-4 * max(1.0, best.losses[-1])
    rng = np.random.default_rng(0)
    for scale in np.geomspace(1e-7, 1.0, 30):
        x = inside_of(domain, best.point + scale * rng.normal(size=K))
        assert total(losses, x) >= best.losses[-1] - best.gap - 1e-9


@pytest.mark.parametrize("where", DOMAINS)
def test_distances_are_least_at_the_geometric_median(where):
    losses, domain = Distance(X, scale=1.5), DOMAINS[where]
    best = comparator(domain, losses, T, LAST)
    assert best.gap <= 1e-5 * best.losses[-1]
    assert best.losses[-1] - best.gap - 1e-9 <= by_scipy(losses, domain) <= best.losses[-1] * (1 + 1e-6)


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_one_target_for_all_rounds_is_the_best_action(ridge):
    target = np.array([0.3, -0.2, 0.4])
    best = comparator(Ball(K), Distance(np.tile(target, (T, 1)), ridge=ridge), T, LAST)
    np.testing.assert_allclose(best.losses[-1], T * ridge / 2 * (target @ target), atol=1e-5 * T)
    assert best.gap <= 1e-5 * T


@pytest.mark.parametrize("name", [*SMOOTH, *KINKED])
def test_without_a_linear_minimiser(name):
    losses = (SMOOTH | KINKED)[name]()
    known = comparator(DOMAINS["small box"], losses, T, LAST)
    blind = comparator(Closed(*DOMAINS["small box"]), losses, T, LAST)
    scale = max(1.0, abs(known.losses[-1]))
    assert blind.losses[-1] == pytest.approx(known.losses[-1], abs=1e-4 * scale)
    assert known.losses[-1] >= blind.losses[-1] - blind.gap - 1e-9 * scale


SCALES = np.array([1.0, 30.0, 300.0])


def test_features_of_different_scale_are_no_obstacle():
    losses = LeastSquares(X * SCALES, Y)
    best = comparator(Ball(K, radius=5.0), losses, T, LAST)
    point = np.linalg.lstsq(X * SCALES, Y)[0]
    np.testing.assert_allclose(best.point, point, atol=1e-7)
    assert best.gap <= 1e-9 * max(1.0, best.losses[-1])


@pytest.mark.parametrize("name", KINKED)
def test_kinks_with_features_of_different_scale(name):
    scales, box = np.array([1.0, 5.0, 30.0]), Box([-0.9, -0.2, -0.1], [0.9, 0.2, 0.1])
    losses = {"Absolute": Absolute, "Quantile": lambda f, y: Quantile(f, y, 0.8), "Hinge": Hinge}[name](
        X * scales, S if name == "Hinge" else Y
    )
    # In the variable x·scales this is the unscaled problem over the scaled box.
    exact = by_linear_programme(name, Box(box.lower * scales, box.upper * scales))
    best = comparator(box, losses, T, LAST)
    assert best.losses[-1] - best.gap - 1e-9 <= exact <= best.losses[-1] + 1e-9
    assert best.gap <= 1e-4 * max(1.0, exact)


def test_losses_at_checkpoints():
    losses, rounds = LeastSquares(X, Y), np.array([1, 7, T])
    best = comparator(DOMAINS["small ball"], losses, T, rounds)
    sums = np.cumsum([losses.value(best.point, t) for t in range(1, T + 1)])
    np.testing.assert_allclose(best.losses, sums[rounds - 1], rtol=1e-12)


def test_endless_losses_are_cut_at_the_horizon():
    from tarry.losses import Drawn, drifting

    for losses in (Linear(drifting(K, rng=1)), Quadratic(Drawn.block_targets(K, rng=1, length=5))):
        rows = np.array([losses.row(t) for t in range(1, T + 1)])
        listed = type(losses)(rows)
        mine, theirs = (comparator(Ball(K), each, T, LAST) for each in (losses, listed))
        np.testing.assert_allclose(mine.point, theirs.point, rtol=1e-12)
        assert mine.losses[-1] == pytest.approx(theirs.losses[-1], rel=1e-12)


def test_hopeless_slopes_are_reported_not_certified():
    """A kink hidden in a custom loss may stop the descent; the gap must still hold."""
    losses = Callables(lambda x, t: float(np.abs(x - 0.3).sum()), lambda x, t: np.sign(x - 0.3), dimension=2, horizon=3)
    best = minimise(Ball(2), losses, 3)
    assert best.value - best.gap <= 1e-12


@pytest.mark.jit(only=True)
def test_large_horizons_are_quick():
    import time

    rng = np.random.default_rng(0)
    features = rng.normal(size=(20_000, 10))
    losses = LeastSquares(features, features @ rng.normal(size=10) + rng.normal(size=20_000))
    comparator(Ball(10), losses, 100, np.array([100]))
    started = time.perf_counter()
    best = comparator(Ball(10, radius=3.0), losses, 20_000, np.array([20_000]))
    assert best.gap <= 1e-9 * best.losses[-1]
    assert time.perf_counter() - started < 5.0
