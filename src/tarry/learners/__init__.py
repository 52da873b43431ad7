"""Learners: plays out, delayed and weighted feedback in. They see domains and rates only."""

from tarry.learners.arms import Exp3, TsallisFTRL
from tarry.learners.base import Idle
from tarry.learners.descent import DOGD, DOGDSC, OGD
from tarry.learners.dual_averaging import SOLO, AdaDelay, AdaFTRL
from tarry.learners.dwftbl import DWFTBL
from tarry.learners.dwftrl import DWFTRL, Adaptive
from tarry.learners.entropic_ftrl import EntropicFTRL
from tarry.learners.experts import DORM, DUB, AdaHedgeD, DORMPlus
from tarry.learners.fpl import FPL
from tarry.learners.from_values import Differences, OnePoint, TwoPoint
from tarry.learners.ftl import FTL, Ridge
from tarry.learners.norms import Euclidean, Mahalanobis
from tarry.learners.optimistic import ODFTRL
from tarry.learners.per_coordinate import AdaptiveRevision, FTRLProximal
from tarry.learners.pools import DFTBL, GOLD
from tarry.learners.reductions import BOLD, SOLID, Interleaving

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
    "DORMPlus",
    "Differences",
    "EntropicFTRL",
    "Euclidean",
    "Exp3",
    "FTRLProximal",
    "Idle",
    "Interleaving",
    "Mahalanobis",
    "OnePoint",
    "Ridge",
    "TsallisFTRL",
    "TwoPoint",
]

MEMBERS: dict[str, type] = {name: globals()[name] for name in __all__}
"""Every learner and norm by the name that stores and sweep files use."""
