"""Feedback on its way from an arrival to the learner: straight, or buffered while the scheduler withholds it.

Buffered feedback keeps its weight until a round ends in which the scheduler lets it go. Fates and the tracking set do
not change by it: the slot is free from the arrival on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tarry.kernel import verb_with_default
from tarry.learners.base import absorb, width_of
from tarry.schedulers.base import withholds

if TYPE_CHECKING:
    from tarry.tracking.player import Draws, Player, State

Arrival = tuple[int, int, int, float]


class NoBuffer(NamedTuple):
    """Stand for a scheduler that never withholds feedback."""

    unused: np.ndarray  # a state has at least one array


class Buffer(NamedTuple):
    """Hold the one piece of feedback withheld: ``origin`` = (its round or 0, its slot), weight and content."""

    origin: np.ndarray
    weight: np.ndarray
    feedback: np.ndarray


def make_buffer(player: Player) -> NoBuffer | Buffer:
    """Return the empty buffer that the player's scheduler calls for."""
    if not getattr(player.scheduler, "withholds_feedback", False):
        return NoBuffer(np.zeros(1))
    return Buffer(np.zeros(2, np.int64), np.zeros(1), np.zeros(width_of(player.learner)))


@verb_with_default
def deliver_or_buffer(
    buffer: Any, player: Player, draws: Draws, state: State, arrival: Arrival, feedback: np.ndarray
) -> None:
    """Give the learner the feedback that has arrived, or buffer it; ``arrival`` = (s, t, slot, weight)."""
    s, _, slot, weight = arrival
    absorb(player.learner, state.learner, draws.directions, slot, s, weight, feedback)


@verb_with_default
def flush_buffer(buffer: Any, player: Player, draws: Draws, state: State, t: int, is_last: bool) -> None:
    """Give the learner, at the end of round t, what is withheld no longer; drop the rest in the last of an epoch."""


@deliver_or_buffer.on(Buffer)
def _buffer(buffer: Buffer, player: Player, draws: Draws, state: State, arrival: Arrival, feedback: np.ndarray) -> None:
    s, t, slot, weight = arrival
    if not withholds(player.scheduler, state.scheduler, s, t):
        absorb(player.learner, state.learner, draws.directions, slot, s, weight, feedback)
        return
    # One cell is enough: schedulers that withhold track one round of a batch at a time.
    buffer.origin[0] = s
    buffer.origin[1] = slot
    buffer.weight[0] = weight
    for i in range(feedback.size):
        buffer.feedback[i] = feedback[i]


@flush_buffer.on(Buffer)
def _flush(buffer: Buffer, player: Player, draws: Draws, state: State, t: int, is_last: bool) -> None:
    s = buffer.origin[0]
    is_free = s != 0 and not withholds(player.scheduler, state.scheduler, s, t)
    if is_free or is_last:
        buffer.origin[0] = 0
    if is_free:
        absorb(player.learner, state.learner, draws.directions, buffer.origin[1], s, buffer.weight[0], buffer.feedback)
