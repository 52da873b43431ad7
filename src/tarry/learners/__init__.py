"""Learners: plays out, delayed and weighted feedback in. They see domains only."""

from tarry.learners.adadelay import AdaDelay
from tarry.learners.adaftrl import AdaFTRL
from tarry.learners.adahedged import AdaHedgeD
from tarry.learners.adaptive import Adaptive
from tarry.learners.anytime import Anytime
from tarry.learners.backlogs import BacklogRadius, BacklogRate
from tarry.learners.best_of_both import BestOfBoth
from tarry.learners.bold import BOLD
from tarry.learners.dftbl import DFTBL
from tarry.learners.differences import Differences
from tarry.learners.dogd import DOGD
from tarry.learners.dogdsc import DOGDSC
from tarry.learners.dorm import DORM
from tarry.learners.dorm_plus import DORMPlus
from tarry.learners.doubled import Doubled
from tarry.learners.dub import DUB
from tarry.learners.dwftbl import DWFTBL
from tarry.learners.dwftrl import DWFTRL
from tarry.learners.energy import EnergyRadius, EnergyRate
from tarry.learners.entropic import EntropicFTRL
from tarry.learners.exp3 import Exp3
from tarry.learners.fpl import FPL
from tarry.learners.ftl import FTL
from tarry.learners.gold import GOLD
from tarry.learners.idle import Idle
from tarry.learners.interleaving import Interleaving
from tarry.learners.levels import LevelRadius, LevelRate
from tarry.learners.norms import Euclidean, Mahalanobis
from tarry.learners.odftrl import ODFTRL
from tarry.learners.ogd import OGD
from tarry.learners.one_point import OnePoint
from tarry.learners.proximal import FTRLProximal
from tarry.learners.revision import AdaptiveRevision
from tarry.learners.ridge import Ridge
from tarry.learners.rules import Constant, Power, Rule, Sequence, inverse_time
from tarry.learners.solid import SOLID
from tarry.learners.solo import SOLO
from tarry.learners.tsallis import TsallisFTRL
from tarry.learners.two_point import TwoPoint

__all__ = [
    "BOLD",
    "DFTBL",
    "DOGD",
    "DOGDSC",
    "DORM",
    "DUB",
    "DWFTBL",
    "DWFTRL",
    "FPL",
    "FTL",
    "GOLD",
    "ODFTRL",
    "OGD",
    "SOLID",
    "SOLO",
    "AdaDelay",
    "AdaFTRL",
    "AdaHedgeD",
    "Adaptive",
    "AdaptiveRevision",
    "Anytime",
    "BacklogRadius",
    "BacklogRate",
    "BestOfBoth",
    "Constant",
    "DORMPlus",
    "Differences",
    "Doubled",
    "EnergyRadius",
    "EnergyRate",
    "EntropicFTRL",
    "Euclidean",
    "Exp3",
    "FTRLProximal",
    "Idle",
    "Interleaving",
    "LevelRadius",
    "LevelRate",
    "Mahalanobis",
    "OnePoint",
    "Power",
    "Ridge",
    "Rule",
    "Sequence",
    "TsallisFTRL",
    "TwoPoint",
    "inverse_time",
]
