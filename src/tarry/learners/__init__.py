"""Learners: plays out, delayed and weighted feedback in. They see domains only."""

from tarry.learners.adaptive import Adaptive
from tarry.learners.anytime import Anytime
from tarry.learners.backlogs import BacklogRadius, BacklogRate
from tarry.learners.doubled import Doubled
from tarry.learners.dwftbl import DWFTBL
from tarry.learners.dwftrl import DWFTRL
from tarry.learners.energy import EnergyRadius, EnergyRate
from tarry.learners.idle import Idle
from tarry.learners.levels import LevelRadius, LevelRate
from tarry.learners.norms import Euclidean, Mahalanobis
from tarry.learners.ridge import Ridge
from tarry.learners.rules import Constant, Power, Rule, Sequence, inverse_time

__all__ = [
    "DWFTBL",
    "DWFTRL",
    "Adaptive",
    "Anytime",
    "BacklogRadius",
    "BacklogRate",
    "Constant",
    "Doubled",
    "EnergyRadius",
    "EnergyRate",
    "Euclidean",
    "Idle",
    "LevelRadius",
    "LevelRate",
    "Mahalanobis",
    "Power",
    "Ridge",
    "Rule",
    "Sequence",
    "inverse_time",
]
