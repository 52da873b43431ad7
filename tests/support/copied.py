"""Every kind of base for copies, and games to play them in, copy by copy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import tarry
from tarry.domains import Ball, Box
from tarry.kernel import Purpose, make_key
from tarry.learners import (
    DFTBL,
    DOGD,
    DOGDSC,
    DORM,
    DUB,
    DWFTBL,
    DWFTRL,
    FPL,
    FTL,
    GOLD,
    ODFTRL,
    OGD,
    SOLO,
    AdaDelay,
    AdaFTRL,
    AdaHedgeD,
    Adaptive,
    AdaptiveRevision,
    Differences,
    DORMPlus,
    EntropicFTRL,
    Exp3,
    FTRLProximal,
    OnePoint,
    Ridge,
    TsallisFTRL,
    TwoPoint,
)
from tarry.learners.arms import draw_action
from tarry.learners.base import (
    KeyedDirections,
    absorb,
    advance,
    allocate,
    direction,
    enter,
    points_of,
    predict,
)
from tarry.learners.ftl import noise
from tarry.rates import Power, inverse_time

RNG = np.random.default_rng(71)
HORIZON, K, SEED = 40, 3, 9
ROWS = RNG.normal(size=(HORIZON, K))
DELAYS = tarry.delays.array(RNG.integers(0, 9, HORIZON)).values
WEIGHTS = RNG.exponential(size=HORIZON) + 0.1
BALL, BOX = Ball(K, center=[0.3, 0.0, -0.2]), Box([-1.0, 0.0, -2.0], [1.0, 4.0, 2.0])
BASES = {
    "OGD": OGD(BALL, rate=Power(0.9, 0.5)),
    "DOGD": DOGD(BALL, rate=Power(0.9, 0.5), start=[0.1, 0.0, 0.2]),
    "DOGDSC": DOGDSC(BALL, strong_convexity=0.5),
    "DWFTRL": DWFTRL(BALL, rate=inverse_time(0.8)),
    "FTL": FTL(BALL, strong_convexity=0.8),
    "Adaptive": Adaptive(BALL, gradient_bound=2.0),
    "AdaptiveRevision": AdaptiveRevision(BOX, scale=0.5),
    "AdaDelay": AdaDelay(BALL, gradient_bound=2.0, max_delay=3),
    "SOLO": SOLO(BALL),
    "AdaFTRL": AdaFTRL(BOX),
    "FTRLProximal": FTRLProximal.tuned(BOX),
    "FPL": FPL(BOX, spread=2.0),
    "ODFTRL": ODFTRL(BALL, 2.0, hint="mean"),
    "ODFTRL.entropic": ODFTRL.entropic(K, 2.0, hint="recent"),
    "EntropicFTRL": EntropicFTRL(K, rate=Power(0.8, 0.5)),
    "DORM": DORM(K, hint="previous"),
    "DORMPlus": DORMPlus(K, hint="recent"),
    "AdaHedgeD": AdaHedgeD(K, hint="mean"),
    "DUB": DUB(K),
    "Ridge": Ridge(Ball(K, radius=50.0), penalty=0.5),
    "DWFTBL": DWFTBL(BALL, rate=Power(0.1, 0.5), smoothing=0.3),
    "Exp3": Exp3(K, rate=Power(0.8, 0.5)),
    "TsallisFTRL": TsallisFTRL(K),
    "OnePoint": OnePoint(OGD(BOX, rate=0.02), smoothing=0.4),
    "OnePoint of FTL": OnePoint(FTL(BALL, strong_convexity=0.8), smoothing=0.4),
    "TwoPoint": TwoPoint(DOGD(BALL, rate=Power(0.2, 0.5)), smoothing=0.1),
    "Differences": Differences(DWFTRL(BALL, rate=inverse_time(0.8)), smoothing=0.1),
    "DFTBL": DFTBL(BALL, rate=Power(0.1, 0.5), smoothing=0.4, block=3),
    "GOLD": GOLD(BALL, rate=0.02, smoothing=0.3),
}


class Every(NamedTuple):
    """Draws for rounds ``first``, ``first + stride``, … of a game, as the rounds 1, 2, … of one's own."""

    key: np.uint64
    first: int
    stride: int


@direction.on(Every)
def _direction(source, n, out):
    direction(KeyedDirections(source.key), source.first + (n - 1) * source.stride, out)


@draw_action.on(Every)
def _draw(source, n, weights):
    return draw_action(KeyedDirections(source.key), source.first + (n - 1) * source.stride, weights)


@noise.on(Every)
def _noise(source, i):
    return noise(KeyedDirections(source.key), i)


def losses_for(learner):
    return tarry.losses.LeastSquares(ROWS, np.cos(np.arange(HORIZON))) if learner.feedback == "example" else LOSSES


LOSSES = tarry.losses.Linear(ROWS, ridge=0.5)


def plays(learner, delays=DELAYS, weights=WEIGHTS):
    game = tarry.WeightedGame(
        learner.domain,
        losses_for(learner),
        tarry.delays.array(delays),
        weights,
        feedback=learner.feedback,
        queries=learner.queries,
    )
    return tarry.simulate(game, learner, seeds=[SEED], keep_rounds=True).plays()


def heard(learner, directions, n, t, play):
    """What a learner is told of round t, which is its own n-th."""
    losses = losses_for(learner)
    if learner.feedback == "example":
        return np.array(losses.row(t))
    if learner.feedback == "gradient":
        return np.array(losses.gradient(play, t))
    points = points_of(learner, directions, n, play)
    return np.array([losses.value(point, t) for point in points])


def separate(learner, delay, weights=WEIGHTS):
    """The plays of ``delay`` + 1 learners, each alone on its residue class, hearing at once."""
    found = np.zeros((HORIZON, learner.dimension))
    key = make_key(SEED, Purpose.DIRECTIONS)
    with np.errstate(over="ignore"):
        for residue in range(delay + 1):
            state, play = allocate(learner, 1), np.zeros(learner.dimension)
            directions = Every(key, residue + 1, delay + 1)
            for n, t in enumerate(range(residue + 1, HORIZON + 1, delay + 1), start=1):
                predict(learner, state, directions, n, play)
                found[t - 1] = play
                enter(learner, state, 0, n)
                feedback = heard(learner, directions, n, t, play)
                absorb(learner, state, directions, 0, n, weights[t - 1], feedback)
                advance(learner, state, n, 0)
    return found
