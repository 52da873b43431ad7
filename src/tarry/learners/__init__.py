"""Learners: plays out, delayed and weighted feedback in. They see domains and rates only."""

from tarry.learners.adadelay import AdaDelay
from tarry.learners.adaptive import Adaptive
from tarry.learners.adaptive_revision import AdaptiveRevision
from tarry.learners.base import Idle
from tarry.learners.dftbl import DFTBL
from tarry.learners.dogd import DOGD, DOGDSC
from tarry.learners.dorm import DORM, DORMPlus
from tarry.learners.dwftbl import DWFTBL
from tarry.learners.dwftrl import DWFTRL
from tarry.learners.entropic_ftrl import EntropicFTRL
from tarry.learners.exp3 import Exp3
from tarry.learners.fpl import FPL
from tarry.learners.from_values import Differences, OnePoint, TwoPoint
from tarry.learners.ftl import FTL
from tarry.learners.ftrl_proximal import FTRLProximal
from tarry.learners.gold import GOLD
from tarry.learners.hedges import DUB, AdaHedgeD
from tarry.learners.norms import Euclidean, Mahalanobis
from tarry.learners.odftrl import ODFTRL
from tarry.learners.ogd import OGD
from tarry.learners.reductions import BOLD, SOLID, Interleaving
from tarry.learners.ridge import Ridge
from tarry.learners.scale_free import SOLO, AdaFTRL
from tarry.learners.tsallis_ftrl import TsallisFTRL

MEMBERS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(AdaDelay, AdaFTRL, AdaHedgeD, Adaptive, AdaptiveRevision, BOLD, DFTBL, DOGD, DOGDSC, DORM, DORMPlus, DUB),
        *(DWFTBL, DWFTRL, Differences, EntropicFTRL, Euclidean, Exp3, FPL, FTL, FTRLProximal, GOLD, Idle, Interleaving),
        *(Mahalanobis, ODFTRL, OGD, OnePoint, Ridge, SOLID, SOLO, TsallisFTRL, TwoPoint),
    )
}
"""Every learner and norm by the name that stores and sweep files use."""

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
