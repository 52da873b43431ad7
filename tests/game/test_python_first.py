"""Small games are played in Python, with the same numbers to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numba import njit

import tarry
from tarry.game import blocks, hindsight, interior
from tarry.game.simulate import Match, play_matches
from tarry.game.world import run_rounds
from tarry.learners.base import Learner
from tests.support import random_games

pytestmark = pytest.mark.jit(only=True)
BALL = tarry.domains.Ball(2)
FEW = blocks.FEW_ROUNDS
ROWS = np.random.default_rng(3).normal(size=(50, 2))
PASSES = (hindsight._sum_losses, hindsight._losses_at, hindsight._sum_curvatures, interior.write_bends)


@pytest.fixture(autouse=True)
def compiles(monkeypatch):
    """Return the number of calls of compiled rounds, and let small games begin in Python."""
    calls, advance = [0], blocks.Block.advance

    def watched(block, *given):
        calls[0] += not block._run.is_plain
        return advance(block, *given)

    monkeypatch.setattr(blocks.Block, "advance", watched)
    monkeypatch.setattr(run_rounds, "_compiled", {})
    monkeypatch.setattr(blocks, "FEW_ROUNDS", FEW)
    monkeypatch.setattr(blocks, "_in_python", Counter())
    return calls


def play(learner=None, losses=None, seeds=2, **options):
    game = tarry.Game(
        domain=BALL,
        losses=tarry.losses.Linear(ROWS) if losses is None else losses,
        delays=tarry.delays.geometric(horizon=50, mean=5, rng=1),
        capacity=2,
    )
    return tarry.simulate(game, learner or tarry.learners.DWFTRL(BALL, rate=0.1), seeds=seeds, **options)


@pytest.mark.parametrize("i", [1, 12, 40])
def test_numbers_are_those_of_compiled_rounds(i, compiles, monkeypatch):
    drawn = random_games.draw_game(i)
    plain = drawn.play("cpu")
    assert compiles == [0]
    assert plain.played == "in Python"
    monkeypatch.setattr(blocks, "FEW_ROUNDS", 0)
    compiled = drawn.play("cpu")
    assert compiles[0] > 0
    assert compiled.played == "compiled"
    for name in ("fates", "regret_at", "loss_at", "bound_at", "last_plays"):
        assert np.array_equal(getattr(plain, name), getattr(compiled, name), equal_nan=True)


def test_a_kind_that_is_played_again_and_again_is_compiled(compiles):
    for _ in range(FEW // 100):
        play()
    assert compiles == [0]
    play()
    assert compiles[0] > 0
    other = compiles[0]
    play(learner=tarry.learners.OGD(BALL, rate=0.1))
    assert compiles[0] == other


def test_code_that_is_loaded_is_used(compiles):
    play(seeds=FEW // 50 + 1)
    before = compiles[0]
    play()
    assert compiles[0] > before


def test_many_rounds_are_compiled_at_once(compiles):
    play(seeds=FEW // 50 + 1)
    assert compiles[0] > 0


@pytest.mark.parametrize(("dimension", "rounds", "is_matrix"), [(400, 400, False), (20, 400, True), (20, 400, False)])
def test_wide_rounds_count_as_several(dimension, rounds, is_matrix, compiles):
    """400 rounds are few, and ten thousand entries of each are not: of a play, or of a matrix."""
    ball = tarry.domains.Ball(dimension)
    losses = tarry.losses.Linear(np.random.default_rng(0).normal(size=(rounds, dimension)))
    game = tarry.Game(ball, losses, tarry.delays.fixed(horizon=rounds, delay=5), capacity=3)
    learner = tarry.learners.ONS(ball, 0.1, 1.0) if is_matrix else tarry.learners.DWFTRL(ball, rate=0.1)
    record = tarry.simulate(game, learner, comparator=None)
    is_compiled = is_matrix or dimension == 400
    assert (compiles[0] > 0) == is_compiled == (record.played == "compiled")


def test_a_long_search_is_compiled_where_rounds_are_not(compiles, monkeypatch):
    for entry in (*PASSES, hindsight._sum_rows):
        monkeypatch.setattr(entry, "_compiled", {})
    rng, ball = np.random.default_rng(0), tarry.domains.Ball(30)
    features = rng.normal(size=(300, 30))
    learner, waits = tarry.learners.DWFTRL(ball, rate=0.1), tarry.delays.fixed(horizon=300, delay=5)
    closed = tarry.Game(ball, tarry.losses.Linear(features), waits, capacity=3)
    assert tarry.simulate(closed, learner).played == "in Python"
    assert not any(entry.dispatchers for entry in (*PASSES, hindsight._sum_rows))
    game = tarry.Game(ball, tarry.losses.Logistic(features, np.sign(features[:, 0])), waits, capacity=3)
    assert tarry.simulate(game, learner).played == "in Python"
    assert compiles == [0]
    assert hindsight._sum_curvatures.dispatchers


def test_games_by_seed_begin_in_python_too(compiles):
    def draw(seed):
        losses = tarry.losses.Linear(ROWS + seed)
        return tarry.Game(BALL, losses, tarry.delays.fixed(horizon=50, delay=seed), capacity=2)

    learner = tarry.learners.DWFTRL(BALL, rate=0.1)
    drawn = tarry.simulate(None, learner, games=draw, seeds=3)
    alone = [float(tarry.simulate(draw(seed), learner, seeds=[seed]).regret[0]) for seed in range(3)]
    assert compiles == [0]
    assert drawn.regret_at[:, -1].tolist() == alone


class Inverse(Learner):
    """Divide by zero after some rounds."""

    domain: Any
    after: int

    feedback = "gradient"

    def allocate(self, slots):
        return np.zeros(1)

    def restart(self, state, t, magnitude):
        pass

    def absorb(self, state, directions, slot, s, weight, feedback):
        pass

    def predict(self, state, directions, t, play):
        zero = float(max(0, self.after - t))
        play[0] = 1.0 / (1.0 + 1.0 / zero) if t > 1 else 0.0
        play[1] = 0.0


def test_errors_of_others_are_theirs(compiles):
    def fail(*_given):
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        play(progress=fail)
    with pytest.raises(OSError, match="the disk is full"):
        tarry.simulate(None, tarry.learners.DWFTRL(BALL, rate=0.1), games=fail)
    assert compiles == [0]


def test_sweeps_of_one_game_begin_in_python_with_all_their_seeds(compiles):
    game = tarry.Game(BALL, tarry.losses.Linear(ROWS), tarry.delays.fixed(horizon=50, delay=3), capacity=2)
    learner = tarry.learners.DWFTRL(BALL, rate=0.1)
    [record] = play_matches([Match(game, learner, 4)])
    assert compiles == [0]
    assert np.array_equal(record.regret, tarry.simulate(game, learner, 4).regret)


def test_what_fails_in_python_is_said_as_it_is(compiles):
    with pytest.raises(ZeroDivisionError):
        play(Inverse(BALL, 4))
    assert compiles == [0]


@pytest.mark.parametrize("kind", ["least squares", "logistic", "absolute", "custom"])
def test_the_best_action_of_a_small_game_is_found_in_python(kind, compiles, monkeypatch):
    features, labels = ROWS, np.sign(ROWS.sum(axis=1))
    losses = {
        "least squares": lambda: tarry.losses.LeastSquares(features, labels),
        "logistic": lambda: tarry.losses.Logistic(features, labels),
        "absolute": lambda: tarry.losses.Absolute(features, labels),
        "custom": lambda: tarry.losses.Custom(ROWS, cubic, cubic_slope, dimension=2),
    }[kind]()
    for entry in PASSES:
        monkeypatch.setattr(entry, "_compiled", {})
    plain = play(losses=losses)
    assert compiles == [0]
    assert not any(entry.dispatchers for entry in PASSES)
    monkeypatch.setattr(blocks, "FEW_ROUNDS", 0)
    compiled = play(losses=losses)
    assert any(entry.dispatchers for entry in PASSES)
    assert plain.regret == pytest.approx(compiled.regret, abs=1e-7)


@njit
def cubic(row, x):
    return abs(row[0] * x[0] + row[1] * x[1] - 0.5) ** 3


@njit
def cubic_slope(row, x, out):
    off = row[0] * x[0] + row[1] * x[1] - 0.5
    out[0], out[1] = 3 * abs(off) * off * row[0], 3 * abs(off) * off * row[1]


def test_a_small_game_does_not_wait_for_numba(tmp_path):
    program = """
import sys
import tarry
ball = tarry.domains.Ball(2)
losses = tarry.losses.Linear([[1.0, 0.0], [0.0, 1.0]] * 10)
game = tarry.Game(ball, losses, tarry.delays.fixed(horizon=20, delay=3), capacity=2)
tarry.simulate(game, tarry.learners.DWFTRL(ball, rate=0.1), seeds=2)
assert "numba" not in sys.modules and "scipy" not in sys.modules
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
