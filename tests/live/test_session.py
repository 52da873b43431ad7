"""Statuses, ids and refusals of a session."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry import Answer

DOMAIN = tarry.domains.Ball(2)
PLAYER = tarry.Player(tarry.learners.DWFTRL(DOMAIN, rate=0.1))


def make(capacity=3, **options):
    return tarry.Session(options.pop("player", PLAYER), capacity=capacity, rng=5, **options)


def test_ids_are_round_numbers_unless_given():
    session = make()
    assert [session.ask().id for _ in range(3)] == [1, 2, 3]
    named = make()
    assert named.ask(id="a").id == "a"
    assert named.tell("a", gradient=[1, 0]).status is Answer.USED


def test_a_repeated_ask_returns_the_same_round():
    session = make()
    first = session.ask(id="a")
    session.ask(id="b")
    again = session.ask(id="a")
    assert (again.id, again.tracked, again.status) == ("a", first.tracked, Answer.REPEATED)
    assert np.array_equal(again.play, first.play)
    assert session.status().rounds == 2


def test_statuses():
    session = make(capacity=None)
    assert session.tell(1, gradient=[1, 0]).status is Answer.UNKNOWN
    session.ask()
    assert session.tell(1, gradient=[1, 0]) == (Answer.USED, 1.0)
    assert session.tell(1, gradient=[1, 0]) == (Answer.DUPLICATE, 0.0)
    assert session.tell("nobody", gradient=[1, 0]).status is Answer.UNKNOWN
    session.ask()
    assert session.expire(2).status is Answer.EXPIRED
    assert session.expire(2).status is Answer.DUPLICATE
    status = session.status()
    assert status.fates["used"] == status.fates["expired"] == 1
    assert status.answers["duplicate"] == 2
    assert status.answers["unknown"] == 2
    assert status.warnings


def test_an_old_id_is_late():
    session = make(memory=2)
    for _ in range(4):
        session.ask()
    assert session.tell(1, gradient=[0, 1]).status is Answer.LATE


def test_released_rounds_are_named_once():
    session = make(capacity=2)
    tracked, released = set(), set()
    for i in range(60):
        a = session.ask(id=f"r{i}")
        assert not released & set(a.released)
        released |= set(a.released)
        tracked -= set(a.released)
        if a.tracked:
            tracked.add(a.id)
        assert len(tracked) == session.status().tracked <= 2
    some = next(iter(released))
    assert session.tell(some, gradient=[1, 0]) == (Answer.PREEMPTED, 0.0)


def test_untracked_rounds_answer_once():
    session = make(capacity=1, player=tarry.Player(PLAYER.learner, tarry.schedulers.DropNewest()))
    session.ask()
    session.ask()
    assert session.tell(2, gradient=[1, 0]) == (Answer.SATURATED, 0.0)
    assert session.tell(2, gradient=[1, 0]).status is Answer.DUPLICATE


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda s: s.tell(1, gradient=[1.0, np.nan]), "finite"),
        (lambda s: s.tell(1, gradient=[1.0, 2.0, 3.0]), "shape"),
        (lambda s: s.tell(1, value=3.0), "gradient"),
        (lambda s: s.tell(1), "gradient"),
        (lambda s: s.ask(delay=3), "takes no delay"),
        (lambda s: s.ask(id="x"), "always or never"),
    ],
)
def test_malformed_calls_change_nothing(call, sentence):
    session, twin = make(), make()
    session.ask(), twin.ask()
    with pytest.raises(ValueError, match=sentence):
        call(session)
    assert session.status()[:5] == twin.status()[:5]
    assert session.tell(1, gradient=[1.0, 0.0]) == twin.tell(1, gradient=[1.0, 0.0])
    assert np.array_equal(session.ask().play, twin.ask().play)


def test_zero_weight_is_an_exact_no_op():
    """Feedback of an untracked round leaves the learner bit-identical."""
    session, twin = make(capacity=1), make(capacity=1)
    rng = np.random.default_rng(0)
    for t in range(1, 60):
        a, b = session.ask(), twin.ask()
        assert np.array_equal(a.play, b.play)
        if not a.tracked:
            assert session.tell(t, gradient=rng.normal(size=2)).weight == 0.0
        elif t % 3 == 0:
            gradient = rng.normal(size=2)
            assert session.tell(t, gradient=gradient) == twin.tell(t, gradient=gradient)


def test_clairvoyant_sessions_need_delays():
    session = make(information="clairvoyant")
    with pytest.raises(ValueError, match="delay"):
        session.ask()
    assert session.ask(delay=4).id == 1


@given(
    st.lists(st.tuples(st.sampled_from(["ask", "tell", "expire"]), st.integers(-1, 40)), min_size=1, max_size=120),
    st.integers(1, 4),
)
def test_any_order_of_calls_keeps_the_books(calls, capacity):
    session = make(capacity=capacity, information="semi-clairvoyant")
    for call, id in calls:
        if call == "ask":
            session.ask()
        elif call == "tell":
            session.tell(id, gradient=[1.0, -1.0])
        else:
            session.expire(id)
        status = session.status()
        assert status.tracked <= capacity
        assert sum(status.fates.values()) == status.rounds
        assert 0 <= status.tracked <= status.pending <= status.rounds
        if status.rounds:
            assert status.balance == pytest.approx(1.0, abs=1e-12)


def test_views():
    session = make()
    session.ask()
    assert "1 rounds" in repr(session)
    assert "<table>" in session._repr_html_()


def test_stores_that_are_not():
    with pytest.raises(ValueError, match="store must be 'memory:'"):
        make(store="mysql://x")
