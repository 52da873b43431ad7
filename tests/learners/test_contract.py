"""Every exported learner passes the public contract."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.learners import (
    DORM,
    DUB,
    DWFTBL,
    DWFTRL,
    AdaHedgeD,
    Adaptive,
    Anytime,
    BacklogRadius,
    BacklogRate,
    DORMPlus,
    EntropicFTRL,
    Exp3,
    LevelRadius,
    LevelRate,
    Mahalanobis,
    Power,
    Sequence,
    TsallisFTRL,
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
    "Adaptive": Adaptive(tarry.domains.Box([-1.0, -1.0], [1.0, 2.0]), gradient_bound=1.0),
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
    "Exp3": Exp3(3, rate=Power(0.2, 0.5)),
    "TsallisFTRL": TsallisFTRL(4),
}


@pytest.mark.parametrize("name", MEMBERS)
class TestLearners(LearnerContract):
    @pytest.fixture(autouse=True)
    def _choose(self, name):
        self._learner = MEMBERS[name]

    def learner(self):
        return self._learner


def test_every_exported_learner_is_covered():
    exported = {n for n in tarry.learners.__all__ if hasattr(getattr(tarry.learners, n), "feedback")}
    assert exported - {"Idle"} == {type(member).__name__ for member in MEMBERS.values()}
