"""Tracking: the bounded set of pending rounds, its books, and the player around a learner."""

from tarry.tracking.certificate import Terms, bound_warnings, certificate_now, terms_of
from tarry.tracking.doubling import Doubling, Single
from tarry.tracking.player import (
    Draws,
    Player,
    State,
    as_player,
    as_state,
    fresh_state,
    keyed_draws,
    restart_warnings,
    room_warnings,
)

# Players and what they are made of; their state; their certificates.
__all__ = ["Doubling", "Draws", "Player", "Single", "as_player", "keyed_draws", "restart_warnings", "room_warnings"]
__all__ += ["State", "as_state", "fresh_state"]
__all__ += ["Terms", "bound_warnings", "certificate_now", "terms_of"]
