"""Tarry: learning from feedback that comes late when only so many pending rounds can be tracked."""

from tarry import delays, domains, errors, learners, losses, planning, players, rates, reports, schedulers, theory
from tarry._version import __version__
from tarry.game import Game, Record, Recorded, WeightedGame, simulate
from tarry.live import LabelJoin, Session
from tarry.results import Answer, Fate
from tarry.tracking import Doubling, Player
from tarry.versions import show_versions

__all__ = [
    "Answer",
    "Doubling",
    "Fate",
    "Game",
    "LabelJoin",
    "Player",
    "Record",
    "Recorded",
    "Session",
    "WeightedGame",
    "__version__",
    "delays",
    "domains",
    "errors",
    "learners",
    "losses",
    "planning",
    "players",
    "rates",
    "reports",
    "schedulers",
    "show_versions",
    "simulate",
    "theory",
]
