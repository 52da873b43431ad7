"""The best fixed action where features differ much in scale, against solvers of each shape's own."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import brentq, lsq_linear, minimize

from tarry.domains import Ball, Box, CustomDomain, Ellipsoid, Product, Shift, Simplex
from tarry.game import hindsight
from tarry.game.hindsight import Stopped, comparator
from tarry.losses import Absolute, Custom, Huber, LeastSquares, Linear, Logistic

T, K = 60, 4
LAST = np.array([T])


def problem(seed, spread, turned=False):
    """Features whose scales (or singular values, if turned) reach over ``spread``, and noisy labels."""
    rng = np.random.default_rng(seed)
    scales = np.geomspace(1.0, spread, K)
    features = rng.normal(size=(T, K))
    if turned:
        left, _, right = np.linalg.svd(features, full_matrices=False)
        features = (left * scales) @ right
    else:
        features *= rng.permutation(scales)
    return features, features @ rng.normal(size=K) + rng.normal(size=T), rng


def half_squares(features, labels, x):
    return 0.5 * float(np.sum((features @ x - labels) ** 2))


def check(domain, losses, exact, goal):
    """The value is the exact one, up to the goal; the gap is honest and as small."""
    best = comparator(domain, losses, T, LAST)
    size = max(1.0, abs(exact))
    assert best.losses[-1] - exact <= best.gap + 1e-11 * size
    assert best.losses[-1] >= exact - 1e-9 * size
    assert best.gap <= goal * size
    return best


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("spread", [10.0, 1e3, 1e5])
@pytest.mark.parametrize("seed", range(6))
def test_boxes_against_bounded_least_squares(seed, spread, turned):
    features, labels, rng = problem(seed, spread, turned)
    box = Box(-rng.uniform(0.1, 1.5, K), rng.uniform(0.1, 1.5, K))
    theirs = lsq_linear(features, labels, (box.lower, box.upper), method="bvls", tol=1e-15)
    exact = half_squares(features, labels, np.clip(theirs.x, box.lower, box.upper))
    check(box, LeastSquares(features, labels), exact, 1e-9 if spread < 1e5 else 1e-7)


@pytest.mark.parametrize("spread", [10.0, 1e3, 1e5])
@pytest.mark.parametrize("seed", range(4))
def test_balls_against_the_secular_equation(seed, spread):
    """On the sphere (H + m)x = b for the multiplier m > 0 at which ‖x‖ is the radius."""
    features, labels, _ = problem(seed, spread)
    values, axes = np.linalg.eigh(features.T @ features)
    along = axes.T @ (features.T @ labels)
    excess = lambda m: float(np.linalg.norm(along / (values + m))) - 0.7  # noqa: E731
    m = brentq(excess, 0.0, float(np.linalg.norm(along)) / 0.7, xtol=1e-300, rtol=1e-15) if excess(0.0) > 0 else 0.0
    exact = half_squares(features, labels, axes @ (along / (values + m)))
    check(Ball(K, radius=0.7), LeastSquares(features, labels), exact, 1e-9)


@pytest.mark.parametrize("spread", [10.0, 1e3])
@pytest.mark.parametrize("seed", range(4))
def test_simplices_against_every_face(seed, spread):
    features, labels, _ = problem(seed, spread)
    exact = np.inf
    for size in range(1, K + 1):
        for kept in map(list, combinations(range(K), size)):
            # Least squares on the face's plane, written around its first vertex.
            edges = features[:, kept[1:]] - features[:, kept[:1]]
            inner = np.linalg.lstsq(edges, labels - features[:, kept[0]], rcond=None)[0] if size > 1 else np.zeros(0)
            x = np.zeros(K)
            x[kept] = np.concatenate(([1.0 - inner.sum()], inner))
            exact = min(exact, half_squares(features, labels, x) if np.all(x >= -1e-12) else np.inf)
    check(Simplex(K), LeastSquares(features, labels), exact, 1e-9)
    moved = LeastSquares(features, labels + features @ np.full(K, 0.3))
    check(Shift(Simplex(K), np.full(K, 0.3)), moved, exact, 1e-9)


@pytest.mark.parametrize("spread", [10.0, 1e3])
@pytest.mark.parametrize("seed", range(3))
def test_logistic_losses_in_scaled_variables(seed, spread):
    """Scaled features over a scaled box are the unscaled problem, which a general solver finds."""
    rng = np.random.default_rng(seed)
    features, scales = rng.normal(size=(T, K)), np.geomspace(1.0, spread, K)
    labels = np.where(features @ rng.normal(size=K) + rng.normal(size=T) > 0, 1.0, -1.0)
    signs = labels[:, None] * features
    value = lambda x: float(np.sum(np.logaddexp(0.0, -signs @ x)))  # noqa: E731
    slope = lambda x: -signs.T @ (1.0 / (1.0 + np.exp(signs @ x)))  # noqa: E731
    options = {"ftol": 1e-15, "gtol": 1e-12, "maxiter": 1000}
    theirs = minimize(value, np.zeros(K), jac=slope, method="L-BFGS-B", bounds=[(-0.6, 0.6)] * K, options=options)
    losses = Logistic(features * scales, labels)
    check(Box(-0.6 / scales, 0.6 / scales), losses, float(theirs.fun), 1e-9)


def soft(row, x):
    total = -row[x.size]
    for i in range(x.size):
        total += row[i] * x[i]
    return np.sqrt(1.0 + total * total)


def soft_slope(row, x, out):
    total = -row[x.size]
    for i in range(x.size):
        total += row[i] * x[i]
    for i in range(x.size):
        out[i] = row[i] * total / np.sqrt(1.0 + total * total)


def keep_small(x):
    np.clip(x, -0.5, 0.5, out=x)


DOMAINS = {
    "Ball": lambda: Ball(K, radius=0.9, center=np.full(K, 0.2)),
    "Box": lambda: Box(-0.8, np.array([0.1, 0.5, 1.0, 2.0])),
    "Simplex": lambda: Simplex(K, 2.0),
    "Ellipsoid": lambda: Ellipsoid(np.diag(np.geomspace(1.0, 1e4, K)) + 0.1),
    "Product": lambda: Product(Ball(2), Simplex(K - 2)),
    "Shift": lambda: Shift(Ball(K), np.full(K, 0.7)),
    "Custom": lambda: CustomDomain(keep_small, K, np.zeros(K), diameter=K**0.5, inner_radius=0.5),
}
LOSSES = {
    "LeastSquares-ridge": lambda f, y: LeastSquares(f, y, ridge=0.1),
    "Logistic": lambda f, y: Logistic(f, np.where(y > np.median(y) + np.cos(100 * y), 1.0, -1.0)),
    "Huber": lambda f, y: Huber(f, y, width=0.5),
    "Custom": lambda f, y: Custom(np.column_stack((f, y)), soft, soft_slope, dimension=K),
    "Absolute": lambda f, y: Absolute(f, y),
}


@pytest.mark.parametrize("where", DOMAINS)
@pytest.mark.parametrize("name", LOSSES)
def test_every_domain_reaches_the_goal(name, where):
    features, labels, rng = problem(3, 1e3)
    losses, domain = LOSSES[name](features, labels), DOMAINS[where]()
    best = comparator(domain, losses, T, LAST)
    goal = {"Logistic": 1e-7, "Absolute": 1e-5}.get(name, 1e-9)
    assert best.gap <= goal * max(1.0, best.losses[-1])
    total = lambda x: sum(losses.value(x, t) for t in range(1, T + 1))  # noqa: E731
    for share in np.geomspace(1e-6, 1.0, 10):
        corner = domain.linear_minimiser(rng.normal(size=K))
        assert total(best.point + share * (corner - best.point)) >= best.losses[-1] * (1 - 1e-12) - best.gap


@pytest.mark.parametrize("name", LOSSES)
def test_domains_of_one_point_and_domains_far_away(name):
    features, labels, _ = problem(5, 30.0)
    point = comparator(Box(np.full(K, 0.5), np.full(K, 0.5)), LOSSES[name](features, labels), T, LAST)
    assert point.gap == 0.0
    np.testing.assert_array_equal(point.point, np.full(K, 0.5))
    shift = np.full(K, 1e4)
    near = comparator(Ball(K), LOSSES[name](features, labels), T, LAST)
    if name not in ("Logistic", "LeastSquares-ridge"):  # the others see x through ⟨φ, x⟩ − y alone
        far = comparator(Shift(Ball(K), shift), LOSSES[name](features, labels + features @ shift), T, LAST)
        assert far.losses[-1] == pytest.approx(near.losses[-1], rel=1e-5)
        assert far.losses[-1] - far.gap <= near.losses[-1] * (1 + 1e-7)


class Patient:
    """Says stop at the n-th time of asking."""

    def __init__(self, n):
        self.left = n

    def __call__(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("name", ["Linear", "LeastSquares", "Absolute"])
def test_it_can_be_stopped_at_every_block(name, monkeypatch):
    monkeypatch.setattr(hindsight, "BLOCK", 16)
    features, labels, _ = problem(0, 10.0)
    losses = {"Linear": lambda: Linear(features), "LeastSquares": lambda: LeastSquares(features, labels)}
    made = losses.get(name, lambda: Absolute(features, labels))()
    whole = comparator(Ball(K), made, T, np.array([1, 16, 17, T]), lambda: False)
    for n in (0, 1, 3, 5):
        with pytest.raises(Stopped):
            comparator(Ball(K), made, T, LAST, Patient(n))
    patient = Patient(10**9)
    cut = comparator(Ball(K), made, T, np.array([1, 16, 17, T]), patient)
    assert 10**9 - patient.left >= 2 * -(-T // 16)
    np.testing.assert_array_equal(cut.losses, whole.losses)


def test_blocks_change_nothing(monkeypatch):
    features, labels, _ = problem(1, 1e3)
    losses, rounds = Huber(features, labels), np.array([1, 15, 16, 17, 59, T])
    whole = comparator(Ball(K), losses, T, rounds)
    monkeypatch.setattr(hindsight, "BLOCK", 16)
    cut = comparator(Ball(K), losses, T, rounds)
    np.testing.assert_array_equal(cut.losses, whole.losses)
    assert cut.gap == whole.gap
