"""Rates: positive, non-increasing sequences of learning rates or of smoothing radii, and their verbs.

A rate of time answers ``at(rate, t)`` for t = 1, 2, …; one that follows the game ``next_rate``, or ``radius`` as
smoothing, from ``MEMORY`` numbers in the learner's state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import Positive, as_nonnegative, as_positive
from tarry.domains.base import as_vector
from tarry.errors import ArgumentError
from tarry.kernel import Parameters, as_step, register_methods, trait, verb, verb_with_default

MEMORY = 2
SUM, MAGNITUDE = range(MEMORY)  # a sum of the rate's own, and what a doubling trick guesses (0 before the first epoch)
CHECKED_ROUNDS = 1024  # a user's function is tried at this many rounds, spaced by powers: enough to see it rise
ENDLESS = 10**9  # the round up to which a session, which has no end, tries a user's function
SLACK = 1e-5  # relative: warnings show six digits, and a number copied from one must not be warned of again


@dataclass(frozen=True)
class Facts:
    """Tell what is known of a game when a member is asked for ``doubts``; the game passes over all rounds once."""

    game: Any
    scheduler: Any
    is_immediate: bool = False  # nothing is late, as for the base of a reduction
    is_estimated: bool = False  # gradients are estimates, as for the base of a learner from values

    @property
    def losses(self) -> Any:
        """The losses of all rounds."""
        return self.game.losses

    @property
    def gradient_bound(self) -> float | None:
        """A bound on the gradients that the learner is given, None where none is known."""
        # In this order: the bound may take a pass over all rounds.
        is_known = not self.is_estimated and isfinite(self.game.gradient_bound)
        return float(self.game.gradient_bound) if is_known else None

    @property
    def max_delay(self) -> int:
        """The longest delay of feedback that is heard; 0 where it is not known."""
        return 0 if self.is_immediate else int(min(self.game.max_delay, self.scheduler.max_wait))

    @property
    def strong_convexity(self) -> float | None:
        """The strong convexity of every loss, None where it is not stated."""
        curvature = float(self.losses.strong_convexity)
        # Losses made of functions have the constants that the user stated, and 0 is what nothing stated looks like.
        return None if getattr(self.losses, "has_stated_constants", False) and curvature == 0 else curvature

    @property
    def is_curved(self) -> bool:
        """Whether losses are known not to be linear."""
        return bool(getattr(self.losses, "is_curved", False))

    @property
    def corner_range(self) -> tuple[float, float] | None:
        """The least and the largest loss of an arm, None where they are not known."""
        return self.game.corner_range

    def for_base(self, wrapper: Any) -> Facts:
        """Return what the base of a wrapper meets."""
        return replace(
            self,
            is_immediate=self.is_immediate or wrapper.makes_immediate,
            is_estimated=self.is_estimated or wrapper.feedback != wrapper.base.feedback,
        )


class Rate(Parameters):
    """Declare what a rate or radius needs from the game; its methods are registered for the verbs of their name."""

    follows_epochs = trait((), "Kinds of ``Doubling`` whose magnitude the rate reads; one of them must then be played.")
    follows_feedback = trait(False, "Whether the rate depends on the learner's feedback, and on nothing of the game.")
    needs_acknowledgements = trait(False, "Whether the rate counts pending rounds.")
    takes_held_weight = trait(False, "Whether an unbiased estimate of their number, the held weight, does as well.")
    takes_sizes = trait(False, "Whether the rate, told b·h + (b² − 1)/2, h the held weight, is proved for sizes b.")
    follows_backlog = trait(False, 'Whether the rate needs ``Doubling("backlog")`` to guess the largest backlog.')
    tuned_capacity = trait(None, "The capacity the rate is tuned to; None: any.")

    def __init_subclass__(cls) -> None:
        register_methods(cls, (at, first_rate, next_rate, last_rate, radius))

    def doubts(self, facts: Facts) -> Iterable[str]:
        """Yield a sentence for each assumption that the game does not meet."""
        return ()


@verb
def at(rate: Rate, t: int) -> float:
    """Return the value in round t (from 1)."""


@verb_with_default
def first_rate(rate: Rate, memory: np.ndarray) -> float:
    """Return η_0, the rate before anything is known."""
    return at(rate, 1)


@verb_with_default
def next_rate(rate: Rate, memory: np.ndarray, t: int, pending: float) -> float:
    """Return η_t, t counted in the epoch; ``pending`` is σ_{t+1} or its estimate, -1 where nobody asks."""
    return at(rate, t)


@verb_with_default
def last_rate(rate: Rate, memory: np.ndarray, in_force: float, t: int) -> float:
    """Return η_t if the game ended after round t, given the rate in force."""
    return at(rate, t)


@verb_with_default
def radius(rate: Rate, memory: np.ndarray, t: int) -> float:
    """Return δ_t of a round of the current epoch, t counted in it."""
    return at(rate, t)


class Following(Rate):
    """Leave the rate in force at the end of a game, since nothing is known of a next round."""

    def last_rate(self, memory: np.ndarray, in_force: float, t: int) -> float:
        return in_force


class Constant(Rate):
    """Give the same value in every round.

    >>> Constant(0.5).at(7)
    0.5
    """

    value: Positive

    def at(self, t: int) -> float:
        return self.value


def as_listed(values: ArrayLike, name: str) -> np.ndarray:
    """Return one value per round; raise ValueError unless the values are positive and non-increasing."""
    listed = as_vector(values, name)
    check_decreasing(listed, name)
    return listed


class Sequence(Rate):
    """Give one value per round; the game may not be longer.

    >>> float(Sequence([0.5, 0.25]).at(2))
    0.25
    """

    values: Annotated[np.ndarray, as_listed]

    def at(self, t: int) -> float:
        return self.values[t - 1]


def _as_exponent(value: Any, name: str) -> float:
    return as_nonnegative(value, f"{name}, with which rules fall,")


def _as_cap(value: Any, name: str) -> float:
    limit = as_nonnegative(value, name, allow_inf=True)
    if limit == 0:
        raise ArgumentError(name, "must be positive", value)
    return limit


class Power(Rate):
    """Give min(cap, scale · t^(−exponent)): 1/(λt) is ``Power(1/λ, 1)``, c/√t is ``Power(c, 0.5)``.

    >>> [float(Power(2.0, 0.5, cap=1.5).at(t)) for t in (1, 4, 16)]
    [1.5, 1.0, 0.5]
    """

    scale: Positive
    exponent: Annotated[float, _as_exponent]
    cap: Annotated[float, _as_cap] = inf

    def at(self, t: int) -> float:
        # Division is exact to half a unit in the last place where ** is not, and 1/(λt) is the common case.
        if self.exponent == 1.0:
            return min(self.cap, self.scale / t)
        return min(self.cap, self.scale * np.float64(t) ** -self.exponent)


class Rule(Rate, init=False):
    """Give a user's function of t: fast if decorated with numba.njit, plain Python otherwise.

    >>> Rule(lambda t: 1.0 / (t + 1)).at(3)
    0.25
    """

    function: Callable[[int], float]

    def __new__(cls, function: Callable[[int], float]) -> Self:
        if not callable(function):
            raise TypeError(f"function must be a function of t, got {function!r}: use Constant, Sequence or Power")
        rule = cls.make(as_step(function))
        rule.check_until(ENDLESS)
        return rule

    def check_until(self, last: int) -> None:
        """Raise ValueError if the function is not positive, or increases, at sample rounds up to ``last``."""
        rounds = np.unique(np.geomspace(1, last, min(CHECKED_ROUNDS, last)).astype(np.int64))
        check_decreasing(np.array([self.function(int(t)) for t in rounds]), "the rule", rounds)

    def at(self, t: int) -> float:
        return self.function(t)


def inverse_time(strong_convexity: float) -> Power:
    """Return η_t = 1/(λt), the rate for λ-strongly convex losses.

    >>> inverse_time(0.5).at(4)
    0.5
    """
    return Power(1.0 / as_positive(strong_convexity, "strong_convexity"), 1.0)


def as_rate(value: Any, name: str) -> Any:
    """Return the rate that a number, a sequence, a function of t or a rate stands for."""
    answers = (at, radius) if name == "smoothing" else (at, next_rate)
    if any(isinstance(value, cls) for verb in answers for cls in verb.members):
        return value
    if isinstance(value, Parameters):
        raise TypeError(f"{type(value).__name__} is no rule for the {name}: give a number, a sequence or a rule")
    if callable(value):
        return Rule(value)
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return Constant(as_positive(value, name))
    return Sequence.make(as_listed(value, name))


def as_rate_of_time(value: Any, name: str, counts: str = "feedbacks") -> Any:
    """Return a rate that depends on its clock alone, which ``counts`` feedbacks or blocks."""
    rate = as_rate(value, name)
    if not any(isinstance(rate, cls) for cls in at.members):
        raise TypeError(
            f"a rate whose clock is the number of {counts} cannot follow the game as {type(rate).__name__} does: "
            "give a number, a sequence or a rule of time"
        )
    return rate


# Fields of learners are declared with these; what a user may give is said at ``as_rate``.
AnyRate = Annotated[Any, as_rate]
RateOfTime = Annotated[Any, as_rate_of_time]


def scale_of(diameter: float, gradient_bound: float) -> float:
    """Return D/G, which most rates are proportional to."""
    return as_positive(diameter, "diameter") / as_positive(gradient_bound, "gradient_bound")


def check_length(rate: Any, horizon: int | None, name: str) -> None:
    """Raise ValueError if a rate ends before the game does (None: a session, which has no end).

    A user's function is tried at rounds of that horizon. What is no rate, such as a number, is passed over.
    """
    if not isinstance(rate, Rate):
        return
    if isinstance(rate, Rule):
        rate.check_until(ENDLESS if horizon is None else horizon)
    if not isinstance(rate, Sequence):
        return
    if horizon is None:
        raise ValueError(f"the {name} sequence has {rate.values.size} rounds, a session has no end: use a rule")
    if rate.values.size < horizon:
        raise ValueError(
            f"the {name} sequence has {rate.values.size} rounds, the game has {horizon}: lengthen it, or use a rule"
        )


def check_decreasing(values: np.ndarray, name: str, rounds: np.ndarray | None = None) -> None:
    """Raise ValueError unless values are positive, finite and non-increasing, at these rounds (default 1, 2, …)."""
    at_round = np.arange(1, values.size + 1) if rounds is None else rounds
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if bad.size:
        raise ValueError(f"{name} must be positive and finite, got {values[bad[0]]} at round {at_round[bad[0]]}")
    up = np.flatnonzero(np.diff(values) > 0)
    if up.size:
        i = int(up[0])
        raise ValueError(
            f"{name} may not increase, got {values[i]} at round {at_round[i]} and {values[i + 1]} at round "
            f"{at_round[i + 1]}: take the running minimum"
        )


def warn_if_less_convex(member: Any, facts: Facts, instead: str) -> Iterator[str]:
    """Yield a warning if the losses lack the ``strong_convexity`` that a member was given."""
    assumed, actual = member.strong_convexity, facts.strong_convexity
    if actual is not None and assumed > actual * (1 + SLACK):
        has = f"have {actual:g}: give strong_convexity={actual:g}, or use" if actual > 0 else "have none: use"
        yield (
            f"{type(member).__name__} assumes losses of strong convexity {assumed:g}, these "
            f"({type(facts.losses).__name__}) {has} {instead}"
        )
