"""Feedback on its way from an arrival to the learner.

It goes straight there, unless the scheduler withholds it: then it waits, with its weight, until a round ends in which
the scheduler lets it go. Weights, fates and the set know nothing of this: the slot is free from the arrival on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel import verb
from tarry.learners.base import absorb, width_of
from tarry.schedulers.base import withholds


class Straight(NamedTuple):
    """Nothing ever waits: the normal case (one unused cell)."""

    unused: np.ndarray


class Withheld(NamedTuple):
    """The one piece of feedback that waits: ``origin`` = (its round or 0, its slot), weight and content."""

    origin: np.ndarray
    weight: np.ndarray
    feedback: np.ndarray


def make_waiting(player: Any) -> Straight | Withheld:
    """What this player's scheduler calls for, empty."""
    if not getattr(player.scheduler, "withholds_feedback", False):
        return Straight(np.zeros(1))
    return Withheld(np.zeros(2, np.int64), np.zeros(1), np.zeros(width_of(player.learner)))


@verb
def hand_on(waiting: Any, player: Any, draws: Any, state: Any, arrival: Any, feedback: Any) -> None:
    """Give the learner the feedback that has arrived, now or later; ``arrival`` = (s, t, slot, weight)."""


@verb
def hand_on_withheld(waiting: Any, player: Any, draws: Any, state: Any, t: int) -> None:
    """Round t is over: give the learner what waited for that."""


@verb
def forget_withheld(waiting: Any) -> None:
    """An epoch begins: what waits belongs to the last."""


@hand_on.on(Straight)
def _straight(waiting: Any, player: Any, draws: Any, state: Any, arrival: Any, feedback: Any) -> None:
    s, _, slot, weight = arrival
    absorb(player.learner, state.learner, draws.directions, slot, s, weight, feedback)


@hand_on_withheld.on(Straight)
def _nobody_waits(waiting: Any, player: Any, draws: Any, state: Any, t: Any) -> None:
    pass


@forget_withheld.on(Straight)
def _nothing_to_forget(waiting: Any) -> None:
    pass


@hand_on.on(Withheld)
def _wait(waiting: Any, player: Any, draws: Any, state: Any, arrival: Any, feedback: Any) -> None:
    s, t, slot, weight = arrival
    if not withholds(player.scheduler, state.scheduler, s, t):
        absorb(player.learner, state.learner, draws.directions, slot, s, weight, feedback)
        return
    waiting.origin[0] = s
    waiting.origin[1] = slot
    waiting.weight[0] = weight
    for i in range(feedback.size):
        waiting.feedback[i] = feedback[i]


@hand_on_withheld.on(Withheld)
def _let_go(waiting: Any, player: Any, draws: Any, state: Any, t: Any) -> None:
    s = waiting.origin[0]
    if s == 0 or withholds(player.scheduler, state.scheduler, s, t):
        return
    waiting.origin[0] = 0
    slot = waiting.origin[1]
    absorb(player.learner, state.learner, draws.directions, slot, s, waiting.weight[0], waiting.feedback)


@forget_withheld.on(Withheld)
def _forget(waiting: Any) -> None:
    waiting.origin[0] = 0
