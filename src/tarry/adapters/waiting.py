"""Decisions that wait for labels, as a part of somebody else's model.

The same steps and the same draws as :class:`tarry.LabelJoin`, without its ledger of past ids, its locks and its stores:
what is left is arrays and a dictionary, which can be copied and pickled along with a model.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from tarry.game.problem import check_grants, setting_of
from tarry.kernel import handle, make_seed
from tarry.learners import Idle
from tarry.live import Ticket
from tarry.live.label_join import new_ticket
from tarry.live.steps import Desk, hand_over, open_round
from tarry.live.tracker import CHECKED, FIRST_SLOTS
from tarry.results import FATES, Weights
from tarry.tracking import Player, fresh_state, grow_state, keyed_draws
from tarry.tracking.table import RELEASED, TRACKED
from tarry.tracking.tally import check_balance, weights_of

RECENT = 1024
_NOTHING = np.zeros(1)


class Slots:
    """Who of rounds 1, 2, … holds one of ``capacity`` slots, and what a label weighs when it comes."""

    def __init__(
        self, capacity: int | None, scheduler: Any = None, seed: Any = None, information: str = "non-clairvoyant"
    ) -> None:
        self._player = Player(Idle(), scheduler)
        check_grants(self._player, feedback=None, capacity=capacity, information=information, preemption=True)
        self.capacity, self.rounds = capacity, 0
        self._setting, self._seed = setting_of(capacity, information, certify=False), make_seed(seed)
        slots = FIRST_SLOTS if capacity is None else int(capacity)
        self._place(fresh_state(self._player, slots, self._setting.capacity))

    def _place(self, state: Any) -> None:
        self._state, self._counts = state, memoryview(state.table.counts)
        self._box = box = handle(Desk(self._player, self._setting, keyed_draws(self._seed), state))
        self._open = open_round.machine_code_for((box, 1, -1), self._player)
        self._hand = hand_over.machine_code_for((box, 1, 1, _NOTHING), self._player)

    def open(self, delay: int = -1) -> bool:
        """Begin the next round; whether it is tracked. ``delay`` is for the clairvoyant model only."""
        t = self.rounds + 1
        if self.capacity is None and self.tracked == self._state.table.rounds.size:
            self._place(grow_state(self._player, self._state, 2 * self.tracked, self._setting.capacity))
        if t % CHECKED == 0:
            check_balance(self._player, self._state, t - 1)
        is_tracked: bool = self._open(self._box, t, delay) >= 0
        self.rounds = t
        return is_tracked

    def answer(self, s: int) -> float:
        """The label of round s is here: its weight, 0 if the round is not tracked."""
        return float(self._hand(self._box, s, self.rounds, _NOTHING))

    def released(self) -> list[int]:
        """The rounds whose slots the last round took over."""
        gone = self._counts[RELEASED]
        numbers: list[int] = self._state.table.released[:gone].tolist() if gone else []
        return numbers

    @property
    def tracked(self) -> int:
        """Slots taken."""
        return int(self._counts[TRACKED])

    def fates(self) -> dict[str, int]:
        """Rounds by fate; they sum to the rounds begun."""
        counts = dict(zip(FATES, self._state.tally.fates.tolist(), strict=True))
        return counts | {"pending": self.tracked}

    def weights(self) -> Weights:
        """The moments of the weights over settled rounds; their mean tends to 1."""
        return weights_of(self._state.tally, self.rounds - self.tracked)

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(self.__dict__)
        for name in ("_box", "_counts", "_open", "_hand"):  # compiled code and what points into memory are made anew
            del kept[name]
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._place(self._state)


class Waiting:
    """At most ``capacity`` decisions with what belongs to them, by id.

    An id that was decided before is recognised while it is tracked, or among the last 1024 decisions.

    >>> waiting = Waiting(capacity=2, seed=7)
    >>> ids = [waiting.decide(x).id for x in "abcde"]
    >>> sum(weight for payload, weight in map(waiting.label, ids))  # the two that are left stand for all five
    5.0
    """

    def __init__(self, capacity: int | None, scheduler: Any = None, seed: Any = None) -> None:
        self.slots = Slots(capacity, scheduler, seed)
        self._kept: dict[Hashable, tuple[int, Any]] = {}
        self._ids: dict[int, Hashable] = {}
        self._recent: dict[Hashable, None] = {}
        self._returned: dict[Hashable, tuple[Any, float]] = {}
        self._forgotten = 0
        self._is_named: bool | None = None

    def decide(self, payload: Any, id: Hashable = None, keep: Callable[[Any], Any] | None = None) -> Ticket:
        """Register a decision under this id, or under its number; whether it is tracked is known at once.

        What is kept is the payload, or ``keep(payload)``, which is called for tracked decisions only.
        """
        is_named = id is not None
        if self._is_named is not is_named:
            self._settle_naming(id)
        if is_named:
            try:
                if id in self._kept or id in self._recent or id in self._returned:
                    return Ticket(id, id in self._kept or id in self._returned, ())
            except TypeError:
                check_id(id)
                raise
            if id != id:
                check_id(id)
            self._recent[id] = None
            if len(self._recent) > RECENT:
                del self._recent[next(iter(self._recent))]
        slots = self.slots
        tracked = slots.open()
        t = slots.rounds
        if not is_named:
            id = t
        gone = slots.released()
        released = tuple(map(self._forget, gone)) if gone else ()
        if tracked:
            self._kept[id] = t, payload if keep is None else keep(payload)
            self._ids[t] = id
        return new_ticket((id, tracked, released))

    def _settle_naming(self, id: Hashable) -> None:
        if self._is_named is not None:
            raise ValueError("some decisions have an id and some have none: give ids always or never")
        if id is not None:
            check_id(id)
        self._is_named = id is not None

    def _forget(self, t: int) -> Hashable:
        id = self._ids.pop(t)
        del self._kept[id]
        return id

    def label(self, id: Hashable) -> tuple[Any, float]:
        """A label has come: what was kept and its weight; None and 0 if the decision is not tracked (any more)."""
        if self._returned:
            self.check_room([id])
        try:
            kept = self._kept.pop(id, None)
        except TypeError:
            check_id(id)
            raise
        if kept is None:
            if type(id) is Ticket or not self._kept:  # an empty dictionary looks at nothing
                check_id(id)
            return self._returned.pop(id, (None, 0.0)) if self._returned else (None, 0.0)
        t, payload = kept
        del self._ids[t]
        return payload, self.slots.answer(t)

    def give_back(self, rows: Iterable[tuple[Hashable, Any, float]], error: BaseException) -> None:
        """The model refused these ids, payloads and weights: their labels may come again.

        Their slots are free; the weights stay as they were drawn. See :meth:`check_room` for how many may gather.
        """
        given = list(rows)
        for id, payload, weight in given:
            self._returned[id] = payload, weight
        error.add_note(
            f"nothing was learnt from the decisions {[id for id, *_ in given]}: label them again, or, if the model can "
            "never learn from them, forget(id)"
        )

    def check_room(self, ids: Iterable[Hashable]) -> None:
        """Refuse labels of tracked decisions which, failing too, would make more than ``capacity`` failed ones."""
        capacity = self.slots.capacity
        if capacity is None or not self._returned:
            return
        fresh = {id for id in ids if _is_id(id) and id in self._kept}
        if fresh and len(self._returned) + len(fresh) > capacity:
            raise ValueError(
                f"the model has failed on {len(self._returned)} decisions, {list(self._returned)[:10]}, and at most "
                f"{capacity} are held: label those again first, or forget(id) them; nothing changed"
            )

    def forget(self, id: Hashable) -> bool:
        """Give up on a decision that the model failed on; whether it was one."""
        check_id(id)
        if self._returned.pop(id, None) is None:
            return False
        self._forgotten += 1
        return True

    def fates(self) -> dict[str, int]:
        """Decisions by fate: those that the model failed on are pending, forgotten ones expired."""
        counts, failed, forgotten = self.slots.fates(), len(self._returned), self._forgotten
        counts["used"] -= failed + forgotten
        counts["pending"] += failed
        counts["expired"] += forgotten
        return counts


def _is_id(id: Any) -> bool:
    try:
        return hash(id) is not None
    except TypeError:
        return False


def check_id(id: Any) -> None:
    """Refuse what cannot name a decision: a ticket instead of its id, and what a dictionary cannot find again."""
    if type(id) is Ticket:
        raise ValueError(f"a decision has an id, and this is its ticket: give ticket.id, here {id.id!r}")
    try:
        is_good = _is_id(id) and bool(id == id)
    except TypeError:
        is_good = False
    if not is_good:
        raise ValueError(f"an id must be hashable and equal to itself, such as a string or a number, got {id!r}")
