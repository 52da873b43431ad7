"""Planning: how many slots do I need, and what do the theorems promise?"""

from tarry.checks import former_names
from tarry.planning.bounds import Constants, list_bounds
from tarry.planning.plan import Plan, plan
from tarry.planning.policies import POLICIES
from tarry.planning.sources import plan_log, plan_model, read_log

__all__ = ["POLICIES", "Constants", "Plan", "list_bounds", "plan", "plan_log", "plan_model", "read_log"]

RENAMED = {
    "MODELS": "sources.MODELS",
    "Backlog": "measure.Backlog",
    "Bound": "bounds.Bound",
    "Figures": "measure.Figures",
    "Log": "sources.Log",
    "Policy": "policies.Policy",
    "model_delays": "sources.model_delays",
    "second_moment_target": "plan(…, max_second_moment=…)",
    "trivial_bound": "Constants(…).trivial_bound",
}
"""Names of the first version, and where they are now."""

__getattr__ = former_names(__name__, RENAMED)
