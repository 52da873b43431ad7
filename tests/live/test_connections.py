"""Connections to PostgreSQL: shared by all that a process has open, whole ones only, and gone with the last user."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest

import tarry
from tarry.errors import StoreError
from tarry.live.stores import postgres as pools

OURS = "FROM pg_stat_activity WHERE application_name = 'ours'"


@pytest.fixture
def store(new_store):
    """A store whose connections have a name."""
    return new_store("postgresql") + "&application_name=ours"


def connected(store):
    """How many connections of this name there are."""
    with psycopg.connect(store, application_name="asking") as database:
        return database.execute(f"SELECT count(*) {OURS}").fetchone()[0]


def test_many_joins_of_a_process_share_a_few_connections(store):
    joins = [
        tarry.LabelJoin(4, store=store, name=f"j{i}", rng=1, memory=1000, durability="process") for i in range(120)
    ]
    for join in joins:
        join.decide(id="a")
    assert connected(store) == 1  # nobody called at once
    threads = [threading.Thread(target=join.decide, kwargs={"id": "b"}) for join in joins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert 1 <= connected(store) <= pools.MOST
    assert all(join.status().rounds == 2 for join in joins)
    for join in joins:
        join.close()
    for _ in range(100):  # the other end takes a moment
        if not connected(store):
            break
        time.sleep(0.05)
    assert connected(store) == 0


def test_a_connection_that_the_database_has_ended_is_not_used_again(store):
    """Idle connections are ended from outside: the next calls do not notice."""
    with tarry.LabelJoin(4, store=store, rng=1, durability="process") as join:
        for turn in range(3):
            join.decide(id=f"d{turn}")
            with psycopg.connect(store, application_name="asking") as database:
                assert {*database.execute(f"SELECT pg_terminate_backend(pid, 5000) {OURS}").fetchall()} == {(True,)}
        assert join.status().rounds == 3


def test_a_call_waits_for_a_connection_and_says_so(store, monkeypatch):
    monkeypatch.setattr(pools, "MOST", 1)
    monkeypatch.setattr(pools, "PATIENCE", 0.2)
    monkeypatch.setattr(pools, "_AT_ONCE", 0.2)
    with (
        tarry.LabelJoin(4, store=store, name="a", rng=1) as one,
        tarry.LabelJoin(4, store=store, name="b", rng=1) as other,
    ):

        def meanwhile(*_):
            with pytest.raises(StoreError, match="couldn't get a connection"):
                other.decide(id="x")

        with pytest.raises(ZeroDivisionError):
            one._turns.change(lambda: [meanwhile(), 1 / 0])
        assert other.decide(id="x").tracked
