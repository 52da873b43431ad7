"""A join that changes while decisions wait: as in memory, bit for bit; noticed by others; nothing is left behind."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from processes import Child
from scenario import everything

import tarry
from tarry.errors import NotGranted
from tarry.live import tracker
from tarry.live.stores.memory import Memory

KINDS = ("sqlite", "postgresql")


def play(joins, seed=5, rounds=160):
    """Decisions, labels and changes by several clients in turn; everything they were answered."""
    rng, told = np.random.default_rng(seed), []
    for i in range(rounds):
        join = joins[i % len(joins)]
        told.append(join.decide({"i": i}, id=f"d{i}", size=float(rng.uniform(0.5, 3.0))))
        told.append(join.label(f"d{rng.integers(0, i + 1)}", i))
        if i % 16 == 15:
            capacity = (None, 3, 9, 5)[int(rng.integers(4))]
            told.append(join.resize(capacity=capacity, memory=int(rng.integers(20, 400))))
    return told


def same(status):
    return status._replace(estimate=None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_gives_what_memory_gives(kind, new_store):
    store, alone = new_store(kind), tarry.LabelJoin(4, rng=3)
    expected = play([alone])
    with tarry.LabelJoin(4, rng=3, store=store, durability="process") as one:
        two = tarry.LabelJoin.open(store, durability="process")
        assert play([one, two]) == expected
        assert same(one.status()) == same(two.status()) == same(alone.status())
        assert one.ledger(500) == two.ledger(500) == alone.ledger(500)
        found, kept = everything(one), everything(alone)
        for name in ("state", "sums", "counts", "fates", "ids", "tracked", "slots"):
            assert found[name] == kept[name], name
        two.close()
    with tarry.LabelJoin.open(store) as again:
        assert same(again.status()) == same(alone.status())
        assert sum(len(one) for one in expected if type(one) is list) > 5  # some have lost their slots
        assert again.status().balance == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_another_process_changes_it(kind, new_store, tmp_path):
    store = new_store(kind)
    join = tarry.LabelJoin(8, rng=3, store=store)
    for i in range(20):
        join.decide({"i": i})

    def shrink():
        with tarry.LabelJoin.open(store) as other:
            (tmp_path / "released").write_text(json.dumps(other.resize(capacity=3)))

    Child(shrink, tmp_path).join()
    released = json.loads((tmp_path / "released").read_text())
    assert len(released) == 5
    assert {join.fate(id).name for id in released} == {"PREEMPTED"}
    assert join.status().tracked == 3
    assert "tracked of 3" in repr(join)
    assert all(join.label(id, 1) is None for id in released)
    assert sum(row.weight for id in range(1, 21) if (row := join.label(id, 1)) is not None) == pytest.approx(20.0)
    join.close()


def test_nothing_is_left_of_a_larger_join(tmp_path):
    path = tmp_path / "join.db"
    with tarry.LabelJoin(2000, rng=1, store=f"sqlite:///{path}") as join:
        join.decide_many([{"i": i} for i in range(3000)], ids=[f"d{i}" for i in range(3000)])
        assert len(join.resize(capacity=10, memory=100)) == 1990
        join.vacuum()
    with sqlite3.connect(path) as database:
        (kept,) = database.execute("SELECT length(body) FROM tarry_objects").fetchone()
        (entries,) = database.execute("SELECT count(*) FROM tarry_journal").fetchone()
    database.close()
    small = tarry.LabelJoin(10, rng=1, memory=100)
    small.decide_many([{"i": i} for i in range(3000)], ids=[f"d{i}" for i in range(3000)])
    assert kept < 1.2 * len(small.to_bytes()) + 64
    assert entries == 1  # the last one, by which others know where it stands


def test_a_client_made_with_the_old_rules_is_told_what_to_do(tmp_path):
    url = f"sqlite:///{tmp_path / 'join.db'}"
    with tarry.LabelJoin(4, rng=1, store=url) as join:
        join.resize(capacity=7)
    with pytest.raises(
        ValueError,
        match=r"another capacity \(7, not 4\).*change it by resize\(capacity=4\) \(tarry join resize --capacity\)",
    ):
        tarry.LabelJoin(4, store=url)
    with tarry.LabelJoin(7, store=url) as join:
        assert join.resize(capacity=7) == []


@pytest.mark.parametrize("store", ["memory:", "sqlite"])
def test_what_is_refused_changes_nothing(store, new_store):
    join = tarry.LabelJoin(4, rng=1, store=store if store == "memory:" else new_store(store))
    join.decide_many([{}] * 9)
    before = everything(join)
    for changes in ({"capacity": 0}, {"capacity": 2.5}, {"memory": 0}, {"capacity": 2, "memory": 1 << 50}, {}):
        with pytest.raises(ValueError, match=r"capacity|memory"):
            join.resize(**changes)
    assert everything(join) == before
    assert not join.decide({}).tracked or join.status().tracked == 4
    other = tarry.LabelJoin(4, rng=1, scheduler=tarry.schedulers.Pareto(), store=Memory())
    with pytest.raises(NotGranted, match="only VarOpt can"):
        other.resize(capacity=3, memory=10)
    assert (other._tracker.configuration.memory, other.resize(capacity=5)) == (1_000_000, [])


@pytest.mark.parametrize("store", ["memory:", "sqlite", "postgresql"])
def test_windows_move_with_their_decisions(store, new_store):
    """Ends stay those of the decisions; a new window is for new ones, whoever of two clients makes them."""
    url, rng = "memory:" if store == "memory:" else new_store(store), np.random.default_rng(2)
    one = tarry.LabelJoin(8, rng=1, store=url, window="10s", missing=0, outbox=True)
    two = one if url == "memory:" else tarry.LabelJoin.open(url)
    ends, window, rows = {}, 10, []
    for i in range(120):
        join = (one, two)[i % 2]
        join.decide({"i": i}, id=f"d{i}", at=i)
        ends[f"d{i}"] = i + window
        if i % 12 == 11:
            window = int(rng.integers(5, 30))
            capacity = (None, 3, 8, 20)[int(rng.integers(4))]
            for id in join.resize(capacity=capacity, window=f"{window}s", memory=int(rng.integers(150, 300))):
                assert join.fate(id).name == "PREEMPTED"
        waiting = [id for id in ends if two.fate(id).name == "PENDING"]
        due = sorted((ends[id], int(id[1:])) for id in waiting if ends[id] <= i)
        assert two.due(i) == [f"d{n}" for _, n in due]
        if i % 7 == 6:
            rows += one.advance(i)
    rows += two.advance(1000)
    assert sum(row.weight for row in rows) == pytest.approx(120.0)
    assert [row.number for row in one.rows()] == list(range(1, len(rows) + 1))
    assert [row.id for row in two.rows()] == [row.id for row in rows]
    assert one.fate(rows[0].id).name == "USED"
    assert one.ledger(120) == two.ledger(120)
    with pytest.raises(ValueError, match="has no window, and cannot get one"):
        tarry.LabelJoin(3).resize(window="3d")
    one.close()
    two.close()


CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), st.integers(1, 4)),
        st.tuples(st.just("label"), st.integers(0, 100)),
        st.tuples(st.just("memory"), st.integers(1, 30)),
        st.tuples(st.just("capacity"), st.integers(1, 6)),
        st.tuples(st.just("open"), st.just(0)),
    ),
    max_size=60,
)


@pytest.mark.parametrize("named", [True, False])
@given(calls=CALLS)
@example(calls=[*[("decide", 4)] * 4, ("memory", 2), ("memory", 30), ("open", 0), ("decide", 4)])
@settings(deadline=None)
def test_what_is_remembered_is_right(named, calls):
    """Fates and repeated calls against a join that forgets nothing; what was forgotten once stays so, and is LATE."""
    whole, database = tarry.LabelJoin(3, rng=1, memory=300), {}
    small = tarry.LabelJoin(3, rng=1, memory=10, store=Memory("main", database))
    memory, floor, rounds = 10, 0, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracker, "RECENT", 4)
        for call, value in calls:
            if call == "decide":
                for _ in range(value):
                    rounds += 1
                    id = f"d{rounds}" if named else None
                    assert small.decide({"t": rounds}, id) == whole.decide({"t": rounds}, id)
            elif call == "label" and rounds:
                t = value % rounds + 1
                id = f"d{t}" if named else t
                if t > floor or t in small._tracker.tracked:
                    assert small.label(id, 1) == whole.label(id, 1)
            elif call == "memory":
                floor, memory = max(floor, rounds - memory), value
                assert small.resize(memory=value) == []
            elif call == "capacity":
                assert small.resize(capacity=value) == whole.resize(capacity=value)
            elif call == "open":
                small = tarry.LabelJoin.open(Memory("main", database))
            floor = max(floor, rounds - memory)
            assert same(small.status())._replace(answers={}) == same(whole.status())._replace(answers={})
            for t in range(1, rounds + 1):
                id = f"d{t}" if named else t
                known = t > floor or t in small._tracker.tracked
                assert small.fate(id) == (whole.fate(id) if known else tarry.Answer.LATE)
            assert small.fate("nobody").name == ("LATE" if named and floor > 0 else "UNKNOWN")


@pytest.mark.parametrize(("kind", "shards"), [("sqlite", 1), ("postgresql", 2)])
def test_a_capacity_that_another_has_changed_is_seen(kind, shards, new_store):
    url = new_store(kind)
    join, other = tarry.LabelJoin(8, shards=shards, store=url, rng=1), tarry.LabelJoin.open(url)
    other.resize(capacity=16)
    assert join.capacity == 16
    other.resize(capacity=4)
    join.resize(capacity=16)
    assert other.capacity == other.status().capacity == 16
    join.close()
    other.close()
