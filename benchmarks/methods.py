"""The round of every method against DW-FTRL's in the same game: k = 10, delays near 100, 64 slots."""

from __future__ import annotations

from functools import partial
from math import inf

import tarry
from benchmarks.measure import Figure, Row, interleave, nanoseconds, ratio
from benchmarks.stage import DIMENSION, Stage
from tests.oracles.methods import METHODS

HOLD = 5.0
HORIZON = 100_000
CAPACITY = 64
DELAY = 100
STATED = ("TsallisFTRL", "DFTBL", "GOLD", "Differences")
"""Only stated: two nested Newton searches a round, pools by block, a pool by age, k + 1 values."""


def _against_dwftrl(name: str, quick: bool) -> Figure:
    horizon = HORIZON // 5 if quick else HORIZON
    method = METHODS[name]
    game = method.sized(DIMENSION, tarry.delays.geometric(horizon=horizon, mean=DELAY, rng=1))
    learner = method.make(game)
    hears = getattr(learner, "needs_acknowledgements", False)
    stages = [
        Stage(tarry.schedulers.VarOpt(), game.losses, game.delays, CAPACITY, hears, one)
        for one in (learner, tarry.learners.DWFTRL(game.domain, 0.01))
    ]
    ours, base = interleave([stage.ready for stage in stages])
    detail = f"{nanoseconds(ours, horizon):.1f} ns a round, DW-FTRL {nanoseconds(base, horizon):.1f} ns"
    return Figure(ratio(ours, base), detail)


ROWS = [
    Row(f"method {name}", inf if name.startswith(STATED) else HOLD, partial(_against_dwftrl, name)) for name in METHODS
]
