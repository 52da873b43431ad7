"""Seeds on a GPU: what is refused, and under Numba's simulator the CPU's numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import tarry
from tarry.errors import ArgumentError
from tarry.kernel import cuda

SPACE = tarry.domains.Ball(2)

# In a process of its own: Numba asks for its simulator when it is loaded.
EQUAL = """
import numpy as np, tarry
from tarry import delays, domains, learners, losses, schedulers
space, waits = domains.Ball(3), delays.uniform(horizon=120, low=2, high=9, rng=1)
rows = np.random.default_rng(0).normal(size=(120, 3))
for losses_, learner, feedback, scheduler in (
    (losses.Linear(rows), learners.DWFTRL(space, rate=0.1), "gradient", schedulers.VarOpt()),
    (losses.Quadratic(rows), learners.Adaptive(space, gradient_bound=9.0), "gradient", schedulers.Pareto(2.0)),
    (losses.Linear(rows), learners.DWFTBL(space, rate=0.1, smoothing=0.1), "value", schedulers.Bernoulli(9)),
):
    game = tarry.Game(space, losses_, waits, capacity=3, feedback=feedback)
    for bound in (False, True):
        player = tarry.Player(learner, scheduler)
        one, two = (tarry.simulate(game, player, 3, bound=bound, device=device) for device in ("cpu", "cuda"))
        for name in ("regret", "observed", "loss_curve"):
            if hasattr(one, name):
                assert np.array_equal(getattr(one, name), getattr(two, name)), (type(learner).__name__, name)
        assert np.array_equal(one.weights.mean, two.weights.mean)

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
"""


def _game() -> tarry.Game:
    losses, waits = tarry.losses.Linear(np.ones((30, 2))), tarry.delays.fixed(horizon=30, delay=5)
    return tarry.Game(SPACE, losses, waits, capacity=2)


@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
def test_the_simulated_gpu_plays_as_the_cpu_does() -> None:
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", EQUAL], env=environment, check=True)


def test_a_missing_gpu_is_refused_and_auto_goes_on_without(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def nowhere() -> None:
        raise cuda.NoDevice("no GPU answers")

    monkeypatch.setattr(cuda, "find_device", nowhere)
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
