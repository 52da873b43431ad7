"""Kinked losses by the interior-point method: against linear programming, and certificates that hold anywhere."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from marking import slow_but
from scipy.optimize import linprog

from tarry.domains import Ball, Box, Ellipsoid, Product, Shift, Simplex
from tarry.domains.base import nearest
from tarry.game import hindsight, interior
from tarry.game.hindsight import Stopped, comparator, minimise
from tarry.losses import Absolute, Hinge, LeastSquares, Quantile

T, K = 80, 6
LAST = np.array([T])
MAKE = {
    "Absolute": lambda x, y, **more: Absolute(x, y, **more),
    "Hinge": lambda x, y, **more: Hinge(x, np.sign(y), **more),
    "Quantile": lambda x, y, **more: Quantile(x, y, 0.85, **more),
}
SIDES = {"Absolute": (1.0, 1.0), "Hinge": (1.0, 0.0), "Quantile": (0.85, 0.15)}
DOMAINS = {
    "box": Box(np.linspace(-1.0, -0.1, K), 0.3),
    "simplex": Simplex(K, 1.5),
    "shift": Shift(Simplex(K), np.full(K, 0.2)),
    "product": Product(Box(-np.ones(2), 1.0), Simplex(K - 2)),
    "ball": Ball(K, 0.4, center=np.full(K, 0.1)),
    "ellipsoid": Ellipsoid(np.diag(np.geomspace(1.0, 100.0, K)) + 0.1),
    "mixed": Product(Ball(3, 0.5), Shift(Box(-np.ones(3), 1.0), np.full(3, 0.5))),
}
FLAT = ("box", "simplex", "shift", "product")


def data(seed, rounds=T, k=K):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rounds, k))
    return features, features @ rng.normal(size=k) + 0.5 * rng.normal(size=rounds)


def by_linear_programme(name, features, labels, domain):
    """The same minimum as Σ up·u⁺ + down·u⁻, u = u⁺ − u⁻, by HiGHS."""
    (up, down), (rounds, k) = SIDES[name], features.shape
    slopes, offsets = (
        (-np.sign(labels)[:, None] * features, np.ones(rounds)) if name == "Hinge" else (-features, labels)
    )
    limits = interior.limits_of(domain)
    cost = np.concatenate((np.zeros(k), np.full(rounds, up), np.full(rounds, down)))
    rows = [np.hstack((slopes, -np.eye(rounds), np.eye(rounds)))]
    rows += [np.concatenate((e, np.zeros(2 * rounds)))[None] for e, _ in limits.equal]
    totals = np.concatenate((-offsets, [f for _, f in limits.equal]))
    bounds = [*zip(limits.lower, limits.upper, strict=True), *[(0, None)] * (2 * rounds)]
    return float(linprog(cost, A_eq=np.vstack(rows), b_eq=totals, bounds=bounds).fun)


@pytest.mark.parametrize("where", FLAT)
@pytest.mark.parametrize("name", MAKE)
def test_the_minimum_is_that_of_linear_programming(name, where):
    for seed in range(2):
        features, labels = data(seed)
        best = comparator(DOMAINS[where], MAKE[name](features, labels), T, LAST)
        exact = by_linear_programme(name, features, labels, DOMAINS[where])
        assert best.losses[-1] == pytest.approx(exact, rel=2e-9, abs=2e-9)
        assert best.losses[-1] - best.gap <= exact + 1e-9
        assert best.gap <= 1e-9 * max(1.0, exact)


@pytest.mark.parametrize(("ridge", "smoothing"), slow_but(product([0.0, 0.05], [0.0, 0.3]), {(0.0, 0.0), (0.05, 0.3)}))
@pytest.mark.parametrize("where", DOMAINS)
@pytest.mark.parametrize("name", MAKE)
def test_no_point_falls_below_the_certificate(name, where, ridge, smoothing):
    """At every turn, for planes as they come: points of the domain near the best and far from it lie above them."""
    features, labels = data(7)
    domain, losses = DOMAINS[where], MAKE[name](features, labels, ridge=ridge, smoothing=smoothing)
    rng, found = np.random.default_rng(1), minimise(domain, losses, T)
    assert found.gap <= 1e-9 * max(1.0, found.value)
    near = [found.point + scale * rng.normal(size=K) for scale in np.geomspace(1e-6, 2.0, 10)]
    points = [nearest(domain, x) for x in near]
    heights = np.array([sum(losses.value(x, t) for t in range(1, T + 1)) for x in points])
    turns = list(interior.planes(domain, losses, T, lambda: None))
    assert len(turns) > 5
    for plane in turns:
        below = [
            plane.height + plane.slope @ (x - plane.x) + T * ridge / 2 * np.sum((x - plane.x) ** 2) for x in points
        ]
        assert np.all(np.array(below) <= heights + 1e-9 * heights.max())
    assert found.value <= heights.min() + 1e-9 * heights.max()
    assert turns[3].value == pytest.approx(sum(losses.value(turns[3].x, t) for t in range(1, T + 1)), rel=1e-12)


@pytest.mark.parametrize("where", ["box", "ball"])
@pytest.mark.parametrize("name", MAKE)
def test_sixty_dimensions_reach_the_goal_in_few_turns(name, where):
    features, labels = data(0, 500, 60)
    domain = Box(-0.2 * np.ones(60), 0.2) if where == "box" else Ball(60)
    turns = []

    def gap_after():
        search = hindsight._Search(domain)
        for plane in interior.planes(domain, MAKE[name](features, labels), 500, lambda: None):
            turns.append(plane)
            search.offer(plane)
            search.raise_low(plane, 0.0)
            if search.reached(1e-9):
                break
        return search.gap / search.value

    assert gap_after() <= 1e-9
    assert len(turns) <= 25


def test_rows_of_one_scale_in_features_of_another():
    features, labels = data(3)
    scales = np.geomspace(1.0, 1e6, K)
    one = comparator(Box(-np.ones(K), 1.0), Absolute(features, labels), T, LAST)
    other = comparator(Box(-1.0 / scales, 1.0 / scales), Absolute(features * scales, labels), T, LAST)
    assert other.losses[-1] == pytest.approx(one.losses[-1], rel=1e-8)
    assert other.gap <= 1e-6 * other.losses[-1]


def test_a_perfect_fit_is_found():
    features = data(2)[0]
    best = comparator(Box(-np.ones(K), 1.0), Absolute(features, features @ np.full(K, 0.25)), T, LAST)
    assert best.losses[-1] <= 1e-8
    np.testing.assert_allclose(best.point, 0.25, atol=1e-8)


def test_fewer_rounds_than_entries_have_a_minimum_too():
    features, labels = data(4, 5, 30)
    best = comparator(Box(-np.ones(30), 1.0), Quantile(features, labels, 0.3), 5, np.array([5]))
    assert best.losses[-1] <= 1e-6
    assert best.gap <= 1e-6


@pytest.mark.parametrize(
    ("domain", "losses"),
    [
        (Box([0.0, -1.0], [0.0, 1.0]), lambda f, y: Absolute(f, y)),  # a side of length 0
        (Simplex(1), lambda f, y: Absolute(f[:, :1], y)),
        (Ball(2), lambda f, y: LeastSquares(f, y)),
    ],
)
def test_what_is_not_its_own_is_left_to_others(domain, losses):
    made = losses(*data(1, T, 2))
    assert not list(interior.planes(domain, made, T, lambda: None))
    best = comparator(domain, made, T, LAST)
    assert best.gap <= 1e-6 * best.losses[-1]


def test_a_search_can_be_stopped_between_turns():
    asked = []

    def stopped():
        asked.append(1)
        return len(asked) > 4

    with pytest.raises(Stopped):
        comparator(Box(-np.ones(K), 1.0), Absolute(*data(0)), T, LAST, stopped)
    assert len(asked) == 5


def test_losses_that_bend_otherwise_than_they_say_are_not_believed():
    class Square(Absolute, init=False):
        """Lose the half square of what ``bend`` says."""

        def curve(self, z, y):
            return 0.5 * (z - y) * (z - y), z - y

        def support(self, row, x, height):
            return height

    features, labels = data(5)
    exact = comparator(DOMAINS["box"], LeastSquares(features, labels), T, LAST).losses[-1]
    found = comparator(DOMAINS["box"], Square.make(*Absolute(features, labels)), T, LAST)
    assert found.losses[-1] == pytest.approx(exact, rel=1e-6)
    assert found.losses[-1] - found.gap <= exact + 1e-9
