"""A small game of a member, compiled: what contracts play once, beside their checks in plain Python.

A verb that Python runs may still allocate, use a Python object or return what compiled code cannot; ``simulate`` plays
short games in Python, so that only a long one would tell. Under ``NUMBA_DISABLE_JIT=1`` nothing is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarry.delays import fixed
from tarry.domains import Ball
from tarry.game import Game
from tarry.game.record import Record
from tarry.game.simulate import Match, play_match
from tarry.learners import OGD
from tarry.losses import Linear

ROUNDS = 40
SEEDS = (0, 1)
RATE = 0.01
# Compiled arithmetic may differ in the last digits, which a member of one's own may magnify.
TOLERANCE = 1e-6


def rows_of(horizon: int, dimension: int) -> NDArray[np.float64]:
    """Return rows of linear losses, of norm 1 and the same each time."""
    drawn = np.random.default_rng(11).normal(size=(horizon, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def check_compiled(game: Any, player: Any) -> Record:
    """Play a game compiled, check that Python plays the same one, and return what came of it.

    Raise MemberError, with the member and the verb, for a verb that does not compile.
    """
    match = Match(game, player, SEEDS, comparator=None, bound=False)
    compiled, plain = play_match(match), play_match(match, is_short=True)
    assert np.array_equal(compiled.fates, plain.fates), "compiled, other rounds are tracked than in Python"
    pairs = [(compiled.loss, plain.loss), (compiled.last_plays, plain.last_plays)]
    for compiled_value, other in [*pairs, (compiled.weights.mean, plain.weights.mean)]:
        np.testing.assert_allclose(
            compiled_value, other, rtol=TOLERANCE, atol=TOLERANCE, err_msg="compiled it plays otherwise"
        )
    return compiled


def check_compiled_world(*, domain: Any = None, losses: Any = None, delays: Any = None) -> Record:
    """Do so for a part of the world, played by projected descent with four slots; what is left out is plain."""
    dimension = losses.dimension if losses is not None else 2
    domain = Ball(dimension) if domain is None else domain
    if delays is None:
        horizon = None if losses is None else losses.horizon  # those that are functions have no last round
        delays = fixed(horizon=horizon or ROUNDS, delay=3)
    if losses is None:
        losses = Linear(rows_of(delays.horizon, domain.dimension))
    return check_compiled(Game(domain, losses, delays, capacity=4), OGD(domain, RATE))
