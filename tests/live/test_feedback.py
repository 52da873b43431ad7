"""Feedback that is malformed is refused, whatever is known of its round, and changes nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest

import tarry

PLAYER = tarry.Player(tarry.learners.DWFTRL(tarry.domains.Ball(2), rate=0.5))
MALFORMED = [
    [nan, 0],
    [0, -inf],
    [1e100, 0],
    [10**400, 0],
    [Decimal("NaN"), 0],
    [None, 0],
    ["1", "2"],
    np.array(["1", "2"], object),
    [1j, 0],
    [np.complex64(1), Fraction(1, 2)],
    np.array([1 + 2j, 3]),
    np.ma.array([1.0, 2.0], mask=[0, 1]),
    np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
    np.array([1, 2], "m8[s]"),
    [[1], [2, 3]],
    {"a": 1},
    b"ab",
]


@pytest.mark.parametrize("bad", MALFORMED, ids=repr)
@pytest.mark.parametrize("id", ["tracked", "used", "unknown"])
@pytest.mark.filterwarnings("error")
def test_malformed_feedback_raises_and_changes_nothing(bad, id):
    session = tarry.Session(PLAYER, capacity=4, rng=1)
    session.ask_many(ids=["used", "tracked"])
    session.tell("used", gradient=[0.0, 1.0])
    before = repr(session.export())
    with pytest.raises(ValueError, match=r"gradient must be numbers|gradient has shape|must be finite and below 1e100"):
        session.tell(id, gradient=bad)
    with pytest.raises(ValueError, match=r"gradients must be numbers|gradients has shape|finite and below 1e100"):
        session.tell_many([id, "tracked"], gradients=[bad, [0.0, 0.0]])
    assert repr(session.export()) == before
    assert session.tell("tracked", gradient=[1, 2]).status is tarry.Answer.USED


@pytest.mark.parametrize(
    "good",
    [
        [1, 2],
        (1.0, np.float32(2)),
        np.array([1, 2], ">f8"),
        np.array([1, 2], np.int8),
        [Fraction(1), 2],
        [True, Fraction(4, 2)],
        [Decimal(1), Decimal(2)],
        np.ma.array([1.0, 2.0]),
        np.asfortranarray([[1.0, 2.0]])[0],
        np.array([1, 2], np.longdouble),
    ],
    ids=repr,
)
def test_numbers_of_every_kind_are_taken(good):
    session = tarry.Session(PLAYER, capacity=4, rng=1)
    session.ask_many(2)
    session.tell(1, gradient=good)
    session.tell_many([2], gradients=[good])
    assert session.ask().play.tolist() == pytest.approx((-np.array([1, 2]) / np.sqrt(5)).tolist())


def test_what_is_given_is_not_changed_and_may_change():
    session = tarry.Session(PLAYER, capacity=4, rng=1)
    session.ask()
    given = np.array([0.5, 0.0])
    session.tell(1, gradient=given)
    given[:] = 9
    assert session.ask().play.tolist() == [-0.25, 0.0]
