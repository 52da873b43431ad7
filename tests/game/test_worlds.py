"""Worlds that react: by hand, as listed games, and what is kept from whom."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest
from gpu import assembly  # noqa: F401 (a fixture)

import tarry
from tarry import losses
from tarry.delays.base import Delays
from tarry.delays.base import Reacting as ReactingDelays
from tarry.errors import MemberError
from tarry.game import device
from tarry.game.replay import replay
from tarry.game.run import prepare
from tarry.learners import DWFTRL
from tarry.losses.base import Reacting
from tarry.outcomes import Fate
from tarry.testing import ReactingContract, ReactingDelaysContract
from tarry.tracking import keyed_draws
from tests.support.worlds import Chaser, Stalling

T = 120
BALL = tarry.domains.Ball(3)


def _game(**changes: Any) -> tarry.Game:
    made: dict[str, Any] = {"losses": losses.Linear(Chaser(3)), "delays": Stalling(T, 25), "capacity": 4}
    return tarry.Game(BALL, **(made | changes))


def _player(rate: float = 0.1) -> tarry.Player:
    return tarry.Player(DWFTRL(BALL, rate=rate))


def _facing(plays: np.ndarray) -> np.ndarray:
    """Return the rows that Chaser answers with, computed anew."""
    rows = [np.full(3, 1 / sqrt(3))]
    for t in range(1, len(plays)):
        mean = plays[:t].mean(axis=0)
        rows.append(mean / np.linalg.norm(mean) if mean.any() else rows[0])
    return np.array(rows)


class TestChaser(ReactingContract):
    def rows(self) -> Reacting:
        return Chaser(3)


class TestStalling(ReactingDelaysContract):
    def make(self, horizon: int) -> ReactingDelays:
        return Stalling(horizon, 25)


def test_no_bound_stands_beside_a_regret_that_reacts() -> None:
    record = tarry.simulate(_game(), _player(), 3)
    assert not record.has_one_game
    assert not record.bounds_regret.any()


@pytest.mark.jit
@pytest.mark.parametrize("capacity", [4, None])
def test_losses_as_met_are_those_that_answer_the_plays(capacity: int | None) -> None:
    record = tarry.simulate(_game(capacity=capacity), _player(), 3, keep_rounds=True)
    for i, seed in enumerate(record.seeds):
        plays, met = record.plays(seed), record.played_game(seed)
        rows = _facing(plays)
        np.testing.assert_allclose(met.losses.rows.values, rows, atol=1e-9)
        regret = float(np.sum(rows * plays)) + float(np.linalg.norm(rows.sum(axis=0)))
        assert record.regret[i] == pytest.approx(regret)
    assert capacity is None or len(set(record.regret)) == 3, "seeds have met one game"


@pytest.mark.jit
def test_delays_as_met_are_those_of_the_events() -> None:
    record = tarry.simulate(_game(), _player(), 2, keep_rounds=True)
    for i, seed in enumerate(record.seeds):
        plays, waits, tracked, highest = record.plays(seed), np.zeros(T, np.int64), set[int](), 0.0
        events = list(record.events(seed).iter_rows())
        for t in range(1, T + 1):
            mine = [(event, s) for at, event, s, _ in events if at == t]
            tracked -= {s for event, s in mine if event == "preempted"}
            is_in = ("entered", t) in mine
            tracked |= {t} if is_in else set()
            x = plays[t - 1, 0]
            waits[t - 1] = min(2 * len(tracked) + (5 if x > highest else 0) if is_in else t % 3, T - t)
            highest = max(highest, x)
            tracked -= {s for event, s in mine if event == "feedback"}
        met = record.played_game(seed).delays
        assert np.array_equal(met.values, waits)
        assert record.met_delays is not None
        assert record.met_delays[i] == met.summary()
        heard = [(s, t) for t, event, s, _ in events if event in ("feedback", "expired")]
        assert all(t == s + waits[s - 1] for s, t in heard)


@pytest.mark.jit
def test_a_game_as_met_is_played_alike() -> None:
    """The listed game, fixed before play, gives the same seed the same plays; another seed meets another game."""
    record = tarry.simulate(_game(), _player(), 2, keep_rounds=True)
    for i, seed in enumerate(record.seeds):
        again = tarry.simulate(record.played_game(seed), _player(), record.seeds, keep_rounds=True)
        assert np.array_equal(again.plays(seed), record.plays(seed))
        assert again.regret[i] == record.regret[i]
        assert np.array_equal(again.fates[i], record.fates[i])
    assert not np.array_equal(record.plays(0), record.plays(1))


def test_feedback_is_of_the_row_that_was_met() -> None:
    twice = tarry.learners.TwoPoint(DWFTRL(BALL, rate=0.1), 0.1)
    labelled = losses.LeastSquares(np.ones((1, 3)), np.ones(1)).with_rows(Chaser(4))
    for learner, changes in (
        (tarry.learners.DWFTBL(BALL, rate=0.01, smoothing=0.2), {"feedback": "value"}),
        (twice, {"feedback": "value", "queries": 2}),
        (tarry.learners.Ridge(BALL, 1.0), {"feedback": "example", "losses": labelled}),
    ):
        record = tarry.simulate(_game(**changes), learner, keep_rounds=True)
        again = tarry.simulate(record.played_game(), learner, keep_rounds=True)
        assert np.array_equal(again.plays(), record.plays())
        # What holds in expectation over directions says nothing of a world that has seen them.
        assert (record.certificates[0] is None) or changes["feedback"] != "value"


def test_a_block_of_seeds_plays_as_each_alone() -> None:
    together = tarry.simulate(_game(), _player(), 5)
    alone = [tarry.simulate(_game(), _player(), [seed]).regret[0] for seed in range(5)]
    assert np.array_equal(together.regret, alone)
    assert tarry.simulate(_game(), _player(), 2, comparator=None).loss == pytest.approx(together.loss[:2])


def test_delays_are_asked_whether_or_not_somebody_hears() -> None:
    """The log hears of every end, a non-clairvoyant player only of its own: the same delays, the same plays."""
    game = _game(information="non-clairvoyant", capacity=2)
    one, two = (tarry.simulate(game, _player(), 3, keep_rounds=keeps) for keeps in (False, True))
    assert np.array_equal(one.regret, two.regret)
    assert one.met_delays == two.met_delays


def test_games_by_seed_react_too() -> None:
    drawn = tarry.simulate(None, _player(), 3, games=lambda seed: _game(delays=Stalling(T, 10 + seed)))
    each = [tarry.simulate(_game(delays=Stalling(T, 10 + seed)), _player(), [seed]).regret[0] for seed in range(3)]
    assert np.array_equal(drawn.regret, each)


def test_theorem_one_holds_against_a_world_that_reacts() -> None:
    """E R_T ≤ 1.5·GD·√(T + 2E Σh_t) with h_t the held weight; a player that stays where it began misses it."""
    long = 400
    game = _game(delays=Stalling(long, 25), information="non-clairvoyant")
    start = [1.0, 0.0, 0.0]
    anytime = DWFTRL(BALL, rate=tarry.rates.Anytime(BALL.diameter, 1.0), start=start)
    record = tarry.simulate(game, anytime, 10, keep_rounds=True)
    held = []
    for seed in record.seeds:
        came = np.zeros(long + 1)
        for t, event, _s, weight in record.events(seed).iter_rows():
            came[t] += weight if event == "feedback" else 0.0
        held.append(np.sum(np.arange(long) - np.cumsum(came[:-1])))
    bound = 1.5 * 2.0 * sqrt(long + 2 * float(np.mean(held)))
    assert record.weights.mean == pytest.approx(1.0)
    assert record.regret.mean() <= bound
    still = tarry.simulate(game, DWFTRL(BALL, rate=1e-9, start=start), 2)
    assert still.regret.mean() > bound, "the adversary is too weak to tell"


class Ahead(Delays):
    """Delays of one's own that do not react."""

    horizon: int
    truncated = 0

    def delay(self, t: int) -> int:
        return min(3, self.horizon - t)


