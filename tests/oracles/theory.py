"""Every formula under one name: the library's bounds and tunings, and those that only check others."""

from tarry.theory import *  # noqa: F403
from tarry.theory.arguments import harmonic, rounds
from tarry.theory.calibrate import binomial_tail, pareto_survival, poisson_mean, saturation_tails
from tarry.theory.tracking import kappa, tracking_cost
from tests.oracles.moments import *  # noqa: F403
from tests.oracles.pathwise import *  # noqa: F403
from tests.oracles.rates import *  # noqa: F403
from tests.oracles.saturation import *  # noqa: F403

__all__ = [
    "binomial_tail",
    "harmonic",
    "kappa",
    "pareto_survival",
    "poisson_mean",
    "rounds",
    "saturation_tails",
    "tracking_cost",
]
