"""Rules: positive, non-increasing sequences of learning rates or smoothing radii.

A rule answers ``at(rule, t)`` for t = 1, 2, …. Numbers become :class:`Constant`, arrays
:class:`Sequence`, functions of t :class:`Rule`. A rule that learns from play answers ``next_rate``, as a
rate, or ``radius``, as smoothing, instead. It keeps ``MEMORY`` numbers in the learner's state: a sum of its
own, and the magnitude of the epoch, which a doubling trick guesses (0 before the first).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_nonnegative, as_positive
from tarry.domains import as_vector
from tarry.kernel import Parameters, as_step, verb

CHECKED_ROUNDS = 1024
FIRST_ROUNDS = 16
ENDLESS = 10**9


@verb
def at(rule: Any, t: int) -> float:
    """The rule's value in round t (from 1)."""


MEMORY = 2
SUM, MAGNITUDE = range(MEMORY)


@verb
def first_rate(rule: Any, memory: Any) -> float:
    """The rate before anything is known, η_0."""


@first_rate.otherwise
def _first(rule: Any, memory: Any) -> Any:
    return at(rule, 1)


@verb
def count_tracked(rule: Any, memory: Any, tracked: int) -> None:
    """A round found this many rounds tracked, before it asked for a slot itself."""


@count_tracked.otherwise
def _count_nothing(rule: Any, memory: Any, tracked: Any) -> None:
    pass


@verb
def next_rate(rule: Any, memory: Any, t: int, pending: int) -> float:
    """η_t, t counted in the epoch; ``pending`` is σ_{t+1}, or -1 where it is not disclosed."""


@next_rate.otherwise
def _by_round(rule: Any, memory: Any, t: Any, pending: Any) -> Any:
    return at(rule, t)


@verb
def last_rate(rule: Any, memory: Any, in_force: float, t: int) -> float:
    """η_t if the game ended after round t, given the rate in force."""


@last_rate.otherwise
def _last(rule: Any, memory: Any, in_force: Any, t: Any) -> Any:
    return at(rule, t)


@verb
def radius(rule: Any, memory: Any, t: int) -> float:
    """δ_t of a round of the current epoch, t counted in it."""


@radius.otherwise
def _radius_by_round(rule: Any, memory: Any, t: Any) -> Any:
    return at(rule, t)


class Constant(Parameters, init=False):
    """The same value in every round.

    >>> at(Constant(0.5), 7)
    0.5
    """

    value: float

    def __new__(cls, value: float) -> Self:
        return cls.make(as_positive(value, "value"))


@at.on(Constant)
def _constant(rule: Any, t: Any) -> Any:
    return rule.value


class Sequence(Parameters, init=False):
    """One value per round; the game may not be longer.

    >>> float(at(Sequence([0.5, 0.25]), 2))
    0.25
    """

    values: np.ndarray

    def __new__(cls, values: ArrayLike) -> Self:
        return cls.make(as_listed(values, "values"))


@at.on(Sequence)
def _sequence(rule: Any, t: Any) -> Any:
    return rule.values[t - 1]


class Power(Parameters, init=False):
    """min(cap, scale · (t + shift)^(−exponent)): 1/(λt) is ``Power(1/λ, 1)``, c/√t is ``Power(c, 0.5)``.

    >>> [float(at(Power(2.0, 0.5, cap=1.5), t)) for t in (1, 4, 16)]
    [1.5, 1.0, 0.5]
    """

    scale: float
    exponent: float
    cap: float
    shift: float

    def __new__(cls, scale: float, exponent: float, cap: float = np.inf, *, shift: float = 0.0) -> Self:
        size, limit = as_positive(scale, "scale"), as_nonnegative(cap, "cap", allow_inf=True)
        if limit == 0:
            raise ValueError(f"cap must be positive, got {cap}")
        falls = as_nonnegative(exponent, "exponent, with which rules fall,")
        return cls.make(size, falls, limit, as_nonnegative(shift, "shift"))


