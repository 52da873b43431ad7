"""AdaHedgeD and DUB with any delays and weights, against NumPy that keeps every round."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

import tarry
from tarry.learners import DUB, AdaHedgeD

RNG = np.random.default_rng(77)


def _softmin(theta, temperature):
    masses = (theta == theta.min()) * 1.0 if temperature == 0 else np.exp(-(theta - theta.min()) / temperature)
    return masses / masses.sum()


def _gap(v, x, temperature, theta):
    if temperature == 0:
        return x @ theta - theta.min()
    return temperature * np.log(x @ np.exp(-v / temperature)) + v @ x


def _grown(theta, g, missed, x, temperature):
    """What AdaHedgeD proves to have been lost by one round."""
    share = min(1.0, np.abs(g).max() / np.abs(missed).max())
    other = _softmin(theta - share * missed, temperature)
    drift = g @ (x - _softmin(theta, temperature))
    part = _gap(share * missed, other, temperature, theta) + g @ (x - other)
    return max(0.0, min(drift, _gap(missed, x, temperature, theta), part))


def _by_hand(kind, rows, delays, weights, hinted):
    horizon, k = rows.shape
    theta, hint, last, temperature = np.zeros(k), np.zeros(k), np.zeros(k), 0.0
    plays, seen, heats, arrivals, bounds, largest = [], [], [], [], [], 0.0
    for t in range(horizon):
        plays.append(_softmin(theta + hint, temperature))
        seen.append(theta + hint)
        heats.append(temperature)
        for s in (s for s in range(t + 1) if s + delays[s] == t and weights[s] > 0):
            last = weights[s] * rows[s]
            theta = theta + last
            missed = theta - seen[s]
            if kind is AdaHedgeD:
                temperature += _grown(theta, last, missed, plays[s], heats[s]) / log(k)
                continue
            size, error = np.abs(last).max(), np.abs(missed).max()
            meanwhile = sum(2 * min(a, b) for (a, b), u in zip(bounds, arrivals, strict=True) if u >= s)
            bounds.append((size, error))
            arrivals.append(t)
            largest = max(largest, meanwhile)
            squares = sum((2 * min(a, b)) ** 2 + log(k) * (b**2 - max(0.0, b - a) ** 2) for a, b in bounds)
            temperature = (2 * largest + sqrt(squares)) / log(k)
        pending = sum(s + delays[s] > t for s in range(t + 1))
        hint = (pending + 1) * last if hinted else 0 * last
    return np.array(plays)


@pytest.mark.parametrize("kind", [AdaHedgeD, DUB])
@pytest.mark.parametrize("hint", ["none", "recent"])
def test_plays_are_those_of_numpy(kind, hint):
    horizon = 60
    rows = RNG.normal(size=(horizon, 4))
    weights = RNG.exponential(size=horizon) * (RNG.uniform(size=horizon) < 0.7)
    delays = tarry.delays.array(RNG.integers(0, 12, horizon))
    game = tarry.WeightedGame(tarry.domains.Simplex(4), tarry.losses.Linear(rows), delays, weights)
    plays = tarry.simulate(game, kind(4, hint=hint), keep_rounds=True).plays()
    np.testing.assert_allclose(plays, _by_hand(kind, rows, delays.values, weights, hint != "none"), atol=1e-8)
    assert np.ptp(plays, axis=0).max() > 0.1
