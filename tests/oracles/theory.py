"""Every formula under one name: the library's bounds and tunings, their parts, and those that only check others."""

from tarry.theory import *  # noqa: F403
from tarry.theory.arguments import harmonic, rounds
from tarry.theory.calibrate import morris_tail, saturation_tails
from tarry.theory.weights import batch_length, kappa
from tests.oracles.moments import *  # noqa: F403
from tests.oracles.pathwise import *  # noqa: F403
from tests.oracles.rates import *  # noqa: F403
from tests.oracles.saturation import *  # noqa: F403

__all__ = [
    "batch_length",
    "harmonic",
    "kappa",
    "morris_tail",
    "rounds",
    "saturation_tails",
]
