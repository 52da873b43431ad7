"""What every learner must do, yours included.

    class TestMine(LearnerContract):
        def learner(self):
            return Mine(Ball(3))

Rounds are the engine's own, in its order: predict, enter, arrivals in increasing s (those of no delay too), advance
with the true backlog. They are played uncompiled, so that a state can be looked at between them; one test compiles.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.delays import array
from tarry.domains import contains
from tarry.game import WeightedGame, simulate
from tarry.game.rounds import deliver
from tarry.game.run import Run, Stop, prepare
from tarry.game.world import Buffers, run_rounds
from tarry.learners.base import Learner, predict, rate_in_force, restart, width_of
from tarry.losses import LeastSquares, Linear, Losses
from tarry.testing.compiled import check_compiled
from tarry.tracking import keyed_draws

SEED = 5
LONGEST = 8  # delay
FEW = 12  # rounds where plays have many entries
Array = NDArray[np.float64]


def arrays_of(state: Any) -> list[np.ndarray]:
    """Return the arrays of a (nested) state."""
    if isinstance(state, tuple):
        return [array for part in state for array in arrays_of(part)]
    return [state]


class Course(NamedTuple):
    """A weighted game that is played in pieces by the engine's loop, uncompiled."""

    run: Run
    buffers: Buffers

    @classmethod
    def of(cls, game: WeightedGame, learner: Learner) -> Course:
        """Return a course before the first round."""
        run = prepare(game, learner, bound=False, keep_rounds=True)
        return cls(
            run._replace(compiled=run_rounds.function, is_plain=True), run.start(keyed_draws(SEED), nodes=game.horizon)
        )

    @property
    def learnt(self) -> Any:
        """Return the learner's state."""
        return self.buffers.state.learner

    def play(self, first: int, last: int) -> Array:
        """Play rounds first..last and return the plays."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # as in compiled code
            self.run.advance(self.buffers, Stop(), first, last)
        return np.array(self.buffers.log.plays[first - 1 : last])

    def resumed(self) -> Course:
        """Return the same course on copies of everything that changes."""
        return self._replace(buffers=copy.deepcopy(self.buffers))


class LearnerContract:
    """Subclass it and give ``learner()``; pytest collects the rest.

    ``sized(dimension)`` returns the same learner in another dimension (None: there is none), and is checked in
    ``sizes``. ``losses(learner)`` must return losses on the learner's domain for ``horizon`` rounds.
    """

    horizon = 60
    sizes = (1, 1000)

    def learner(self) -> Learner:
        """Return the learner to check: override this."""
        raise NotImplementedError("give the learner to check")

    def sized(self, dimension: int) -> Learner | None:
        return None

    def losses(self, learner: Learner) -> Losses:
        rows = np.random.default_rng(1).normal(size=(self.horizon, learner.dimension))
        if learner.feedback == "example":
            return LeastSquares(rows, np.cos(np.arange(self.horizon)))
        return Linear(rows / np.linalg.norm(rows, axis=1).max())

    def waits(self) -> NDArray[np.int64]:
        """Return delays in any order, some of them zero."""
        return np.random.default_rng(7).integers(0, LONGEST + 1, self.horizon)

    def test_indices_and_answers(self) -> None:
        """In debug mode, before anything else: every index, slot and answer is looked at."""
        learner = self.learner()
        simulate(self._game(learner), learner, seeds=[SEED], debug=True)

    def _game(self, learner: Learner, weights: Array | None = None) -> WeightedGame:
        even = np.ones(self.horizon) if weights is None else weights
        options: dict[str, Any] = {"feedback": learner.feedback, "queries": learner.queries}
        return WeightedGame(learner.domain, self.losses(learner), array(self.waits()), even, **options)

    def _course(self, learner: Learner, weights: Array | None = None) -> Course:
        return Course.of(self._game(learner, weights), learner)

    def _weights(self, scale: float) -> Array:
        return np.random.default_rng(2).exponential(scale, self.horizon)

    def _check_inside(self, learner: Learner, plays: Array) -> None:
        for play in plays:
            assert contains(learner.domain, play, 1e-9 * max(1.0, learner.domain.diameter))

    def test_plays_stay_in_the_domain(self) -> None:
        learner = self.learner()
        self._check_inside(learner, self._course(learner, self._weights(5.0)).play(1, self.horizon))

    def test_feedback_acts_when_it_has_come(self) -> None:
        """A round that weighs more changes no play up to the round in which it is heard; all of them change some."""
        learner, even, waits = self.learner(), np.ones(self.horizon), array(self.waits()).values
        whole = self._course(learner).play(1, self.horizon)
        for s in range(1, self.horizon + 1, 7):  # a sample, for time's sake
            heard = s + int(waits[s - 1])
            heavy = np.where(np.arange(1, self.horizon + 1) == s, 3.0, even)
            assert np.array_equal(whole[:heard], self._course(learner, heavy).play(1, heard))
        assert not np.array_equal(whole, self._course(learner, self._weights(3.0)).play(1, self.horizon))

    def test_a_weight_of_zero_changes_nothing(self) -> None:
        """The engine keeps it from the learner, whose state stays as it is to the bit."""
        learner, t, weights = self.learner(), self.horizon // 2, np.ones(self.horizon)
        if learner.watches_tracked:
            return  # it counts arrivals, and a player refuses such weights
        # The last round that is still out: its feedback is delivered by hand.
        s = max(s for s in range(1, t + 1) if s + self.waits()[s - 1] > t)
        weights[s - 1] = 0.0
        course = self._course(learner, weights)
        course.play(1, t)
        player, setting, draws = course.run.player, course.run.setting, course.buffers.draws
        state, feedback = course.buffers.state, np.full(width_of(learner), 9.0)
        before = copy.deepcopy(arrays_of(course.learnt))
        slot = int(np.flatnonzero(state.table.rounds == s)[0])
        assert deliver(player, setting, draws, state, s, t, slot, feedback) == 0.0
        assert all(np.array_equal(a, b) for a, b in zip(before, arrays_of(course.learnt), strict=True))

    def test_prediction_changes_nothing(self) -> None:
        learner = self.learner()
        course, plays = self._course(learner), []
        course.play(1, 20)
        for _ in range(2):
            with np.errstate(over="ignore"):  # the keyed generator wraps around by design
                predict(learner, course.learnt, course.buffers.draws.directions, 21, course.buffers.state.play)
            plays.append(course.buffers.state.play.copy())
        assert np.array_equal(plays[0], plays[1])
        whole = self._course(learner).play(1, self.horizon)
        assert np.array_equal(whole[20:], course.play(21, self.horizon))

    def test_a_copied_state_goes_on_bit_for_bit(self) -> None:
        learner, weights = self.learner(), self._weights(1.0)
        whole = self._course(learner, weights).play(1, self.horizon)
        for cut in (1, 25):  # before anything has arrived, and in the midst
            course = self._course(learner, weights)
            course.play(1, cut)
            resumed = course.resumed()
            course.play(cut + 1, self.horizon)  # what becomes of the original is nothing to the copy
            assert np.array_equal(whole[cut:], resumed.play(cut + 1, self.horizon))

    def test_state_does_not_grow(self) -> None:
        course = self._course(self.learner())
        before = [part.shape for part in arrays_of(course.learnt)]
        course.play(1, self.horizon)
        assert [part.shape for part in arrays_of(course.learnt)] == before

    def test_rates_do_not_increase(self) -> None:
        learner = self.learner()
        course, rates = self._course(learner), np.zeros(self.horizon)
        for t in range(1, self.horizon + 1):
            course.play(t, t)
            rates[t - 1] = rate_in_force(learner, course.learnt, t)
        # NaN is a learner without a rate; bounds of the others rest on rates that never grow.
        assert np.all(np.isnan(rates)) or (np.all(rates > 0) and np.all(np.diff(rates) <= 0))

    def test_small_and_large(self) -> None:
        """In one dimension and a thousand: out of order, resumed, with weights."""
        for dimension in self.sizes:
            learner = self.sized(dimension)
            if learner is not None:
                rounds = self.horizon if dimension < 100 else FEW
                course = self._course(learner, self._weights(1.0))
                plays = course.play(1, rounds // 2)
                resumed, plays = course.resumed(), np.vstack((plays, course.play(rounds // 2 + 1, rounds)))
                assert np.array_equal(plays[rounds // 2 :], resumed.play(rounds // 2 + 1, rounds))
                self._check_inside(learner, plays)

    def test_it_plays_compiled(self) -> None:
        """Where the JIT is on, and as it does in Python."""
        learner = self.learner()
        record = check_compiled(self._game(learner), learner)
        assert np.all(np.isfinite(record.loss))

    def test_its_certificate_holds(self) -> None:
        """Who tells its rate and norm is certified as DW-FTRL is; a learner that moves otherwise must not tell."""
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
        learner = self.learner()
        used, fresh, again = (self._course(learner) for _ in range(3))
        used.play(1, 20)
        for course in (used, fresh):
            restart(learner, course.learnt, 1, 1.0)
        state = again.buffers.state._replace(learner=used.learnt)
        again = again._replace(buffers=again.buffers._replace(state=state))
        assert np.array_equal(again.play(1, 20), fresh.play(1, 20))

    def test_it_is_a_value(self) -> None:
        learner = self.learner()
        assert pickle.loads(pickle.dumps(learner)) == learner
        assert type(learner).__name__ in repr(learner)
