"""What a method promises about its regret, and whether hard games bear it out.

A :class:`Method` says how it is tuned to a game, its own bound where it states constants, and the order of its regret
in the horizon T and the length n of blocks (largest delay n − 1). Yours is checked like ours: one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.game import Record, WeightedGame, simulate
from tarry.game.hard import PATTERNS, RANDOM, alternating, batched, segment

HORIZONS = tuple(2**i for i in range(8, 15))
LENGTHS = tuple(2**i for i in range(2, 8))
LONG = 2**14
FLOOR = 0.01


class Tight(NamedTuple):
    """A game on which the bound is at most three times the regret: + and − by turns, a run of − at the end.

    ``turn`` is for how long a sign lasts, ``length`` that of the blocks of the waits unless it is given.
    """

    horizon: int
    length: int = 1
    run: int = 0
    turn: int = 0
    seeds: int = 1


class Method(NamedTuple):
    """How a method is tuned to a game, and what it then promises.

    ``rate(T, n)`` is the order of its regret, ``bound(game, record)`` its bound (None: it states no constants), and
    ``tight`` the game where that bound could fail. ``stage`` and ``waits`` are those of :mod:`tarry.game.hard`;
    ``attains`` names the pattern on which the order is attained. Horizons and lengths are those for slopes, none
    where the method promises nothing for delays.
    """

    make: Callable[[Any], Any]
    rate: Callable[[float, float], float]
    bound: Callable[[Any, Record], float] | None = None
    tight: Tight | None = None
    stage: Callable[[Any, Any], WeightedGame] = segment
    waits: Callable[[int, int], Any] = batched
    attains: str = "coins"
    length: int = 8
    horizons: Sequence[int] = HORIZONS
    lengths: Sequence[int] = LENGTHS
    long: int = LONG
    seeds: int = 200

    def game(self, pattern: str, horizon: int, length: int, seed: int = 0) -> WeightedGame:
        """A hard game of this size."""
        return self.stage(PATTERNS[pattern](horizon, length, seed), self.waits(horizon, length))

    def hardest(self) -> WeightedGame:
        """The game on which the bound is at most three times the regret."""
        if self.tight is None:
            raise ValueError("this method names no game on which its bound could fail: give tight=Tight(…)")
        tight = self.tight
        signs = alternating(tight.horizon, tight.turn or tight.length, run=tight.run)
        return self.stage(signs, self.waits(tight.horizon, tight.length))


class Slope(NamedTuple):
    """Slopes in log-log: of the regret as measured, and of the order as stated on the same sizes."""

    measured: float
    stated: float

    @property
    def excess(self) -> float:
        """How much steeper the regret is than stated."""
        return self.measured - self.stated


def slope_in_horizon(method: Method, pattern: str) -> Slope:
    """Regret against T, in blocks of the method's length."""
    return _slope(method, pattern, [(horizon, method.length) for horizon in method.horizons])


def slope_in_delay(method: Method, pattern: str) -> Slope:
    """Regret against the length of blocks, at one long horizon."""
    return _slope(method, pattern, [(method.long, length) for length in method.lengths])


def _slope(method: Method, pattern: str, sizes: list[tuple[int, int]]) -> Slope:
    stated = np.array([method.rate(*size) for size in sizes])
    regret = np.array([mean_regret(method, pattern, *size) for size in sizes])
    varied = np.log([max(size) if size[1] == sizes[-1][1] else size[1] for size in sizes])
    return Slope(_fit(varied, np.maximum(regret, FLOOR * stated)), _fit(varied, stated))


def _fit(at: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    return float(np.polyfit(at, np.log(values), 1)[0])


def mean_regret(method: Method, pattern: str, horizon: int, length: int) -> float:
    """The mean over seeds, which draw the player and, where the pattern is random, the game."""
    options = {"bound": False, "checkpoints": 1, "threads": 1}
    if pattern in RANDOM:
        games = simulate(
            None,
            method.make,
            method.seeds,
            games=lambda seed: method.game(pattern, horizon, length, seed),
            **options,  # type: ignore[arg-type]
        )
        return float(games.regret.mean())
    game = method.game(pattern, horizon, length)
    seeds = method.seeds if draws(method.make(game)) else 1
    return float(simulate(game, method.make(game), seeds, **options).regret.mean())  # type: ignore[arg-type]


def draws(learner: Any) -> bool:
    """Whether plays are drawn at random."""
    return learner.feedback == "value" or type(learner).__name__ == "FPL"
