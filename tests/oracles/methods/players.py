"""Players of which the scheduler is a part: finitely many actions under capacity, and rounds given up."""

from __future__ import annotations

from functools import partial
from math import log, sqrt
from typing import Any

from tarry import theory
from tarry.game import Game
from tarry.learners import TsallisFTRL
from tarry.players import finite_actions
from tarry.schedulers import Skipping
from tarry.tracking import Player
from tests.oracles.hard import Signs, arms, lagged, sides
from tests.oracles.methods.stated import root
from tests.oracles.promises import Method, Tight

CAPACITY = 4
BRIEF: dict[str, Any] = {
    "patterns": ("one way",),
    "horizons": (2**8, 2**10, 2**12),
    "lengths": (4, 16, 64),
    "long": 2**12,
    "seeds": 2,
}
"""For means over short games, where the way from even weights to one action costs its whole order."""


def limited(signs: Signs, waits: Any, *, feedback: str = "gradient", capacity: int | None = CAPACITY) -> Any:
    """Experts (:func:`sides`) or arms (:func:`arms`) of whom at most ``capacity`` rounds are tracked."""
    whole = (sides if feedback == "gradient" else arms)(signs, waits)
    return Game(whole.domain, whole.losses, waits, feedback=feedback, capacity=capacity)


def _sizes(game: Any) -> dict[str, Any]:
    waits, size = game.delays, {"horizon": game.horizon, "capacity": game.capacity}
    return {**size, "total_delay": waits.total_delay, "max_delay": waits.max_delay}


def of_batched_experts(game: Any, record: Any) -> float:
    """2√(ln K·cost), the cost that of batches at a fixed delay."""
    costs = theory.batching_costs(**_sizes(game), is_fixed=True)
    return theory.experts_tuning(actions=game.dimension, cost=costs.cost).bound


def of_batched_arms(game: Any, record: Any) -> float:
    """2√(ln K·(K·b·T + d)), b the length of batches."""
    second = theory.batching_costs(**_sizes(game)).second_moments
    return theory.arms_tuning(actions=game.dimension, second_moments=second, total_delay=game.delays.total_delay).bound


def of_skipping(game: Any, record: Any) -> float:
    """4√(KT) + (√8 + 2)√(d ln K), the bound where no round is left out."""
    late = sqrt(game.delays.total_delay * log(game.dimension))
    return 4 * sqrt(game.dimension * game.horizon) + (sqrt(8) + 2) * late


PLAYERS: dict[str, Method] = {
    "finite_actions, experts": Method(
        finite_actions,
        root,
        of_batched_experts,
        Tight(1024, length=8, run=1024, seeds=10),
        stage=limited,
        waits=lagged,
        **BRIEF,
    ),
    "finite_actions, arms": Method(
        finite_actions,
        root,
        of_batched_arms,
        Tight(1024, length=8, run=1024, seeds=10),
        stage=partial(limited, feedback="value"),
        waits=lagged,
        **BRIEF,
    ),
    # No slopes: on coins, where TsallisFTRL's order is attained, they are the game's and not the player's.
    "Skipping, TsallisFTRL": Method(
        lambda game: Player(TsallisFTRL(game.dimension, counts="tracked"), Skipping(game.dimension)),
        root,
        of_skipping,
        stage=partial(limited, feedback="value", capacity=None),
        horizons=(),
        lengths=(),
    ),
}
