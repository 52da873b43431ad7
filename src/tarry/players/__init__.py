"""Players: ready combinations of learner and scheduler, one per theorem, and the one we recommend."""

from tarry.players.finite import finite_actions
from tarry.players.follow_up import Unreviewed, beyond_peak_backlog
from tarry.players.recommended import Recommended, Tentative, recommended
from tarry.players.theorems import bandit_convex, bandit_strongly_convex, convex, strongly_convex

__all__ = [
    "Recommended",
    "Tentative",
    "Unreviewed",
    "bandit_convex",
    "bandit_strongly_convex",
    "beyond_peak_backlog",
    "convex",
    "finite_actions",
    "recommended",
    "strongly_convex",
]
