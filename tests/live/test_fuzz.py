"""Any stream of calls, with any ids, payloads and feedback: the books stay right, and one model serves two stores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scenario import PLAYER

import tarry
from tarry import Answer
from tarry.live import tracker

CAPACITY, RECENT, MEMORY = 3, 5, 12
NASTY = [
    "'; DROP TABLE tarry_journal; --",
    '"',
    "%s",
    "?1",
    "../../etc/passwd",
    "=1+1",
    "@SUM(A1)",
    "\x00",
    "a\x00b",
    "🦊",
    "\udc80",
    "x" * 100_000,
    "",
    " ",
    "é",
    "e\u0301",
    "1",
    1,
    0,
    -1,
    2**63,
    -(2**64),
    10**300,
    b"",
    b"1",
    b"\xff\x00",
    np.int64(7),
    "NaN",
    "null",
    '{"bytes": "MQ=="}',
]
BAD_IDS = [1.0, True, [1], (1, 2), {"bytes": "MQ=="}, float("nan"), object(), 10**5000]
FEEDBACK = [[1.0, -2.0], [0.0, 0.0], np.array([1e50, 1.0]), [1, 2]]
BAD_FEEDBACK = [
    *([np.nan, 0.0], [np.inf, 0.0], [1e101, 0.0], [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], "ab", None, {}, [1j, 0], []),
]
PAYLOADS = [None, 0, "x", {"a": [1, None, 0.1, "ü\x00\udc80"]}, b"\x00\xff", "y" * 1_000_000, [], True, -0.0, 1e-320]
BAD_PAYLOADS = [object(), {1, 2}, {"a": np.array([{}])}, {(1, frozenset()): 3}]

some_id = st.sampled_from(NASTY)
calls = st.one_of(
    st.tuples(st.just("ask"), some_id),
    st.tuples(st.just("ask"), some_id),
    st.tuples(st.just("ask"), st.sampled_from(BAD_IDS)),
    st.tuples(st.just("ask_many"), st.lists(st.sampled_from([*NASTY, *NASTY, *BAD_IDS]), max_size=6)),
    st.tuples(st.just("tell"), some_id, st.sampled_from([*FEEDBACK, *FEEDBACK, *BAD_FEEDBACK])),
    st.tuples(st.just("tell_many"), st.lists(st.sampled_from([*NASTY, *NASTY, *BAD_IDS]), max_size=4)),
    st.tuples(st.just("tell_bad"), st.lists(some_id, max_size=4), st.sampled_from(BAD_FEEDBACK)),
    st.tuples(st.just("expire"), some_id),
    st.tuples(st.just("expire_many"), st.lists(st.sampled_from([*NASTY, *BAD_IDS]), max_size=4)),
    st.tuples(st.just("fate"), some_id),
)
join_calls = st.one_of(
    st.tuples(st.just("decide"), some_id, st.sampled_from([*PAYLOADS, *PAYLOADS])),
    st.tuples(st.just("decide_many"), st.lists(some_id, max_size=5), st.sampled_from(PAYLOADS)),
    st.tuples(st.just("label"), some_id, st.sampled_from([0, 1.5, True, "yes", None, 10**400, np.float64(0.1)])),
    st.tuples(st.just("label_many"), st.lists(st.sampled_from([*NASTY, *BAD_IDS]), max_size=4)),
    st.tuples(st.just("finish"), some_id),
    st.tuples(st.just("expire"), some_id),
)


def answered(session, call, *arguments):
    """A call's answer, or the kind of error, as text."""
    try:
        return repr(_call(session, call, *arguments))
    except (ValueError, TypeError) as error:
        return type(error).__name__


def _call(session, call, *arguments):
    match call, arguments:
        case "ask_many" | "expire_many", (ids,):
            return getattr(session, call)(ids=ids)
        case "tell", (id, feedback):
            return session.tell(id, gradient=feedback)
        case "tell_many", (ids,):
            return session.tell_many(ids, gradients=np.ones((len(ids), 2)))
        case "tell_bad", (ids, feedback):
            return session.tell_many(ids, gradients=[feedback for _ in ids])
        case "decide", (id, payload):
            return session.decide(payload, id)
        case "decide_many", (ids, payload):
            return session.decide_many([payload for _ in ids], ids=ids)
        case "label_many", (ids,):
            return session.label_many(ids, range(len(ids)))
    return getattr(session, call)(*arguments)


def check_books(session):
    status, tracked = session.status(), session._tracker.tracked
    assert status.tracked == len(tracked) <= CAPACITY
    assert sum(status.fates.values()) == status.rounds
    assert 0 <= status.tracked <= status.pending <= status.rounds
    assert not status.rounds or status.balance == pytest.approx(1.0, abs=1e-9)
    items = session._tracker.items
    assert {t for t, item in items.items() if item.payload is not None} <= tracked
    assert {*items} == tracked | set(range(max(1, status.rounds - RECENT + 1), status.rounds + 1))


