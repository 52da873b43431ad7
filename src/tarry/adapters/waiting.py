"""Decisions that wait for labels, as a part of somebody else's model.

The core of :class:`tarry.LabelJoin`, its slots, without the ledger of past ids, the locks and the stores: arrays and a
dictionary, which can be copied and pickled along with a model.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tarry.errors import TarryError
from tarry.game.grants import check_grants
from tarry.kernel import make_seed
from tarry.learners import Idle
from tarry.live import Ticket
from tarry.live.core import ROUNDS, Slots
from tarry.live.label_join import new_ticket
from tarry.live.weighing import UNBIASED, Weighing
from tarry.live.windows import Clock, check_windowless, moment_of
from tarry.outcomes import Weights
from tarry.schedulers.base import Scheduler
from tarry.times import AT_ARRIVAL, as_length, as_release
from tarry.tracking import Player
from tarry.tracking.table import RELEASED

Seed = int | np.random.SeedSequence | np.random.Generator | None
Sizer = Callable[[Any], float] | None  # what a decision counts for, a positive number, from its features

RECENT = 1024  # decisions whose ids are recognised though they are not tracked


class Window(NamedTuple):
    """How long decisions wait (0: for ever), the label of those that get none, and if rows come out with labels."""

    length: int = 0
    missing: Any = None
    at_arrival: bool = True

    @classmethod
    def of(cls, window: Any, missing: Any, release: str | None) -> Window:
        """Return the window that was asked for; refuse one that does not say what no label means."""
        if window is None:
            check_windowless(missing=(missing, None), release=(release, None))
            return cls()
        if missing is None:
            raise ValueError(
                f"window={window!r} ends also where no label came, and a model must be told what that means: give "
                "missing=…, such as 0 for no conversion"
            )
        return cls(as_length(window, "window"), missing, as_release(release) == AT_ARRIVAL)


def make_slots(
    capacity: int | None,
    scheduler: Scheduler | str | None,
    seed: Seed,
    information: str = "non-clairvoyant",
    *,
    timed: bool = False,
) -> Slots:
    """Return slots that track for somebody else's model; refuse a scheduler that needs more than it is granted."""
    player = Player(Idle(), scheduler)
    check_grants(player, feedback=None, capacity=capacity, information=information, preemption=True)
    return Slots(player, None if capacity is None else int(capacity), information, seed=make_seed(seed), timed=timed)


def check_sizer(size: Any, slots: Slots, such_as: str = "x['price']") -> Any:
    """Return a function of the features that gives sizes, or None; refuse it where the scheduler takes no sizes."""
    if size is None:
        return None
    if not callable(size):
        raise ValueError(f"size must be a function of the features, such as lambda x: {such_as}, got {size!r}")
    slots.as_size(1.0)
    return size