@at.on(Power)
def _power(rule: Any, t: Any) -> Any:
    if rule.exponent == 1.0:
        return min(rule.cap, rule.scale / (t + rule.shift))
    return min(rule.cap, rule.scale * np.float64(t + rule.shift) ** -rule.exponent)


class Rule(Parameters, init=False):
    """A user's function of t: fast if decorated with numba.njit, plain Python otherwise.

    >>> at(Rule(lambda t: 1.0 / (t + 1)), 3)
    0.25
    """

    function: Any

    def __new__(cls, function: Callable[[int], float]) -> Self:
        if not callable(function):
            raise TypeError(f"function must be a function of t, got {function!r}: use Constant, Sequence or Power")
        checked = as_step(function)
        rounds = np.unique(np.geomspace(1, 10**9, CHECKED_ROUNDS).astype(np.int64))
        check_decreasing(np.array([checked(int(t)) for t in rounds]), "the rule")
        return cls.make(checked)


@at.on(Rule)
def _rule(rule: Any, t: Any) -> Any:
    return rule.function(t)


def inverse_time(strong_convexity: float) -> Power:
    """η_t = 1/(λt), the rate for λ-strongly convex losses.

    >>> at(inverse_time(0.5), 4)
    0.5
    """
    return Power(1.0 / as_positive(strong_convexity, "strong_convexity"), 1.0)


def rules_of(learner: Any) -> list[Any]:
    """The learner's rate and smoothing, those it has."""
    return [rule for name in ("rate", "smoothing") if (rule := getattr(learner, name, None)) is not None]


def counts_tracked(rule: Any) -> bool:
    """Whether a rule looks at how many rounds are tracked."""
    return isinstance(rule, tuple(count_tracked.registry.members))


def check_length(rule: Any, horizon: int | None, name: str) -> None:
    """Refuse a sequence that ends before the game does (None: never), or a function that fails in it.

    A rule tuned to a horizon may not be played beyond it; where a session ends is its caller's to know.
    """
    if isinstance(rule, Rule):
        check_rule(rule, ENDLESS if horizon is None else horizon)
    tuned = getattr(rule, "horizon", None)
    if tuned is not None and horizon is not None and horizon > tuned:
        raise ValueError(
            f"{type(rule).__name__} is tuned to a horizon of {tuned:g}, the game has {horizon} rounds: "
            "give it the game's horizon"
        )
    if not isinstance(rule, Sequence):
        return
    if horizon is None:
        raise ValueError(f"the {name} sequence has {rule.values.size} rounds, a session has no end: use a rule")
    if rule.values.size < horizon:
        raise ValueError(
            f"the {name} sequence has {rule.values.size} rounds, the game has {horizon}: lengthen it, or use a rule"
        )


def check_rule(rule: Rule, last: int) -> None:
    """Refuse a function that is not positive, or increases, at sample rounds up to ``last``."""
    rounds = np.unique(np.geomspace(1, last, min(CHECKED_ROUNDS, last)).astype(np.int64))
    check_decreasing(np.array([rule.function(int(t)) for t in rounds]), "the rule", rounds)


def as_rule(value: Any, name: str) -> Any:
    """A rule from a number, a sequence, a function or a rule."""
    answers = (at, radius) if name == "smoothing" else (at, next_rate)
    if any(isinstance(value, cls) for verb in answers for cls in verb.registry.members):
        return value
    if isinstance(value, Parameters):
        raise TypeError(f"{type(value).__name__} is no rule for the {name}: give a number, a sequence or a rule")
    if callable(value):
        return Rule(value)
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return Constant(as_positive(value, name))
    return Sequence.make(as_listed(value, name))


def as_listed(values: ArrayLike, name: str) -> np.ndarray:
    """One value per round, positive and non-increasing, or a sentence saying why not."""
    listed = as_vector(values, name)
    check_decreasing(listed, name)
    return listed


def check_decreasing(values: np.ndarray, name: str, rounds: np.ndarray | None = None) -> None:
    """Refuse values that are not positive, finite and non-increasing, at these rounds (default 1, 2, …)."""
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