@pytest.fixture(autouse=True, scope="module")
def small():
    """Little is kept, so that streams of some calls forget and come round."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracker, "RECENT", RECENT)
        yield


def compare(stream, make, store, reopen):
    """The same stream to a session in memory and one in a file, closed and opened again now and then."""
    ours, stored = make("memory:"), make(store)
    for i, call in enumerate(stream):
        assert answered(ours, *call) == answered(stored, *call)
        check_books(ours)
        check_books(stored)
        assert repr(ours.status()) == repr(stored.status())
        if i % 7 == 6:
            stored.close()
            stored = reopen(store)
    stored.close()


few = settings(suppress_health_check=list(HealthCheck))


@given(st.lists(calls, min_size=5, max_size=40))
@few
def test_sessions(tmp_path_factory, stream):
    store = f"sqlite:///{tmp_path_factory.mktemp('fuzz')}/a.db"

    def make(store):
        return tarry.Session(PLAYER, capacity=CAPACITY, rng=1, memory=MEMORY, store=store, durability="process")

    compare(stream, make, store, lambda store: tarry.Session.open(store, durability="process"))


@given(st.lists(join_calls, min_size=5, max_size=40), st.sampled_from(["first", "last", "all", "sum"]))
@few
def test_joins(tmp_path_factory, stream, labels):
    store = f"sqlite:///{tmp_path_factory.mktemp('fuzz')}/a.db"

    def make(store):
        return tarry.LabelJoin(CAPACITY, rng=1, memory=MEMORY, labels=labels, store=store, durability="process")

    compare(stream, make, store, lambda store: tarry.LabelJoin.open(store, durability="process"))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_every_nasty_id_is_itself(kind, new_store):
    """All of them at once, in both stores: each is found again, also by another process, and none is another."""
    store = new_store(kind)
    with tarry.LabelJoin(len(NASTY), rng=1, store=store) as join:
        for i, id in enumerate(NASTY):
            assert join.decide({"number": i}, id).tracked
    with tarry.LabelJoin.open(store) as join:
        for i, id in reversed(list(enumerate(NASTY))):
            assert join.decide("other", id).id == id
            assert join.label(id, i).features == {"number": i}
            assert join.label(id, i) is None
        assert join.status().fates["used"] == len(NASTY)


@pytest.mark.parametrize("payload", BAD_PAYLOADS)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_payloads_that_cannot_be_stored_change_nothing(kind, payload, new_store):
    with tarry.LabelJoin(2, rng=1, store=new_store(kind), labels="all") as join:
        join.decide("good", "a")
        before = repr(join.status())
        for attempt in (lambda: join.decide(payload, "b"), lambda: join.decide_many(["good", payload], ids=["c", "d"])):
            with pytest.raises(ValueError, match="a durable store takes JSON values, "):
                attempt()
            assert repr(join.status()) == before
        with pytest.raises(ValueError, match="a durable store takes JSON values, "):
            join.label("a", payload)
        assert repr(join.status()) == before
        join.label("a", np.int64(3))
        assert join.finish("a").label == [3]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_huge_payloads(kind, new_store):
    store = new_store(kind)
    large = np.random.default_rng(0).bytes(4_000_000)
    with tarry.LabelJoin(2, rng=1, store=store) as join:
        ticket = join.decide(large)
    with tarry.LabelJoin.open(store) as join:
        assert join.label(ticket.id, 1).features == large


@pytest.mark.parametrize("store", ["memory:", "sqlite"])
def test_a_bad_row_in_a_batch_changes_nothing(store, new_store):
    session = tarry.Session(PLAYER, capacity=4, rng=1, store=store if store == "memory:" else new_store(store))
    session.ask_many(ids=["a", "b", "c"])
    before = repr(session.status())
    for attempt in (
        lambda: session.tell_many(["a", 1.5], gradients=np.ones((2, 2))),
        lambda: session.tell_many(["a", "b"], gradients=[[1.0, 1.0], [np.nan, 1.0]]),
        lambda: session.expire_many(["a", None]),
        lambda: session.ask_many(ids=["d", [1]]),
        lambda: session.ask_many(ids=["d", None]),
        lambda: session.ask_many(ids=["d", "e"], delays=[None]),
        lambda: session.ask_many(ids=["d", 10**5000]),
    ):
        with pytest.raises((ValueError, TypeError)):
            attempt()
        assert repr(session.status()) == before
    assert session.tell("a", gradient=[1.0, 1.0]).status in (Answer.USED, Answer.UNTRACKED, Answer.PREEMPTED)
    session.close()
