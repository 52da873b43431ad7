"""Learners: plays out, delayed and weighted feedback in. They see domains only."""

from tarry.learners.adaptive import Adaptive
from tarry.learners.anytime import Anytime
from tarry.learners.doubled import Doubled
from tarry.learners.dwftbl import DWFTBL
from tarry.learners.dwftrl import DWFTRL
from tarry.learners.idle import Idle
from tarry.learners.norms import Euclidean, Mahalanobis
from tarry.learners.rules import Constant, Power, Rule, Sequence, inverse_time

__all__ = [
    "DWFTBL",
    "DWFTRL",
    "Adaptive",
    "Anytime",
    "Constant",
    "Doubled",
    "Euclidean",
    "Idle",
    "Mahalanobis",
    "Power",
    "Rule",
    "Sequence",
    "inverse_time",
]
