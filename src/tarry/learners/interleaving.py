"""Interleaving: d + 1 copies of a learner for immediate feedback take turns, one for each residue of t."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from tarry.checks import Natural
from tarry.learners.base import Directions, absorb, allocate, enter, predict, restart
from tarry.learners.reductions import Copies, OfCopies, as_copied, engage, make_copies, restart_copies, show_copy, teach
from tarry.learners.states import Array
from tarry.rates.base import Facts


class Interleaving(OfCopies):
    """``delay`` + 1 independent copies of a base learner in turn, for one known, fixed delay d ≥ 0.

        x_t = the play of copy t mod (d + 1);   at the feedback of s:   copy s mod (d + 1) ← its update

    which is in before that copy's next turn, d + 1 rounds after s.

    ``base`` is any learner, yours too, but for rates that follow the game, radii that change, and what is a reduction
    itself. Each copy plays a game without delay: its clock counts its own feedbacks, nothing is pending (a hint is of
    the round to come alone), and what is drawn is drawn for the game's round.
    Regret at most (d + 1)·Reg(T/(d + 1)), Reg the base's without delay. Each copy sees one round in d + 1, so it
    learns slowly. Feedback later than d still goes to its copy, but after that copy has played again, and nothing
    is promised. Rounds that were dropped, or weigh nothing, are rounds their copy did not have.

    Weinberger, Ordentlich, *On Delayed Prediction of Individual Sequences*, IEEE Transactions on Information Theory
    48, 2002.

    >>> from tarry.domains import Ball
    >>> from tarry.learners import OGD
    >>> Interleaving(OGD(Ball(2), rate=0.1), delay=3).copies
    4
    """

    base: Annotated[Any, as_copied]
    delay: Natural

    @property
    def copies(self) -> int:
        return self.delay + 1

    def doubts(self, facts: Facts) -> Iterator[str]:
        """Yield a warning about delays above the one given."""
        if facts.max_delay > self.delay:
            yield (
                f"Interleaving is for one delay, {self.delay}, and this game's reach {facts.max_delay}: nothing is "
                f"promised, give delay={facts.max_delay}, or use BOLD, which needs no knowledge of delays"
            )


@allocate.on(Interleaving)
def _allocate(learner: Interleaving, slots: int) -> Copies:
    return make_copies(learner.base, learner.copies, slots)


@restart.on(Interleaving)
def _restart(learner: Interleaving, state: Copies, t: int, magnitude: float) -> None:
    restart_copies(learner.base, state, magnitude)


@predict.on(Interleaving)
def _predict(learner: Interleaving, state: Copies, directions: Directions, t: int, play: Array) -> None:
    show_copy(learner.base, state, (t - 1) % (learner.delay + 1), directions, t, play)


@enter.on(Interleaving)
def _enter(learner: Interleaving, state: Copies, slot: int, t: int) -> None:
    engage(learner.base, state, (t - 1) % (learner.delay + 1), slot, t)


@absorb.on(Interleaving)
def _absorb(
    learner: Interleaving, state: Copies, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    teach(learner.base, state, directions, slot, s, weight, feedback)
