"""ONS and AdaGrad by coordinate: transcriptions, bounds in many dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import tarry
from tarry.delays import array
from tarry.domains import Ball, Box, Ellipsoid, Simplex
from tarry.errors import ArgumentError
from tarry.learners import OGD, ONS, AdaGrad, FTRLProximal
from tarry.learners.newton import nearest_by
from tarry.losses import LeastSquares, Linear, Logistic

K, T = 3, 40
RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(T, K))
WAITS = np.minimum(RNG.integers(0, 7, T), T - 1 - np.arange(T))
WEIGHTS = RNG.exponential(size=T)
DOMAINS = {
    "ball": Ball(K, 0.6, center=[0.1, 0.0, -0.2]),
    "box": Box([-0.3, -0.1, -1.0], [0.5, 0.4, 0.2]),
    "simplex": Simplex(K),
    "ellipsoid": Ellipsoid(np.diag([1.0, 4.0, 9.0]) + 0.5),
}


def definite(spread, k=K, seed=0):
    turned = np.linalg.qr(np.random.default_rng(seed).normal(size=(k, k)))[0]
    return (turned * np.geomspace(1.0, spread, k)) @ turned.T


def solved(domain, matrix, free):
    """The nearest point in the norm of a matrix, by a general solver."""
    more = {}
    if isinstance(domain, Ball):
        room = lambda x: domain.radius**2 - np.sum((x - domain.center) ** 2)  # noqa: E731
        more = {"constraints": [{"type": "ineq", "fun": room}]}
    elif isinstance(domain, Ellipsoid):
        more = {"constraints": [{"type": "ineq", "fun": lambda x: domain.radius**2 - x @ domain.matrix @ x}]}
    elif isinstance(domain, Box):
        more = {"bounds": list(zip(domain.lower, domain.upper, strict=True))}
    else:
        more = {"bounds": [(0, None)] * K, "constraints": [{"type": "eq", "fun": lambda x: x.sum() - domain.scale}]}
    scale = np.trace(matrix)
    found = minimize(
        lambda x: (x - free) @ matrix @ (x - free) / scale,
        domain.center,
        jac=lambda x: 2 * matrix @ (x - free) / scale,
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
        **more,
    )
    return found.x


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
@pytest.mark.parametrize("spread", [1.0, 30.0, 1e3])
@pytest.mark.parametrize("where", DOMAINS)
def test_the_nearest_point_in_the_norm_of_a_matrix(where, spread):
    domain, matrix = DOMAINS[where], definite(spread)
    largest = float(np.abs(matrix).sum(axis=1).max())
    for seed in range(6):
        free = 2.0 * np.random.default_rng(seed).normal(size=K)
        point, room = np.array(domain.center), np.zeros((3, K))
        nearest_by(domain, matrix, largest, free, point, room)
        theirs = solved(domain, matrix, free)
        np.testing.assert_allclose(point, theirs, atol=1e-5)
        mine = (point - free) @ matrix @ (point - free)
        assert mine <= ((theirs - free) @ matrix @ (theirs - free)) * (1 + 1e-9) + 1e-12


def test_a_point_of_the_domain_is_its_own_nearest():
    point, free = np.zeros(K), np.array([0.2, -0.3, 0.1])
    nearest_by(Ball(K), definite(1e6), 2e6, free, point, np.zeros((3, K)))
    np.testing.assert_array_equal(point, free)


def arrivals():
    """Rounds in the order in which they are absorbed, by round of arrival."""
    rounds = np.arange(T)
    return [rounds[rounds + WAITS == t] for t in range(T)]


def plays(learner, losses=None, waits=WAITS, weights=WEIGHTS):
    game = tarry.WeightedGame(learner.domain, losses or Linear(ROWS), array(waits), weights)
    return tarry.simulate(game, learner, keep_rounds=True, comparator=None).plays()


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
@pytest.mark.parametrize("where", ["ball", "box"])
def test_newton_steps_are_as_written(where):
    domain, a, x = DOMAINS[where], 0.3 * np.eye(K), np.array(DOMAINS[where].center)
    found = plays(ONS(domain, curvature=0.7, floor=0.3))
    for t, news in enumerate(arrivals()):
        np.testing.assert_allclose(found[t], x, atol=2e-5)
        for s in news:
            a = a + WEIGHTS[s] * np.outer(ROWS[s], ROWS[s])
            x = solved(domain, a, x - WEIGHTS[s] / 0.7 * np.linalg.solve(a, ROWS[s]))
            x = tarry.domains.nearest(domain, x)


@pytest.mark.parametrize("overlap", [0.0, 1.0])
def test_steps_by_coordinate_are_as_written(overlap):
    domain = DOMAINS["box"]
    found = plays(AdaGrad(domain, [0.2, 0.3, 0.4], overlap=overlap, allowance=0.5))
    x, level, heard = np.array(domain.center), np.full(K, 0.5), []
    when = {s: t for t, news in enumerate(arrivals()) for s in news}
    for t, news in enumerate(arrivals()):
        np.testing.assert_allclose(found[t], x, atol=1e-12)
        for s in news:
            v = WEIGHTS[s] * ROWS[s]
            meanwhile = sum((np.abs(WEIGHTS[r] * ROWS[r]) for r in heard if when[r] >= s), np.zeros(K))
            level = level + v**2 + 2 * overlap * np.abs(v) * meanwhile
            x = np.clip(x - np.array([0.2, 0.3, 0.4]) * v / np.sqrt(level), domain.lower, domain.upper)
            heard.append(s)


def test_in_one_dimension_newton_is_descent_with_counted_curvature():
    """γA = γε + Σ γg²: for gradients of one size the steps of OGD.strongly_convex, begun later."""
    signs, ball = np.where(RNG.uniform(size=(T, 1)) < 0.5, 1.0, -1.0), Ball(1)
    mine = plays(ONS(ball, curvature=0.5, floor=2.0), Linear(signs), np.zeros(T, int), np.ones(T))
    theirs = plays(OGD(ball, 1.0 / (0.5 * (2.0 + np.arange(1, T + 1)))), Linear(signs), np.zeros(T, int), np.ones(T))
    np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_nothing_late_overlaps_with_nothing():
    box, prompt = DOMAINS["box"], np.zeros(T, int)
    plain, corrected = (plays(AdaGrad(box, 0.3, overlap=c), waits=prompt) for c in (0.0, 1.0))
    np.testing.assert_array_equal(plain, corrected)
    np.testing.assert_array_equal(AdaGrad.delayed(box, 1.0, 0).allowance, np.zeros(K))


# Bounds in many dimensions


def late_game(domain, losses, seed, longest):
    rng, rounds = np.random.default_rng(seed), losses.horizon
    waits = np.minimum(rng.integers(0, longest + 1, rounds), rounds - 1 - np.arange(rounds))
    return tarry.WeightedGame(domain, losses, array(waits), np.ones(rounds))


def gradients(game, record):
    return np.array([game.losses.gradient(x, t + 1) for t, x in enumerate(record.plays())])


@pytest.mark.parametrize("longest", [0, 3, 9])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_delayed_adagrad_by_coordinate(seed, longest):
    rng = np.random.default_rng(seed)
    box = Box(-rng.uniform(0.2, 2.0, 4), rng.uniform(0.2, 2.0, 4))
    rows = rng.choice([-1.0, 1.0], (200, 4)) * [1.0, 0.1, 3.0, 1.0]
    rows[:, 3] *= rng.uniform(size=200) < 0.1  # sparse
    game = late_game(box, Linear(rows), seed, longest)
    steep, late = np.abs(rows).max(axis=0), int(game.delays.max_delay)
    record = tarry.simulate(game, AdaGrad.delayed(box, steep, late), keep_rounds=True)
    assert not record.warnings
    sizes, ends = np.abs(rows), np.arange(200) + game.delays.values
    pairs = np.zeros(4)
    for s in range(200):  # by brute force: heard before s, and after s played
        together = (ends >= s) & ((ends < ends[s]) | ((ends == ends[s]) & (np.arange(200) < s)))
        pairs += sizes[s] * sizes[together].sum(axis=0)
    level = 2 * late * (4 * late + 1) * steep**2 + (sizes**2).sum(axis=0) + 2 * pairs
    assert record.regret[0] <= np.sqrt(2) * np.sum((box.upper - box.lower) * np.sqrt(level))


@pytest.mark.parametrize("longest", [0, 2, 6])
@pytest.mark.parametrize("kind", ["least squares", "logistic"])
def test_the_bound_of_newton_steps_for_exp_concave_losses(kind, longest):
    rng, domain = np.random.default_rng(longest), Ball(K, 0.5)
    features = rng.normal(size=(300, K))
    features /= np.linalg.norm(features, axis=1)[:, None]
    labels = features @ [0.3, -0.2, 0.1] + rng.choice([-0.3, 0.3], 300)
    # exp(−αf) is concave where α(f′)² ≤ f″: for squares α = 1/max r², for logistic losses e^{−max|z|}.
    made = {
        "least squares": (LeastSquares(features, labels), 1.0 / (0.5 + np.abs(labels).max()) ** 2),
        "logistic": (Logistic(features, labels > 0), float(np.exp(-0.5))),
    }
    losses, alpha = made[kind]
    game = late_game(domain, losses, longest, longest)
    steep, late = losses.gradient_bound(domain), int(game.delays.max_delay)
    learner = ONS.exp_concave(domain, alpha, steep, max_delay=late)
    record = tarry.simulate(game, learner, keep_rounds=True)
    c, e, across = learner.curvature, learner.floor, domain.diameter
    # What the proof assumes of the losses holds on every round played.
    u = record.comparators[0].point
    for t, (x, g) in enumerate(zip(record.plays(), gradients(game, record), strict=True)):
        step = g @ (u - x)
        assert losses.value(u, t + 1) >= losses.value(x, t + 1) + step + c / 2 * step**2 - 1e-9
    more = 1 + 3 * np.sqrt(2) * late * (1 + c * steep * across)
    assert record.regret[0] <= c * e * across**2 / 2 + K / (2 * c) * more * np.log(1 + steep**2 * 300 / (K * e))


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: AdaGrad(Ball(2), 1.0), TypeError, "must be a Box"),
        (lambda: AdaGrad.delayed(Ball(2), 1.0, 3), TypeError, "must be a Box"),
        (lambda: AdaGrad(Box([0.0, 0.0], 1.0), [1.0, 0.0]), ArgumentError, "scale must be positive in every coord"),
        (lambda: AdaGrad(Box([0.0, 0.0], 1.0), 1.0, allowance=-1.0), ArgumentError, "allowance must be 0 or positive"),
        (lambda: AdaGrad.delayed(Box([0.0, 0.0], 1.0), 0.0, 3), ArgumentError, "gradient_bound must be positive"),
        (lambda: ONS(Ball(2), 0.0, 1.0), ValueError, "curvature must be positive"),
        (lambda: ONS.exp_concave(Ball(2), 1.0, 0.0), ValueError, "gradient_bound must be positive"),
    ],
)
def test_refusals(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()


def test_longer_delays_than_allowed_are_told():
    box = Box([-1.0, -1.0], 1.0)
    game = tarry.Game(box, Linear(ROWS[:, :2]), array(WAITS))
    late = int(WAITS.max())
    for known, warned in ((late - 1, True), (late, False)):
        told = tarry.simulate(game, AdaGrad.delayed(box, 9.0, known)).warnings
        assert any(f"give max_delay={late}" in one for one in told) == warned
    assert not tarry.simulate(game, AdaGrad.tuned(box)).warnings
    assert not tarry.simulate(game, FTRLProximal.tuned(box)).warnings
