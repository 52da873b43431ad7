"""Learners: a round of one, its verbs and their defaults.

    predict(learner, state, directions, t, play)                   write x_t; ``play`` still holds the last play
    notice(learner, state, t, tracked)                             |S_t|, before round t asks for a slot
    enter(learner, state, slot, t)                                 round t is tracked, in this slot
    absorb(learner, state, directions, slot, s, weight, feedback)  once per arrival, in increasing s
    advance(learner, state, t, pending)                            prepare x_{t+1}; σ_{t+1} or its estimate, or -1

Feedback is a vector: the gradient at x_s, the value f_s(x_s), or the example, features and then the label. A learner
with ``queries`` > 1 is told that many values, at the points that ``query`` writes around the play, and loses their
mean. A zero weight never reaches ``absorb``: it changes nothing for any learner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tarry.kernel import Parameters, register_methods, step, trait, verb, verb_with_default
from tarry.kernel.keyed import normals, sealed_word
from tarry.learners.states import Array, Number, show_point, starting_point, zeros_of
from tarry.rates.base import SLACK, Facts, Rate, check_length

GRADIENT = "gradient"
VALUE = "value"
EXAMPLE = "example"


class KeyedDirections(NamedTuple):
    """Hash directions from a key: the normal case."""

    key: np.uint64


class SealedDirections(NamedTuple):
    """Hash directions from a secret of 128 bits, for live objects without ``rng``."""

    first: np.uint64
    second: np.uint64


class RecordedDirections(NamedTuple):
    """Read one unit vector per round from an array of shape (horizon, dimension)."""

    values: Array


Directions = KeyedDirections | SealedDirections | RecordedDirections


class Learner(Parameters):
    """Declare every trait that the game, players and reductions ask a learner for, with its default.

    A learner has a ``domain`` and a ``feedback``, and methods ``absorb`` and ``restart``, and ``advance`` unless
    ``absorb`` moves the play. The class of its ``state`` has fields annotated with their shapes; else define
    ``allocate``. A method named as a verb is registered for that verb, as ``@absorb.on(…)`` would do.
    """

    state: ClassVar[Any] = None
    """The named tuple that ``allocate`` makes: zeros, and then ``restart``."""

    def __init_subclass__(cls) -> None:
        register_methods(cls, VERBS)

    base = trait(None, "The learner that this one wraps, if it wraps one.")
    makes_immediate = trait(False, "Whether the ``base`` plays as if nothing were late.")
    start = trait(None, "The first play, where one may be given.")
    rate = trait(None, "The learning rate, if there is one.")
    smoothing = trait(None, "The radius around the centre at which values are asked for, a number or a rate.")
    norm = trait(None, "The norm of the regulariser; learners with a norm and a rate have certificates.")
    inner_radius = trait(None, "The radius of a ball inside the domain, where ``smoothing`` is relative to it.")
    queries = trait(1, "The values needed each round.")
    watches_tracked = trait(None, "Whether plays depend on how many rounds are tracked; None: as far as rules do.")
    is_movable = trait(False, "Whether nothing but ``domain`` and ``start`` was made from the domain.")

    @property
    def feedback(self) -> str:
        """The feedback the learner takes."""
        raise NotImplementedError(f"{type(self).__name__} must say its feedback: gradient, value or example")

    @property
    def domain(self) -> Any:
        """The set of plays, for a wrapper that of its base; None where nothing is played."""
        return None if self.base is None else self.base.domain

    @property
    def dimension(self) -> int:
        """The number of entries of a play."""
        return int(self.domain.dimension)

    @property
    def needs_acknowledgements(self) -> bool:
        """Whether plays depend on how many rounds are pending."""
        return any(rule.needs_acknowledgements for rule in rules_of(self))

    @property
    def takes_held_weight(self) -> bool:
        """Whether an unbiased estimate of the number of pending rounds, the scheduler's held weight, does as well."""
        return self._asks_for_none_but("takes_held_weight")

    @property
    def takes_sizes(self) -> bool:
        """Whether what counts pending rounds does so by their sizes."""
        return self._asks_for_none_but("takes_sizes")

    def _asks_for_none_but(self, trait: str) -> bool:
        """Return whether something counts pending rounds, and all that does has this trait."""
        if self.base is not None:
            return bool(getattr(self.base, trait))
        asking = [rule for rule in rules_of(self) if rule.needs_acknowledgements]
        return bool(asking) and all(getattr(rule, trait) for rule in asking)

    @property
    def follows(self) -> tuple[str, str]:
        """What counts the pending rounds, and what to do where they are not disclosed."""
        return "the learner's rate", "use a rate that does not"

    def moved_to(self, domain: Any) -> Any:
        """Return the same learner on another domain; None where that cannot be done."""
        return None

    def check_horizon(self, horizon: int | None) -> None:
        """Raise ValueError for games longer than the sequences given (None: a session, which has no end)."""
        if self.base is not None:
            self.base.check_horizon(horizon)
            return
        check_length(self.rate, horizon, "rate")
        check_length(self.smoothing, horizon, "smoothing")

    def exploration_rounds(self, horizon: int, *, magnitude: float = 1.0) -> int | None:
        """Return how many of the first rounds only explore; None for learners that have no such phase."""
        return None

    def doubts(self, facts: Facts) -> Iterable[str]:
        """Yield a sentence for each assumption that the game does not meet."""
        return ()


