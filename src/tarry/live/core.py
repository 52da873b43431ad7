"""The core of everything live: who of rounds 1, 2, … holds a slot, and what feedback weighs when it comes.

``Slots`` is arrays and compiled steps: no ids, no locks, no stores. It can be copied and pickled, so that an adapter
can keep one inside a model.
"""

from __future__ import annotations

from math import nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from tarry.errors import NotGranted
from tarry.game.grants import check_sizes, setting_of
from tarry.game.rounds import COUNTED, NO_SLOT, acknowledge, begin, deliver, forfeit, no_slot, no_weight, take_out
from tarry.kernel.blame import outside_array
from tarry.kernel.compile import entry
from tarry.kernel.views import leaves
from tarry.kernel.words import handle
from tarry.outcomes import FATES, Answer, Fate, Weights
from tarry.schedulers.base import UNLIMITED, held
from tarry.tracking.player import (
    Player,
    State,
    fresh_state,
    grow_state,
    keyed_draws,
    resettle_state,
    resize_draws,
)
from tarry.tracking.table import RELEASED, TRACKED, find
from tarry.tracking.tally import (
    LABELLED,
    LEAST,
    LONGEST,
    MASS,
    MOST,
    SQUARE,
    UNCERTIFIED,
    WEIGHT,
    as_size,
    check_balance,
    weights_by_size,
)

FIRST_SLOTS = 64  # of a set without a limit, which doubles when it is full
FIRST_ROOM = 4096  # of one with a limit, likewise: a capacity takes memory only as far as it is used
CHECKED = 4096  # rounds between two checks of the weights' balance: often enough, and not seen in the speed
MALFORMED = -1.0  # no weight is negative
LARGEST = 1e100  # of feedback and labels: far from where weighted sums and their squares could overflow
ROUNDS, ANSWERED, NAMING, ANSWERS = range(4)  # entries of the counts; answers by kind come last
# Sums that an estimate is made of, with m = wb and z = y/b for labels y of size b: Σm; Σwy and the digits it has lost;
# Σm²; the mean of z under the weights m², and Σm²(z − that mean)²; how many labels; and the mean of y without weights.
WEIGHTS, WEIGHTED, LOST, SQUARES, CENTRE, SPREAD, LABELS, NAIVE = range(8)
# Marks of a join with windows or an outbox: the latest moment told, labels after their window, rows acknowledged.
NOW, OUTSIDE, ACKED = range(3)
_USED = int(Fate.USED)  # an index that costs no look at an enumeration
_WORDS = Answer.REPEATED + 1  # answers that every store has counts of
_NOTHING = np.zeros(0, np.int64)
_KEPT = ("player", "capacity", "seed", "_setting")  # of a copy
_SOME_FEEDBACK = np.zeros(1)  # stands for feedback where compiled code is looked up: its type is what counts


class StepContext(NamedTuple):
    """Everything a compiled live call needs, behind one handle."""

    player: Any
    setting: Any
    draws: Any
    state: Any


@entry
def open_round(box: Any, t: int, delay: int, size: float) -> Any:
    """Begin round t; return its slot, UNTRACKED or SATURATED."""
    context = box.body
    return begin(context.player, context.setting, context.draws, context.state, t, delay, size)


@entry
def hand_over(box: Any, s: int, t: int, feedback: np.ndarray) -> Any:
    """Deliver the feedback of s in round t; return its weight, or MALFORMED with nothing changed."""
    context = box.body
    for i in range(feedback.size):
        if not abs(feedback[i]) < LARGEST:  # also true of NaN
            return MALFORMED
    slot = find(context.state.table, s)
    if slot < 0:
        acknowledge(context.state)
        return 0.0
    return deliver(context.player, context.setting, context.draws, context.state, s, t, slot, feedback)


@entry
def give_up(box: Any, s: int, t: int) -> None:
    """End round s without an outcome."""
    context = box.body
    slot = find(context.state.table, s)
    if slot < 0:
        acknowledge(context.state)
    else:
        forfeit(context.player, context.state, s, t, slot)