def test_what_is_not_granted_is_said() -> None:
    with pytest.raises(ValueError, match=r"Stalling decides a delay once .*semi-clairvoyant"):
        _game(information="clairvoyant")
    _game(delays=Ahead(T), information="clairvoyant")
    with pytest.raises(ValueError, match="react to plays, so round 7 has none before"):
        _game().losses.row(7)
    with pytest.raises(ValueError, match="nothing is played here"):
        replay(tarry.schedulers.VarOpt(), Stalling(T, 5), capacity=3)
    with pytest.raises(ValueError, match="nothing is played here"):
        tarry.planning.plan(Stalling(T, 5))
    with pytest.raises(ValueError, match="rounds were not kept"):
        tarry.simulate(_game(), _player()).played_game()


def test_a_state_is_made_of_arrays() -> None:
    class Loose(Chaser):
        def allocate(self) -> Any:
            return [1.0]

    with pytest.raises(TypeError, match="the state of the rows Loose"):
        tarry.simulate(_game(losses=losses.Linear(Loose(3))), _player())


def test_delays_are_cut_to_what_was_stated() -> None:
    class Endless(ReactingDelays):
        def react(self, state: Any, t: int, play: np.ndarray, slot: int, tracked: np.ndarray) -> int:
            return 10**9 if t % 2 else -5

    record = tarry.simulate(_game(delays=Endless(T, 7)), _player(), keep_rounds=True)
    values = record.played_game().delays.values
    assert set(values[: T - 8].tolist()) == {0, 7}
    assert record.fates[0, Fate.USED] > 0


