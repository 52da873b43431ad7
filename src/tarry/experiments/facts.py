"""What a game knows about itself, for players that are tuned to it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tarry import theory
from tarry.game import Game


def _spread(game: Game) -> float:
    """νk, from the losses' bounds."""
    return float(
        theory.spread_of(
            value_bound=float(game.losses.value_bound(game.domain)),
            gradient_bound=float(game.losses.gradient_bound(game.domain)),
            inner_radius=game.domain.inner_radius,
            dimension=game.dimension,
        )
    )


FACTS: dict[str, Callable[[Game], Any]] = {
    "domain": lambda game: game.domain,
    "horizon": lambda game: game.horizon,
    "dimension": lambda game: game.dimension,
    "capacity": lambda game: game.capacity,
    "diameter": lambda game: float(game.domain.diameter),
    "inner_radius": lambda game: float(game.domain.inner_radius),
    "outer_radius": lambda game: float(game.domain.outer_radius),
    "gradient_bound": lambda game: float(game.losses.gradient_bound(game.domain)),
    "value_bound": lambda game: float(game.losses.value_bound(game.domain)),
    "strong_convexity": lambda game: float(game.losses.strong_convexity),
    "spread": _spread,
    "total_delay": lambda game: game.delays.summary().total_delay,
    "max_delay": lambda game: game.delays.summary().max_delay,
    "max_backlog": lambda game: game.delays.summary().max_backlog,
    "game": lambda game: game,
    "target": lambda game: game,
}
"""Facts by name; ``game`` and ``target`` are what the ready players call the whole of it."""


def facts_of(game: Game) -> Callable[[str], Any]:
    """The facts of one game, each found once."""

    @functools.cache
    def known(name: str) -> Any:
        if name not in FACTS:
            raise ValueError(f"a game does not tell {name}: give {name} = …")
        return FACTS[name](game)

    return known
