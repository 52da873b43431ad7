"""What a configuration grants its player, and what it lets a certificate assume."""

from __future__ import annotations

from tarry.game.problem import check_grants
from tarry.live.configuration import Configuration
from tarry.tracking import Terms, terms_of

STATED = ("gradient_bound", "value_bound", "strong_convexity")


def check_player(configuration: Configuration) -> None:
    """Refuse a player that needs more than it is granted, or an end."""
    _, player, capacity, information, preemption, *_ = configuration
    check_grants(player, feedback=None, capacity=capacity, information=information, preemption=preemption)
    if hasattr(player.learner, "check_horizon"):
        player.learner.check_horizon(None)


def terms_for(configuration: Configuration) -> Terms | None:
    """The constants of certificates, as far as they were stated."""
    player, options = configuration.player, configuration.options
    given = {name: options[name] for name in STATED if name in options}
    return terms_of(player.learner, **given, restarts=player.epochs.needs_preemption)
