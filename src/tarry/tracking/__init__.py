"""Tracking: the bounded set of pending rounds, its books, and the player around a learner."""

from tarry.tracking.certificate import Terms, bound_warnings, certificate_now, terms_of
from tarry.tracking.doubling import Doubling, Single
from tarry.tracking.player import (
    Draws,
    Player,
    State,
    as_player,
    fresh_state,
    grow_state,
    keyed_draws,
    restart_warnings,
)

__all__ = [
    "Doubling",
    "Draws",
    "Player",
    "Single",
    "State",
    "Terms",
    "as_player",
    "bound_warnings",
    "certificate_now",
    "fresh_state",
    "grow_state",
    "keyed_draws",
    "restart_warnings",
    "terms_of",
]
