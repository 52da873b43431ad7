"""Every exported learner passes the public contract."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.kernel import is_compiled
from tarry.learners import (
    BOLD,
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
    SOLID,
    SOLO,
    AdaDelay,
    AdaFTRL,
    AdaHedgeD,
    Adaptive,
    AdaptiveRevision,
    Anytime,
    BacklogRadius,
    BacklogRate,
    BestOfBoth,
    Differences,
    DORMPlus,
    EntropicFTRL,
    Exp3,
    FTRLProximal,
    Interleaving,
    LevelRadius,
    LevelRate,
    Mahalanobis,
    OnePoint,
    Power,
    Ridge,
    Sequence,
    TsallisFTRL,
    TwoPoint,
    inverse_time,
)
from tarry.testing import LearnerContract

Q = np.array([[2.0, 0.5], [0.5, 1.0]])
MEMBERS = {
    "DWFTRL, constant rate": DWFTRL(tarry.domains.Ball(3), rate=0.3),
    "DWFTRL, falling rate, box": DWFTRL(tarry.domains.Box([-1.0, 0.0], [1.0, 2.0]), rate=inverse_time(0.5)),
    "DWFTRL, sequence, simplex": DWFTRL(tarry.domains.Simplex(4), rate=Sequence(0.5 / np.arange(1, 61))),
    "DWFTRL, Mahalanobis": DWFTRL(tarry.domains.Ellipsoid(Q), rate=0.2, norm=Mahalanobis(Q)),
    "DWFTRL, one dimension": DWFTRL(tarry.domains.Ball(1), rate=0.3),
    "DWFTRL, anytime rate": DWFTRL(tarry.domains.Ball(2), rate=Anytime(2.0, 1.0)),
    "DWFTRL, best of both": DWFTRL(tarry.domains.Ball(2), rate=BestOfBoth(0.5, 1.0, 2.0)),
    "OGD, constant rate": OGD(tarry.domains.Ball(3), rate=0.3),
    "OGD, strongly convex, one dimension": OGD.strongly_convex(tarry.domains.Box([-1.0], [2.0]), 0.5),
    "DOGD, constant rate": DOGD(tarry.domains.Simplex(4), rate=0.3),
    "DOGD, falling rate": DOGD(tarry.domains.Ball(2), rate=Power(1.0, 0.5), start=[0.3, 0.0]),
    "DOGD, anytime rate": DOGD(tarry.domains.Ball(2), rate=Anytime(2.0, 1.0)),
    "DOGDSC": DOGDSC(tarry.domains.Box([-1.0, 0.0], [1.0, 2.0]), strong_convexity=0.5),
    "FTL": FTL(tarry.domains.Box([-1.0, 0.0], [1.0, 2.0]), strong_convexity=0.5),
    "SOLID, descent": SOLID(OGD(tarry.domains.Ball(3), rate=Power(1.0, 0.5))),
    "SOLID, leader": SOLID(DWFTRL(tarry.domains.Ball(2), rate=inverse_time(0.5), start=[0.1, 0.2])),
    "Interleaving, descent": Interleaving(OGD(tarry.domains.Ball(2), rate=0.3), delay=3),
    "Interleaving, leader": Interleaving(DWFTRL(tarry.domains.Simplex(3), rate=inverse_time(0.5)), delay=2),
    "BOLD, descent": BOLD(DOGDSC(tarry.domains.Ball(2), strong_convexity=0.5)),
    "BOLD, leader": BOLD(DWFTRL(tarry.domains.Box([0.5, -1.0], [1.0, 2.0]), rate=Power(1.0, 0.5))),
    "BOLD, plays by slot": BOLD(AdaFTRL(tarry.domains.Simplex(3))),
    "BOLD, blocks": BOLD(DFTBL(tarry.domains.Ball(2), rate=0.02, smoothing=0.4, block=2)),
    "BOLD, two values": BOLD(TwoPoint(OGD(tarry.domains.Ball(2), rate=0.1), smoothing=0.1)),
    "Interleaving, pools": Interleaving(GOLD(tarry.domains.Ball(2), rate=0.02, smoothing=0.3), delay=3),
    "Interleaving, examples": Interleaving(Ridge(tarry.domains.Ball(2, radius=100.0), penalty=0.5), delay=3),
    "SOLID, hedge": SOLID(AdaHedgeD(4)),
    "OnePoint, late quadratics": OnePoint(FTL(tarry.domains.Ball(2), strong_convexity=0.5), smoothing=0.4),
    "BOLD, arms": BOLD(Exp3(3, rate=0.3)),
    "BOLD, hybrid arms": BOLD(TsallisFTRL(3)),
    "BOLD, values": BOLD(DWFTBL(tarry.domains.Ball(1), rate=0.02, smoothing=0.4)),
    "Interleaving, arms": Interleaving(Exp3(3, rate=Power(0.3, 0.5)), delay=2),
    "AdaptiveRevision": AdaptiveRevision(tarry.domains.Box([-1.0, 0.0], [1.0, 2.0]), scale=0.5),
    "AdaDelay": AdaDelay(tarry.domains.Ball(3), gradient_bound=1.0, max_delay=3),
    "SOLO": SOLO(tarry.domains.Simplex(4)),
    "AdaFTRL": AdaFTRL(tarry.domains.Box([-1.0, 0.0], [1.0, 2.0])),
    "AdaFTRL, simplex": AdaFTRL.original(tarry.domains.Simplex(4)),
    "FTRLProximal": FTRLProximal(tarry.domains.Box([-1.0, 0.0], [1.0, 2.0]), 0.5, floor=1.0, ridge=0.3),
    "FTRLProximal, one dimension": FTRLProximal.tuned(tarry.domains.Box([-1.0], [2.0])),
    "FPL, simplex": FPL(tarry.domains.Simplex(4), spread=2.0),
    "FPL, ball": FPL(tarry.domains.Ball(1), spread=2.0),
    "FPL, box": FPL(tarry.domains.Box([-1.0, 0.0], [1.0, 2.0]), spread=2.0),
    "FPL, product": FPL(tarry.domains.Product(tarry.domains.Ellipsoid(Q), tarry.domains.Simplex(2)), spread=2.0),
    "Adaptive": Adaptive(tarry.domains.Box([-1.0, -1.0], [1.0, 2.0]), gradient_bound=1.0),
    "Ridge": Ridge(tarry.domains.Ball(3, radius=100.0), penalty=0.5),
    "DWFTBL, ball": DWFTBL(tarry.domains.Ball(2), rate=0.02, smoothing=0.4),
    "DWFTBL, product": DWFTBL(
        tarry.domains.Product(tarry.domains.Ball(2), tarry.domains.Box([0.0], [3.0])),
        rate=Power(0.05, 0.5),
        smoothing=Power(0.9, 0.25),
    ),
    "DWFTBL, level": DWFTBL(
        tarry.domains.Ball(2), rate=LevelRate(2.0, 1.0, 0.4, 2.0), smoothing=LevelRadius(1.0, 0.4, 2.0)
    ),
    "DWFTBL, backlog": DWFTBL(
        tarry.domains.Ball(2), rate=BacklogRate(2.0, 1.0, 0.4, None, 3), smoothing=BacklogRadius(1.0, 0.4, None, 3)
    ),
    "OnePoint, descent": OnePoint(OGD(tarry.domains.Ball(2), rate=0.02), smoothing=0.4),
    "OnePoint, delayed descent": OnePoint(DOGD(tarry.domains.Box([-1.0, 0.0], [1.0, 4.0]), rate=0.02), smoothing=0.5),
    "OnePoint, reduction": OnePoint(SOLID(DWFTRL(tarry.domains.Ball(1), rate=Power(0.02, 0.5))), smoothing=0.3),
    "OnePoint, copies": OnePoint(BOLD(OGD(tarry.domains.Ball(3), rate=0.02)), smoothing=0.4),
    "TwoPoint, delayed descent": TwoPoint(DOGD(tarry.domains.Ball(3, center=[1.0, 0.0, 2.0]), rate=0.1), smoothing=0.1),
    "TwoPoint, strongly convex": TwoPoint(DOGDSC(tarry.domains.Ball(2), strong_convexity=0.5), smoothing=0.01),
    "Differences, leader": Differences(DWFTRL(tarry.domains.Ball(2), rate=Anytime(2.0, 1.0)), smoothing=0.1),
    "Differences, one dimension": Differences(
        DOGDSC(tarry.domains.Box([-1.0], [2.0]), strong_convexity=0.5), smoothing=0.1
    ),
    "GOLD": GOLD(tarry.domains.Box([-1.0, 0.0], [1.0, 4.0]), rate=Power(0.05, 0.75), smoothing=Power(0.9, 0.25)),
    "GOLD, one dimension": GOLD(tarry.domains.Ball(1), rate=0.02, smoothing=0.3),
    "DFTBL, single rounds": DFTBL(tarry.domains.Ball(1), rate=0.02, smoothing=0.3, block=1),
    "DFTBL, blocks": DFTBL(tarry.domains.Ball(3, center=[1.0, 0.0, 2.0]), rate=0.02, smoothing=0.4, block=4),
    "DFTBL, strongly convex": DFTBL(tarry.domains.Ball(2), rate=Power(0.1, 1.0), smoothing=0.4, block=3),
    "EntropicFTRL, constant rate": EntropicFTRL(4, rate=0.3),
    "EntropicFTRL, anytime rate": EntropicFTRL(3, rate=Anytime(1.5, 1.0)),
    "DORM": DORM(4),
    "DORMPlus": DORMPlus(3),
    "AdaHedgeD": AdaHedgeD(4),
    "DORM, hints": DORM(4, hint="recent"),
    "DORMPlus, hints": DORMPlus(3, hint="recent"),
    "AdaHedgeD, hints": AdaHedgeD(3, hint="recent"),
    "DUB": DUB(3),
    "DUB, hints": DUB(4, hint="recent"),
    "DORM, mean hints": DORM(4, hint="mean"),
    "DORMPlus, previous hints": DORMPlus(3, hint="previous"),
    "ODFTRL": ODFTRL(tarry.domains.Ball(1), 2.0),
    "ODFTRL, hints": ODFTRL(tarry.domains.Box([-1.0, 0.0], [1.0, 2.0]), 2.0, hint="mean"),
    "ODFTRL, entropy": ODFTRL.entropic(4, 2.0, hint="recent"),
    "Exp3": Exp3(3, rate=Power(0.2, 0.5)),
    "Exp3, exploration": Exp3(2, rate=0.2, exploration=0.1),
    "TsallisFTRL": TsallisFTRL(4),
    "TsallisFTRL, tracked": TsallisFTRL(3, counts="tracked"),
}
# Compiled, one of a kind: the rest differ in formulas, or are compiled in tests of their own.
ONCE = (
    *("OGD, strongly", "DOGD, fall", "DOGD, any", "SOLID", "Interleaving, desc", "BOLD, desc", "SOLO", "FPL, b"),
    *("BOLD, hybrid", "BOLD, values", "Interleaving, arms", "AdaFTRL, s", "FTRLProximal, o", "ODFTRL, h", "Exp3, e"),
    *("BOLD, plays", "BOLD, blocks", "BOLD, two", "Interleaving, pools", "Interleaving, ex", "OnePoint, late", "FTL"),
    *("TsallisFTRL, t", "DORM, mean", "DORMPlus, prev"),
    *("GOLD", "DFTBL", "OnePoint, re", "OnePoint, c", "OnePoint, del", "TwoPoint", "Differences"),
)
CHECKED = [name for name in MEMBERS if not (is_compiled() and name.startswith(ONCE))]


@pytest.mark.parametrize("name", CHECKED)
class TestLearners(LearnerContract):
    @pytest.fixture(autouse=True)
    def _choose(self, name):
        self._learner = MEMBERS[name]

    def learner(self):
        return self._learner


def test_every_exported_learner_is_covered():
    exported = {n for n in tarry.learners.__all__ if hasattr(getattr(tarry.learners, n), "feedback")}
    assert exported - {"Idle"} == {type(member).__name__ for member in MEMBERS.values()}
