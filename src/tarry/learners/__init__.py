"""Learners: plays out, delayed and weighted feedback in. They see domains only."""

from tarry.learners.adahedged import AdaHedgeD
from tarry.learners.adaptive import Adaptive
from tarry.learners.anytime import Anytime
from tarry.learners.backlogs import BacklogRadius, BacklogRate
from tarry.learners.dorm import DORM
from tarry.learners.dorm_plus import DORMPlus
from tarry.learners.doubled import Doubled
from tarry.learners.dub import DUB
from tarry.learners.dwftbl import DWFTBL
from tarry.learners.dwftrl import DWFTRL
from tarry.learners.energy import EnergyRadius, EnergyRate
from tarry.learners.entropic import EntropicFTRL
from tarry.learners.exp3 import Exp3
from tarry.learners.idle import Idle
from tarry.learners.levels import LevelRadius, LevelRate
from tarry.learners.norms import Euclidean, Mahalanobis
from tarry.learners.rules import Constant, Power, Rule, Sequence, inverse_time
from tarry.learners.tsallis import TsallisFTRL

__all__ = [
    "DORM",
    "DUB",
    "DWFTBL",
    "DWFTRL",
    "AdaHedgeD",
    "Adaptive",
    "Anytime",
    "BacklogRadius",
    "BacklogRate",
    "Constant",
    "DORMPlus",
    "Doubled",
    "EnergyRadius",
    "EnergyRate",
    "EntropicFTRL",
    "Euclidean",
    "Exp3",
    "Idle",
    "LevelRadius",
    "LevelRate",
    "Mahalanobis",
    "Power",
    "Rule",
    "Sequence",
    "TsallisFTRL",
    "inverse_time",
]
