"""Tarry: learning from feedback that comes late when only so many pending rounds can be tracked."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tarry._version import __version__

if TYPE_CHECKING:
    from tarry import (
        cases,
        delays,
        domains,
        errors,
        learners,
        losses,
        planning,
        players,
        rates,
        reports,
        schedulers,
        theory,
    )
    from tarry.client import connect, connect_async
    from tarry.game import Game, Record, Recorded, WeightedGame
    from tarry.game.simulate import simulate
    from tarry.kernel.cache import show_versions
    from tarry.live import LabelJoin, Session
    from tarry.outcomes import Answer, Fate
    from tarry.tracking import Doubling, Player

# Rooms, then what is used so often that it needs no room.
__all__ = ["cases", "delays", "domains", "errors", "learners", "losses", "planning", "players", "rates", "reports"]
__all__ += ["schedulers", "theory"]
__all__ += ["connect", "connect_async"]
__all__ += ["Answer", "Doubling", "Fate", "Game", "LabelJoin", "Player", "Record", "Recorded", "Session"]
__all__ += ["WeightedGame", "__version__", "show_versions", "simulate"]

# Where the names above come from that are not rooms of their own.
_HOMES = {
    "tarry.client": ("connect", "connect_async"),
    "tarry.game": ("Game", "Record", "Recorded", "WeightedGame", "simulate"),
    "tarry.kernel.cache": ("show_versions",),
    "tarry.live": ("LabelJoin", "Session"),
    "tarry.outcomes": ("Answer", "Fate"),
    "tarry.tracking": ("Doubling", "Player"),
}


def __getattr__(name: str) -> Any:
    """Import a room when it is first asked for: the compiler takes half a second, and not every command needs it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), None)
    found = import_module(f"tarry.{name}") if home is None else getattr(import_module(home), name)
    globals()[name] = found  # asked for once
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
