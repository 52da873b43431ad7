"""Games on which methods do as badly as they may: one or two dimensions or two actions, and a sign for each round.

*Patterns* are the signs, in blocks of ``length`` rounds; *waits* are delays to go with blocks of that length, so that
feedback comes when its block is over; *stages* turn both into a game.

    pattern       signs                                    hard because
    alternating   + and − by turns, then − for the run     every step is wrong, then the way back is long
    coins         a fair coin for each block               nobody can do better than √(T·length) in the mean
    leaning       a coin that falls on + three times in 4  who does not learn loses in every round
    one_way       + always                                 a careful start is dear
    still         0 always                                 whoever is where one should be can only lose
    waves         + and −, four blocks each                what is known points the wrong way half of the time
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarry import delays, domains, losses
from tarry.checks import as_int, as_positive
from tarry.game.problem import WeightedGame

Signs = NDArray[np.float64]


def alternating(horizon: int, length: int, seed: int = 0, *, run: int = 0) -> Signs:
    """+ and − by turns, a block each, and − in the last ``run`` rounds.

    >>> alternating(6, 2, run=1).tolist()
    [1.0, 1.0, -1.0, -1.0, 1.0, -1.0]
    """
    signs = np.where(_blocks(horizon, length) % 2 == 0, 1.0, -1.0)
    signs[horizon - run :] = -1.0
    return signs


def waves(horizon: int, length: int, seed: int = 0) -> Signs:
    """+ for four blocks, − for four."""
    return alternating(horizon, 4 * length)


def one_way(horizon: int, length: int, seed: int = 0) -> Signs:
    """+ always."""
    return np.ones(as_int(horizon, "horizon", 1))


def still(horizon: int, length: int, seed: int = 0) -> Signs:
    """0 always: for :func:`disc`."""
    return np.zeros(as_int(horizon, "horizon", 1))


def coins(horizon: int, length: int, seed: int = 0, *, lean: float = 0.5) -> Signs:
    """A coin for each block, + with probability ``lean``.

    Plays that know nothing of their own block lose nothing in the mean against ±x on [−1, 1], and the best fixed
    action wins the length of the random walk: for lean = ½ the regret is about √(2T·length/π), whoever plays.
    """
    block = _blocks(horizon, length)
    thrown = np.random.default_rng(seed).uniform(size=int(block[-1]) + 1) < as_positive(lean, "lean")
    return np.where(thrown[block], 1.0, -1.0)


def leaning(horizon: int, length: int, seed: int = 0) -> Signs:
    """A coin for each block that falls on + three times in four."""
    return coins(horizon, length, seed, lean=0.75)


PATTERNS: dict[str, Callable[[int, int, int], Signs]] = {
    "alternating": alternating,
    "coins": coins,
    "leaning": leaning,
    "one way": one_way,
    "still": still,
    "waves": waves,
}
RANDOM = ("coins", "leaning")
"""Patterns that depend on the seed."""


def batched(horizon: int, length: int) -> Any:
    """All feedback of a block comes at its end: T + 2·total delay = T·length for whole blocks.

    >>> batched(6, 3).values.tolist()
    [2, 1, 0, 2, 1, 0]
    """
    _blocks(horizon, length)
    return delays.array(length - 1 - np.arange(horizon) % length)


def lagged(horizon: int, length: int) -> Any:
    """Every feedback is length − 1 rounds late, so that of a block comes in the next."""
    _blocks(horizon, length)
    return delays.array(np.full(horizon, length - 1))


def prompt(horizon: int, length: int = 1) -> Any:
    """Nothing is late."""
    return delays.array(np.zeros(horizon, np.int64))


def segment(signs: Signs, waits: Any, *, domain: Any = None) -> WeightedGame:
    """f_t(x) = ±x on [−1, 1], all rounds heard: G = 1 and D = 2. ``domain`` is another form of it, such as a box."""
    return _heard(domains.Ball(1) if domain is None else domain, losses.Linear(signs[:, None]), waits)


def bowl(signs: Signs, waits: Any, *, curvature: float = 0.5) -> WeightedGame:
    """f_t(x) = ±x + (curvature/2)x² on [−1, 1], all rounds heard: G = 1 + curvature.

    With much curvature methods settle early; with little, G is near the slope that they cannot see coming.
    """
    return _heard(domains.Ball(1), losses.Linear(signs[:, None], ridge=as_positive(curvature, "curvature")), waits)


def sides(signs: Signs, waits: Any) -> WeightedGame:
    """Two experts, one loses what the other wins: ±1, all rounds heard."""
    return _heard(domains.Simplex(2), losses.Linear(np.stack((signs, -signs), axis=1)), waits)


def choices(signs: Signs, waits: Any, *, feedback: str = "gradient") -> WeightedGame:
    """Two actions, of which one loses 1 and the other nothing, all rounds heard."""
    rows = np.stack((signs, -signs), axis=1) > 0
    return _heard(domains.Simplex(2), losses.Linear(rows.astype(np.float64)), waits, feedback)


def arms(signs: Signs, waits: Any) -> WeightedGame:
    """:func:`choices` where only the loss of the action played is seen."""
    return choices(signs, waits, feedback="value")


def blind(signs: Signs, waits: Any, *, slope: float = 1.0) -> WeightedGame:
    """f_t(x) = ±slope·x − (1 − slope) on [−1, 1] where only the value is seen: between −1 and 2·slope − 1.

    The fainter the slope, the more of what is seen is noise.
    """
    level = np.full(signs.size, slope - 1.0)
    rows = losses.Linear(as_positive(slope, "slope") * signs[:, None], offsets=level)
    return _heard(domains.Ball(1), rows, waits, "value")


def disc(signs: Signs, waits: Any, *, curvature: float = 0.0, dimension: int = 2) -> WeightedGame:
    """f_t(x) = ±⟨v, x⟩ + (curvature/2)|x|² on the unit disc (or ball), |v| = 1, where only values are seen.

    If the signs are all 0 it is |x| for ±⟨v, x⟩: a step of δ away from the middle then costs δ every time, so exploring
    costs as much as it may.
    """
    rows = np.outer(signs, np.full(dimension, dimension**-0.5))
    kind = losses.Linear if np.any(signs) else losses.Distance
    return _heard(domains.Ball(dimension), kind(rows, ridge=curvature), waits, "value")


def _heard(domain: Any, loss: Any, waits: Any, feedback: str = "gradient") -> WeightedGame:
    return WeightedGame(domain, loss, waits, np.ones(waits.horizon), feedback=feedback)


def _blocks(horizon: int, length: int) -> NDArray[np.int64]:
    """The number of each round's block."""
    return np.arange(as_int(horizon, "horizon", 1)) // as_int(length, "length", 1)