@verb_with_default
def allocate(learner: Learner, slots: int) -> Any:
    """Return fresh state for this many slots (Python only): a named tuple of arrays, nested or not.

    Outside heaps and pools, exactly the arrays by slot have that many rows: copies of a learner tell them by this.
    """
    # ``restart`` alone says how a game begins, so that an epoch begins exactly as a game does.
    if learner.state is None:
        name = type(learner).__name__
        raise TypeError(
            f"{name} has no state: say state = a NamedTuple of arrays by shape, or give {name} an allocate()"
        )
    state = zeros_of(learner.state, int(learner.dimension), slots)
    restart(learner, state, 1, 0.0)
    return state


@verb_with_default
def predict(learner: Learner, state: Any, directions: Directions, t: int, play: Array) -> None:
    """Write the play of round t; by default ``state.point``."""
    show_point(state.point, play)


@verb_with_default
def query(learner: Learner, directions: Directions, t: int, play: Array, points: Array) -> None:
    """Write the points at which round t is evaluated, one a row; by default the play."""
    show_point(play, points[0])


# Verbs with nothing in them compile to nothing: a learner pays only for the verbs it registers.
@verb_with_default
def notice(learner: Learner, state: Any, t: int, tracked: int) -> None:
    """Take note that round t finds this many rounds tracked; only rates that follow the tracking set care."""


@verb_with_default
def enter(learner: Learner, state: Any, slot: int, t: int) -> None:
    """Remember what the feedback of round t will need; most learners need nothing."""


@verb_with_default
def forget(learner: Learner, state: Any, slot: int) -> None:
    """Drop the round in this slot; called for copies only: others learn it by the ``enter`` of the next round."""


