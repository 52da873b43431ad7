"""Which learners of gradients may be given values: those that can be moved to the shrunken set."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.domains import Ball, Box, Shrink, nearest
from tarry.learners import (
    DOGD,
    DOGDSC,
    DWFTBL,
    DWFTRL,
    FPL,
    FTL,
    OGD,
    SOLID,
    Differences,
    Exp3,
    Mahalanobis,
    OnePoint,
    Ridge,
    TwoPoint,
)

DOMAIN = Box([-1.0, 0.0, -2.0], [1.0, 4.0, 2.0])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: OnePoint(OGD, 0.1), "must be a learner of gradients"),
        (lambda: OnePoint(DWFTBL(DOMAIN, 0.1, 0.1), 0.1), "must be a learner of gradients"),
        (lambda: TwoPoint(Exp3(3, rate=0.1), 0.1), "must be a learner of gradients"),
        (lambda: TwoPoint(Ridge(DOMAIN, penalty=1.0), 0.1), "must be a learner of gradients"),
        (lambda: OnePoint(FPL(DOMAIN, spread=1.0), 0.1), "FPL cannot be moved to a smaller domain"),
        (
            lambda: OnePoint(DWFTRL(tarry.domains.Ellipsoid(np.eye(2)), 0.1, norm=Mahalanobis(np.eye(2))), 0.1),
            "DWFTRL cannot be moved to a smaller domain",
        ),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(TypeError, match=sentence):
        make()


ROOM = tarry.domains.Box([2.0, -1.0], [4.0, 5.0])
STALE = [
    tarry.learners.FTRLProximal.tuned(ROOM),
    tarry.learners.AdaFTRL(ROOM),
    tarry.learners.ODFTRL(ROOM, 2.0),
    tarry.learners.SOLO(ROOM),
    tarry.learners.AdaDelay(ROOM, 1.0, 10),
    tarry.learners.Adaptive(ROOM, 1.0),
    tarry.learners.AdaptiveRevision(ROOM, 1.0),
]


@pytest.mark.parametrize("wrapper", [OnePoint, TwoPoint, Differences])
@pytest.mark.parametrize("base", STALE, ids=lambda base: type(base).__name__)
def test_bases_with_sizes_of_the_larger_domain_are_refused(wrapper, base):
    sentence = f"{type(base).__name__} cannot be moved .* DOGDSC, or SOLID, BOLD or Interleaving of these"
    with pytest.raises(TypeError, match=sentence):
        wrapper(base, 0.3)


def test_every_base_that_the_sentence_names_is_moved():
    bases = [OGD(DOMAIN, 0.1), DOGD(DOMAIN, 0.1), DWFTRL(DOMAIN, 0.1), DOGDSC(DOMAIN, 1.0), FTL(DOMAIN, 1.0)]
    for base in bases:
        assert OnePoint(base, 0.25).base.domain == Shrink(DOMAIN, 0.75)
        for reduced in (SOLID(base), tarry.learners.BOLD(base), tarry.learners.Interleaving(base, 2)):
            assert OnePoint(reduced, 0.25).base.base.domain == Shrink(DOMAIN, 0.75)


def test_radii_that_do_not_fit():
    with pytest.raises(ValueError, match="smoothing may not exceed the inner radius 1, got 2"):
        OnePoint(OGD(DOMAIN, rate=0.1), 2.0)
    with pytest.raises(ValueError, match="has inner radius 0 there"):
        TwoPoint(OGD(tarry.domains.Simplex(3), rate=0.1), 0.1)
    assert OnePoint(OGD(DOMAIN, rate=0.1), 1.0).base.domain.factor == 0.0


def test_the_base_starts_where_it_was_told_to_drawn_in():
    learner = OnePoint(OGD(Ball(2), rate=0.1, start=[1.0, 0.0]), 0.25)
    assert learner.base.start.tolist() == [0.75, 0.0]
    assert learner.base.domain == Shrink(Ball(2), 0.75)
    assert np.allclose(nearest(learner.base.domain, [3.0, 0.0]), [0.75, 0.0])
