"""What a configuration grants its player, and what it lets a certificate assume."""

from __future__ import annotations

from tarry.checks import as_int
from tarry.game.problem import check_grants
from tarry.learners.base import queries_of
from tarry.live.configuration import Configuration
from tarry.live.ids import CALLERS
from tarry.tracking import Terms, terms_of

STATED = ("gradient_bound", "value_bound", "strong_convexity")


def check_player(configuration: Configuration) -> None:
    """Refuse a player that needs more than it is granted, or an end."""
    _, player, capacity, information, preemption, *_ = configuration
    # Whoever calls evaluates the losses, at as many points as are asked for.
    queries = queries_of(player.learner)
    check_grants(
        player, feedback=None, capacity=capacity, information=information, preemption=preemption, queries=queries
    )
    player.learner.check_horizon(None)


def disclosed_delay(configuration: Configuration, delay: int | None) -> int:
    """The delay told with a round, -1 where none is to be told."""
    information, kind = configuration.information, configuration.kind
    if information == "clairvoyant":
        return as_int(delay, f"the delay (a clairvoyant {kind} needs each round's)", 0)
    if delay is not None:
        raise ValueError(f"a {information} {kind} takes no delay, got {delay}: leave it out")
    return -1


def check_naming(configuration: Configuration, naming: int, named: bool) -> None:
    """Refuse an id of the other kind than those before."""
    if named != (naming == CALLERS):
        used = "round numbers" if named else "your own ids"
        raise ValueError(f"this {configuration.kind} has used {used} so far: give ids always or never")


def terms_for(configuration: Configuration) -> Terms | None:
    """The constants of certificates, as far as they were stated."""
    player, options = configuration.player, configuration.options
    given = {name: options[name] for name in STATED if name in options}
    return terms_of(player.learner, **given, restarts=player.epochs.needs_preemption)
