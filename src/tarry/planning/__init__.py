"""Planning: how many slots do I need, and what do the theorems promise?"""

from tarry.planning.bounds import Constants, list_bounds
from tarry.planning.plan import Plan, plan
from tarry.planning.policies import POLICIES
from tarry.planning.sources import plan_log, plan_model, read_log

__all__ = ["POLICIES", "Constants", "Plan", "list_bounds", "plan", "plan_log", "plan_model", "read_log"]
