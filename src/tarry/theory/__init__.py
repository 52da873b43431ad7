"""Theory: bounds and tunings as functions of plain numbers, named after the scheduler that they are about.

docs/theory.md says who proved what. Their parts, such as tails of the tracking set, are in the modules of this room.
"""

from tarry.theory.arguments import spread_of
from tarry.theory.bandits import (
    bandit_bound,
    bandit_tuning,
    bernoulli_bandit_bound,
    bernoulli_bandit_tuning,
    one_point_estimate,
    priority_bandit_bound,
    priority_bandit_tuning,
    smoothed,
)
from tarry.theory.calibrate import (
    bernoulli_survival,
    calibrated_probability,
    calibrated_safety,
    morris_epsilon,
    pareto_survival,
    saturation_condition,
    saturation_sums,
)
from tarry.theory.gradients import (
    batching_bound,
    bernoulli_bound,
    convex_rate,
    doubling_bound,
    dynamic_bound,
    morris_bound,
    pareto_bound,
    priority_bound,
    varopt_bound,
)
from tarry.theory.weighted import bandit_weighted_regret_bound, weighted_regret_bound, wrapper_bound
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
    varopt_costs,
)

# Bounds on regret from gradients and from values, then rates and radii, what weights cost, and calibrated schedulers;
# last what the paper states of weighted games, of its wrapper, and of estimates from one value.
__all__ = [
    "bandit_bound",
    "batching_bound",
    "bernoulli_bandit_bound",
    "bernoulli_bound",
    "doubling_bound",
    "dynamic_bound",
    "morris_bound",
    "pareto_bound",
]
__all__ += ["priority_bandit_bound", "priority_bound", "varopt_bound"]
__all__ += [
    "arms_tuning",
    "bandit_tuning",
    "bernoulli_bandit_tuning",
    "convex_rate",
    "experts_tuning",
    "optimised_rate",
]
__all__ += ["priority_bandit_tuning", "spread_of"]
__all__ += [
    "batching_costs",
    "moment_level",
    "moment_limit",
    "morris_costs",
    "pareto_costs",
    "priority_costs",
    "varopt_costs",
]
__all__ += ["calibrated_probability", "calibrated_safety", "morris_epsilon"]
__all__ += ["bandit_weighted_regret_bound", "weighted_regret_bound", "wrapper_bound"]
__all__ += ["bernoulli_survival", "pareto_survival", "saturation_condition", "saturation_sums"]
__all__ += ["one_point_estimate", "smoothed"]