class Waiting:
    """At most ``capacity`` decisions with what belongs to them, by id; ``weighing`` says how their weights are told.

    With a window, labels are kept until it ends (unless rows come out with their labels), and so are decisions.

    An id that was decided before is recognised while it is tracked, or among the last 1024 decisions.

    >>> waiting = Waiting(capacity=2, seed=7, weighing=Weighing("unbiased"))
    >>> ids = [waiting.decide(x).id for x in "abcde"]
    >>> sum(weight for payload, weight in map(waiting.label, ids))  # the two that are left stand for all five
    5.0
    """

    # Of copies that were pickled before there were sizes, windows and other weights.
    _size: Sizer = None
    _labels: dict[Hashable, Any] = {}  # never written to without a window
    window, _length = Window(), 0
    _clock: Clock | None = None
    weighing = Weighing(UNBIASED, split=None)

    def __init__(
        self,
        capacity: int | None,
        scheduler: Scheduler | str | None = None,
        seed: Seed = None,
        size: Sizer = None,
        such_as: str = "x['price']",
        *,
        weighing: Weighing | None = None,
        window: Window = window,
    ) -> None:
        self.weighing = Weighing() if weighing is None else weighing
        self.window, self._length = window, window.length  # asked for at every call
        self.slots = make_slots(capacity, scheduler, seed, timed=window.length > 0)
        self._size = check_sizer(size, self.slots, such_as)
        self._kept: dict[Hashable, tuple[int, Any]] = {}  # round and payload of tracked ids
        self._ids: dict[int, Hashable] = {}  # the same the other way round, where ids are not the rounds themselves
        self._recent: dict[Hashable, None] = {}  # in the order of their decisions, so that the oldest goes first
        self._labels = {}  # of tracked ids until their windows end, and of those that the model then failed on
        self._returned: dict[Hashable, tuple[Any, float]] = {}  # payload and weight where the model failed
        self._forgotten = 0
        self._clock = Clock()
        self._is_named: bool | None = None  # whether decisions have ids; None before the first

    def sizes(self, payloads: Iterable[Any]) -> list[float]:
        """Return the size of each of several payloads, all checked before the first is decided."""
        found = []
        for i, payload in enumerate(payloads):
            if self._size is None:
                found.append(1.0)
                continue
            try:
                given = self._size(payload)
            except Exception as error:
                raise ValueError(
                    f"row {i}: size fails with {type(error).__name__} ({error}): it is called with a row, "
                    "whose columns go by their numbers, x[0]; nothing was changed"
                ) from error
            found.append(self.slots.as_size(given, f"row {i}: size"))
        return found

    def moment(self, at: Any, name: str = "at") -> int:
        """Return the moment of an event, now if it is not said; refuse one without windows."""
        return moment_of(at, self._length, "this model", name, self._clock)

    def decide(self, payload: Any, id: Hashable = None, size: float | None = None, *, at: Any = None) -> Ticket:
        """Register a decision under this id, or under its number; return its ticket, which says if it is tracked.

        A ``size`` comes from :meth:`sizes`; else it is found here. ``at`` is when its window begins.
        """
        slots, window = self.slots, self._length
        moment = self.moment(at) if window or at is not None else 0
        if slots.is_midway:
            raise _cut_short()
        is_named = id is not None
        if self._is_named is not is_named:
            if self._is_named is not None:
                raise ValueError("some decisions have an id and some have none: give ids always or never")
            if is_named:
                check_id(id)
            self._is_named = is_named
        if is_named:
            try:
                if id in self._kept or id in self._recent or id in self._returned:
                    return Ticket(id, id in self._kept or id in self._returned, ())
            except TypeError:
                check_id(id)
                raise
            if id != id:  # NaN, which no dictionary would find again
                check_id(id)
        if size is None:  # may fail: nothing is changed yet
            size = 1.0 if self._size is None else slots.as_size(self._size(payload))
        if is_named:
            self._recent[id] = None
            if len(self._recent) > RECENT:  # memory is bounded, however long one decides
                del self._recent[next(iter(self._recent))]
        slot = slots.open(-1, size)
        tracked = slot >= 0
        if window:
            slots.note(moment)
            if self._clock is not None:
                self._clock.note(at)
            if tracked:
                slots.due[slot] = moment + window
        t = slots.counts[ROUNDS]
        if not is_named:
            id = t
        # Most rounds release nobody, and to ask costs more than to look.
        released: tuple[Hashable, ...] = ()
        if slots.table[RELEASED]:
            released = tuple(map(self._ids.pop, slots.released()) if is_named else slots.released())
            for name in released:
                del self._kept[name]
                if window:
                    self._labels.pop(name, None)
        if tracked:
            # Features may change until the label comes; most rows lose their slot at once, and need no copy.
            self._kept[id] = t, payload.copy() if type(payload) is dict else payload
            if is_named:
                self._ids[t] = id
        slots.is_midway = False
        return new_ticket((id, tracked, released))

    def label(self, id: Hashable, label: Any = None, *, at: Any = None) -> tuple[Any, float]:
        """Return what was kept and its weight, now that a label has come; None and 0 where it is not tracked.

        Also where the label waits for the end of its window, or came after it (``at``); of several the first counts.
        """
        if (self._length or at is not None) and not self._counts(id, label, self.moment(at)):
            return None, 0.0
        found = self.end(id)
        if self._length:
            self._labels.pop(id, None)  # of one that the model had failed on
        return found

    def _counts(self, id: Hashable, label: Any, moment: int) -> bool:
        """Return whether a label gives a row now; keep it if it will when its window ends."""
        check_id(id)
        self.slots.note(moment)
        if id not in self._kept:
            return True  # unknown, or one that the model failed on
        if self.slots.is_outside(self._kept[id][0], moment):
            return False
        if not self.window.at_arrival:
            self._labels.setdefault(id, label)
        return self.window.at_arrival

    def ended(self, now: Any = None) -> Iterator[tuple[Hashable, Any, float, Any]]:
        """Yield id, payload, weight and label of decisions whose windows have ended, in that order, ending each.

        Those that the model failed on come again, after them. No more come than may fail, lest memory grow.
        """
        if not self._length:
            raise ValueError("this model has no window, so none can end: make it with a window")
        moment = self.moment(now, "now")
        self.slots.note(moment)
        ids = [self._ids.get(t, t) for t in self.slots.ended(moment)]
        again = [id for id in self._returned if id in self._labels]
        if self._returned and self.slots.capacity is not None:
            room = self.slots.capacity - len(self._returned)
            if not room and not again:
                self.check_room(ids)
            ids = ids[:room]
        for id in [*ids, *again]:
            payload, weight = self.end(id)
            yield id, payload, weight, self._labels.pop(id, self.window.missing)

    def end(self, id: Hashable) -> tuple[Any, float]:
        """Return what was kept and its weight, and let go of it; None and 0 where it is not tracked."""
        if self.slots.is_midway:
            raise _cut_short()
        if self._returned:
            check_id(id)
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
        if self._is_named:
            del self._ids[t]
        slots = self.slots
        weight = slots.answer(t)
        slots.is_midway = False
        return payload, self.weighing.of(slots, weight)

    def give_back(self, rows: Iterable[tuple[Hashable, Any, float, Any]], error: BaseException) -> None:
        """Keep ids, payloads, weights and labels that the model refused: their labels may come again.

        Labels of windows that have ended, which nobody else has, are tried again when the next ones end. Slots are
        free; the weights stay as they were drawn. See :meth:`check_room` for how many may gather.
        """
        given = list(rows)
        for id, payload, weight, label in given:  # several of one id where a weight was split
            self._returned[id] = payload, weight + self._returned.get(id, (None, 0.0))[1]
            if self._length and (not self.window.at_arrival or label is self.window.missing):
                self._labels[id] = label
        names = list(dict.fromkeys(id for id, *_ in given))
        again = "advance() tries again" if self._length and names[0] in self._labels else "label them again"
        error.add_note(
            f"nothing was learnt from the decisions {names}: {again}, or, if the model can never learn from them, "
            "forget(id)"
        )

    def check_room(self, ids: Iterable[Hashable]) -> None:
        """Refuse labels of tracked decisions which, failing too, would make more than ``capacity`` failed ones."""
        capacity = self.slots.capacity  # also the limit of what has failed, so that memory stays bounded
        if capacity is None or not self._returned:
            return
        fresh = {id for id in ids if id in self._kept}
        if fresh and len(self._returned) + len(fresh) > capacity:
            raise ValueError(
                f"the model has failed on {len(self._returned)} decisions, {list(self._returned)[:10]}, and at most "
                f"{capacity} are held: label those again first, or forget(id) them; nothing changed"
            )

    def forget(self, id: Hashable) -> bool:
        """Give up on a decision that the model failed on; return whether it was one."""
        check_id(id)
        if self._returned.pop(id, None) is None:
            return False
        self._labels.pop(id, None)
        self._forgotten += 1
        return True

    def fates(self) -> dict[str, int]:
        """Return decisions by fate: those that the model failed on are pending, forgotten ones expired."""
        # To the slots all of these were answered.
        counts, failed, forgotten = self.slots.fates(), len(self._returned), self._forgotten
        counts["used"] -= failed + forgotten
        counts["pending"] += failed
        counts["expired"] += forgotten
        return counts


