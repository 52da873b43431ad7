"""A live session: decisions now, feedback whenever."""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Iterable
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, NamedTuple, Never

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative, as_positive
from tarry.learners.base import EXAMPLE, GRADIENT, VALUE
from tarry.live import batches
from tarry.live.base import StoredObject, make_or_open
from tarry.live.batches import Receipt, Receipts, Rounds
from tarry.live.configuration import SESSION, Configuration
from tarry.live.core import LARGEST
from tarry.live.stores import MAIN, POWER, Store
from tarry.outcomes import Answer
from tarry.tracking import Player, as_player

_FLOATS = np.dtype(np.float64)
_REAL = (Real, Decimal, np.integer, np.floating)


class Round(NamedTuple):
    """A round: what to play, whether its feedback will be used, and whose need no longer be kept.

    ``status`` is its fate so far, REPEATED if it was asked before, LATE (and no play) if only its id is known. Asked
    again, ``tracked`` is what it was at first; :meth:`Session.fate` tells what has become of the round since.
    """

    id: Hashable
    play: np.ndarray | None
    tracked: bool
    released: tuple[Hashable, ...]
    status: Answer


_new_round = partial(tuple.__new__, Round)  # without the Python call of a named tuple's own constructor


class Takes(NamedTuple):
    """What a session takes: gradients or values, how many numbers for each round, and how many a play has."""

    feedback: str
    size: int
    dimension: int

    def one(self, unnamed: Any, gradient: Any, value: Any) -> np.ndarray:
        """Return the feedback of a round; raise ValueError where it is of another kind or shape."""
        if unnamed:
            raise self._unnamed("tell", self.feedback)
        return self._checked(gradient, value, (self.size,))

    def many(self, ids: Any, unnamed: Any, gradients: Any, values: Any) -> tuple[list[Hashable], np.ndarray]:
        """Return the ids of several rounds, from a list or a frame, and a row of finite feedback for each."""
        if unnamed:
            raise self._unnamed("tell_many", f"{self.feedback}s")
        if batches.is_frame(ids):
            batches.check_alone(self.feedback, gradients=gradients, values=values)
            given = batches.column(ids, self.feedback)
            gradients, values = (given, None) if self.feedback == GRADIENT else (None, given)
            ids = batches.column(ids, "id")
        names = batches.as_ids(ids)
        is_single = self.feedback == VALUE and self.size == 1
        shape = (len(names),) if is_single else (len(names), self.size)
        return names, self._checked(gradients, values, shape, plural=True).reshape(len(names), self.size)

    def _unnamed(self, call: str, word: str) -> TypeError:
        return TypeError(f"this session learns from {self.feedback}s: name them, {call}(…, {word}=…)")

    def _checked(self, gradient: Any, value: Any, shape: tuple[int, ...], *, plural: bool = False) -> np.ndarray:
        """Return feedback of the right kind and shape; that of several rounds must be finite too."""
        word = self.feedback + ("s" if plural else "")
        given = gradient if self.feedback == GRADIENT else value
        if given is None or (gradient is not None and value is not None):
            raise ValueError(f"this session learns from {self.feedback}s: call tell{'_many' * plural}(…, {word}=…)")
        feedback = as_numbers(given, word, is_table=len(shape) > 1)
        if feedback.size == 0 and shape[0] == 0:  # nobody's feedback has no width
            feedback = feedback.reshape(shape)
        if feedback.shape != shape:
            raise ValueError(f"{word} has shape {feedback.shape}, the session needs {shape}")
        if plural and not (np.abs(feedback) < LARGEST).all():
            row = int(np.argwhere(~(np.abs(feedback) < LARGEST))[0][0])
            got = f"{feedback[row]} in row {row}"
            raise ValueError(f"{word} must be finite and below 1e100, got {got}: nothing was changed")
        return feedback


