"""Theory: the formulas behind the methods, as functions of plain numbers."""

from tarry.theory.bandit import bandit_weighted_regret_bound
from tarry.theory.pathwise import backlog_sums, weighted_regret_bound

__all__ = ["backlog_sums", "bandit_weighted_regret_bound", "weighted_regret_bound"]
