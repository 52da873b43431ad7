"""Hints: guesses of what has not arrived yet, for optimistic learners.

    "none"      0
    "recent"    (σ_{t+1} + 1) · what arrived last, weighted: every missing round, and the one to come, is like it
    "previous"  what arrived last, weighted, once: the round to come is like it, and nothing is said of the missing
    "mean"      (σ_{t+1} + 1) · Σ w_s v_s / Σ w_s over what has arrived: all are like the average so far

A wrong hint costs, and a right one takes delays' cost away. "recent" and "mean" count the missing rounds, so they need
acknowledgements.
"""

from __future__ import annotations

from typing import Any, Self

from tarry.domains import Simplex
from tarry.errors import ArgumentError
from tarry.kernel import step
from tarry.learners.actions import OnSimplex, simplex_of
from tarry.learners.base import GRADIENT, Learner
from tarry.learners.states import Array

HINTS = ("none", "recent", "previous", "mean")
NO_HINT, RECENT, PREVIOUS, MEAN = range(len(HINTS))


def as_hint(name: str) -> int:
    """Return the number of a hint; raise ValueError if there is none of this name."""
    if name not in HINTS:
        raise ArgumentError("hint", f"must be one of {', '.join(map(repr, HINTS))}", name)
    return HINTS.index(name)


class Hinted(Learner):
    """Base of learners with a ``hint``."""

    @property
    def hint(self) -> int:
        """The number of the hint."""
        return NO_HINT

    @property
    def needs_acknowledgements(self) -> bool:
        return self.hint in (RECENT, MEAN)

    @property
    def follows(self) -> tuple[str, str]:
        return f"the hint {HINTS[self.hint]!r}", "use hint='previous' or 'none'"


class HintedExperts(OnSimplex, Hinted, init=False):
    """Base of learners over experts that take a ``hint`` and nothing else."""

    domain: Simplex
    hint: int

    feedback = GRADIENT

    def __new__(cls, dimension: int, *, hint: str = "none") -> Self:
        return cls.make(simplex_of(dimension), as_hint(hint))


@step
def share_of(hint: int, mass: Array, weight: float) -> float:
    """Return the share that an arrival of this weight has in the guess; ``mass`` = Σ w_s is kept for the mean."""
    # The mean is updated in place: dividing Σ w v by Σ w at the end would need one more vector.
    mass[0] += weight
    return weight / mass[0] if hint == MEAN else 1.0


@step
def likened(hint: int, share: float, weight: float, guess: float, arrived: float) -> float:
    """Return an entry of what one missing round is guessed to be, after this one of an arrival."""
    return guess + share * (arrived - guess) if hint == MEAN else weight * arrived


@step
def liken(hint: int, mass: Array, weight: float, arrived: Array, guess: Array) -> None:
    """Let what one missing round is guessed to be follow an arrival."""
    share = share_of(hint, mass, weight)
    for i in range(guess.size):
        guess[i] = likened(hint, share, weight, guess[i], arrived[i])


@step
def clear_sums(state: Any) -> None:
    """Forget the sum of gradients, the guess, the hint and the mass of a state that has them all."""
    for i in range(state.total.size):
        state.total[i] = 0.0
        state.guess[i] = 0.0
        state.hint[i] = 0.0
    state.mass[0] = 0.0


@step
def guess_missing(hint: int, guess: Array, pending: int, out: Array) -> None:
    """Write the hint for the next round, given the guess of one."""
    times = 0 if hint == NO_HINT else 1 if hint == PREVIOUS else pending + 1
    for i in range(out.size):
        out[i] = times * guess[i]


@step
def foresee(hint: int, state: Any, pending: int) -> None:
    """Write the hint for the next round, and into ``scratch`` the sum of gradients with it."""
    guess_missing(hint, state.guess, pending, state.hint)
    for i in range(state.total.size):
        state.scratch[i] = state.total[i] + state.hint[i]