def book_label(sums: Any, weight: float, label: Any, strays: Any = (), size: float = 1.0, moments: Any = ()) -> None:
    """Count a label that is a number below 1e100 in size; others are left out.

    Σwy is summed with its rounding errors (Neumaier), and the spread by the differences from a running mean (West):
    squares of labels far from nought would lose the digits that tell them apart. Where there are sizes, it is the
    label for each unit of size that is spread.
    """
    if not isinstance(label, (int, float, np.integer, np.floating, np.bool_)):
        return
    try:
        y = float(label)
    except OverflowError:  # a whole number beyond all floats
        return
    if not abs(y) < LARGEST:  # also NaN
        return
    each, mass = y / size, weight * size
    share, squared, before = weight * y, mass * mass, sums[WEIGHTED]
    after = before + share
    sums[LOST] += (before - after) + share if abs(before) >= abs(share) else (share - after) + before
    sums[WEIGHTED] = after
    if len(strays):
        is_first = sums[LABELS] == 0.0
        if is_first or each < strays[LEAST]:
            strays[LEAST] = each
        if is_first or each > strays[MOST]:
            strays[MOST] = each
        if size != 1.0 or strays[LABELLED]:
            if not strays[LABELLED]:  # all labels before were of size 1
                strays[LABELLED], strays[MASS] = sums[LABELS], sums[WEIGHTS]
            strays[LABELLED] += size
            strays[MASS] += mass
    if len(moments):
        moments[LONGEST] = max(moments[LONGEST], abs(y))
    sums[WEIGHTS] += mass
    sums[LABELS] += 1.0
    sums[NAIVE] += (y - sums[NAIVE]) / sums[LABELS]
    sums[SQUARES] += squared
    if squared > 0.0:
        away = each - sums[CENTRE]
        sums[CENTRE] += away * (squared / sums[SQUARES])
        sums[SPREAD] += squared * away * (each - sums[CENTRE])


def _view(array: Any) -> memoryview:
    return memoryview(array)


class Held(NamedTuple):
    """All arrays: the player's state, the counts by the names above, and the sums of an estimate.

    A join with windows or an outbox also has the moment at which each slot's window ends, and marks.
    """

    play: State
    counts: np.ndarray
    sums: np.ndarray
    due: np.ndarray = _NOTHING
    marks: np.ndarray = _NOTHING


