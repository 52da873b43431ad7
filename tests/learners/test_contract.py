"""Every exported learner passes the public contract."""

from __future__ import annotations

from functools import partial

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
    Differences,
    DORMPlus,
    EntropicFTRL,
    Exp3,
    FTRLProximal,
    Interleaving,
    Mahalanobis,
    OnePoint,
    Ridge,
    TsallisFTRL,
    TwoPoint,
)
from tarry.rates import Anytime, BanditRadius, BanditRate, BestOfBoth, Power, Sequence, inverse_time
from tarry.testing import LearnerContract

Ball, Simplex, Product, Ellipsoid = (
    tarry.domains.Ball,
    tarry.domains.Simplex,
    tarry.domains.Product,
    tarry.domains.Ellipsoid,
)


def box(k):
    """[−1, 1] × [0, 2] × [−1, 1] × …"""
    return tarry.domains.Box(np.arange(k) % 2 - 1.0, np.arange(k) % 2 + 1.0)


def off(k):
    """A ball around (1, 0, 2, 1, 0, 2, …)."""
    return Ball(k, center=np.resize([1.0, 0.0, 2.0], k))


def definite(k):
    return np.eye(k) + 0.5 * np.eye(k, k=1) + 0.5 * np.eye(k, k=-1) + np.diag(np.arange(k) == 0)


def near(k):
    """A point near the middle of a unit ball."""
    return np.resize([0.1, 0.2], k) / k


