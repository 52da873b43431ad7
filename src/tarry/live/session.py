"""Session: decisions now, feedback whenever."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_positive
from tarry.learners.base import GRADIENT, VALUE
from tarry.live.status import Status, status_of
from tarry.live.tracker import Receipt, Tracker
from tarry.results import Answer, html_table
from tarry.tracking import Player, Terms, terms_of


class Round(NamedTuple):
    """A decision: its id, what to play, whether its feedback will be used, and ids that are now free.

    ``released`` lists rounds that were tracked until now: what you kept for their feedback may go.
    """

    id: Hashable
    play: np.ndarray | None
    tracked: bool
    released: tuple[Hashable, ...]
    status: Answer


class Session:
    """Ask for plays, tell feedback as it comes, in any order, any number of rounds later.

    The same steps as ``simulate`` run one call at a time; all ``tell``s between two ``ask``s belong
    to one round. ``ask`` never blocks. Late, repeated or unknown ids are answered with a status, not
    an error; malformed feedback raises and changes nothing.

    ``status().certificate`` bounds the weighted regret over the rounds that have arrived, from the norms of their
    gradients, or from ``gradient_bound`` (in the dual of the learner's norm) if given. With values it needs
    ``gradient_bound`` and ``value_bound`` of the losses.

    >>> from tarry.domains import Ball
    >>> from tarry.learners import DWFTRL
    >>> session = Session(Player(DWFTRL(Ball(2), rate=0.5)), capacity=8, rng=7)
    >>> first = session.ask()
    >>> session.tell(first.id, gradient=[1.0, 0.0]).status.name
    'USED'
    >>> session.ask().play.tolist()
    [-0.5, 0.0]
    """

    def __init__(
        self,
        player: Player,
        *,
        capacity: int | None,
        information: str = "non-clairvoyant",
        preemption: bool = True,
        store: str = "memory:",
        rng: Any = None,
        memory: int = 1_000_000,
        gradient_bound: float | None = None,
        value_bound: float | None = None,
    ) -> None:
        check_store(store)
        player = player if isinstance(player, Player) else Player(player)
        if player.learner.feedback not in (GRADIENT, VALUE):
            raise ValueError("a session needs a learner that plays; to join labels only, use tarry.LabelJoin")
        self._feedback = player.learner.feedback
        self._tracker = Tracker(
            player,
            capacity=capacity,
            information=information,
            preemption=preemption,
            rng=rng,
            memory=memory,
            terms=_terms(player.learner, gradient_bound, value_bound),
        )
        self._size = player.learner.dimension if self._feedback == GRADIENT else 1

    def ask(self, id: Hashable = None, *, delay: int | None = None) -> Round:
        """Begin a round and return its play; an id asked before returns its round again (REPEATED).

        That holds for tracked rounds and for the last thousand; of an older one only the id is known, and
        the answer is LATE without a play. ``delay`` is required in the clairvoyant model and refused elsewhere.
        """
        opened = self._tracker.open(id, delay)
        return Round(opened.id, opened.play, opened.tracked, opened.released, opened.answer)

    def tell(self, id: Hashable, *, gradient: ArrayLike | None = None, value: float | None = None) -> Receipt:
        """Hand over the feedback of a round; its status and weight."""
        given = gradient if self._feedback == GRADIENT else value
        if given is None or (gradient is not None and value is not None):
            raise ValueError(f"this session learns from {self._feedback}s: call tell(id, {self._feedback}=…)")
        try:
            feedback = np.array(given, dtype=np.float64, ndmin=1)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self._feedback} must be numbers, got {given!r}") from error
        if feedback.shape != (self._size,):
            raise ValueError(f"{self._feedback} has shape {feedback.shape}, the session needs ({self._size},)")
        return self._tracker.close(id, feedback)[0]

    def expire(self, id: Hashable) -> Receipt:
        """No outcome will come: the empty acknowledgement of an untracked round.

        On a *tracked* round it frees the slot and the learner gets nothing, which biases: a missing
        outcome that means something must be told as a value at the end of its window.
        """
        return self._tracker.close(id, None)[0]

    def fate(self, id: Hashable) -> Answer:
        """What became of a round: a fate, or UNKNOWN, or LATE where it is forgotten."""
        return self._tracker.fate(id)

    def status(self) -> Status:
        """Rounds, pending, tracked, fates, answers, the health of the weights, and a certificate."""
        return status_of(self._tracker)

    @property
    def player(self) -> Player:
        return self._tracker.player

    def __repr__(self) -> str:
        s = self.status()
        room = self._tracker.capacity
        return f"Session({s.rounds} rounds, {s.pending} pending, {s.tracked} tracked of {room})"

    def _repr_html_(self) -> str:
        return html_table("Session", self.status().rows())


def _terms(learner: Any, gradient_bound: float | None, value_bound: float | None) -> Terms | None:
    if value_bound is not None and learner.feedback == GRADIENT:
        raise ValueError(f"this session learns from gradients, got value_bound={value_bound}: give gradient_bound")
    given = {"gradient_bound": gradient_bound, "value_bound": value_bound}
    return terms_of(learner, **{name: as_positive(bound, name) for name, bound in given.items() if bound is not None})


def check_store(store: str) -> None:
    """Only memory is served so far."""
    if store != "memory:":
        raise ValueError(f"store must be 'memory:', got {store!r}: other stores are not available in this version")
