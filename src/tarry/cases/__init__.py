"""Cases: one's own log of late labels under several policies, and what each makes of a model."""

from tarry.cases.compare import Comparison, Score, Spread, compare, compare_log
from tarry.cases.log import CaseLog, case_log
from tarry.cases.models import MODELS

__all__ = ["MODELS", "CaseLog", "Comparison", "Score", "Spread", "case_log", "compare", "compare_log"]
