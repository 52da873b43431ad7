"""Small games are played in Python until compiling is worth it, with the same numbers to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import tarry
from tarry.game import blocks
from tarry.game.simulate import Match, play_matches
from tarry.game.world import run_rounds
from tarry.kernel.compile import Compiled
from tarry.learners.base import Learner
from tests.support import random_games

pytestmark = pytest.mark.jit(only=True)
BALL = tarry.domains.Ball(2)
FEW = 1 << 16  # rounds
ROWS = np.random.default_rng(3).normal(size=(50, 2))


@pytest.fixture(autouse=True)
def compiles(monkeypatch):
    """Return the number of calls of compiled rounds, and let small games begin in Python."""
    calls, advance = [0], blocks.Block.advance

    def watched(block, *given):
        calls[0] += not block._run.is_plain
        return advance(block, *given)

    monkeypatch.setattr(blocks.Block, "advance", watched)
    monkeypatch.setattr(run_rounds, "_compiled", {})
    monkeypatch.setattr(Compiled, "is_kept", False)
    monkeypatch.setattr(blocks, "FEW_ROUNDS", FEW)
    monkeypatch.setattr(blocks, "COMPILING_SECONDS", 60.0)  # however slow the machine
    monkeypatch.setattr(blocks, "LOADING_SECONDS", 60.0)
    monkeypatch.setattr(blocks, "_python_seconds", defaultdict(float))
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


def test_a_kind_that_has_taken_its_time_is_compiled(compiles, monkeypatch):
    play()
    assert compiles == [0]
    monkeypatch.setattr(blocks, "COMPILING_SECONDS", 0.0)
    play()
    assert compiles[0] > 0


def test_code_on_the_disk_is_loaded_sooner(compiles, monkeypatch):
    monkeypatch.setattr(Compiled, "is_kept", True)
    play()
    assert compiles == [0]
    blocks._python_seconds["another kind"] = 61.0
    play()
    assert compiles[0] > 0


def test_code_that_is_loaded_is_used(compiles):
    play(seeds=FEW // 50 + 1)
    before = compiles[0]
    play()
    assert compiles[0] > before


def test_many_rounds_are_compiled_at_once(compiles):
    play(seeds=FEW // 50 + 1)
    assert compiles[0] > 0


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
    """Divide by zero after some rounds: compiled code goes on with infinity, which shows in the play."""

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


@pytest.mark.parametrize("after", [4, blocks.TRIED_ROUNDS + 4])
def test_what_python_refuses_is_compiled(after, compiles):
    assert np.isfinite(play(Inverse(BALL, after)).regret).all()
    assert compiles[0] > 0


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
