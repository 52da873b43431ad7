"""Players: ready combinations of learner and scheduler, one per theorem, and the one we recommend."""

from tarry.players.recommended import Recommendation, recommended
from tarry.players.theorems import bandit_convex, bandit_strongly_convex, convex, finite_actions, strongly_convex

__all__ = ["bandit_convex", "bandit_strongly_convex", "convex", "finite_actions", "strongly_convex"]
__all__ += ["Recommendation", "recommended"]
