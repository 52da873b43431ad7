"""The bounds on weighted regret: worked cases, and learners played in the open."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from casework import agree

from tests.oracles import theory


@pytest.mark.cases("bounds")
def test_worked_cases(given, expected):
    if given["kind"] != "dw":
        return  # the main theorems are in test_main.py
    printed = theory.weighted_regret_bound(
        weights=given["weights"],
        delays=given["delays"],
        rates=given["etas"],
        diameter=given["D"],
        gradient_bound=given["G"],
    )
    agree(printed, expected["dw_oco_convex"])
    bandit = theory.bandit_weighted_regret_bound(
        weights=given["weights"],
        delays=given["delays"],
        rates=given["etas"],
        smoothing=given["deltas"],
        diameter=given["D"],
        gradient_bound=given["G"],
        value_bound=given["M"],
        inner_radius=given["r"],
        dimension=given["k"],
    )
    agree(bandit, expected["dw_bco_convex"])


def follow(weights, delays, rates, gradient, low=-1.0, high=1.0):
    """DW-FTRL on an interval, literally: x minimises the sum seen so far plus Σ α_s |x_s − x|²/2."""
    n = len(weights)
    steps, plays, seen = theory.increments(rates), [0.0], []
    for t in range(n):
        seen.append(gradient(t, plays[t]))
        total = sum(weights[s] * seen[s] for s in range(t + 1) if s + delays[s] <= t)
        centre = np.dot(steps[: t + 1], plays[: t + 1]) / steps[: t + 1].sum()
        plays.append(float(np.clip(centre - rates[t] * total, low, high)))
    return np.array(plays[:n])


@pytest.mark.parametrize("seed", range(20))
def test_strongly_convex_form_on_played_games(seed):
    rng = np.random.default_rng(seed)
    n, lam = 40, 0.5
    targets, weights = rng.uniform(-1, 1, n), rng.exponential(1.0, n) * (rng.random(n) < 0.7)
    delays = np.minimum(rng.integers(0, 9, n), np.arange(n)[::-1])
    rates = np.asarray(theory.strongly_convex_rate(theory.rounds(n), strong_convexity=lam))
    plays = follow(weights, delays, rates, lambda t, x: lam * (x - targets[t]))
    for u in np.linspace(-1, 1, 9):
        regret = np.sum(weights * lam / 2 * ((plays - targets) ** 2 - (u - targets) ** 2))
        bound = theory.weighted_regret_bound(
            weights=weights,
            delays=delays,
            rates=rates,
            distances=np.abs(plays - u),
            gradient_bound=2 * lam,
            strong_convexity=lam,
            sharpened=True,
        )
        assert regret <= bound + 1e-12


def test_strongly_convex_form_is_attained_when_nothing_arrives():
    """One loss x·g with λ = 0 and no feedback in time: ½α|x−u|² + G²(½Σηw² + pairs), with equality at the best u."""
    weights, n = np.array([1.0, 2.0, 0.5]), 3
    eta = 1.0 / weights.sum()
    bound = theory.weighted_regret_bound(
        weights=weights,
        delays=[2, 1, 0],
        rates=np.full(n, eta),
        distances=np.ones(n),
        gradient_bound=1.0,
        sharpened=True,
    )
    assert bound == pytest.approx(weights.sum())


def test_strongly_convex_form_literally():
    weights, delays, rates, far = [1.0, 0.0, 3.0], [2, 0, 0], [1.0, 0.5, 0.25], [1.0, 2.0, 0.5]
    given = {"weights": weights, "delays": delays, "rates": rates, "distances": far}
    curve = 0.5 * ((1 - 2) * 1 + (1 - 0) * 4 + (2 - 6) * 0.25)
    own, pairs = 1 * 1 + 1 * 0 + 0.5 * 9, 0.5 * 3 * 1
    for sharpened, total in ((False, own + pairs), (True, own / 2 + pairs)):
        agree(
            theory.weighted_regret_bound(**given, gradient_bound=3.0, strong_convexity=2.0, sharpened=sharpened),
            curve + 9 * total,
        )
    bandit = {"smoothing": [1.0, 0.5, 0.5], "value_bound": 1.5, "inner_radius": 2.0, "dimension": 4}
    a = [2.0, 4.0, 4.0]  # kM/(Gδ)
    noisy = 1 * a[0] ** 2 + 0.5 * (a[2] * 3) ** 2
    cross = 0.5 * a[2] * 3 * 1
    slope = 10 * 9 / (2 * 2.0) * (1 * 1.0 + 3 * 0.5)
    for sharpened, total in ((False, 2 * (noisy + cross + pairs)), (True, noisy / 2 + cross + pairs)):
        agree(
            theory.bandit_weighted_regret_bound(
                **given, **bandit, gradient_bound=3.0, strong_convexity=2.0, sharpened=sharpened
            ),
            curve + 9 * total + slope,
        )


def test_the_sharpened_lemma_on_pending_estimates():
    """E|Σ wĝ| ≤ G Σw + (kM/δ)√Σw² without the factor 2: every sequence of signs, in one dimension."""
    slopes, weights, delta, offset = np.array([1.0, -0.5, 1.0, 0.25]), np.array([1.0, 2.0, 0.5, 3.0]), 0.5, 0.75
    lengths = []
    for signs in itertools.product((-1.0, 1.0), repeat=4):
        u = np.array(signs)
        lengths.append(abs(np.sum(weights / delta * (offset + slopes * delta * u) * u)))
    value = offset + delta
    assert np.mean(lengths) <= weights.sum() + value / delta * np.sqrt(np.sum(weights**2))


@pytest.mark.parametrize("seed", range(30))
def test_the_bounds_are_their_definitions(seed):
    """Against sums over every pair of rounds that wait together; weights far apart, delays beyond the end."""
    rng = np.random.default_rng(seed)
    n, k, (width, steep, most, room, lam) = int(rng.integers(1, 50)), 3, rng.uniform(0.5, 3.0, 5)
    weights = 10.0 ** rng.integers(-3, 4, n) * (rng.random(n) < 0.6)
    delays, rates = rng.integers(0, n + 3, n), np.minimum.accumulate(rng.uniform(0.01, 1.0, n))
    smoothing, far = np.minimum.accumulate(rng.uniform(0.1, room, n)), rng.uniform(0.0, width, n)
    own, pairs = theory.backlog_sums(weights, delays, rates)
    starts = {
        0.0: width**2 / (2 * rates[-1]),
        lam: theory.curvature_sum(weights=weights, rates=rates, distances=far, strong_convexity=lam),
    }
    lengths = k * most / (steep * smoothing)
    for strength, start in starts.items():
        game = {"weights": weights, "delays": delays, "rates": rates, "gradient_bound": steep}
        game |= {"diameter": width} if strength == 0 else {"distances": far, "strong_convexity": strength}
        ball = {"smoothing": smoothing, "value_bound": most, "inner_radius": room, "dimension": k}
        slope = (3 * steep * width if strength == 0 else 10 * steep**2 / lam) / room * float(weights @ smoothing)
        for half in (False, True):
            share = 0.5 if half else 1.0
            bound = theory.weighted_regret_bound(**game, sharpened=half)
            assert bound == pytest.approx(start + steep**2 * (share * own + pairs), rel=1e-12)
            noise = theory.bandit_noise(weights, delays, rates, lengths, sharpened=half)
            bound = theory.bandit_weighted_regret_bound(**game, **ball, sharpened=half)
            assert bound == pytest.approx(start + steep**2 * noise + slope, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"weights": [1.0, -1.0]}, "weights must be finite and not negative"),
        ({"weights": [np.nan, 1.0]}, "weights must be finite and not negative"),
        ({"rates": [0.5, 0.6]}, "rates must be positive and never rise"),
        ({"rates": [0.5, 0.0]}, "rates must be positive and never rise"),
        ({"smoothing": [0.5, 1.5]}, "smoothing must lie above 0 and within inner_radius=1"),
        ({"smoothing": [0.5, 0.0]}, "smoothing must lie above 0"),
    ],
)
def test_sequences_that_the_theorems_are_not_about_are_refused(change, problem):
    known = {"weights": [1.0, 2.0], "delays": [1, 0], "rates": [0.5, 0.4], "gradient_bound": 1.0, "diameter": 2.0}
    ball = {"smoothing": [0.5, 0.5], "value_bound": 1.0, "inner_radius": 1.0, "dimension": 2}
    with pytest.raises(ValueError, match=problem):
        theory.bandit_weighted_regret_bound(**(known | ball | change))
    if "smoothing" not in change:
        with pytest.raises(ValueError, match=problem):
            theory.weighted_regret_bound(**(known | change))


def test_saturation_is_a_probability():
    for full in ([0.5, 1.5], [-0.1], [np.nan]):
        with pytest.raises(ValueError, match="saturation must be probabilities"):
            theory.wrapper_bound(1.0, full, diameter=1.0, gradient_bound=1.0)


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="one number per round"):
        theory.weighted_regret_bound(weights=[1.0, 2.0], delays=[0], rates=[0.5, 0.5], gradient_bound=1.0, diameter=1.0)
    one = {"weights": [1.0], "delays": [0], "rates": [0.5], "gradient_bound": 1.0}
    with pytest.raises(ValueError, match="diameter is needed for convex losses"):
        theory.weighted_regret_bound(**one)
    with pytest.raises(ValueError, match="distances are needed for strongly convex losses"):
        theory.weighted_regret_bound(**one, strong_convexity=1.0)