MEMBERS = {
    "DWFTRL, constant rate": (3, lambda k: DWFTRL(Ball(k), rate=0.3)),
    "DWFTRL, falling rate, box": (2, lambda k: DWFTRL(box(k), rate=inverse_time(0.5))),
    "DWFTRL, sequence, simplex": (4, lambda k: DWFTRL(Simplex(k), rate=Sequence(0.5 / np.arange(1, 61)))),
    "DWFTRL, Mahalanobis": (
        2,
        lambda k: DWFTRL(Ellipsoid(definite(k)), rate=0.2, norm=Mahalanobis(definite(k))),
    ),
    "DWFTRL, one dimension": (1, lambda k: DWFTRL(Ball(k), rate=0.3)),
    "DWFTRL, anytime rate": (2, lambda k: DWFTRL(Ball(k), rate=Anytime(2.0, 1.0))),
    "DWFTRL, best of both": (2, lambda k: DWFTRL(Ball(k), rate=BestOfBoth(0.5, 1.0, 2.0))),
    "OGD, constant rate": (3, lambda k: OGD(Ball(k), rate=0.3)),
    "OGD, strongly convex, one dimension": (1, lambda k: OGD.strongly_convex(box(k), 0.5)),
    "DOGD, constant rate": (4, lambda k: DOGD(Simplex(k), rate=0.3)),
    "DOGD, falling rate": (2, lambda k: DOGD(Ball(k), rate=Power(1.0, 0.5), start=near(k))),
    "DOGD, anytime rate": (2, lambda k: DOGD(Ball(k), rate=Anytime(2.0, 1.0))),
    "DOGDSC": (2, lambda k: DOGDSC(box(k), strong_convexity=0.5)),
    "FTL": (2, lambda k: FTL(box(k), strong_convexity=0.5)),
    "SOLID, descent": (3, lambda k: SOLID(OGD(Ball(k), rate=Power(1.0, 0.5)))),
    "SOLID, leader": (2, lambda k: SOLID(DWFTRL(Ball(k), rate=inverse_time(0.5), start=near(k)))),
    "Interleaving, descent": (2, lambda k: Interleaving(OGD(Ball(k), rate=0.3), delay=3)),
    "Interleaving, leader": (3, lambda k: Interleaving(DWFTRL(Simplex(k), rate=inverse_time(0.5)), delay=2)),
    "BOLD, descent": (2, lambda k: BOLD(DOGDSC(Ball(k), strong_convexity=0.5))),
    "BOLD, leader": (2, lambda k: BOLD(DWFTRL(box(k), rate=Power(1.0, 0.5)))),
    "BOLD, plays by slot": (3, lambda k: BOLD(AdaFTRL(Simplex(k)))),
    "BOLD, blocks": (2, lambda k: BOLD(DFTBL(Ball(k), rate=0.02, smoothing=0.4, block=2))),
    "BOLD, two values": (2, lambda k: BOLD(TwoPoint(OGD(Ball(k), rate=0.1), smoothing=0.1))),
    "Interleaving, pools": (2, lambda k: Interleaving(GOLD(Ball(k), rate=0.02, smoothing=0.3), delay=3)),
    "Interleaving, examples": (2, lambda k: Interleaving(Ridge(Ball(k, radius=100.0), penalty=0.5), delay=3)),
    "SOLID, hedge": (4, lambda k: SOLID(AdaHedgeD(k))),
    "OnePoint, late quadratics": (2, lambda k: OnePoint(FTL(Ball(k), strong_convexity=0.5), smoothing=0.4)),
    "BOLD, arms": (3, lambda k: BOLD(Exp3(k, rate=0.3))),
    "BOLD, hybrid arms": (3, lambda k: BOLD(TsallisFTRL(k))),
    "BOLD, values": (1, lambda k: BOLD(DWFTBL(Ball(k), rate=0.02, smoothing=0.4))),
    "Interleaving, arms": (3, lambda k: Interleaving(Exp3(k, rate=Power(0.3, 0.5)), delay=2)),
    "AdaptiveRevision": (2, lambda k: AdaptiveRevision(box(k), scale=0.5)),
    "AdaDelay": (3, lambda k: AdaDelay(Ball(k), gradient_bound=1.0, max_delay=8)),
    "SOLO": (4, lambda k: SOLO(Ball(k))),
    "AdaFTRL": (2, lambda k: AdaFTRL(box(k))),
    "AdaFTRL, simplex": (4, lambda k: AdaFTRL.original(Simplex(k))),
    "FTRLProximal": (2, lambda k: FTRLProximal(box(k), 0.5, floor=1.0, ridge=0.3)),
    "FTRLProximal, one dimension": (1, lambda k: FTRLProximal.tuned(box(k))),
    "FPL, simplex": (4, lambda k: FPL(Simplex(k), spread=2.0)),
    "FPL, ball": (1, lambda k: FPL(Ball(k), spread=2.0)),
    "FPL, box": (2, lambda k: FPL(box(k), spread=2.0)),
    "FPL, product": (4, lambda k: FPL(Product(Ellipsoid(definite(k - 2)), Simplex(2)), spread=2.0)),
    "Adaptive": (2, lambda k: Adaptive(box(k), gradient_bound=1.0)),
    "Ridge": (3, lambda k: Ridge(Ball(k, radius=100.0), penalty=0.5)),
    "DWFTBL, ball": (2, lambda k: DWFTBL(Ball(k), rate=0.02, smoothing=0.4)),
    "DWFTBL, product": (
        3,
        lambda k: DWFTBL(Product(Ball(k - 1), box(1)), rate=Power(0.05, 0.5), smoothing=Power(0.9, 0.25)),
    ),
    "DWFTBL, level": (
        2,
        lambda k: DWFTBL(Ball(k), rate=BanditRate(2.0, 1.0, 0.4, 2.0), smoothing=BanditRadius(1.0, 0.4, 2.0)),
    ),
    "DWFTBL, backlog": (
        2,
        lambda k: DWFTBL(
            Ball(k),
            rate=BanditRate.for_backlog(2.0, 1.0, 0.4, None, 3),
            smoothing=BanditRadius.for_backlog(1.0, 0.4, None, 3),
        ),
    ),
    "OnePoint, descent": (2, lambda k: OnePoint(OGD(Ball(k), rate=0.02), smoothing=0.4)),
    "OnePoint, delayed descent": (2, lambda k: OnePoint(DOGD(box(k), rate=0.02), smoothing=0.5)),
    "OnePoint, reduction": (1, lambda k: OnePoint(SOLID(DWFTRL(Ball(k), rate=Power(0.02, 0.5))), smoothing=0.3)),
    "OnePoint, copies": (3, lambda k: OnePoint(BOLD(OGD(Ball(k), rate=0.02)), smoothing=0.4)),
    "TwoPoint, delayed descent": (3, lambda k: TwoPoint(DOGD(off(k), rate=0.1), smoothing=0.1)),
    "TwoPoint, strongly convex": (2, lambda k: TwoPoint(DOGDSC(Ball(k), strong_convexity=0.5), smoothing=0.01)),
    "Differences, leader": (2, lambda k: Differences(DWFTRL(Ball(k), rate=Anytime(2.0, 1.0)), smoothing=0.1)),
    "Differences, one dimension": (
        1,
        lambda k: Differences(DOGDSC(box(k), strong_convexity=0.5), smoothing=0.1),
    ),
    "GOLD": (2, lambda k: GOLD(box(k), rate=Power(0.05, 0.75), smoothing=Power(0.9, 0.25))),
    "GOLD, one dimension": (1, lambda k: GOLD(Ball(k), rate=0.02, smoothing=0.3)),
    "DFTBL, single rounds": (1, lambda k: DFTBL(Ball(k), rate=0.02, smoothing=0.3, block=1)),
    "DFTBL, blocks": (3, lambda k: DFTBL(off(k), rate=0.02, smoothing=0.4, block=4)),
    "DFTBL, strongly convex": (2, lambda k: DFTBL(Ball(k), rate=Power(0.1, 1.0), smoothing=0.4, block=3)),
    "EntropicFTRL, constant rate": (4, lambda k: EntropicFTRL(k, rate=0.3)),
    "EntropicFTRL, anytime rate": (3, lambda k: EntropicFTRL(k, rate=Anytime(1.5, 1.0))),
    "DORM": (4, lambda k: DORM(k)),
    "DORMPlus": (3, lambda k: DORMPlus(k)),
    "AdaHedgeD": (4, lambda k: AdaHedgeD(k)),
    "DUB": (3, lambda k: DUB(k)),
    "ODFTRL": (1, lambda k: ODFTRL(Ball(k), 2.0)),
    "ODFTRL, entropy": (4, lambda k: ODFTRL.entropic(k, 2.0)),
    "Exp3": (3, lambda k: Exp3(k, rate=Power(0.2, 0.5))),
    "Exp3, exploration": (2, lambda k: Exp3(k, rate=0.2, exploration=0.1)),
    "TsallisFTRL": (4, lambda k: TsallisFTRL(k)),
    "TsallisFTRL, tracked": (3, lambda k: TsallisFTRL(k, counts="tracked")),
}
HINTED = {
    "DORM": DORM,
    "DORMPlus": DORMPlus,
    "AdaHedgeD": AdaHedgeD,
    "DUB": DUB,
    "ODFTRL": lambda k, hint: ODFTRL(box(k), 2.0, hint=hint),
    "ODFTRL, entropy": lambda k, hint: ODFTRL.entropic(k, 2.0, hint=hint),
}
for _name, _make in HINTED.items():
    for _hint in ("recent", "previous", "mean"):
        MEMBERS[f"{_name}, {_hint} hints"] = (
            3,
            partial(lambda k, make, hint: make(k, hint=hint), make=_make, hint=_hint),
        )

