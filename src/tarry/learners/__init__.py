"""Learners: plays out, delayed and weighted feedback in. They see domains and rates only."""

from tarry.learners.arms import Exp3, TsallisFTRL
from tarry.learners.base import Idle
from tarry.learners.descent import DOGD, DOGDSC, OGD
from tarry.learners.dual_averaging import SOLO, AdaDelay, AdaFTRL
from tarry.learners.dwftbl import DWFTBL
from tarry.learners.dwftrl import DWFTRL, Adaptive
from tarry.learners.entropic_ftrl import EntropicFTRL
from tarry.learners.experts import DORM, DUB, AdaHedgeD, DORMPlus
from tarry.learners.from_values import Differences, OnePoint, TwoPoint
from tarry.learners.ftl import FPL, FTL, Ridge
from tarry.learners.newton import ONS
from tarry.learners.norms import Euclidean, Mahalanobis
from tarry.learners.optimistic import ODFTRL
from tarry.learners.per_coordinate import AdaGrad, AdaptiveRevision, FTRLProximal
from tarry.learners.pools import DFTBL, GOLD
from tarry.learners.reductions import BOLD, SOLID, Interleaving

# By what learners are told: gradients, gradients over experts, values or examples; then wrappers and norms.
__all__ = ["DOGD", "DOGDSC", "DWFTRL", "FPL", "FTL", "ODFTRL", "OGD", "SOLO", "AdaDelay", "AdaFTRL", "Adaptive"]
__all__ += ["ONS", "AdaGrad", "AdaptiveRevision", "FTRLProximal"]
__all__ += ["DORM", "DUB", "AdaHedgeD", "DORMPlus", "EntropicFTRL"]
__all__ += ["DFTBL", "DWFTBL", "GOLD", "Differences", "Exp3", "OnePoint", "Ridge", "TsallisFTRL", "TwoPoint"]
__all__ += ["BOLD", "SOLID", "Euclidean", "Idle", "Interleaving", "Mahalanobis"]

MEMBERS: dict[str, type] = {name: globals()[name] for name in __all__}
"""Every learner and norm by the name that stores and sweep files use."""