class Slots:
    """The slots of a player that was checked before.

    ``counts``, ``sums``, ``due``, ``marks``, ``table`` (the counts of the tracking set), ``strays``, ``sized`` and
    ``moments`` are views of the arrays.
    ``is_midway`` is set by every step; whoever keeps books beside the slots sets it back when they agree again.
    """

    def __init__(
        self,
        player: Player,
        capacity: int | None,
        information: str = "non-clairvoyant",
        *,
        seed: int | str = 0,
        certify: Any = UNCERTIFIED,
        timed: bool = False,
    ) -> None:
        self.player, self.capacity, self.seed = player, capacity, seed
        self._is_timed = timed
        self._setting = setting_of(player, capacity, information, certify=certify)
        if capacity is None:
            slots = FIRST_SLOTS
        else:
            slots = min(capacity, FIRST_ROOM) if player.scheduler.grows else capacity
        self.clear(slots)

    def clear(self, slots: int) -> None:
        """Go back to before the first round, with room for this many."""
        play = fresh_state(self.player, slots, self._setting.capacity)
        held = Held(play, np.zeros(ANSWERS + _WORDS, np.int64), np.zeros(NAIVE + 1))
        if self._is_timed:
            held = held._replace(due=np.zeros(slots, np.int64), marks=np.zeros(ACKED + 1, np.int64))
        self._place(held)

    def _place(self, held: Held) -> None:
        """Work on these arrays from now on."""
        self._held = held
        self.state: State = self._held.play
        # Memory views are cheaper than arrays to read and add to, one number at a time.
        self.counts, self.sums = _view(self._held.counts), _view(self._held.sums)
        self.due, self.marks = _view(self._held.due), _view(self._held.marks)
        self.table, self.strays = _view(self.state.table.counts), _view(self.state.tally.strays)
        self.sized, self._released = _view(self.state.tally.sized), _view(self.state.table.released)
        self.moments, self._fates = _view(self.state.tally.sums), _view(self.state.tally.fates)
        self.is_midway = False
        self._room = self.size
        self._box: Any = None  # made again, since the arrays have moved
        self._steps: dict[Any, Any] = {}

    def _compiled(self, step: Any, *arguments: Any) -> Any:
        """Return the compiled code of a step, looked up at its first call: who only looks needs no handle and no code.

        To dispatch on a handle's type at each call would cost 0.5 µs.
        """
        if self._box is None:
            self._box = handle(StepContext(self.player, self._setting, keyed_draws(self.seed), self.state))
        code = self._steps[step] = step.machine_code_for((self._box, *arguments), self.player)
        return code

    def as_size(self, size: Any, name: str = "size") -> float:
        """Return the size of a round; raise ValueError for a bad one, NotGranted where rounds have none.

        A bad one is called ``name``.
        """
        check_sizes(self.player)
        if self._setting.backlog == COUNTED:
            raise NotGranted(
                "acknowledgements do not tell sizes, and this player's rate follows them: give "
                "information='non-clairvoyant', where it follows what is held, or leave size out"
            )
        return as_size(size, name)

    def open(self, delay: int = -1, size: float = 1.0) -> int:
        """Begin the next round; return its slot, negative if it has none. Only the clairvoyant model takes a delay.

        A size other than 1 comes from ``as_size``.
        """
        t = self.counts[ROUNDS] + 1
        if t % CHECKED == 0:
            check_balance(self.state.tally, held(self.player.scheduler, self.state.scheduler), t - 1)
        if self.table[TRACKED] >= self._room and self._room != self.capacity:
            self._grow(2 * self._room if self.capacity is None else min(2 * self._room, self.capacity))
        step = self._steps.get(open_round) or self._compiled(open_round, 1, -1, 1.0)
        self.is_midway = True
        slot: int
        try:
            slot = step(self._box, t, delay, size)
        except IndexError as error:
            raise outside_array(error) from None
        if slot == NO_SLOT:
            raise no_slot(self.player.scheduler)
        self.counts[ROUNDS] = t
        return slot

    def _grow(self, slots: int) -> None:
        """Make room for more tracked rounds."""
        play = grow_state(self.player, self.state, slots, self._setting.capacity)
        due = np.zeros(slots, np.int64) if self._is_timed else _NOTHING
        due[: self._held.due.size] = self._held.due
        self._place(self._held._replace(play=play, due=due))

    def answer(self, s: int, feedback: np.ndarray = _SOME_FEEDBACK) -> float:
        """Hand over the feedback of round s; return its weight, 0 if it is not tracked, or MALFORMED."""
        step = self._steps.get(hand_over) or self._compiled(hand_over, 1, 1, _SOME_FEEDBACK)
        self.is_midway = True
        try:
            weight = float(step(self._box, s, self.counts[ROUNDS], feedback))  # a NumPy number with the JIT off
        except IndexError as error:
            raise outside_array(error) from None
        if weight != weight:  # cheaper than isnan
            raise no_weight(self.player.scheduler, f"round {self.counts[ROUNDS]}")
        return weight

    def expire(self, s: int) -> None:
        """End round s without feedback."""
        step = self._steps.get(give_up) or self._compiled(give_up, 1, 1)
        self.is_midway = True
        step(self._box, s, self.counts[ROUNDS])

    def resize(self, capacity: int | None) -> list[int]:
        """Change the capacity between two rounds; return the rounds that lost their slots, none where it rises.

        Raise NotGranted where the scheduler's weights would not stay right.
        """
        falls = capacity is not None and (self.capacity is None or capacity < self.capacity)
        self._check_resize(falls)
        play, lost = self.state, []
        limit = UNLIMITED if capacity is None else capacity
        if falls and capacity is not None:
            play = resettle_state(self.player, play, self.size, limit)  # a copy, and in order
            draws = resize_draws(self.seed, self.counts[ROUNDS])
            with np.errstate(over="ignore"):  # the keyed generator wraps around by design
                while play.table.counts[TRACKED] > capacity:
                    lost.append(take_out(self.player, play, draws))
            play = resettle_state(self.player, play, min(capacity, self.size), limit)
        else:
            play = grow_state(self.player, play, self.size, limit)
        ends = {0: 0} | dict(zip(self.state.table.rounds.tolist(), self._held.due.tolist(), strict=False))
        due = np.array([ends[s] for s in play.table.rounds.tolist()], np.int64) if self._is_timed else self._held.due
        self._place(self._held._replace(play=play, due=due))
        self.capacity, self._setting = capacity, self._setting._replace(capacity=limit)
        self.is_midway = True
        return lost

    def _check_resize(self, falls: bool) -> None:
        scheduler, name = self.player.scheduler, type(self.player.scheduler).__name__
        if falls and not scheduler.shrinks:
            raise NotGranted(f"{name} cannot give up slots and stay as it is, only VarOpt can: begin anew with fewer")
        if not falls and not scheduler.grows:
            raise NotGranted(f"{name} keeps to the capacity that it began with: begin anew with another")

    def released(self) -> list[int]:
        """Return the rounds whose slots the last round took over."""
        return self._released[: self.table[RELEASED]].tolist()

    def is_outside(self, t: int, moment: int) -> bool:
        """Return whether a moment lies after the window of a tracked round; if so, count the call as OUTSIDE."""
        is_late = moment > self.end_of(t)
        if is_late:
            self.count(Answer.OUTSIDE)
        return is_late

    def end_of(self, t: int) -> int:
        """Return the moment at which the window of a tracked round ends."""
        return int(self.due[find(self.state.table, t)])

    def note(self, moment: int) -> None:
        """Remember the latest moment that was told."""
        if moment > self.marks[NOW]:
            self.marks[NOW] = moment

    def ended(self, moment: int) -> list[int]:
        """Return the tracked rounds whose windows have ended by a moment, in the order of their ends."""
        rounds, due = self.state.table.rounds, self._held.due
        found = np.flatnonzero((rounds > 0) & (due <= moment))
        numbers: list[int] = rounds[found[np.lexsort((rounds[found], due[found]))]].tolist()
        return numbers

    def next_end(self) -> int | None:
        """Return the moment at which the next window of a tracked round ends, None where none is tracked."""
        ends = self._held.due[self.state.table.rounds > 0]
        return int(ends.min()) if ends.size else None

    def count(self, answer: Answer) -> None:
        """Count an answer to a call."""
        if answer is Answer.OUTSIDE:
            self.marks[OUTSIDE] += 1
        else:
            self.counts[ANSWERS + answer] += 1

    def answers(self) -> dict[str, int]:
        """Return the answers to calls, by word."""
        outside = self.marks[OUTSIDE] if self.marks else 0
        return {word.name.lower(): self.counts[ANSWERS + word] if word < _WORDS else outside for word in Answer}

    @property
    def given(self) -> int:
        """Rounds whose feedback was used so far: of a join, the number of its last row."""
        return self._fates[_USED]

    def mean_weight(self) -> float:
        """Return the mean weight of the rounds used so far, NaN before the first."""
        used = self._fates[_USED]
        return self.moments[WEIGHT] / used if used else nan

    def place_of(self, weight: float) -> tuple[float, int]:
        """Return the weight of the round used last relative to the mean, as below, and how many were used."""
        used = self._fates[_USED]
        return weight / (self.moments[WEIGHT] / used), used

    def relative(self, weight: float) -> float:
        """Return the weight of the round used last over the mean weight of all used so far, itself among them."""
        return self.place_of(weight)[0]

    def tempered(self, weight: float) -> float:
        """Return the weight of the round used last over √(Σw²/Σw) of all used so far, itself among them.

        Σw²/Σw is how many labels one label of the effective sample stands for. A step tuned for as many labels as there
        are decisions errs least with unbiased weights divided by its root.
        """
        return weight / sqrt(self.moments[SQUARE] / self.moments[WEIGHT])

    @property
    def size(self) -> int:
        """Slots there is room for."""
        return int(self.state.table.rounds.size)

    @property
    def rounds(self) -> int:
        """Rounds begun so far."""
        return self.counts[ROUNDS]

    @property
    def tracked(self) -> int:
        """Slots taken."""
        return self.table[TRACKED]

    @property
    def arrays(self) -> list[np.ndarray]:
        """Everything that is kept, in its order."""
        return leaves(self._held)

    def fates(self) -> dict[str, int]:
        """Return the rounds by fate; they sum to the rounds begun."""
        counts = dict(zip(FATES, self.state.tally.fates.tolist(), strict=True))
        return counts | {"pending": self.tracked}

    def weights(self) -> Weights:
        """Return the moments of the weights over settled rounds, by size where there are sizes; the mean tends to 1."""
        tally = self.state.tally
        return weights_by_size(tally.sums, tally.sized, self.rounds - self.tracked, self.sizes_out())

    def sizes_out(self) -> np.ndarray:
        """Return the sum of the sizes of tracked rounds, and that of their squares."""
        sizes = self.state.tally.size
        out = sizes[self.state.table.rounds != 0] if sizes.size else sizes
        return np.array([out.sum(), out @ out])

    def __getstate__(self) -> dict[str, Any]:
        names = (*_KEPT, "_held")  # the rest points into memory and is made anew
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        for name in _KEPT:  # one by one: faster than a dictionary ever after
            setattr(self, name, kept[name])
        self._is_timed = kept["_held"].marks.size > 0
        self._place(kept["_held"])