class Session(StoredObject):
    """Play rounds one call at a time, by the very steps that simulation compiles.

    ``ask`` closes the round before it and opens a new one; all ``tell``s between two ``ask``s belong
    to one round. ``ask`` never blocks. Late, repeated or unknown ids are answered with a status, not
    an error; malformed feedback raises and changes nothing.

    With ``store="sqlite:///state.db"`` or ``"postgresql://…"`` every call is durable before it returns, against
    loss of power (``durability="process"``: against the end of the process only), and the session is continued
    where the store holds one of this ``name``; several processes may share it. ``patience`` is for how many seconds a
    call is tried again where a PostgreSQL server is out of reach.

    ``status().certificate`` bounds the weighted regret over the rounds that have arrived, from the norms of their
    gradients, or from ``gradient_bound`` if given: in the dual of the learner's norm, for each unit of a round's size.
    With values it needs ``gradient_bound`` and ``value_bound`` of the losses. With the rate 1/(λt) it takes the losses
    to be λ-strongly convex; ``strong_convexity``, what they are, below λ (0: convex) asks for the convex form instead.

    >>> from tarry.domains import Ball
    >>> from tarry.learners import DWFTRL
    >>> session = Session(Player(DWFTRL(Ball(2), rate=0.5)), capacity=8, rng=7)
    >>> first = session.ask()
    >>> session.tell(first.id, gradient=[1.0, 0.0]).status.name
    'USED'
    >>> session.ask().play.tolist()
    [-0.5, 0.0]
    """

    _kind = SESSION

    def __init__(
        self,
        player: Player,
        *,
        capacity: int | None,
        information: str = "non-clairvoyant",
        preemption: bool = True,
        store: str | Store = "memory:",
        name: str = MAIN,
        durability: str = POWER,
        patience: float = 0.0,
        rng: Any = None,
        memory: int = 1_000_000,
        gradient_bound: float | None = None,
        value_bound: float | None = None,
        strong_convexity: float | None = None,
    ) -> None:
        player = as_player(player)
        learns_from = player.learner.feedback
        if learns_from == EXAMPLE:
            wants = f"{type(player.learner).__name__} learns from whole examples"
            remedy = "use tarry.LabelJoin and fit to its rows, or simulate"
            raise ValueError(f"a session takes gradients or values, and {wants}: {remedy}")
        if learns_from not in (GRADIENT, VALUE):
            raise ValueError("a session needs a learner that plays; to join labels only, use tarry.LabelJoin")
        if value_bound is not None and learns_from == GRADIENT:
            raise ValueError(f"this session learns from gradients, got value_bound={value_bound}: give gradient_bound")
        bounds = {"gradient_bound": gradient_bound, "value_bound": value_bound}
        given = {name: as_positive(bound, name) for name, bound in bounds.items() if bound is not None}
        if strong_convexity is not None:  # 0 for convex losses
            given["strong_convexity"] = as_nonnegative(strong_convexity, "strong_convexity")
        wanted = Configuration(SESSION, player, capacity, information, preemption, 0, memory, given)
        self._take(make_or_open(wanted, rng, store=store, name=name, durability=durability, patience=patience))

    def _look_up(self) -> None:
        learner = self.player.learner
        size = learner.dimension if learner.feedback == GRADIENT else learner.queries
        self.takes = Takes(learner.feedback, int(size), int(learner.dimension))

    def ask(
        self,
        id: Hashable = None,
        *,
        delay: int | None = None,
        size: float | None = None,
    ) -> Round:
        """Begin a round and return its play; an id asked before returns its round again (REPEATED).

        That holds for tracked rounds and for the last 256 (``memory``, if less); of an older one only the id is known,
        and the answer is LATE without a play. ``delay`` is required in the clairvoyant model and refused elsewhere.
        ``size``, for VarOpt alone, is what the round counts for, such as a bound on its gradient; 1 unless given.
        """
        item = self._turns.change(self._tracker.open, id, delay, None, None, size)
        return _new_round((item.id, item.play, item.tracked, item.released, item.answer))

    def ask_many(
        self,
        rounds: int | None = None,
        *,
        ids: Iterable[Any] | None = None,
        delays: Iterable[Any] | None = None,
        sizes: Iterable[Any] | None = None,
    ) -> Rounds:
        """Begin several rounds, one after the other, in one transaction: this many, or one for each id."""
        names = batches.as_names(rounds, ids)
        waits = [None] * len(names) if delays is None else batches.as_list(delays, "delays")
        listed = None if sizes is None else batches.as_list(sizes, "sizes")
        opened = self._turns.change(self._tracker.open_many, names, waits, [None] * len(names), listed)
        k = self.player.learner.dimension
        nowhere = np.full(k, np.nan)
        return Rounds(
            ids=[one.id for one in opened],
            plays=np.reshape([nowhere if one.play is None else one.play for one in opened], (len(opened), k)),
            tracked=np.array([one.tracked for one in opened], bool),
            released=[id for one in opened for id in one.released],
            statuses=[one.answer for one in opened],
            released_by=[one.released for one in opened],
        )

    def points(self, id: Hashable) -> np.ndarray:
        """Return where to evaluate the loss of a tracked or recent round, a point a row; ``tell`` takes as many."""
        found = self._turns.look(self._tracker.points, id)
        if found is None:
            why = "it has not begun, or is neither tracked nor recent"
            raise ValueError(f"the play of round {id!r} is not known: {why}")
        return found

    def tell(
        self, id: Hashable, *unnamed: Never, gradient: ArrayLike | None = None, value: float | ArrayLike | None = None
    ) -> Receipt:
        """Hand over the feedback of a round; its status and weight."""
        feedback = self.takes.one(unnamed, gradient, value)
        return self._turns.change(self._tracker.answer, id, feedback)

    def tell_many(
        self, ids: Any, *unnamed: Never, gradients: ArrayLike | None = None, values: ArrayLike | None = None
    ) -> Receipts:
        """Hand over feedback in one transaction; ``ids`` may be a frame with id, and gradient (lists) or value."""
        names, feedback = self.takes.many(ids, unnamed, gradients, values)
        return batches.receipts_of(names, self._turns.change(self._tracker.answer_many, names, feedback))

    @property
    def player(self) -> Player:
        """The player whose rounds these are."""
        return self._tracker.configuration.player


def rounds_of(asked: Rounds) -> list[Round]:
    """Return rounds one by one; one that is forgotten has no play any more."""
    columns = zip(asked.ids, asked.plays, asked.tracked.tolist(), asked.released_by, asked.statuses, strict=True)
    rounds = [Round(*row) for row in columns]
    return [one._replace(play=None) if one.status is Answer.LATE else one for one in rounds]


def as_numbers(given: Any, word: str, *, is_table: bool) -> np.ndarray:
    """Return a copy of what is given, as floats in a row or a table."""
    try:
        feedback = np.array(given, order="C", ndmin=1)
        if feedback.dtype is not _FLOATS:
            kind = feedback.dtype.kind
            if kind not in "fiubO" or (kind == "O" and not all(isinstance(one, _REAL) for one in feedback.flat)):
                # Texts, times and complex numbers are none.
                raise TypeError(f"numbers are wanted, not {feedback.dtype}")
            feedback = feedback.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        alike = ", as many in each row" if is_table else ""
        raise ValueError(f"{word} must be numbers{alike}, got {reprlib.repr(given)}") from error
    for part in given if is_table and isinstance(given, (list, tuple)) else (given,):
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            raise ValueError(f"{word} must be numbers, and some of these are masked: fill them, or leave the round out")
    return feedback
