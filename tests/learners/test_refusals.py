"""Whatever a constructor cannot use is refused with a sentence that names the parameter, never by NumPy or Python."""

from __future__ import annotations

import inspect
from math import inf, nan

import numpy as np
import pytest

import tarry
from examples import LEARNERS, first_of_each
from tarry.domains import Ball, Box
from tarry.learners import (
    DFTBL,
    DOGD,
    DOGDSC,
    DWFTBL,
    DWFTRL,
    FPL,
    GOLD,
    ODFTRL,
    OGD,
    ONS,
    SOLO,
    AdaFTRL,
    AdaGrad,
    Differences,
    EntropicFTRL,
    Exp3,
    FTRLProximal,
    Mahalanobis,
    OnePoint,
    TwoPoint,
)
from tarry.rates import (
    Anytime,
    BanditRadius,
    BanditRate,
    BestOfBoth,
    Constant,
    DoublingRate,
    Power,
    Rule,
    Sequence,
    inverse_time,
)

BALL, BOX = Ball(2), Box([-1.0, 0.0], [1.0, 2.0])
ROUNDS = {"gradient_bound": 1.0, "horizon": 9}
ONE_VALUE = {"domain": BALL, "value_bound": 1.0, **ROUNDS}
LEVELS = {"spread": 1.0, "level": 1.0}
CROWD = {"spread": 1.0, "capacity": 4, "max_backlog": 3}
SCALE = {"diameter": 2.0, "gradient_bound": 1.0}
BUILDERS_AND_RULES = {
    OGD.falling: {"domain": BALL, "gradient_bound": 1.0},
    OGD.fixed: {"domain": BALL, **ROUNDS},
    OGD.strongly_convex: {"domain": BALL, "strong_convexity": 1.0},
    OGD.langford: {"domain": BALL, "gradient_bound": 1.0, "delay": 3},
    DOGD.tuned: {"domain": BALL, **ROUNDS, "total_delay": 9},
    DOGD.original: {"domain": BALL, **ROUNDS, "total_delay": 9},
    SOLO.original: {"domain": BALL},
    AdaFTRL.original: {"domain": BALL},
    DOGDSC.original: {"domain": BALL, "strong_convexity": 1.0},
    ONS.exp_concave: {"domain": BALL, "exp_concavity": 1.0, "gradient_bound": 1.0},
    AdaGrad.tuned: {"domain": BOX},
    FTRLProximal.tuned: {"domain": BOX},
    FPL.tuned: {"domain": BALL, "size": 1.0, "span": 1.0, "width": 1.0, "horizon": 9, "total_delay": 9},
    ODFTRL.tuned: {"domain": BALL, **ROUNDS, "total_delay": 9},
    ODFTRL.entropic: {"dimension": 3, "strength": 1.0},
    ODFTRL.tuned_entropic: {"dimension": 3, "horizon": 9, "total_delay": 9},
    EntropicFTRL.tuned: {"dimension": 3, "horizon": 9, "total_delay": 9},
    Exp3.tuned: {"dimension": 3, "horizon": 9, "total_delay": 9},
    Exp3.exploring: {"dimension": 3, "horizon": 9, "total_delay": 9},
    DWFTBL.unlimited: {**ONE_VALUE, "total_delay": 5},
    OnePoint.flaxman: ONE_VALUE,
    OnePoint.bistritz: {**ONE_VALUE, "total_delay": 5},
    OnePoint.ryabchenko: {**ONE_VALUE, "total_delay": 5},
    DFTBL.tuned: {**ONE_VALUE, "max_delay": 3},
    DFTBL.strongly_convex: {**ONE_VALUE, "strong_convexity": 1.0},
    GOLD.tuned: {"domain": BALL, "gradient_bound": 1.0, "value_bound": 1.0},
    TwoPoint.agarwal: {"domain": BALL, **ROUNDS},
    TwoPoint.shamir: {"domain": BALL, **ROUNDS},
    TwoPoint.tuned: {"domain": BALL, **ROUNDS, "total_delay": 5},
    TwoPoint.strongly_convex: {"domain": BALL, "strong_convexity": 1.0, "horizon": 9},
    Differences.tuned: {"domain": BALL, **ROUNDS, "total_delay": 5},
    Differences.strongly_convex: {"domain": BALL, "strong_convexity": 1.0, "horizon": 9},
    Constant: {"value": 0.1},
    Sequence: {"values": [0.2, 0.1]},
    Power: {"scale": 1.0, "exponent": 0.5},
    Rule: {"function": lambda t: 1.0 / t},
    inverse_time: {"strong_convexity": 1.0},
    Anytime: SCALE,
    BestOfBoth: {"strong_convexity": 1.0, "gradient_bound": 1.0},
    DoublingRate: SCALE,
    BanditRate: {**SCALE, **LEVELS},
    BanditRadius: {"inner_radius": 1.0, **LEVELS},
    BanditRate.for_backlog: {**SCALE, **CROWD},
    BanditRadius.for_backlog: {"inner_radius": 1.0, **CROWD},
    Mahalanobis: {"matrix": np.eye(2)},
}
# Learners by their first example, in two dimensions: then three numbers are too many.
FIRST = first_of_each(LEARNERS, lambda example: example.make)
CALLS = {make: LEARNERS[name].arguments(2) for make, name in FIRST.items()} | BUILDERS_AND_RULES
BAD = {
    "text": "a",
    "nothing": None,
    "not a number": nan,
    "infinite": inf,
    "negative": -1.0,
    "complex": 1j,
    "too many": [1.0, 2.0, 3.0],
    "texts": ["a", "b"],
    "an object": object(),
    "ragged": [[1.0], [1.0, 2.0]],
    "huge": 10**400,
}
FINE = {
    (Power, "cap", "infinite"),
    (BanditRate.for_backlog, "capacity", "nothing"),
    (BanditRadius.for_backlog, "capacity", "nothing"),
}


