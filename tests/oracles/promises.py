"""What a method promises about its regret, and whether hard games bear it out.

A :class:`Method` says how it is tuned to a game, its own bound where it states constants, and the order of its regret
in the horizon T and the length n of blocks (largest delay n − 1). Yours is checked like ours: one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.domains import Ball, Box, Simplex
from tarry.game import Record, WeightedGame, simulate
from tarry.losses import Linear
from tarry.tracking import Player
from tests.oracles.hard import PATTERNS, RANDOM, alternating, batched, segment

HORIZONS = (2**12, 2**14, 2**16, 2**18)
LENGTHS = (4, 16, 64, 256)
LONG = 2**18
FLOOR = 0.1
"""A regret below this share of its order is made of lower terms: it is no sign of a steeper order, nor of this one."""


class Tight(NamedTuple):
    """A game on which the bound is at most three times the regret: + and − by turns, a run of − at the end.

    ``turn`` is for how long a sign lasts, a block of the waits unless it is given; so is ``stage`` the method's.
    """

    horizon: int
    length: int = 1
    run: int = 0
    turn: int = 0
    seeds: int = 1
    stage: Callable[[Any, Any], WeightedGame] | None = None


class Method(NamedTuple):
    """How a method is tuned to a game, and what it then promises.

    ``rate(T, n)`` is the order of its regret, ``bound(game, record)`` its bound (None: it states no constants), and
    ``tight`` the game where that bound could fail. ``stage``, ``waits`` and ``patterns`` are those of
    :mod:`tests.oracles.hard`; on the first pattern the order is attained. Slopes are taken over ``horizons`` at this
    ``length``, and over ``lengths`` at the horizon ``long`` (``late``: on these patterns, where they are others): none
    where the method promises nothing. Games of values grant as many a round as the method asks for.

    ``bound(game, record)`` is on the regret (the mean over seeds, where plays are drawn) of the player ``make(game)``,
    every round heard with weight 1 or as the stage says, and for **games of its own kind only**: those of its ``stage``
    and ``waits``, or what docs/howto/regret.md says of it ("Check a bound"). ``prompt`` waits mean nothing
    late (OGD, SOLO, AdaFTRL), ``lagged`` ones one fixed delay (langford, Interleaving), and FPL's constants are those
    of ``choices``. It does not check: for other games the number is no bound.

    >>> from tarry.game import simulate
    >>> from tests.oracles.methods import METHODS
    >>> method = METHODS["OGD.fixed"]
    >>> game = method.game("alternating", 64, 1)
    >>> record = simulate(game, method.make(game))
    >>> float(record.regret[0].round(2)), method.bound(game, record)
    (8.0, 16.0)
    """

    make: Callable[[Any], Any]
    rate: Callable[[float, float], float]
    bound: Callable[[Any, Record], float] | None = None
    tight: Tight | None = None
    stage: Callable[[Any, Any], WeightedGame] = segment
    waits: Callable[[int, int], Any] = batched
    patterns: Sequence[str] = ("alternating", "one way", "waves")
    late: Sequence[str] = ()
    length: int = 8
    horizons: Sequence[int] = HORIZONS
    lengths: Sequence[int] = LENGTHS
    long: int = LONG
    seeds: int = 1

    def game(self, pattern: str, horizon: int, length: int, seed: int = 0) -> WeightedGame:
        """A hard game of this size."""
        return self.granted(self.stage(PATTERNS[pattern](horizon, length, seed), self.waits(horizon, length)))

    def granted(self, game: WeightedGame) -> WeightedGame:
        """The game with as many values a round as the method asks for there."""
        made = self.make(game)
        queries = (made.learner if isinstance(made, Player) else made).queries
        return game if queries == 1 else replace(game, queries=queries)

    def hardest(self) -> WeightedGame:
        """The game on which the bound is at most three times the regret."""
        if self.tight is None:
            raise ValueError("this method names no game on which its bound could fail: give tight=Tight(…)")
        tight = self.tight
        signs = alternating(tight.horizon, tight.turn or tight.length, run=tight.run)
        return self.granted((tight.stage or self.stage)(signs, self.waits(tight.horizon, tight.length)))

    @property
    def least_dimension(self) -> int:
        """The smallest dimension it plays in: two actions, or a line."""
        return 2 if isinstance(self._example.domain, Simplex) else 1

    def sized(self, dimension: int, waits: Any, seed: int = 1) -> WeightedGame:
        """A game of its kind in this dimension, with random losses: for contracts and speed, not for bounds."""
        like, rng = self._example, np.random.default_rng(seed)
        domain: Any
        if isinstance(like.domain, Simplex):
            domain, rows = Simplex(dimension), rng.uniform(size=(waits.horizon, dimension))
        else:
            domain = Box(-np.ones(dimension), 1.0) if isinstance(like.domain, Box) else Ball(dimension)
            rows = rng.normal(size=(waits.horizon, dimension))
            rows /= np.linalg.norm(rows, axis=1)[:, None]
        losses = Linear(rows, ridge=like.losses.ridge)
        return self.granted(WeightedGame(domain, losses, waits, np.ones(waits.horizon), feedback=like.feedback))

    @property
    def rounds(self) -> int:
        """How many rounds it takes to measure the slopes."""
        late = len(self.late or self.patterns) * len(self.lengths) * self.long
        return self.seeds * (len(self.patterns) * sum(self.horizons) + late)

    @property
    def _example(self) -> WeightedGame:
        return self.stage(PATTERNS[self.patterns[0]](2, 1, 0), self.waits(2, 1))


class Slope(NamedTuple):
    """Slopes in log-log: of the regret as measured, and of the order as stated on the same sizes.

    Where a regret is below a tenth of its order, that tenth is measured. ``share`` is the least regret over its order,
    so that an order is attained only where this is above a tenth.
    """

    measured: float
    stated: float
    share: float

    @property
    def excess(self) -> float:
        """How much steeper the regret is than stated."""
        return self.measured - self.stated

    @property
    def is_attained(self) -> bool:
        """Whether there is a regret of this order, and no flatter one."""
        return self.share > FLOOR and self.excess >= -0.1


def slope_in_horizon(method: Method, pattern: str) -> Slope:
    """Regret against T, in blocks of the method's length."""
    return _slope(method, pattern, method.horizons, [(horizon, method.length) for horizon in method.horizons])


def slope_in_delay(method: Method, pattern: str) -> Slope:
    """Regret against the length of blocks, at one long horizon."""
    return _slope(method, pattern, method.lengths, [(method.long, length) for length in method.lengths])


def _slope(method: Method, pattern: str, at: Sequence[int], sizes: list[tuple[int, int]]) -> Slope:
    stated = np.array([method.rate(*size) for size in sizes])
    regret = np.array([mean_regret(method, pattern, *size) for size in sizes])
    return Slope(_fit(at, np.maximum(regret, FLOOR * stated)), _fit(at, stated), float(np.min(regret / stated)))


def _fit(at: Sequence[int], values: NDArray[np.float64]) -> float:
    return float(np.polyfit(np.log(at), np.log(values), 1)[0])


def mean_regret(method: Method, pattern: str, horizon: int, length: int) -> float:
    """The mean over the method's seeds, which draw the player and, where the pattern is random, the game."""
    if pattern in RANDOM:
        return float(
            simulate(
                None,
                method.make,
                method.seeds,
                games=lambda seed: method.game(pattern, horizon, length, seed),
                bound=False,
                checkpoints=1,
            ).regret.mean()
        )
    game = method.game(pattern, horizon, length)
    return float(simulate(game, method.make(game), method.seeds, bound=False, checkpoints=1).regret.mean())
