"""Several processes on one store: one order of calls for all, as if one process had made them."""

from __future__ import annotations

import json
import threading
import time
from itertools import product

import numpy as np
import pytest
from marking import slow_but
from processes import Child
from scenario import PLAYER, gradient

import tarry
from tarry.live.stores import postgres as postgres_store
from tarry.live.stores import sqlite

KINDS = ("sqlite", "postgresql")
CAPACITY, WORKERS, CALLS = 5, 4, 40


def make(store, **options):
    options = {"capacity": CAPACITY, "durability": "process", "rng": 3} | options
    return tarry.Session(PLAYER, store=store, **options)


@pytest.mark.parametrize(
    ("kind", "own_ids"), slow_but(product(KINDS, (True, False)), {("sqlite", True), ("postgresql", False)})
)
def test_the_calls_of_several_processes_have_one_order(kind, own_ids, new_store, tmp_path):
    store, stop = new_store(kind), tmp_path / "stop"
    make(store).close()
    watcher = Child(lambda: watch(store, stop, tmp_path / "watched"), tmp_path)
    workers = [Child(lambda w=w: work(store, w, own_ids, tmp_path), tmp_path) for w in range(WORKERS)]
    try:
        for worker in workers:
            worker.join()
    finally:
        stop.touch()
        watcher.join()
    logs = [json.loads(line) for w in range(WORKERS) for line in (tmp_path / f"log-{w}").read_text().splitlines()]
    logs.sort()
    # Every call made one new version, and no two the same: that is their order.
    assert [version for version, *_ in logs] == list(range(2, 2 + WORKERS * CALLS))
    ids = [id for _, call, _, answer in logs if call.startswith("ask") for id in answer["ids"]]
    assert len(ids) == len(set(ids))
    alone = tarry.Session(PLAYER, capacity=CAPACITY, rng=3)
    for _, call, argument, answer in logs:
        assert do(alone, call, argument) == answer
    with tarry.Session.open(store) as session:
        ours, theirs = alone.status(), session.status()
        assert ours == theirs
        assert theirs.rounds == len(ids)
        assert np.array_equal(alone.ask("z" if own_ids else None).play, session.ask("z" if own_ids else None).play)
    assert int((tmp_path / "watched").read_text()) > 3


def do(session, call, argument):
    """One call, and its answer as JSON knows it."""
    if call == "ask":
        r = session.ask(argument)
        return {"ids": [r.id], "plays": r.play.tobytes().hex(), "tracked": r.tracked, "released": list(r.released)}
    if call == "ask_many":
        r = session.ask_many(argument) if isinstance(argument, int) else session.ask_many(ids=argument)
        return {
            "ids": list(r.ids),
            "plays": r.plays.tobytes().hex(),
            "tracked": r.tracked.tolist(),
            "released": r.released,
        }
    if call == "tell":
        r = session.tell(argument, gradient=gradient(argument))
        return [r.status.name, r.weight]
    r = session.tell_many(argument, gradients=[gradient(id) for id in argument])
    return [[s.name for s in r.statuses], r.weights.tolist()]


def work(store, worker, own_ids, folder):
    """Make calls, also for the rounds of others, and note each with the version it made."""
    rng = np.random.default_rng(worker)
    with tarry.Session.open(store, durability="process") as session, (folder / f"log-{worker}").open("w") as log:
        for i in range(CALLS):
            call = str(rng.choice(["ask", "ask_many", "tell", "tell_many"]))
            news = [f"{worker}-{i}-{j}" for j in range(3)] if own_ids else 3
            if call in ("ask", "ask_many"):
                argument = news if call == "ask_many" else (news[0] if own_ids else None)
            else:
                olds = [f"{w}-{k}-0" if own_ids else k for w, k in rng.integers(0, [WORKERS, CALLS], (2, 2)).tolist()]
                argument = olds if call == "tell_many" else olds[0]
            answer = do(session, call, argument)
            log.write(json.dumps([session._turns._seq + 1, call, argument, answer]) + "\n")


def watch(store, stop, told):
    """Read all the while: every state that was committed keeps the books."""
    looks, rounds = 0, 0
    with tarry.Session.open(store) as session:
        while not stop.exists():
            status = session.status()
            assert status.tracked <= CAPACITY
            assert sum(status.fates.values()) == status.rounds >= rounds
            assert not status.rounds or status.balance == pytest.approx(1.0, abs=1e-9)
            rounds, looks = status.rounds, looks + 1
            time.sleep(0.002)
    told.write_text(str(looks))


@pytest.mark.parametrize("kind", KINDS)
def test_readers_wait_for_nobody_and_nobody_waits_for_them(kind, new_store, monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 0.5)
    store = new_store(kind)
    writer, reader, other = make(store), make(store), make(store)
    writer.ask("a")
    places = [session._turns.store for session in (writer, reader)]
    places[1].begin(0, writes=False)
    begun = time.monotonic()
    assert writer.ask("b").id == "b"  # while one is in the middle of reading
    places[1].rollback()
    places[0].begin(0, writes=True)
    assert other.status().rounds == 2  # while one is in the middle of writing
    places[0].rollback()
    assert time.monotonic() - begun < 20  # who is blocked in PostgreSQL waits half a minute, in SQLite gives up
    for session in (writer, reader, other):
        session.close()


