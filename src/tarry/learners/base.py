"""What a learner is: plays out, delayed and weighted feedback in.

A learner sees its domain and what feedback tells it: neither losses, nor delays. Of the tracking set it may
see how many are in it, never who. One round is

    predict(learner, state, directions, t, play)                   write x_t
    notice(learner, state, t, tracked)                             |S_t|, before round t asks for a slot
    enter(learner, state, slot, t)                                 round t is tracked, in this slot
    absorb(learner, state, directions, slot, s, weight, feedback)  once per arrival, in increasing s
    advance(learner, state, t, pending)                            prepare x_{t+1}

``pending`` is σ_{t+1}, the rounds still out when round t + 1 begins, or -1 where it is not disclosed.

``play`` is the same array in every round and still holds the last play.
Feedback is a vector: the gradient at x_s, the one value f_s(x_s), or the example itself, features
and then the label. A learner that has ``queries`` > 1 is told that many values instead, at the points
``query(learner, directions, t, play, points)`` around its play, and loses their mean. A zero weight
never reaches ``absorb``: it is an exact no-op for every learner.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from tarry.kernel import verb
from tarry.kernel.keyed import normals

GRADIENT = "gradient"
VALUE = "value"
EXAMPLE = "example"


class KeyedDirections(NamedTuple):
    """Directions hashed from a key: the normal case."""

    key: np.uint64


class RecordedDirections(NamedTuple):
    """One unit vector per round, read from an array of shape (horizon, dimension)."""

    values: np.ndarray


@verb
def allocate(learner: Any, slots: int) -> Any:
    """Fresh state for this many slots (Python only): a named tuple of arrays, nested or not.

    Arrays by slot have that many rows, and no others do but in heaps and pools: by this, copies of a learner know them.
    """


@verb
def predict(learner: Any, state: Any, directions: Any, t: int, play: Any) -> None:
    """Write the play of round t."""


@verb
def query(learner: Any, directions: Any, t: int, play: Any, points: Any) -> None:
    """Write the points at which round t is evaluated, one a row, for learners with more than one."""


@query.otherwise
def _query_the_play(learner: Any, directions: Any, t: Any, play: Any, points: Any) -> None:
    for i in range(play.size):
        points[0, i] = play[i]


def queries_of(learner: Any) -> int:
    """How many values a round the learner needs; 1 for most."""
    return int(getattr(learner, "queries", 1))


def width_of(learner: Any) -> int:
    """Room, in numbers, for one piece of the learner's feedback: examples carry a label beside their features."""
    numbers = int(learner.dimension)
    return numbers + 1 if learner.feedback == EXAMPLE else max(numbers, queries_of(learner))


def points_of(learner: Any, directions: Any, t: int, play: np.ndarray) -> np.ndarray:
    """Where round t is evaluated, a point a row (Python only)."""
    points = np.zeros((queries_of(learner), play.size))
    with np.errstate(over="ignore"):  # the keyed generator wraps around by design
        query(learner, directions, t, play, points)
    return points


@verb
def notice(learner: Any, state: Any, t: int, tracked: int) -> None:
    """Round t finds this many rounds tracked; only rates that follow the tracking set care."""


@notice.otherwise
def _notice_nothing(learner: Any, state: Any, t: Any, tracked: Any) -> None:
    pass


@verb
def enter(learner: Any, state: Any, slot: int, t: int) -> None:
    """Remember what the feedback of round t will need; most learners need nothing."""


@enter.otherwise
def _remember_nothing(learner: Any, state: Any, slot: Any, t: Any) -> None:
    pass


@verb
def forget(learner: Any, state: Any, slot: int) -> None:
    """The round in this slot will not be heard, and the slot is taken again; said to copies of a learner only.

    A learner on its own hears of it by the ``enter`` of the slot's next round.
    """


@forget.otherwise
def _forget_nothing(learner: Any, state: Any, slot: Any) -> None:
    pass


@verb
def absorb(learner: Any, state: Any, directions: Any, slot: int, s: int, weight: float, feedback: Any) -> None:
    """Take the weighted feedback of round s, which was tracked in this slot."""


@verb
def advance(learner: Any, state: Any, t: int, pending: int) -> None:
    """Close round t: everything that arrived in it is in."""


@verb
def restart(learner: Any, state: Any, t: int, magnitude: float) -> None:
    """Start afresh with round t as the first; the epoch's guess is ``magnitude``."""


@verb
def rate_in_force(learner: Any, state: Any, t: int) -> float:
    """The learning rate η_{t−1} that made x_t (η_0: the first); NaN for learners without one."""


@rate_in_force.otherwise
def _no_rate(learner: Any, state: Any, t: Any) -> Any:
    return np.nan


@verb
def closing_rate(learner: Any, state: Any, t: int) -> float:
    """The rate η_t of the regularisation if the game ended after round t; NaN for learners without one."""


@closing_rate.otherwise
def _no_closing_rate(learner: Any, state: Any, t: Any) -> Any:
    return np.nan


@verb
def smoothing_in_force(learner: Any, state: Any, t: int) -> float:
    """The radius δ_t with which x_t was drawn; 0 for learners that see gradients."""


@smoothing_in_force.otherwise
def _no_smoothing(learner: Any, state: Any, t: Any) -> Any:
    return 0.0


@verb
def feedback_size(learner: Any, feedback: Any) -> float:
    """How large feedback is: |f|, or |g| in the dual of the learner's norm."""


@feedback_size.otherwise
def _euclidean_size(learner: Any, feedback: Any) -> Any:
    squares = 0.0
    for i in range(feedback.size):
        squares += feedback[i] * feedback[i]
    return sqrt(squares)


@verb
def direction(source: Any, t: int, out: Any) -> None:
    """Write the unit vector of round t."""


@direction.on(KeyedDirections)
def _hashed(source: Any, t: Any, out: Any) -> None:
    normals(source.key, t, out)
    squares = 0.0
    for i in range(out.size):
        squares += out[i] * out[i]
    size = sqrt(squares)
    for i in range(out.size):
        out[i] /= size


@direction.on(RecordedDirections)
def _read(source: Any, t: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = source.values[t - 1, i]
