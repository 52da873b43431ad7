"""Seeds on a GPU: what is refused, and under Numba's simulator the CPU's numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from gpu import assembly  # noqa: F401 (a fixture)

import tarry
from tarry.errors import ArgumentError
from tarry.game import device
from tarry.game.run import prepare
from tarry.kernel import cuda
from tarry.tracking import keyed_draws
from tests.support import random_games
from tests.support.examples import LEARNERS, SCHEDULERS, first_of_each

SPACE = tarry.domains.Ball(2)
LEARNER_OF = first_of_each(LEARNERS, lambda example: type(example.learner()))
SCHEDULER_OF = first_of_each(SCHEDULERS, lambda policy: type(policy.scheduler))
# There are more learners than schedulers, which take turns.
PAIRS = list(zip(LEARNER_OF.values(), cycle(SCHEDULER_OF.values()), strict=False))

QUICK = 12  # random games that are played every time

# In a process of its own: Numba asks for its simulator when it is loaded.
PLAY = "import sys; from tests.support import random_games; print(*filter(None, map(random_games.play, range({}, {}))))"
SHARED = """
import numpy as np, tarry
from tarry import delays, domains, learners, losses, schedulers
from tarry.kernel import cuda
space, rows = domains.Ball(3), np.random.default_rng(0).normal(size=(120, 3))
# A game of its own for each seed: the same launch where types and shapes agree, another where not.
def drawn(seed):
    waits = delays.uniform(horizon=60, low=2, high=9, rng=seed)
    return tarry.Game(space, losses.Linear(rows[seed : seed + 60]), waits, capacity=3)
def unlike(seed):  # a wheel, whose room follows the backlog, and a ridge without which rows are feedback
    waits = delays.uniform(horizon=60, low=2, high=20 + 9 * seed, rng=seed)
    return tarry.Game(space, losses.Linear(rows[seed : seed + 60], ridge=0.1 * (seed % 2)), waits, capacity=None)
player = lambda game: tarry.Player(learners.DWFTRL(space, rate=1.0 / game.delays.total_delay), schedulers.VarOpt())
for games in (drawn, unlike):
    one, two = (tarry.simulate(None, player, 5, games=games, device=device) for device in ("cpu", "cuda"))
    assert np.array_equal(one.regret, two.regret) and len(set(one.regret)) == 5
    assert np.array_equal(one.fates, two.fates)
    assert (one.played, two.played) == ("in Python", "on a GPU")
rooms = iter([1 << 30])  # bytes: for all seeds of the first kind, and for one of any other
cuda.free_bytes = lambda: next(rooms, 1)
assert np.array_equal(one.regret, tarry.simulate(None, player, 5, games=unlike, device="cuda").regret)
"""


def _game() -> tarry.Game:
    losses, waits = tarry.losses.Linear(np.ones((30, 2))), tarry.delays.fixed(horizon=30, delay=5)
    return tarry.Game(SPACE, losses, waits, capacity=2)


needs_cuda = pytest.mark.skipif(
    find_spec("numba_cuda") is None, reason="numba-cuda is not installed (pip install numba-cuda)"
)


def _simulated(program: str) -> str:
    """Return what a program prints where Numba simulates a GPU."""
    simulated = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=os.environ | simulated, check=True, capture_output=True, text=True).stdout


@needs_cuda
def test_games_that_differ_by_seed_share_a_launch() -> None:
    _simulated(SHARED)


@needs_cuda
@pytest.mark.parametrize(
    ("first", "last"), [(0, QUICK), pytest.param(QUICK, random_games.GAMES, marks=pytest.mark.slow)]
)
def test_a_simulated_gpu_plays_random_games_as_the_cpu_does(first: int, last: int) -> None:
    assert _simulated(PLAY.format(first, last)).strip() == ""


def test_random_games_meet_every_learner_and_scheduler() -> None:
    drawn = [random_games.draw_game(i) for i in range(random_games.GAMES)]
    assert {type(one.player.learner) for one in drawn} == set(LEARNER_OF)
    assert {type(one.player.scheduler) for one in drawn} == set(SCHEDULER_OF)


@pytest.mark.jit(only=True)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "chosen"), PAIRS)
def test_every_member_compiles_for_a_gpu_where_there_is_none(
    name: str,
    chosen: str,
    assembly: Callable[[Any], str],  # noqa: F811
) -> None:
    learner, policy = LEARNERS[name].learner(), SCHEDULERS[chosen]
    rows = np.random.default_rng(0).normal(size=(30, learner.dimension))
    losses = tarry.losses.LeastSquares(rows, rows[:, 0])
    game = tarry.Game(
        learner.domain,
        losses,
        tarry.delays.fixed(horizon=30, delay=5),
        capacity=policy.capacity,
        information="clairvoyant",
        feedback=learner.feedback,
        queries=learner.queries,
    )
    run = prepare(game, tarry.Player(learner, policy.scheduler, policy.epochs))
    kernel, _shared = device.kernel_for(run, device.fit(run, run.start(keyed_draws(0))))
    assert ".visible .entry" in assembly(kernel.code)


@pytest.mark.jit(only=True)
def test_the_cpu_compiles_what_a_gpu_has_compiled(assembly: Callable[[Any], str]) -> None:  # noqa: F811
    game = _game()
    players = [tarry.Player(tarry.learners.DWFTRL(SPACE, rate=0.1), tarry.schedulers.Bernoulli(5)) for _ in range(2)]
    tarry.simulate(game, tarry.Player(tarry.learners.DWFTRL(SPACE, rate=0.1)))
    run = prepare(game, players[0])
    device.kernel_for(run, device.fit(run, run.start(keyed_draws(0))))
    assert tarry.simulate(game, players[1]).fates.sum() == game.horizon


def test_a_missing_gpu_is_refused_and_auto_goes_on_without(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def nowhere() -> None:
        raise cuda.NoDevice("no GPU answers")

    monkeypatch.setattr(cuda, "find_device", nowhere)
    device._tell_once.cache_clear()
    monkeypatch.setattr(cuda, "is_simulated", lambda: True)  # so that plain Python is not the reason
    player = tarry.Player(tarry.learners.DWFTRL(SPACE, rate=0.1))
    with pytest.raises(ArgumentError, match="no GPU answers"):
        tarry.simulate(_game(), player, device="cuda")
    with caplog.at_level("INFO", "tarry"):
        found = tarry.simulate(_game(), player, 2, device="auto")
    assert "played on the CPU: no GPU answers" in caplog.text
    assert np.array_equal(found.regret, tarry.simulate(_game(), player, 2).regret)


def test_what_is_no_device_is_refused() -> None:
    player = tarry.Player(tarry.learners.DWFTRL(SPACE, rate=0.1))
    with pytest.raises(ValueError, match="'cpu', 'cuda', 'auto'"):
        tarry.simulate(_game(), player, device="gpu")