LEAST = {Simplex: 2, Product: 3}
"""Fewer make no choice, or no product of two."""
COSTLY = ("DWFTRL, Maha", "FPL, product", "Ridge", "Interleaving, ex", "Differences", "BOLD, hybrid", "Tsallis")
"""A round costs O(k²), or two nested searches: a hundred dimensions, not a thousand."""
# Compiled, one of a kind: the rest differ in formulas, or are compiled in tests of their own.
ONCE = (
    *("DWFTRL, Maha", "DWFTRL, best", "DWFTBL, backlog", "Interleaving, leader", "BOLD, arms", "BOLD, leader"),
    *("OGD, strongly", "DOGD, fall", "DOGD, any", "SOLID", "Interleaving, desc", "BOLD, desc", "SOLO", "FPL, b"),
    *("BOLD, hybrid", "BOLD, values", "Interleaving, arms", "AdaFTRL, s", "FTRLProximal, o", "Exp3, e"),
    *("BOLD, plays", "BOLD, blocks", "BOLD, two", "Interleaving, pools", "Interleaving, ex", "OnePoint, late", "FTL"),
    *("DORM", "Ridge", "EntropicFTRL, any", "ODFTRL, e", "Adaptive", "DOGDSC", "DWFTBL, product"),
    *("TsallisFTRL, t", "GOLD", "DFTBL", "OnePoint, re", "OnePoint, c", "OnePoint, del", "TwoPoint", "Differences"),
)
AGAIN = "hints"  # another number in a field: the same types, so the same code
CHECKED = [name for name in MEMBERS if not (is_compiled() and (name.startswith(ONCE) or name.endswith(AGAIN)))]


@pytest.mark.parametrize("name", CHECKED)
class TestLearners(LearnerContract):
    @pytest.fixture(autouse=True)
    def _choose(self, name):
        self._name = name
        self._usual, self._make = MEMBERS[name]

    def learner(self):
        return self._make(self._usual)

    def sized(self, dimension):
        if is_compiled():
            return None  # these rounds are not compiled: once will do
        least = LEAST.get(type(self.learner().domain), 1)
        most = 100 if self._name.startswith(COSTLY) else 1000
        return self._make(min(max(dimension, least), most))


def test_every_exported_learner_is_covered():
    exported = {n for n in tarry.learners.__all__ if hasattr(getattr(tarry.learners, n), "feedback")}
    assert exported - {"Idle"} == {type(make(k)).__name__ for k, make in MEMBERS.values()}