def _name(make):
    return getattr(make, "__qualname__", make.__name__)


PARAMETERS = [(make, name) for make in CALLS for name in inspect.signature(make).parameters]


@pytest.mark.parametrize("make", CALLS, ids=_name)
def test_the_rest_of_the_arguments_is_fine(make):
    make(**CALLS[make])


@pytest.mark.parametrize(("make", "name"), PARAMETERS, ids=[f"{_name(make)}-{name}" for make, name in PARAMETERS])
def test_a_sentence_names_what_is_wrong(make, name):
    optional = inspect.signature(make).parameters[name].default is None
    for kind, value in BAD.items():
        if (make, name, kind) not in FINE and not (optional and value is None):
            with pytest.raises((ValueError, TypeError)) as refused:
                make(**{**CALLS[make], name: value})
            assert name in str(refused.value), kind


def test_every_constructor_is_asked():
    made = {make if isinstance(make, type) else getattr(make, "__self__", make) for make in CALLS}
    exported = {*tarry.learners.MEMBERS.values(), *tarry.rates.MEMBERS.values()}
    assert exported - made == {tarry.learners.Idle, tarry.learners.Euclidean}  # which take nothing
    for cls in (made for made in exported if isinstance(made, type)):
        builders = {n for n, f in vars(cls).items() if isinstance(f, classmethod) and n != "complete"}
        assert builders == {make.__name__ for make in CALLS if getattr(make, "__self__", None) is cls}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: OGD(BALL, Anytime(2.0, 1.0)), "whose clock is the number of feedbacks cannot follow the game"),
        (lambda: DFTBL(BALL, Anytime(2.0, 1.0), 0.1, 3), "whose clock is the number of blocks cannot follow the game"),
        (lambda: OnePoint(OGD(BALL, 0.1), 1.5), r"inner radius 1, got 1\.5: cap it with min\(…, 1\), or take a larger"),
        (lambda: FTRLProximal(BOX, [1.0, 2.0, 3.0]), "scale has 3 entries, the domain has 2"),
        (
            lambda: DWFTRL(BALL, 0.1, norm="euclid"),
            r"norm must be Euclidean\(\) or Mahalanobis\(matrix\), got 'euclid'",
        ),
        (lambda: DWFTRL(BALL, 0.1, norm=Mahalanobis), "norm must be Euclidean"),
        (lambda: Power(1.0, 0.5, cap=0), "cap must be positive, got 0"),
        (lambda: Exp3.tuned(0, horizon=9, total_delay=9), "number of actions, must be a whole number of at least 2"),
    ],
)
def test_sentences_say_what_and_the_way_out(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()
