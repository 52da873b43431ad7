"""DORM, DORM+, AdaHedgeD and DUB against their authors' own package, step by step, at constant delays."""

from __future__ import annotations

import numpy as np
import poold
import pytest
from marking import slow_but

import tarry
from tarry.learners import DORM, DUB, AdaHedgeD, DORMPlus
from tarry.learners.base import KeyedDirections, absorb, advance, allocate, enter, predict
from tarry.learners.experts import PLAYED, temperature_of

LEARNERS = {"dorm": DORM, "dormplus": DORMPlus, "adahedged": AdaHedgeD, "dub": DUB}


def _theirs(name, rows, delay, hint="none"):
    learner = poold.create(name, model_list=[str(i) for i in range(rows.shape[1])], T=len(rows))
    plays, temperatures = [], []
    for t in range(len(rows)):
        s = t - 1 - delay
        loss = {"fun": lambda w, s=s: float(rows[s] @ w), "grad": lambda w, s=s: rows[s]}
        guess = None
        if hint != "none" and s >= 0:  # DORM's hints are of regrets, the others' of gradients
            seen = [rows[r] @ plays[r] - rows[r] if name.startswith("dorm") else rows[r] for r in range(s + 1)]
            guessed = {"recent": (delay + 1) * seen[-1], "previous": seen[-1], "mean": (delay + 1) * np.mean(seen, 0)}
            guess = {"grad": lambda w, vector=guessed[hint]: vector}
        plays.append(np.array(learner.update_and_play([(s, loss)] if s >= 0 else [], hint=guess)))
        temperatures.append(learner.get_params().get("lam", 0.0))
    return np.array(plays), np.array(temperatures)


def _ours(name, rows, delay, hint="none"):
    game = tarry.WeightedGame(
        tarry.domains.Simplex(rows.shape[1]),
        tarry.losses.Linear(rows),
        tarry.delays.fixed(horizon=len(rows), delay=delay),
        np.ones(len(rows)),
    )
    return tarry.simulate(game, LEARNERS[name](rows.shape[1], hint=hint), keep_rounds=True).plays()


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("delay", slow_but([0, 1, 5], {5}))
@pytest.mark.parametrize("kind", slow_but(["mixed", "drifting", "positive"], {"drifting"}))
@pytest.mark.parametrize("hint", ["none", "recent", "previous", "mean"])
def test_plays_are_those_of_poold(name, delay, kind, hint):
    rng = np.random.default_rng(delay + 17)
    rows = rng.normal(size=(120, 4))
    if kind == "drifting":
        rows += np.outer(np.sin(np.arange(120) / 12), [2.0, -1.0, 0.5, 0.0])
    if kind == "positive":
        rows = rng.uniform(size=(120, 4)) * [1.0, 0.9, 0.8, 0.95]
    theirs, _ = _theirs(name, rows, delay, hint)
    np.testing.assert_allclose(_ours(name, rows, delay, hint), theirs, atol=1e-9)
    assert np.ptp(theirs, axis=0).max() > 0.05, "plays that never move would prove nothing"


HEATS = {
    "adahedged": lambda state: state.tuning[PLAYED],
    "dub": lambda state: temperature_of(state.tuning, state.leader.total.size),
}


@pytest.mark.parametrize("name", HEATS)
@pytest.mark.parametrize("delay", [0, 3])
def test_the_temperature_is_that_of_poold(name, delay):
    rows = np.random.default_rng(3).normal(size=(60, 3))
    _, theirs = _theirs(name, rows, delay)
    learner, play = LEARNERS[name](3), np.zeros(3)
    state, directions = allocate(learner, 8), KeyedDirections(np.uint64(1))
    for t in range(1, 61):
        predict(learner, state, directions, t, play)
        assert HEATS[name](state) == pytest.approx(theirs[t - 1], abs=1e-10)
        enter(learner, state, t % 8, t)
        if t > delay:
            absorb(learner, state, directions, (t - delay) % 8, t - delay, 1.0, rows[t - delay - 1])
        advance(learner, state, t, min(t, delay))
    assert theirs[-1] > 1.0
