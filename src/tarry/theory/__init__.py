"""Theory: bounds and tunings as functions of plain numbers, named after the scheduler that they are about.

docs/theory.md says who proved what. Their parts, such as tails of the tracking set, are in the modules of this room.
"""

from tarry.checks import former_names
from tarry.theory.arguments import spread_of
from tarry.theory.bandits import (
    bandit_bound,
    bandit_tuning,
    bernoulli_bandit_bound,
    bernoulli_bandit_tuning,
    priority_bandit_bound,
    priority_bandit_tuning,
)
from tarry.theory.calibrate import calibrated_probability, calibrated_safety, morris_epsilon
from tarry.theory.gradients import (
    batching_bound,
    bernoulli_bound,
    convex_rate,
    morris_bound,
    pareto_bound,
    priority_bound,
)
from tarry.theory.weights import (
    arms_tuning,
    batching_costs,
    experts_tuning,
    moment_level,
    moment_limit,
    morris_costs,
    optimised_rate,
    pareto_costs,
    priority_costs,
)

__all__ = [
    "arms_tuning",
    "bandit_bound",
    "bandit_tuning",
    "batching_bound",
    "batching_costs",
    "bernoulli_bandit_bound",
    "bernoulli_bandit_tuning",
    "bernoulli_bound",
    "calibrated_probability",
    "calibrated_safety",
    "convex_rate",
    "experts_tuning",
    "moment_level",
    "moment_limit",
    "morris_bound",
    "morris_costs",
    "morris_epsilon",
    "optimised_rate",
    "pareto_bound",
    "pareto_costs",
    "priority_bandit_bound",
    "priority_bandit_tuning",
    "priority_bound",
    "priority_costs",
    "spread_of",
]

RENAMED = {
    "arms_bound": "arms_tuning(…).bound",
    "arms_rate": "arms_tuning(…).rate",
    "bandit_convex_bound": "bernoulli_bandit_bound",
    "bandit_convex_line": "bernoulli_bandit_bound(…, line=True)",
    "bandit_convex_rate": "bernoulli_bandit_tuning(…).rate",
    "bandit_convex_smoothing": "bernoulli_bandit_tuning(…).smoothing",
    "bandit_free_rate": "priority_bandit_tuning(…).rate",
    "bandit_free_smoothing": "priority_bandit_tuning(…).smoothing",
    "bandit_rate": "bandit_tuning(…).rate",
    "bandit_smoothing": "bandit_tuning(…).smoothing",
    "bandit_strongly_convex_bound": "bernoulli_bandit_bound(…, strong_convexity=…)",
    "bandit_strongly_convex_smoothing": "bernoulli_bandit_tuning(…, strong_convexity=…).smoothing",
    "batch_length": "weights.batch_length",
    "batching_convex_bound": "batching_bound",
    "batching_cost": "batching_costs(…).cost",
    "batching_second_moments": "batching_costs(…).second_moments",
    "batching_strongly_convex_bound": "batching_bound(…, strong_convexity=…)",
    "bernoulli_anytime_bound": "bernoulli_bound",
    "convex_bound": "pareto_bound",
    "doubling_bound": "gradients.doubling_bound",
    "energy_offset": "spread_of(…) ** 2 / bandits.energy_probability(…)",
    "energy_probability": "bandits.energy_probability",
    "energy_smoothing": "bandits.energy_smoothing",
    "experts_bound": "experts_tuning(…).bound",
    "experts_rate": "experts_tuning(…).rate",
    "morris_convex_bound": "morris_bound",
    "morris_cost": "morris_costs(…).cost",
    "morris_saturation": "morris_costs(…).saturation",
    "morris_strongly_convex_bound": "morris_bound(…, strong_convexity=…)",
    "morris_tail": "calibrate.morris_tail",
    "pareto_cost": "pareto_costs(…).cost",
    "pareto_second_moments": "pareto_costs(…).second_moments",
    "strongly_convex_bound": "bernoulli_bound(…, strong_convexity=…)",
    "tracking_cost": "priority_costs(…).cost",
    "total_doubling_bound": 'priority_bound(…, rate="restarted") or pareto_bound(…, restarted=True)',
    "tracking_anytime_bound": 'priority_bound(…, rate="anytime")',
    "tracking_bandit_bound": "bandit_bound",
    "tracking_convex_bound": "priority_bound",
    "tracking_free_bandit_bound": "priority_bandit_bound",
    "tracking_strongly_convex_bandit_bound": "bandit_bound(…, strong_convexity=…)",
    "tracking_strongly_convex_bound": "priority_bound(…, strong_convexity=…)",
    "universal_safety": "calibrated_safety",
}
"""Names of the first version, and the form that gives the same number now."""

__getattr__ = former_names(__name__, RENAMED)
