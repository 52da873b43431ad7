"""What every learner must do, yours included."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

from tarry.domains import contains
from tarry.game import WeightedGame, simulate
from tarry.learners.base import (
    KeyedDirections,
    absorb,
    advance,
    allocate,
    enter,
    predict,
    queries_of,
    rate_in_force,
    restart,
)
from tarry.losses import LeastSquares, Linear

SEED = np.uint64(0x5EED)
SLOTS = 8


def arrays_of(state: Any) -> list[np.ndarray]:
    """The arrays of a (nested) state."""
    if isinstance(state, tuple):
        return [array for part in state for array in arrays_of(part)]
    return [state]


class LearnerContract:
    """Subclass it and give ``learner()``; pytest collects the rest.

    ``losses(learner)`` must return losses on the learner's domain with at least ``horizon`` rounds.
    """

    horizon = 60

    def learner(self) -> Any:
        raise NotImplementedError("give the learner to check")

    def losses(self, learner: Any) -> Any:
        rows = np.random.default_rng(1).normal(size=(self.horizon, learner.dimension))
        if learner.feedback == "example":
            return LeastSquares(rows, np.cos(np.arange(self.horizon)))
        return Linear(rows / np.linalg.norm(rows, axis=1)[:, None])

    def _play(
        self,
        learner: Any,
        state: Any,
        first: int,
        last: int,
        weights: np.ndarray,
        play: np.ndarray | None = None,
        waits: np.ndarray | None = None,
    ) -> np.ndarray:
        """Rounds first..last with feedback as late as ``waits`` says, three rounds by default; keyed directions."""
        play = np.zeros(learner.dimension) if play is None else play
        arrival = np.arange(1, self.horizon + 1) + (3 if waits is None else waits)
        directions, losses = KeyedDirections(SEED), self.losses(learner)
        plays = np.zeros((last - first + 1, learner.dimension))
        with np.errstate(over="ignore"):
            for t in range(first, last + 1):
                predict(learner, state, directions, t, play)
                plays[t - first] = play
                for s in range(max(1, t - SLOTS + 1), t):
                    if arrival[s - 1] == t and weights[s - 1] != 0:
                        feedback = self._feedback(learner, losses, s)
                        absorb(learner, state, directions, s % SLOTS, s, weights[s - 1], feedback)
                enter(learner, state, t % SLOTS, t)
                advance(learner, state, t, min(t, 3))
        return plays

    def _feedback(self, learner: Any, losses: Any, s: int) -> np.ndarray:
        x = np.asarray(learner.domain.center)
        if learner.feedback == "example":
            return np.asarray(losses.row(s))
        if learner.feedback == "gradient":
            return np.asarray(losses.gradient(x, s))
        return np.array([1.0 + losses.value(x + 0.1 * j, s) for j in range(queries_of(learner))])

    def test_plays_stay_in_the_domain(self) -> None:
        learner = self.learner()
        weights = np.random.default_rng(2).exponential(5.0, self.horizon)
        for play in self._play(learner, allocate(learner, SLOTS), 1, self.horizon, weights):
            assert contains(learner.domain, play, 1e-9 * max(1.0, learner.domain.diameter))

    def test_the_first_play_knows_nothing(self) -> None:
        learner = self.learner()
        ones = np.ones(self.horizon)
        first = self._play(learner, allocate(learner, SLOTS), 1, 3, ones)[0]
        assert np.array_equal(first, self._play(learner, allocate(learner, SLOTS), 1, 3, 7 * ones)[0])

    def test_feedback_matters(self) -> None:
        learner = self.learner()
        ones = np.ones(self.horizon)
        heard = self._play(learner, allocate(learner, SLOTS), 1, self.horizon, ones)
        deaf = self._play(learner, allocate(learner, SLOTS), 1, self.horizon, 0 * ones)
        assert not np.array_equal(heard, deaf)

    def test_prediction_changes_nothing(self) -> None:
        learner = self.learner()
        state = allocate(learner, SLOTS)
        play = np.zeros(learner.dimension)
        self._play(learner, state, 1, 20, np.ones(self.horizon), play)
        with np.errstate(over="ignore"):
            predict(learner, state, KeyedDirections(SEED), 21, play)
            once = play.copy()
            predict(learner, state, KeyedDirections(SEED), 21, play)
        assert np.array_equal(once, play)

    def test_a_copied_state_goes_on_bit_for_bit(self) -> None:
        learner, weights = self.learner(), np.random.default_rng(3).exponential(1.0, self.horizon)
        whole = self._play(learner, allocate(learner, SLOTS), 1, self.horizon, weights)
        state, play = allocate(learner, SLOTS), np.zeros(learner.dimension)
        self._play(learner, state, 1, 25, weights, play)
        resumed = copy.deepcopy(state)
        assert np.array_equal(whole[25:], self._play(learner, resumed, 26, self.horizon, weights, play.copy()))

    def test_feedback_may_come_in_any_order(self) -> None:
        """Later rounds may be heard first; plays stay in the domain, and a copied state goes on bit for bit."""
        learner, weights = self.learner(), np.random.default_rng(6).exponential(1.0, self.horizon)
        waits = np.random.default_rng(7).integers(1, SLOTS, self.horizon)
        whole = self._play(learner, allocate(learner, SLOTS), 1, self.horizon, weights, waits=waits)
        for point in whole:
            assert contains(learner.domain, point, 1e-9 * max(1.0, learner.domain.diameter))
        state, play = allocate(learner, SLOTS), np.zeros(learner.dimension)
        cut = self.horizon // 2
        self._play(learner, state, 1, cut, weights, play, waits)
        resumed = self._play(learner, copy.deepcopy(state), cut + 1, self.horizon, weights, play.copy(), waits)
        assert np.array_equal(whole[cut:], resumed)

    def test_state_does_not_grow(self) -> None:
        learner = self.learner()
        state = allocate(learner, SLOTS)
        before = [part.shape for part in arrays_of(state)]
        self._play(learner, state, 1, self.horizon, np.ones(self.horizon))
        assert [part.shape for part in arrays_of(state)] == before

    def test_rates_do_not_increase(self) -> None:
        learner = self.learner()
        state, rates = allocate(learner, SLOTS), np.zeros(self.horizon)
        for t in range(1, self.horizon + 1):
            self._play(learner, state, t, t, np.ones(self.horizon))
            rates[t - 1] = rate_in_force(learner, state, t + 1)
        assert np.all(np.isnan(rates)) or (np.all(rates > 0) and np.all(np.diff(rates) <= 0))

    def test_it_plays_a_game(self) -> None:
        from tarry.delays import array

        learner = self.learner()
        waits = np.random.default_rng(4).integers(0, 9, self.horizon)
        ones, asked = np.ones(self.horizon), {"feedback": learner.feedback, "queries": queries_of(learner)}
        game = WeightedGame(learner.domain, self.losses(learner), array(waits), ones, **asked)
        record = simulate(game, learner, seeds=2)
        assert np.all(np.isfinite(record.regret))

    def test_its_certificate_holds(self) -> None:
        """Who tells its rate and norm is certified as DW-FTRL is; a learner that moves otherwise must not tell."""
        from tarry.delays import array

        learner, rows = self.learner(), np.ones((self.horizon, self.learner().dimension))
        if learner.feedback != "gradient":
            return
        waits = np.random.default_rng(5).integers(0, 9, self.horizon)
        for losses in (self.losses(learner), Linear(rows / np.sqrt(learner.dimension))):
            game = WeightedGame(learner.domain, losses, array(waits), np.ones(self.horizon))
            record = simulate(game, learner)
            certificate = record.certificates[0]
            if certificate is not None and not np.isnan(certificate.bound):
                assert record.regret[0] <= certificate.full_bound + 1e-6

    def test_a_restarted_learner_is_a_fresh_one(self) -> None:
        learner, ones = self.learner(), np.ones(self.horizon)
        state, play = allocate(learner, SLOTS), np.zeros(learner.dimension)
        self._play(learner, state, 1, 20, ones, play)
        restart(learner, state, 1, 1.0)
        again = self._play(learner, state, 1, 20, ones, play)
        fresh = allocate(learner, SLOTS)
        restart(learner, fresh, 1, 1.0)
        assert np.array_equal(again, self._play(learner, fresh, 1, 20, ones))

    def test_it_is_a_value(self) -> None:
        learner = self.learner()
        assert pickle.loads(pickle.dumps(learner)) == learner
        assert type(learner).__name__ in repr(learner)
