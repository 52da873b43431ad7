"""The contracts of delays, and of those that react to plays: what every type must do."""

from __future__ import annotations

import pickle
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarry.delays.base import Array, Counts, Delays, Reacting, allocate, backlog_of, delay, react
from tarry.delays.laws import Generated
from tarry.game.checked import checked, watching
from tarry.kernel import entry
from tarry.kernel.views import leaves
from tarry.testing.compiled import check_compiled_world


@entry
def _ask_each(delays: Delays, out: Counts) -> None:
    for t in range(1, out.size + 1):
        out[t - 1] = delay(delays, t)


class DelaysContract:
    """A suite for one type of delays: write ``make``; set ``random = False`` where ``rng`` plays no part.

    >>> from tarry import delays
    >>> class TestFixed(DelaysContract):
    ...     random = False
    ...
    ...     def make(self, horizon, rng):
    ...         return delays.fixed(horizon=horizon, delay=3)
    """

    random: ClassVar[bool] = True
    prefix_stable: ClassVar[bool] = True  # a longer game begins as a shorter one does
    horizons: ClassVar[tuple[int, ...]] = (1, 2, 37, 700)  # the ends of the range, and no round numbers

    def make(self, horizon: int, rng: int) -> Delays:
        """Return the delays to check, with this horizon and this seed: override this."""
        raise NotImplementedError(f"{type(self).__name__} needs a make(horizon, rng)")

    def _all(self) -> list[Delays]:
        return [self.make(horizon, rng) for horizon in self.horizons for rng in (0, 1)]

    def test_indices_and_answers(self) -> None:
        """In debug mode, before anything else: every index and answer is looked at."""
        for delays in self._all():
            with watching(), np.errstate(over="ignore"):  # the keyed generator wraps around by design
                for t in range(1, delays.horizon + 1):
                    delay(checked(delays), t)

    def test_delays_fit_the_horizon(self) -> None:
        for delays in self._all():
            assert isinstance(delays, Delays), f"{type(delays).__name__} does not inherit Delays"
            values, room = delays.values, _room(delays.horizon)
            assert values.shape == (delays.horizon,)
            assert values.dtype == np.int64
            assert np.all(values >= 0), "a delay is negative"
            assert np.all(values <= room), "a delay reaches past the horizon"

    def test_the_verb_gives_the_values(self) -> None:
        for delays in self._all():
            answers = np.zeros(delays.horizon, np.int64)
            _ask_each.dispatcher_for(delays)(delays, answers)
            assert np.array_equal(answers, delays.values), "delay(delays, t) differs from values"

    def test_it_plays_compiled(self) -> None:
        """Where the JIT is on, and as it does in Python."""
        check_compiled_world(delays=self.make(sorted(self.horizons)[-2], 0))

    def test_backlog_adds_up(self) -> None:
        for delays in self._all():
            backlog = delays.backlog()
            assert backlog[0] == 0
            assert backlog.sum() == delays.values.sum(), "the backlog does not sum to the total delay"
            # A round adds itself, and may take away any number.
            assert np.all(np.diff(backlog) <= 1), "the backlog grew by more than one in a round"
            total, longest, peak = delays.summary()
            assert peak <= min(longest, sqrt(2 * total)), "σ_max is above min(d_max, √(2 d_tot))"

    def test_summaries_agree(self) -> None:
        for delays in self._all():
            values = delays.values
            measured = (values.sum(), values.max(), backlog_of(values).max())
            assert tuple(delays.summary()) == measured
            assert (delays.total_delay, delays.max_delay, delays.max_backlog) == measured

    def test_sets_split_the_past(self) -> None:
        for delays in self._all():
            backlog = delays.backlog()
            for t in {1, (delays.horizon + 1) // 2, delays.horizon}:
                observed, pending = delays.observed_set(t), delays.backlog_set(t)
                assert sorted([*observed, *pending]) == list(range(1, t))
                assert pending.size == backlog[t - 1]

    def test_truncated_counts_cut_rounds(self) -> None:
        for delays in self._all():
            room = _room(delays.horizon)
            # A cut round has exactly the delay that reaches the horizon.
            assert 0 <= delays.truncated <= np.count_nonzero(delays.values == room)
            if isinstance(delays, Generated):
                assert delays.truncated == np.count_nonzero(delays.uncut(delays.horizon) > room)

    def test_same_rng_same_delays(self) -> None:
        horizon = max(self.horizons)
        first, again, other = self.make(horizon, 0), self.make(horizon, 0), self.make(horizon, 1)
        assert np.array_equal(first.values, again.values)
        assert np.array_equal(first.values, other.values) != self.random

    def test_survives_pickling(self) -> None:
        delays = self.make(max(self.horizons), 0)
        copy = pickle.loads(pickle.dumps(delays))
        assert copy == delays
        assert np.array_equal(copy.values, delays.values)

    def test_longer_games_begin_alike(self) -> None:
        if not self.prefix_stable:
            return
        for rng in (0, 1):
            short, long = (self.make(horizon, rng) for horizon in sorted(self.horizons)[-2:])
            assert np.array_equal(np.minimum(long.values[: short.horizon], _room(short.horizon)), short.values)
            if isinstance(short, Generated):
                assert np.array_equal(long.uncut(short.horizon), short.uncut(short.horizon))  # type: ignore[attr-defined]


@entry
def _ask_in_play(delays: Reacting, state: Any, plays: Array, slots: Counts, tracked: Counts, out: Counts) -> None:
    for t in range(1, out.size + 1):
        out[t - 1] = react(delays, state, t, plays[t - 1], slots[t - 1], tracked[t - 1])


class ReactingDelaysContract:
    """A suite for delays that react: write ``make(horizon)``. Plays have ``dimension`` entries."""

    dimension: ClassVar[int] = 3
    horizon: ClassVar[int] = 60
    capacity: ClassVar[int] = 4
    seed: ClassVar[int] = 1

    def make(self, horizon: int) -> Reacting:
        """Return the delays to check, with this horizon: override this."""
        raise NotImplementedError(f"{type(self).__name__} needs a make(horizon)")

    def _met(self, compiled: bool = False, debug: bool = False) -> Counts:
        """Return the delays of drawn plays, where every other round takes the next slot and others are not tracked."""
        delays, out = self.make(self.horizon), np.zeros(self.horizon, np.int64)
        plays = np.random.default_rng(self.seed).normal(size=(self.horizon, self.dimension))
        slots, tracked = np.full(self.horizon, -1), np.zeros((self.horizon, self.capacity), np.int64)
        for i in range(0, self.horizon, 2):
            slots[i] = i // 2 % self.capacity
            tracked[i:, slots[i]] = i + 1
        run = _ask_in_play.dispatcher_for(delays) if compiled else _ask_in_play.plain
        arguments = (delays, allocate(delays), plays, slots, tracked)
        run(*(checked(arguments) if debug else arguments), out)
        return out

    def test_indices_and_answers(self) -> None:
        """In debug mode, before anything else: every index and answer is looked at."""
        with watching():
            self._met(debug=True)

    def test_delays_are_no_longer_than_stated(self) -> None:
        delays, waits = self.make(self.horizon), self._met()
        assert delays.reacts, "delays that react inherit tarry.delays.base.Reacting"
        assert waits.min() >= 0, "a delay is negative"
        assert waits.max() <= delays.longest, f"a delay of {waits.max()} is longer than longest={delays.longest}"

    def test_before_play_only_the_longest_are_known(self) -> None:
        delays = self.make(self.horizon)
        assert np.array_equal(delays.values, np.minimum(delays.longest, _room(self.horizon)))

    def test_seeds_share_nothing(self) -> None:
        delays = self.make(self.horizon)
        first, two = (leaves(allocate(delays)) for _ in range(2))
        assert all(map(np.array_equal, first, two)), "two fresh states differ"
        assert not any(map(np.shares_memory, first, two)), "two fresh states share an array"
        assert np.array_equal(self._met(), self._met()), "the same plays met other delays"

    def test_compiled_delays_are_those_of_python(self) -> None:
        assert np.array_equal(self._met(compiled=True), self._met())

    def test_survives_pickling(self) -> None:
        delays = self.make(self.horizon)
        assert pickle.loads(pickle.dumps(delays)) == delays


def _room(horizon: int) -> NDArray[np.int64]:
    """Return the longest delay that each round may have."""
    return horizon - np.arange(1, horizon + 1)
