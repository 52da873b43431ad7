"""Every learner's round against DW-FTRL's on the same domain: all rounds tracked, one arrival a round.

Pooled methods (copies of a base) and those that search for their play (Newton's steps) promise no ratio. DW-FTBL draws
its direction twice, when it plays and when the value comes, and that is most of its round.
"""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

import tarry
from benchmarks.measure import Figure, Row, interleave, nanoseconds, ratio
from benchmarks.stage import DIMENSION, Stage, some_rows
from tarry import learners
from tarry.domains import Ball, Box, Simplex

HOLD = 5.0
HORIZON = 50_000
DELAY, CAPACITY = 20, 32

BALL, BOX, SIMPLEX = Ball(DIMENSION), Box(-1.0, [1.0] * DIMENSION), Simplex(DIMENSION)
METHODS: dict[str, tuple[Any, float]] = {
    "ogd": (learners.OGD(BALL, 0.01), HOLD),
    "dogd": (learners.DOGD(BALL, 0.01), HOLD),
    "dogdsc": (learners.DOGDSC(BALL, 0.5), HOLD),
    "solid": (learners.SOLID(learners.DWFTRL(BALL, 0.01)), HOLD),
    "interleaving": (learners.Interleaving(learners.OGD(BALL, 0.01), DELAY), inf),
    "bold": (learners.BOLD(learners.OGD(BALL, 0.01)), inf),
    "revision": (learners.AdaptiveRevision(BALL, 0.1), HOLD),
    "proximal": (learners.FTRLProximal(BOX, 0.1), HOLD),
    "adadelay": (learners.AdaDelay(BALL, 1.0, DELAY), HOLD),
    "solo": (learners.SOLO(BALL), HOLD),
    "adaftrl": (learners.AdaFTRL(BALL), HOLD),
    "odftrl": (learners.ODFTRL(BALL, 100.0, hint="recent"), HOLD),
    "fpl": (learners.FPL(BALL, 10.0), HOLD),
    "adaptive": (learners.Adaptive(BALL, 1.0), HOLD),
    "dwftbl": (learners.DWFTBL(BALL, 0.001, 0.3), HOLD),
    "entropic": (learners.EntropicFTRL(DIMENSION, 0.01), HOLD),
    "odftrl entropic": (learners.ODFTRL.entropic(DIMENSION, 100.0, hint="recent"), HOLD),
    "dorm": (learners.DORM(DIMENSION), HOLD),
    "dorm plus": (learners.DORMPlus(DIMENSION), HOLD),
    "adahedged": (learners.AdaHedgeD(DIMENSION), HOLD),
    "dub": (learners.DUB(DIMENSION), HOLD),
    "exp3": (learners.Exp3(DIMENSION, 0.01), HOLD),
    "tsallis": (learners.TsallisFTRL(DIMENSION), inf),
    "bold exp3": (learners.BOLD(learners.Exp3(DIMENSION, 0.01)), inf),
}


def _against_dwftrl(name: str, quick: bool) -> Figure:
    horizon = HORIZON // 5 if quick else HORIZON
    method = METHODS[name][0]
    losses, delays = tarry.losses.Linear(some_rows(horizon)), tarry.delays.fixed(horizon=horizon, delay=DELAY)
    keep_all = tarry.schedulers.DropNewest()  # there is always room, so it tracks every round
    ours, plain = (
        Stage(keep_all, losses, delays, CAPACITY, method=m) for m in (method, learners.DWFTRL(method.domain, rate=0.01))
    )
    a, b = interleave([ours.ready, plain.ready])
    return Figure(ratio(a, b), f"{nanoseconds(a, horizon):.1f} ns a round, DW-FTRL {nanoseconds(b, horizon):.1f} ns")


ROWS = [Row(f"method {name}", hold, partial(_against_dwftrl, name)) for name, (_, hold) in METHODS.items()]