@verb
def absorb(
    learner: Learner, state: Any, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    """Take the weighted feedback of round s, which was tracked in this slot."""


@verb_with_default
def advance(learner: Learner, state: Any, t: int, pending: float) -> None:
    """Close round t: everything that arrived in it is in. By default nothing is done."""


@verb
def restart(learner: Learner, state: Any, t: int, magnitude: float) -> None:
    """Start afresh with round t as the first; the epoch's guess is ``magnitude``."""


@verb_with_default
def rate_in_force(learner: Learner, state: Any, t: int) -> float:
    """Return the learning rate η_{t−1} that made x_t (η_0: the first); NaN for learners without one."""
    return np.nan


@verb_with_default
def closing_rate(learner: Learner, state: Any, t: int) -> float:
    """Return the rate η_t of the regularisation if the game ended after round t; NaN for learners without one."""
    return np.nan


@verb_with_default
def smoothing_in_force(learner: Learner, state: Any, t: int) -> float:
    """Return the radius δ_t with which x_t was drawn; 0 for learners that see gradients."""
    return 0.0


@verb_with_default
def feedback_size(learner: Learner, feedback: Array) -> float:
    """Return how large feedback is: |f|, or |g| in the dual of the learner's norm."""
    squares = 0.0
    for i in range(feedback.size):
        squares += feedback[i] * feedback[i]
    return sqrt(squares)


VERBS = (
    *(allocate, predict, query, notice, enter, forget, absorb, advance, restart),
    *(rate_in_force, closing_rate, smoothing_in_force, feedback_size),
)


@verb_with_default
def direction(source: Any, t: int, out: Array) -> None:
    """Write the unit vector of round t, hashed from the source's key or recorded."""
    normals(source.key, t, out)
    scale_to_unit(out)


@direction.on(SealedDirections)
def _sealed(source: SealedDirections, t: int, out: Array) -> None:
    normals(sealed_word(source.first, source.second, t), t, out)
    scale_to_unit(out)


@step
def scale_to_unit(out: Array) -> None:
    """Divide a vector by its length."""
    # A normal vector points every way alike; its length is never 0 but with probability 0.
    squares = 0.0
    for i in range(out.size):
        squares += out[i] * out[i]
    size = sqrt(squares)
    for i in range(out.size):
        out[i] /= size


@direction.on(RecordedDirections)
def _read(source: RecordedDirections, t: int, out: Array) -> None:
    for i in range(out.size):
        out[i] = source.values[t - 1, i]


def rules_of(learner: Learner) -> list[Rate]:
    """Return the learner's rate and smoothing, where they are rates and not numbers."""
    return [rule for rule in (learner.rate, learner.smoothing) if isinstance(rule, Rate)]


def width_of(learner: Learner) -> int:
    """Return the room, in numbers, for one piece of feedback: examples carry a label beside their features."""
    numbers = int(learner.dimension)
    return numbers + 1 if learner.feedback == EXAMPLE else max(numbers, learner.queries)


def points_of(learner: Learner, directions: Directions, t: int, play: Array) -> Array:
    """Return where round t is evaluated, a point a row (Python only)."""
    points = np.zeros((learner.queries, play.size))
    with np.errstate(over="ignore"):  # the keyed generator wraps around by design
        query(learner, directions, t, play, points)
    return points


def warn_if_outside_unit_interval(name: str, facts: Facts) -> Iterator[str]:
    """Yield a warning if losses of arms leave [0, 1], which a learner over arms assumes."""
    if facts.corner_range is None:
        return
    least, largest = facts.corner_range
    if least < -SLACK or largest > 1 + SLACK:
        yield (
            f"{name} assumes losses in [0, 1], these lie in [{least:g}, {largest:g}]: shift and scale them, "
            "(losses − least)/(largest − least)"
        )


class Starting(Learner):
    """Check the ``start`` of learners of gradients, by default the centre of their ``domain``."""

    feedback = GRADIENT

    @classmethod
    def complete(cls, fields: dict[str, Any]) -> None:
        fields["start"] = starting_point(fields["domain"], fields["start"])


class IdleState(NamedTuple):
    """Hold one unused cell: a state has at least one array."""

    point: Number


class Idle(Learner):
    """Play and learn nothing: labels and their weights go to a model elsewhere. It states no regret.

    >>> allocate(Idle(), 1000).point.size
    1
    """

    feedback = "label"
    dimension = 0
    state = IdleState

    def restart(self, state: IdleState, t: int, magnitude: float) -> None:
        pass

    def absorb(
        self, state: IdleState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        pass