class Astray(Chaser):
    """An adversary that writes past its row."""

    def react(self, state: Any, t: int, row: np.ndarray) -> None:
        for i in range(row.size + (1 if t == 9 else 0)):
            row[i] = 0.5


class Early(ReactingDelays):
    """Delays below 0."""

    def react(self, state: Any, t: int, play: np.ndarray, slot: int, tracked: np.ndarray) -> int:
        return 4 - t


def test_debug_mode_names_the_member_and_the_round() -> None:
    with pytest.raises(MemberError, match=r"Astray\.react.*in round 9"):
        tarry.simulate(_game(losses=losses.Linear(Astray(3))), _player(), debug=True)
    with pytest.raises(MemberError, match=r"Early\.react.*returns -1 in round 5, and longest is 9"):
        tarry.simulate(_game(delays=Early(T, 9)), _player(), debug=True)
    assert tarry.simulate(_game(), _player(), debug=True).regret == tarry.simulate(_game(), _player()).regret


class Nearby(NamedTuple):
    """What a GPU is asked to play."""

    game: tarry.Game
    learner: Any


WORLDS = {
    "few slots": lambda: Nearby(_game(), DWFTRL(BALL, rate=0.1)),
    "many slots": lambda: Nearby(_game(capacity=None), DWFTRL(BALL, rate=0.1)),
}
ON_GPU = """
import numpy as np, tarry
from tests.game.test_worlds import WORLDS
for made in WORLDS.values():
    game, learner = made()
    one, two = (tarry.simulate(game, learner, 3, device=device, keep_rounds=True) for device in ("cpu", "cuda"))
    assert np.array_equal(one.regret, two.regret) and np.array_equal(one.fates, two.fates)
    assert one.met_delays == two.met_delays
    for seed in one.seeds:
        assert one.played_game(seed) == two.played_game(seed)
"""


@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed (pip install numba-cuda)")
def test_a_simulated_gpu_meets_the_same_worlds() -> None:
    simulated = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", ON_GPU], env=os.environ | simulated, check=True)


@pytest.mark.jit(only=True)
@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_worlds_compile_for_a_gpu(name: str, assembly: Callable[[Any], str]) -> None:  # noqa: F811
    game, learner = WORLDS[name]()
    run = prepare(game, tarry.Player(learner))
    kernel, _shared = device.kernel_for(run, device.fit(run, run.start(keyed_draws(0))))
    assert ".visible .entry" in assembly(kernel.code)
