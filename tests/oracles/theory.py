"""Every formula under one name: the library's bounds and tunings, and those that only check others."""

from tarry.theory import *  # noqa: F403
from tarry.theory.arguments import harmonic, rounds
from tarry.theory.calibrate import binomial_tail, poisson_mean
from tarry.theory.tracking import kappa, tracking_cost
from tests.oracles.moments import *  # noqa: F403
from tests.oracles.pathwise import *  # noqa: F403
from tests.oracles.rates import *  # noqa: F403
from tests.oracles.saturation import *  # noqa: F403

__all__ = ["binomial_tail", "harmonic", "kappa", "poisson_mean", "rounds", "tracking_cost"]
