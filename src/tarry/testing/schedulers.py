"""The contract of schedulers, and a bare game to watch one in.

    class TestMine(SchedulerContract):
        scheduler = Mine()
        capacity = 4

``follow`` plays the engine's own rounds around an idle learner and writes down what the scheduler did; it needs no
losses, so it is also the quick way to see weights.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.delays import array
from tarry.game.checked import play_checked
from tarry.game.grants import check_grants, check_verbs
from tarry.game.problem import as_sizes
from tarry.game.replay import Unplayed
from tarry.game.run import Stop, make_run
from tarry.game.world import BOOKS, FEEDBACK, note, note_round, run_rounds
from tarry.learners import Idle
from tarry.outcomes import Fate
from tarry.schedulers.base import DrawSource, Scheduler, held
from tarry.tracking import Draws, Player, Single, State, keyed_draws
from tarry.tracking.player import grow_state
from tarry.tracking.table import RELEASED, TRACKED
from tarry.tracking.tally import OCCUPANCY, WEIGHT

Watch = Callable[[Player, State, int], None]


class Trace(NamedTuple):
    """What a scheduler did; arrays hold round t at position t − 1.

    ``slot`` is the answer to admission, ``before`` the size of S_t (after preemption, before admission),
    ``after`` the size after admission, ``preempted_at`` the round that preempted t or 0, ``weight`` what
    its feedback weighed (0 if it was not tracked then), ``fates`` the ledger at the end.
    """

    slot: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    preempted_at: NDArray[np.int64]
    weight: NDArray[np.float64]
    fates: NDArray[np.int64]


@note.on(Trace)
def _note(trace: Trace, t: int, kind: int, s: int, weight: float) -> None:
    if kind == FEEDBACK:
        trace.weight[s - 1] = weight


@note_round.on(Trace)
def _note_round(trace: Trace, t: int, slot: int, play: np.ndarray, loss: float, table: Any) -> None:
    trace.slot[t - 1] = slot
    trace.after[t - 1] = table.counts[TRACKED]
    for i in range(table.counts[RELEASED]):
        trace.preempted_at[table.released[i] - 1] = t


def _alone(scheduler: Scheduler) -> Player:
    """Return a player of this scheduler without the epochs that some ask a Player for: it keeps its first guess."""
    return Player.make(Idle(), scheduler, Single())


def follow(
    scheduler: Scheduler,
    delays: ArrayLike,
    *,
    capacity: int | None,
    information: str = "semi-clairvoyant",
    seed: int = 0,
    draws: DrawSource | None = None,
    compiled: bool = False,
    debug: bool = False,
    grow: bool = False,
    watch: Watch | None = None,
    sizes: ArrayLike | None = None,
) -> Trace:
    """Play delays (cut to their number) against a scheduler and return what it did.

    ``draws`` replaces the seed's draws by recorded ones; ``debug`` checks every slot and index; ``grow`` starts with
    half the room and makes more on the way; ``watch(player, state, t)`` is called after every round; ``sizes`` are for
    those that take them.

    >>> from tarry.schedulers import VarOpt
    >>> follow(VarOpt(), [3, 3, 3, 3], capacity=2, seed=1).weight.tolist()
    [0.0, 2.0, 0.0, 2.0]
    """
    waits = np.asarray(delays, dtype=np.int64)
    horizon, half = waits.size, max(1, waits.size // 2)
    round_sizes = None if sizes is None else as_sizes(sizes, horizon)
    game = Unplayed(array(np.minimum(waits, np.arange(horizon)[::-1])), capacity, information, sizes=round_sizes)
    # A checkpoint a round, since the books at each tell the size of the set before admission.
    run = make_run(game, _alone(scheduler), checkpoints=np.arange(1, horizon + 1), hears=True, keep_rounds=True)
    run = run if compiled else run._replace(compiled=play_checked if debug else run_rounds.function, is_plain=True)
    drawn = keyed_draws(seed)
    grows = grow and capacity is None
    used_draws = drawn if draws is None else Draws(draws, drawn.directions)
    buffers = run.start(used_draws, half if grows else None, horizon)
    slot, before, after, preempted_at = np.zeros((4, horizon), np.int64)
    trace = Trace(slot, before, after, preempted_at, np.zeros(horizon), buffers.state.tally.fates)
    buffers = buffers._replace(log=trace)
    # Round by round where somebody watches; otherwise in two blocks if there is to be growth between them.
    ends = range(1, horizon + 1) if watch is not None else sorted({half, horizon} if grow else {horizon})
    first = 1
    with np.errstate(over="ignore"):  # the keyed generator wraps around by design
        for last in ends:
            if last > half and grows and buffers.state.table.rounds.size < horizon:  # as a live session grows
                state = grow_state(run.player, buffers.state, horizon, run.setting.capacity)
                feedback = np.zeros((horizon, buffers.world.feedback.shape[1]))
                buffers = buffers._replace(state=state, world=buffers.world._replace(feedback=feedback))
            run.advance(buffers, Stop(), first, last)
            if watch is not None:
                watch(run.player, buffers.state, last)
            first = last + 1
    before[:] = np.diff(buffers.world.curve[:, BOOKS + OCCUPANCY], prepend=0.0)
    return trace._replace(fates=buffers.state.tally.fates)


class SchedulerContract:
    """Subclass it as a pytest class and say which scheduler, and in what game.

    ``saturates`` says whether a full set turns newcomers away (weight 0 then); where it does not, an
    unbiased member must have mean weight 1 in full rounds too. ``capacity``, ``information``, ``preemption`` and
    ``delays`` (an array, a round each) are the game's; ``seeds`` is how often it is played for the mean weight.
    """

    scheduler: Scheduler
    capacity: int | None = 4
    information: str = "semi-clairvoyant"
    preemption: bool = True
    saturates: bool = False
    horizon: int = 120
    seeds: int = 200

    @property
    def delays(self) -> NDArray[np.int64]:
        """Return short, long and same-round delays, a backlog well above the capacity."""
        rng = np.random.default_rng(20)
        usual = rng.geometric(1 / 12, self.horizon) - 1
        return np.where(rng.random(self.horizon) < 0.05, self.horizon, usual)  # one in twenty never comes

    def follow(self, seed: int = 0, **options: Any) -> Trace:
        """Return one run of this contract's game."""
        rules = {"capacity": self.capacity, "information": self.information, **options}
        return follow(self.scheduler, self.delays, seed=seed, **rules)

    def test_indices_and_answers(self) -> None:
        """In debug mode, before anything else: every index, slot and answer is looked at."""
        check_verbs(_alone(self.scheduler))
        self.follow(debug=True)

    def test_game_grants_what_it_needs(self) -> None:
        check_grants(
            _alone(self.scheduler),
            feedback="label",
            capacity=self.capacity,
            information=self.information,
            preemption=self.preemption,
        )

    def test_tracks_pending_rounds_within_capacity(self) -> None:
        due = np.arange(1, self.horizon + 1) + self.delays

        def watch(player: Player, state: State, t: int) -> None:
            tracked = state.table.rounds[state.table.rounds > 0]
            assert np.all((tracked <= t) & (due[tracked - 1] > t)), f"a round is tracked past its life at {t}"
            assert tracked.size == state.table.counts[TRACKED], f"the set has lost count in round {t}"
            holding = held(player.scheduler, state.scheduler)
            total = state.tally.sums[WEIGHT] + holding  # weights balance the rounds, where a scheduler tells them
            assert holding < 0 or abs(total - t) <= 1e-9 * t, f"arrived + held is {total} after round {t}"

        trace = self.follow(watch=watch)
        limit = self.horizon if self.capacity is None else self.capacity
        assert trace.after.max() <= limit, f"{trace.after.max()} rounds tracked with capacity {limit}"
        assert self.preemption or not trace.preempted_at.any(), "it preempts where preemption is forbidden"
        is_said = self.scheduler.needs_preemption or not trace.preempted_at.any()
        assert is_said, f"{self._name} drops tracked rounds and does not say so: needs_preemption = True"

    def test_weights_and_fates_agree_with_tracking(self) -> None:
        trace = self.follow()
        weight, is_heard = trace.weight, (trace.slot >= 0) & (trace.preempted_at == 0)
        assert np.all(np.isfinite(weight) & (weight >= 0)), f"weights {weight[~(weight >= 0)]}"
        assert np.array_equal(weight > 0, is_heard), "weights and tracking disagree"
        assert trace.fates.sum() == self.horizon, f"fates {trace.fates} for {self.horizon} rounds"
        assert trace.fates[Fate.USED] == np.count_nonzero(trace.weight)
        assert trace.fates[Fate.PREEMPTED] == np.count_nonzero(trace.preempted_at)

    def test_is_deterministic_in_the_seed(self) -> None:
        assert _same(self.follow(seed=3), self.follow(seed=3))

    def test_growth_changes_nothing(self) -> None:
        for capacity in (None, self.capacity):
            assert _same(self.follow(capacity=capacity), self.follow(capacity=capacity, grow=True))

    def test_survives_pickling(self) -> None:
        copy = pickle.loads(pickle.dumps(self.scheduler))
        assert copy == self.scheduler
        again = follow(copy, self.delays, capacity=self.capacity, information=self.information)
        assert _same(again, self.follow())

    def test_it_plays_compiled(self) -> None:
        """Where the JIT is on, and as it does in Python."""
        compiled, plain = self.follow(compiled=True), self.follow()
        for plain_value, other in zip(plain, compiled, strict=True):
            np.testing.assert_allclose(plain_value, other, rtol=1e-9, err_msg=f"compiled, {self._name} plays otherwise")

    @property
    def _name(self) -> str:
        return type(self.scheduler).__name__

    def test_mean_weight(self) -> None:
        """E[w_t | past] = 1 wherever there is room; a random half of the rounds must show it too."""
        if not self.scheduler.is_unbiased:
            return
        # Halves that know nothing of the draws: a bias that cancels over all rounds shows in one of them.
        is_late = np.random.default_rng(5).random((2, self.horizon)) < 0.5
        excess, refuses = np.zeros((self.seeds, self.horizon)), False
        for seed in range(self.seeds):
            trace = self.follow(seed)
            # A member that saturates owes a full set nothing.
            room = trace.before < (self.capacity if self.saturates and self.capacity is not None else np.inf)
            assert not trace.weight[~room].any(), f"{self._name} let a round enter a full set: leave saturates out"
            excess[seed] = trace.weight - room
            refuses |= bool(trace.fates[Fate.SATURATED])
        for half in is_late:
            sums = excess[:, half].mean(axis=1)
            error = sums.std(ddof=1) / np.sqrt(self.seeds)
            # A half of an unbiased member is four standard errors off once in sixteen thousand seeds of the suite.
            problem = f"weights of {self._name} are biased: mean weight off by {sums.mean():.3g} ± {error:.2g}"
            remedy = "say is_unbiased = False, or, if large weights are rare, give the contract shorter delays"
            if refuses and not self.saturates:
                remedy = "it refuses rounds for want of room, so give the contract saturates = True"
            assert abs(sums.mean()) <= 4 * error + 1e-9, f"{problem} (standard error): {remedy}"


def _same(first: Trace, other: Trace) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
