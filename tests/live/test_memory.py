"""What a session remembers: tracked rounds for ever, the fates of the last rounds, the caller's ids."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry import Answer
from tarry.live import core
from tarry.live.tracker import RECENT

DOMAIN = tarry.domains.Ball(2)
LEARNER = tarry.learners.DWFTRL(DOMAIN, rate=0.1)
KEEPS = tarry.schedulers.Bernoulli(probability=1.0)  # tracks the first C rounds and holds on to them


def make(scheduler=None, capacity=4, **options):
    return tarry.Session(tarry.Player(LEARNER, scheduler), capacity=capacity, rng=5, **options)


@pytest.mark.parametrize("named", [True, False])
def test_a_tracked_round_outlives_the_memory(named):
    session = make(KEEPS, memory=10)
    ids = [session.ask(id=f"r{i}" if named else None).id for i in range(50)]
    assert [session.fate(id) for id in ids[:4]] == [Answer.PENDING] * 4
    assert [session.tell(id, gradient=[1, 0]).status for id in ids[:4]] == [Answer.USED] * 4
    assert session.status().tracked == 0
    again = session.ask(id="next" if named else None)
    assert again.tracked
    assert session.tell(ids[20], gradient=[1, 0]).status is Answer.LATE
    assert session.fate(ids[20]) is Answer.LATE
    assert session.tell(ids[0], gradient=[1, 0]).status is Answer.LATE


def test_the_edge_of_the_memory():
    session = make(tarry.schedulers.DropNewest(), capacity=1, memory=3)
    for _ in range(5):
        session.ask()
    assert session.tell(2, gradient=[1, 0]).status is Answer.LATE
    assert session.tell(3, gradient=[1, 0]).status is Answer.SATURATED


@pytest.mark.parametrize("store", ["memory:", "sqlite:///{}/a.db"])
@pytest.mark.parametrize("memory", [1, 10, 300])
def test_rounds_are_kept_no_longer_than_their_ids(store, memory, tmp_path):
    """A short memory is short for all of it: no play or ticket outlives the id that it is found by."""
    with tarry.LabelJoin(2, rng=1, memory=memory, store=store.format(tmp_path), durability="process") as join:
        for i in range(40):
            join.decide(id=i)
        vault = join._tracker
        assert {*vault.items} == {*range(max(1, 41 - min(memory, 256)), 41)} | vault.tracked
        last = join.decide(id=39)
        assert (last.id, join.status().rounds) == (39, 40)
        known = join.fate(5) is not Answer.LATE
        assert known == (memory > 35 or 6 in vault.tracked)
        join.decide(id=5)
        assert join.status().rounds == (40 if known else 41)


def test_an_old_preempted_round_does_not_reopen_a_young_one():
    session = make(capacity=4, memory=5)
    for t in range(1, 2001):
        session.ask()
        if t % 3 == 0:
            assert session.tell(t, gradient=[0, 1]).status is not Answer.DUPLICATE
        for s in range(max(1, t - 4), t + 1):
            if s % 3 == 0:
                assert session.tell(s, gradient=[0, 1]).status is Answer.DUPLICATE


def test_a_tracked_round_is_returned_however_long_ago():
    session = make(KEEPS, capacity=1)
    first = session.ask(id="first")
    for i in range(RECENT + 10):
        session.ask(id=i)
    again = session.ask(id="first")
    assert (again.tracked, again.status) == (True, Answer.REPEATED)
    assert np.array_equal(again.play, first.play)
    forgotten = session.ask(id=0)
    assert (forgotten.tracked, forgotten.play, forgotten.status) == (False, None, Answer.LATE)
    assert session.status().answers["late"] == 1
    assert session.status().answers["repeated"] == 1


@pytest.mark.parametrize("store", ["memory:", "sqlite:///{}/a.db"])
def test_a_decision_made_again_is_tracked_as_it_was_at_first(store, tmp_path):
    """Also once it was preempted, used or expired, and when nothing but its fate is kept."""
    join = tarry.LabelJoin(8, rng=4, memory=400, store=store.format(tmp_path), durability="process")
    first = {i: join.decide(id=i).tracked for i in range(100)}
    pending = [i for i in range(100) if join.fate(i) is Answer.PENDING]
    join.label(pending[0], 1.0), join.expire(pending[1])
    fates = {join.fate(i) for i in range(100)}
    assert fates == {Answer.PENDING, Answer.UNTRACKED, Answer.PREEMPTED, Answer.USED, Answer.EXPIRED}
    assert {i: join.decide(id=i).tracked for i in range(100)} == first
    assert join.status().answers["repeated"] == 100
    join.decide_many([None] * RECENT, ids=range(100, 100 + RECENT))
    assert {i: join.decide(id=i).tracked for i in range(100)} == first
    assert join.status().answers["late"] > 50
    assert join.status().rounds == 100 + RECENT
    join.close()


def test_an_old_round_asked_again_has_no_play_but_is_tracked_as_it_was():
    session = make(capacity=2)
    first = {i: session.ask(id=i).tracked for i in range(50)}
    session.ask_many(ids=range(50, 60 + RECENT))
    again = {i: session.ask(id=i) for i in range(50)}
    assert {i: round.tracked for i, round in again.items()} == first
    late = [round for round in again.values() if round.status is Answer.LATE]
    assert len(late) >= 48
    assert all(round.play is None for round in late)


def test_joins_keep_features_of_tracked_decisions_only():
    join = tarry.LabelJoin(3, rng=1)
    for i in range(200):
        join.decide({"i": i}, id=f"d{i}")
        vault = join._tracker
        assert len(vault.tracked) == join.status().tracked <= 3
        assert {t for t, item in vault.items.items() if item.payload is not None} == vault.tracked
        assert all(vault.items[t].payload == {"i": t - 1} for t in vault.tracked)
    some = f"d{next(iter(vault.tracked)) - 1}"
    assert join.decide("other", id=some).tracked
    row = join.label(some, 1.0)
    assert row is not None
    assert row.features == {"i": int(some[1:])}
    assert join.fate(some) is Answer.USED


def test_unlimited_sessions_grow():
    session = make(tarry.schedulers.Always(), capacity=None)
    for _ in range(5 * core.FIRST_SLOTS):
        assert session.ask().tracked
    assert session.status().tracked == 5 * core.FIRST_SLOTS
    for t in range(1, 5 * core.FIRST_SLOTS + 1):
        assert session.tell(t, gradient=[1, 0]) == (Answer.USED, 1.0)


def test_plays_cannot_be_changed_by_the_caller():
    r = make().ask()
    with pytest.raises(ValueError, match="read-only"):
        r.play[0] = 9.0


def test_the_balance_is_checked_while_running(monkeypatch):
    monkeypatch.setattr(core, "CHECKED", 3)
    session = make()
    session.ask(), session.ask()
    monkeypatch.setattr(core, "held", lambda *_: 7.0)
    with pytest.raises(tarry.errors.BrokenInvariant):
        session.ask()


def test_sessions_have_no_end_for_a_sequence():
    with pytest.raises(ValueError, match="a session has no end"):
        tarry.Session(tarry.learners.DWFTRL(DOMAIN, rate=[0.3, 0.2]), capacity=2)


def test_a_failing_function_of_the_users_breaks_the_session_loudly():
    broken = []

    def rate(t):
        if broken:
            raise RuntimeError("mine")
        return 1.0 / t

    session = tarry.Session(tarry.learners.DWFTRL(DOMAIN, rate=rate), capacity=2, rng=1)
    session.ask()
    broken.append(True)
    with pytest.raises(RuntimeError, match="mine"):
        session.ask()
    with pytest.raises(tarry.errors.TarryError, match="cannot be trusted"):
        session.ask()


def test_threads_share_a_join():
    from concurrent.futures import ThreadPoolExecutor

    join = tarry.LabelJoin(16, rng=1)

    def work(name):
        rows = 0
        for i in range(300):
            ticket = join.decide(name, id=f"{name}-{i}")
            row = join.label(ticket.id, 1.0)
            if row is not None:
                assert row.features == name
                rows += 1
        return rows

    with ThreadPoolExecutor(4) as pool:
        rows = sum(pool.map(work, "abcd"))
    status = join.status()
    assert status.rounds == 1200
    assert status.fates["used"] == rows
    assert status.tracked == 0
    assert not join._tracker.tracked
    assert status.balance == pytest.approx(1.0)
    assert status.weights.mean == pytest.approx(1.0)


def test_warnings_tell_of_bias():
    full = make(KEEPS, capacity=1)
    for _ in range(10):
        full.ask()
    assert "found no room" in full.status().warnings[0]
    naive = make(tarry.schedulers.DropOldest(), capacity=1)
    assert "weighs nothing" in naive.status().warnings[0]
    assert make().status().warnings == ()


def test_expiry_counts_for_those_who_count():
    """A reservoir admits with probability C/(pending+1): with every round acknowledged it stays eager."""
    eager, idle = (make(tarry.schedulers.Reservoir(), capacity=1, information="semi-clairvoyant") for _ in range(2))
    entered = [0, 0]
    for t in range(1, 400):
        entered[0] += eager.ask().tracked
        entered[1] += idle.ask().tracked
        if eager.fate(t) is not Answer.PENDING:
            eager.expire(t)
    assert entered[0] > 3 * entered[1]


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda s: s.ask(id=[1]), TypeError, "a string, a whole number or bytes"),
        (lambda s: s.tell(1, gradient="abc"), ValueError, "numbers, got 'abc'"),
        (lambda s: s.tell(1, gradient=[1e200, 0.0]), ValueError, "below 1e100"),
    ],
)
def test_odd_arguments(call, error, sentence):
    session = make()
    session.ask()
    before = session.status()
    with pytest.raises(error, match=sentence):
        call(session)
    assert session.status()[:5] == before[:5]
