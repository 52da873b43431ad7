"""A copy of a join or session, by a store or a file, goes on as the original does, bit for bit."""

from __future__ import annotations

import gc
from datetime import date
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenario import Client, everything, long_script

import tarry
from tarry.errors import StoreError
from tarry.live.configuration import FORMAT
from tarry.live.stores.memory import Memory

RULES = [
    {},
    {"outbox": True},
    {"labels": "all", "memory": 7},
    {"window": 5, "missing": 0, "outbox": True},
    {"window": 5, "release": "arrival", "memory": 300},
    {"labels": "sum", "window": 3},
    {"scheduler": tarry.schedulers.Priority()},
    {"scheduler": tarry.schedulers.DropOldest()},
]
FEATURES = [None, b"raw", {"x": 1.5}, (Decimal("1.10"), date(2026, 1, 31)), {1: np.float32(0.1)}, {"$": [float("nan")]}]


def act(join, step, moment, rules):
    """One call, whose kind and details come from a number; its answer as text."""
    kind, which = step % 8, step // 8
    at = {"at": moment} if "window" in rules else {}
    ids = join.status().rounds
    id = f"d{which % (ids + 2)}"  # mostly one that was decided
    if kind in (0, 1, 2):
        given = join.decide(FEATURES[which % len(FEATURES)], f"d{ids}", **at)
    elif kind in (3, 4):
        given = join.label(id, which % 3, **at)
    elif kind == 5:
        given = join.advance(moment) if at else join.expire(id)
    elif kind == 6:
        given = join.rows() if "outbox" in rules else join.fate(id)
    elif "outbox" in rules and which % 2:
        given = join.ack(max(join.rows(limit=1), default=[0] * 6)[-1])
    elif "scheduler" not in rules:
        given = join.resize(capacity=2 + which % 5)
    else:
        given = join.estimate()
    return repr(given)


def whole(join):
    """Everything that is stored, and what is told of it."""
    given = [repr(join.rows())] if join._tracker.has_outbox else []
    return everything(join) | {"told": [repr(join.estimate()), repr(join.ledger(20)), *given]}


def by_file(join, store):
    with TemporaryDirectory() as folder:
        file = Path(folder) / "whole"
        file.write_bytes(join.to_bytes())
        return tarry.LabelJoin.import_from(file, store)


@settings(max_examples=25)
@given(st.sampled_from(RULES), st.lists(st.integers(0, 399), max_size=60), st.lists(st.integers(0, 399), min_size=5))
def test_copies_of_random_histories_go_on_alike(rules, before, after):
    original = tarry.LabelJoin(3, rng=1, store=Memory(), **rules)
    for moment, step in enumerate(before):
        act(original, step, moment, rules)
    twins = [original.copy_to(Memory()), by_file(original, Memory())]
    expected = whole(original)
    assert all(whole(twin) == expected for twin in twins)
    in_memory = tarry.LabelJoin.from_bytes(original.to_bytes())
    for _ in range(2):  # what was not touched goes on as bytes
        in_memory = tarry.LabelJoin.from_bytes(in_memory.to_bytes())
    assert in_memory.to_bytes() == original.to_bytes()
    twins.append(in_memory)
    for moment, step in enumerate(after, len(before)):
        answer = act(original, step, moment, rules)
        assert all(act(twin, step, moment, rules) == answer for twin in twins)
    expected = whole(original)
    assert all(whole(twin) == expected for twin in twins[:2])
    assert in_memory.to_bytes() == original.to_bytes()


def test_a_session_goes_on_from_bytes():
    learner = tarry.learners.DWFTBL(tarry.domains.Ball(2), rate=0.05, smoothing=0.3)
    session = tarry.Session(learner, capacity=4, rng=1)
    for t in range(1, 40):
        session.ask(f"r{t}")
        session.tell(f"r{max(1, t - 3)}", value=t / 40)
    twin = tarry.Session.from_bytes(session.to_bytes())
    for t in range(40, 60):
        assert repr(session.ask(f"r{t}")) == repr(twin.ask(f"r{t}"))
        assert session.tell(f"r{t - 3}", value=0.1) == twin.tell(f"r{t - 3}", value=0.1)
    assert session.to_bytes() == twin.to_bytes()


def test_a_tracked_decision_older_than_the_memory_is_found_after_bytes():
    join = tarry.LabelJoin(2, rng=1, memory=5, scheduler=tarry.schedulers.DropNewest())
    for i in range(20):
        join.decide({"i": i}, id=f"d{i}")
    twin = tarry.LabelJoin.from_bytes(join.to_bytes())
    row = join.label("d0", 1)
    assert row is not None
    assert twin.label("d0", 1) == row


def test_bytes_that_are_no_copy_are_refused():
    join = tarry.LabelJoin(3, rng=1)
    join.decide({"x": 1})
    data = join.to_bytes()
    for other in (b"", data[:-1], data[:20] + b"?" + data[21:], b"tarry" * 9):
        with pytest.raises(StoreError, match="no whole copy of Tarry's: give what to_bytes returned"):
            tarry.LabelJoin.from_bytes(other)
    with pytest.raises(StoreError, match="this is a join, not a session"):
        tarry.Session.from_bytes(data)
    join.decide({"x": {1, 2}})
    with pytest.raises(ValueError, match="features"):
        join.to_bytes()


