"""Planning: how many slots do I need, and what do the theorems promise?"""

from tarry.planning.bounds import Bound, Constants, list_bounds, trivial_bound
from tarry.planning.logs import Log, plan_log, read_log
from tarry.planning.measure import Backlog, Figures
from tarry.planning.models import MODELS, model_delays, plan_model
from tarry.planning.plan import Plan, plan, second_moment_target
from tarry.planning.policies import POLICIES, Policy

__all__ = [
    "MODELS",
    "POLICIES",
    "Backlog",
    "Bound",
    "Constants",
    "Figures",
    "Log",
    "Plan",
    "Policy",
    "list_bounds",
    "model_delays",
    "plan",
    "plan_log",
    "plan_model",
    "read_log",
    "second_moment_target",
    "trivial_bound",
]