def _cut_short() -> TarryError:
    return TarryError("a call was cut short in the middle of a round, so these decisions cannot be trusted: start anew")


class LateModel:
    """What every model with late labels tells of its decisions."""

    _waiting: Waiting
    # Of copies that were pickled before there were these.
    size: Sizer = None
    weights: str = UNBIASED
    split: float | None = None
    max_weight: float | None = None
    window: Any = None
    missing: Any = None
    release: str | None = None

    def forget(self, id: Hashable) -> bool:
        """Give up on a decision that the model failed on, and free its room; return False if it is none."""
        return self._waiting.forget(id)

    def fates(self) -> dict[str, int]:
        """Return decisions by fate; they sum to the decisions made."""
        return self._waiting.fates()

    def moments(self) -> Weights:
        """Return the moments of the unbiased weights; their mean tends to 1."""
        return self._waiting.slots.weights()

    def cut(self) -> float:
        """Return the share of all weight that ``max_weight`` has cut: the bias of what is learnt is at most this."""
        return self._waiting.weighing.cut


def check_id(id: object) -> None:
    """Refuse what cannot name a decision: a ticket instead of its id, and what a dictionary cannot find again."""
    if type(id) is Ticket:
        raise ValueError(f"a decision has an id, and this is its ticket: give ticket.id, here {id.id!r}")
    try:
        hash(id)
        is_good = bool(id == id)
    except TypeError:
        is_good = False
    if not is_good:
        raise ValueError(f"an id must be hashable and equal to itself, such as a string or a number, got {id!r}")