@pytest.mark.parametrize("rules", RULES[:4], ids=str)
def test_from_store_to_store_and_back(rules, new_store):
    """Memory to SQLite to PostgreSQL to a file and back to SQLite, with some calls on each of them."""
    rng = np.random.default_rng(1)
    alone = tarry.LabelJoin(4, rng=1, **rules)
    moved = tarry.LabelJoin(4, rng=1, **rules)
    steps = iter([(moment, int(step)) for moment, step in enumerate(rng.integers(0, 400, 400))])
    urls = [new_store("sqlite"), new_store("postgresql"), new_store("sqlite")]
    ways = [
        lambda: moved.copy_to(urls[0]),
        lambda: moved.copy_to(urls[1], durability="process"),
        lambda: by_file(moved, urls[2]),
        lambda: moved.copy_to(urls[2], name="again"),
    ]
    for way in ways:
        for moment, step in (next(steps) for _ in range(100)):
            assert act(alone, step, moment, rules) == act(moved, step, moment, rules)
        before, moved = moved, way()
        assert repr(before.estimate()) == repr(moved.estimate())
        before.close()
    kept = everything(moved)
    assert kept["state"] == everything(alone)["state"]
    moved.close()
    with tarry.LabelJoin.open(urls[2], name="again") as again:
        assert everything(again) == kept


def test_sessions_and_sets_without_a_limit(new_store):
    script = long_script(60, 3)
    reference = Client(script)
    session = reference.open(new_store("sqlite"))
    reference.play(session, 30)
    client = Client(script, list(reference.answers))
    twin = session.copy_to(new_store("sqlite"))
    reference.play(session)
    client.play(twin)
    assert client.answers == reference.answers
    free = tarry.LabelJoin(None, rng=1, store=Memory())
    free.decide_many([{"i": i} for i in range(200)])  # more slots than it began with
    copy = free.copy_to(Memory())
    assert [copy.label(i, 1) for i in range(1, 201)] == [free.label(i, 1) for i in range(1, 201)]
    for opened in (session, twin):
        opened.close()


@pytest.mark.parametrize("cut", ["last", "middle", "empty", "text", "format"])
def test_files_that_are_not_whole_are_refused(cut, tmp_path):
    join = tarry.LabelJoin(2, rng=1)
    join.decide_many([{"i": i} for i in range(9)])
    data = join.to_bytes()
    changed = {
        "last": data[:-1],
        "middle": data[:90] + bytes([data[90] ^ 1]) + data[91:],
        "empty": b"",
        "text": b"hello",
        "format": other_format(data),
    }[cut]
    sentence = {"format": f"is in format 9, this version of Tarry reads {FORMAT}"}
    path = tmp_path / "whole"
    path.write_bytes(changed)
    store = f"sqlite:///{tmp_path / 'a.db'}"
    with pytest.raises(StoreError, match=sentence.get(cut, "no whole copy")):
        tarry.LabelJoin.import_from(path, store)
    assert not (tmp_path / "a.db").exists()
    path.write_bytes(data)
    tarry.LabelJoin.import_from(path, store).close()
    with pytest.raises(StoreError, match="has 'main' already, so nothing was changed"):
        tarry.LabelJoin.import_from(path, store)
    with pytest.raises(StoreError, match="this is a join, not a session"):
        tarry.Session.import_from(path, store, name="other")
    with pytest.raises(ValueError, match="a copy goes into a durable store"):
        join.copy_to("memory:")
    with pytest.raises(StoreError, match="cannot be read"):
        tarry.LabelJoin.import_from(tmp_path / "none", store)


def other_format(data):
    """The same bytes in a later format, with the checksum that they should have."""
    content = data[8:].replace(b"[%d," % FORMAT, b"[9,", 1)
    return crc32(content).to_bytes(4, "little") + data[4:8] + content


def test_what_no_store_can_keep_stays_where_it_is(tmp_path):
    join = tarry.LabelJoin(2, rng=1)
    join.decide({"set": {1}})
    with pytest.raises(ValueError, match=r"a durable store takes .* got \{1\} as features"):
        join.copy_to(f"sqlite:///{tmp_path / 'a.db'}")
    assert not (tmp_path / "a.db").exists()
    assert join.label(1, 1).features == {"set": {1}}


def test_a_snapshot_of_many_decisions_keeps_no_garbage_collector_busy():
    join = tarry.LabelJoin(20_000, rng=1)
    join.decide_many([{"a": 1.0}] * 20_000, ids=[f"d{i}" for i in range(20_000)])
    collections = []

    def count(phase, _info):
        collections.append(phase)

    gc.callbacks.append(count)
    try:
        data = join.to_bytes()
    finally:
        gc.callbacks.remove(count)
    assert len(collections) < 20  # of lists for all items at once, over a hundred
    assert tarry.LabelJoin.from_bytes(data).to_bytes() == data