def test_who_is_kept_waiting_too_long_is_told(new_store, monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 0.2)
    store = new_store("sqlite")
    with make(store) as busy, make(store) as waiting:
        busy._turns.store.begin(0, writes=True)
        with pytest.raises(tarry.errors.StoreError, match="another process has held"):
            waiting.ask("a")
        busy._turns.store.rollback()
        assert waiting.ask("a").id == "a"
        assert busy.status().rounds == 1


def test_a_process_that_stopped_in_the_middle_loses_its_turn(new_store, monkeypatch):
    monkeypatch.setattr(postgres_store, "PATIENCE", 1.0)
    store = new_store("postgresql")
    with make(store) as stopped, make(store) as waiting:
        stopped._turns.store.begin(0, writes=True)
        assert waiting.ask("a").id == "a"
        stopped._turns.store.rollback()
        assert stopped.ask("a").status is tarry.Answer.REPEATED


@pytest.mark.parametrize("kind", KINDS)
def test_processes_may_make_the_same_session_at_once(kind, new_store, tmp_path):
    for _ in range(2):
        store, start = new_store(kind), time.monotonic() + 0.1

        def begin(store=store, start=start):
            time.sleep(max(0.0, start - time.monotonic()))
            with make(store) as session:
                session.ask()

        for child in [Child(begin, tmp_path) for _ in range(4)]:
            child.join()
        with tarry.Session.open(store) as session:
            assert session.status().rounds == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_survives_a_fork(kind, new_store, tmp_path):
    store, closed = new_store(kind), tmp_path / "closed"
    session, second = make(store), make(store, name="second")
    session.ask()

    def child():
        session.ask()
        while not closed.exists():
            time.sleep(0.01)
        session.ask()

    forked = Child(child, tmp_path)
    session.ask()
    session.close(), second.close()
    closed.touch()
    forked.join()
    with tarry.Session.open(store) as reopened:
        assert reopened.status().rounds == 4


def test_a_second_session_leaves_the_locks_of_the_first(new_store, tmp_path):
    """A process loses its locks on a file when it closes any descriptor of it."""
    store = new_store("sqlite")
    with make(store) as session:
        session.ask()
        with make(store, name="second"):
            pass
        Child(lambda: tarry.Session.open(store).close(), tmp_path).join()  # the last one to leave removes the log
        session.ask()
        Child(lambda: sees_rounds(store, 2), tmp_path).join()


def sees_rounds(store, rounds):
    with tarry.Session.open(store) as session:
        assert session.status().rounds == rounds


@pytest.mark.parametrize("kind", KINDS)
def test_a_stale_process_finds_ids_that_came_round(kind, new_store):
    store = new_store(kind)
    with make(store, memory=10, capacity=1) as stale, make(store, memory=10, capacity=1) as busy:
        busy.ask_many(ids=[f"old-{i}" for i in range(8)])
        busy.expire_many([f"old-{i}" for i in range(8)])
        stale.status()
        busy.ask_many(ids=[f"new-{i}" for i in range(10)])
        again = busy.ask_many(ids=[f"old-{i}" for i in (7, 6, 5)])
        ids = [*(f"new-{i}" for i in range(3, 10)), *again.ids]
        assert [busy._tracker.find(id) for id in ids] == list(range(12, 22))
        stale.status()
        assert [stale._tracker.find(id) for id in ids] == list(range(12, 22))
        assert stale.ask("old-7").status is tarry.Answer.REPEATED


def test_ids_of_a_first_call_that_failed_are_nobodys(new_store):
    with make(new_store("sqlite")) as session:
        session._turns.store.database.execute("PRAGMA query_only = 1")
        with pytest.raises(tarry.errors.StoreError, match="read-only"):
            session.ask_many(ids=["a", "b", "c"])
        session._turns.store.database.execute("PRAGMA query_only = 0")
        assert session.ask("x").status is not tarry.Answer.LATE
        assert session.ask("c").status in (tarry.Answer.PENDING, tarry.Answer.UNTRACKED)
        assert session.status().rounds == 2


@pytest.mark.slow
def test_a_postgresql_server_that_restarts(postgres, new_store, tmp_path):
    store = new_store("postgresql")
    with make(store) as session:
        session.ask("a")
        postgres.stop()
        with pytest.raises(tarry.errors.StoreError, match="call again when it is back"):
            session.ask("b")
        with pytest.raises(tarry.errors.StoreError, match="call again when it is back"):
            session.status()
        postgres.start(postgres.port)
        assert session.ask("b").status is not tarry.Answer.REPEATED
        assert session.status().rounds == 2


def test_patience_outlasts_a_restart_of_the_server(postgres, new_store):
    with tarry.LabelJoin(4, store=new_store("postgresql"), rng=1, patience=60) as join:
        join.decide(id="a")
        postgres.stop()
        back = threading.Timer(1.0, postgres.start, [postgres.port])
        back.start()
        assert join.decide(id="b").tracked
        back.join()
        assert join.status().rounds == 2


def test_a_writer_sees_what_it_has_waited_for_whatever_the_default_of_the_database_is(new_store):
    url = new_store("postgresql")
    store = f"{url}{'&' if '?' in url else '?'}options=-c%20default_transaction_isolation%3Drepeatable%5C%20read"
    joins = [tarry.LabelJoin(16, store=store, rng=1) for _ in range(2)]
    failures = []

    def decide(join, name):
        for i in range(100):
            try:
                join.decide(id=f"{name}{i}")
            except tarry.errors.TarryError as error:
                failures.append(error)

    threads = [threading.Thread(target=decide, args=pair) for pair in zip(joins, "ab", strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert joins[0].status().rounds == 200
    for join in joins:
        join.close()
