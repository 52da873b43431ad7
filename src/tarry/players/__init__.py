"""Players: ready combinations of learner and scheduler, one per theorem, and the one we recommend."""

from tarry.players.recommended import Recommended, recommended
from tarry.players.theorems import bandit_convex, bandit_strongly_convex, convex, strongly_convex

__all__ = ["Recommended", "bandit_convex", "bandit_strongly_convex", "convex", "recommended", "strongly_convex"]
