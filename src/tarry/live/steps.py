"""The border between a live call and the compiled round: one crossing per call."""

from __future__ import annotations

from typing import Any, NamedTuple

from tarry.game.rounds import acknowledge, begin, deliver, forfeit
from tarry.kernel import live_entry
from tarry.tracking.table import find

MALFORMED = -1.0
LARGEST = 1e100  # of feedback and labels: far from where weighted sums and their squares could overflow


class Desk(NamedTuple):
    """Everything a live call needs, in one handle."""

    player: Any
    setting: Any
    draws: Any
    state: Any


def is_malformed(feedback: Any) -> bool:
    """Whether an entry is not finite or too large: what ``hand_over`` says of feedback that comes so far."""
    return any(not abs(number) < LARGEST for number in feedback.tolist())


@live_entry
def open_round(box: Any, t: Any, delay: Any) -> Any:
    """Begin round t; return its slot, UNTRACKED or SATURATED."""
    desk = box.body
    return begin(desk.player, desk.setting, desk.draws, desk.state, t, delay)


@live_entry
def hand_over(box: Any, s: Any, t: Any, feedback: Any) -> Any:
    """Deliver the feedback of s in round t; return its weight, or MALFORMED with nothing changed."""
    desk = box.body
    for i in range(feedback.size):
        if not abs(feedback[i]) < LARGEST:  # also true of NaN
            return MALFORMED
    slot = find(desk.state.table, s)
    if slot < 0:
        acknowledge(desk.state)
        return 0.0
    return deliver(desk.player, desk.setting, desk.draws, desk.state, s, t, slot, feedback)


@live_entry
def give_up(box: Any, s: Any, t: Any) -> None:
    """Round s ended without an outcome."""
    desk = box.body
    slot = find(desk.state.table, s)
    if slot < 0:
        acknowledge(desk.state)
    else:
        forfeit(desk.player, desk.state, s, t, slot)
