"""LabelJoin: a bounded, weighted join of decisions with late labels, for any model."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from tarry.learners import Idle
from tarry.live.session import check_store
from tarry.live.status import Status, status_of
from tarry.live.tracker import Receipt, Tracker
from tarry.results import Answer, html_table
from tarry.tracking import Player

_NOTHING = np.zeros(1)


class Ticket(NamedTuple):
    """A decision on its way: ``released`` ids were tracked until now and need no label any more."""

    id: Hashable
    tracked: bool
    released: tuple[Hashable, ...]


class Row(NamedTuple):
    """One training row: weigh it by ``weight`` and every sum is unbiased."""

    features: Any
    label: Any
    weight: float


class LabelJoin:
    """Keep at most ``capacity`` decisions waiting for labels; return each label with its weight.

    The weight is one over the probability of having kept the decision, so weighted sums, means and
    gradients over the rows that come out are unbiased for all decisions, also when the delay depends
    on the label. Features are stored for tracked decisions only.

    >>> join = LabelJoin(capacity=64, rng=1)
    >>> ticket = join.decide({"age": 41})
    >>> join.label(ticket.id, 1)
    Row(features={'age': 41}, label=1, weight=1.0)
    """

    def __init__(
        self,
        capacity: int | None,
        *,
        scheduler: Any = None,
        information: str = "non-clairvoyant",
        preemption: bool = True,
        store: str = "memory:",
        rng: Any = None,
        memory: int = 1_000_000,
    ) -> None:
        check_store(store)
        if getattr(scheduler, "withholds_feedback", False):
            raise ValueError(
                f"a LabelJoin hands each row out when its label comes, and {type(scheduler).__name__} must withhold "
                "some until their batch ends: use VarOpt or Morris, or a Session"
            )
        self._tracker = Tracker(
            Player(Idle(), scheduler),
            capacity=capacity,
            information=information,
            preemption=preemption,
            rng=rng,
            memory=memory,
        )

    def decide(self, features: Any = None, id: Hashable = None, *, delay: int | None = None) -> Ticket:
        """Register a decision; whether it is tracked is known at once.

        An id decided before gives its ticket again and leaves the features first given.
        """
        opened = self._tracker.open(id, delay, features)
        return Ticket(opened.id, opened.tracked, opened.released)

    def label(self, id: Hashable, label: Any) -> Row | None:
        """The decision's row with its weight, or None if it is not tracked (any more); :meth:`fate` tells why."""
        receipt, features = self._tracker.close(id, _NOTHING)
        return Row(features, label, receipt.weight) if receipt.status is Answer.USED else None

    def expire(self, id: Hashable) -> Receipt:
        """No label will come; see :meth:`tarry.Session.expire` for why that biases on tracked ones."""
        return self._tracker.close(id, None)[0]

    def fate(self, id: Hashable) -> Answer:
        """What became of a decision: a fate, or UNKNOWN, or LATE where it is forgotten."""
        return self._tracker.fate(id)

    def status(self) -> Status:
        """Rounds, pending, tracked, fates, answers and the health of the weights."""
        return status_of(self._tracker)

    def __repr__(self) -> str:
        s = self.status()
        room = self._tracker.capacity
        return f"LabelJoin({s.rounds} decisions, {s.pending} pending, {s.tracked} tracked of {room})"

    def _repr_html_(self) -> str:
        return html_table("LabelJoin", self.status().rows())
