"""Rows that are gone from a store: told before anything is begun on what is left."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
from marking import slow_but

import tarry
from tarry.errors import StoreError

TABLES = {"tarry_state": "first", "tarry_fates": "last", "tarry_ids": "last"}
ROUNDS = 6000  # three chunks of fates


def make(store, memory):
    join = tarry.LabelJoin(4, rng=1, store=store, durability="process", memory=memory)
    with join:
        join.decide_many([None] * ROUNDS, ids=[f"d{i}" for i in range(ROUNDS)])


def remove(store, kind, table, which):
    """Delete a row, and return what puts it back."""
    order = "DESC" if which == "last" else "ASC"
    if kind == "sqlite":
        place = store.removeprefix("sqlite:///")
        with sqlite3.connect(place) as database:
            found = f"SELECT place FROM {table} ORDER BY place {order} LIMIT 1 OFFSET {which == 'first'}"
            (row,) = database.execute(f"DELETE FROM {table} WHERE place = ({found}) RETURNING *").fetchall()
        database.close()
        return lambda: put_back(sqlite3.connect(place), table, row, "?")
    with psycopg.connect(store, autocommit=True) as database:
        found = f"SELECT chunk FROM {table} WHERE chunk >= 0 ORDER BY chunk {order} LIMIT 1"
        (row,) = database.execute(f"DELETE FROM {table} WHERE chunk = ({found}) RETURNING *").fetchall()
    return lambda: put_back(psycopg.connect(store), table, row, "%s")


def put_back(database, table, row, sign):
    with database:
        database.execute(f"INSERT INTO {table} VALUES ({', '.join([sign] * len(row))})", row)
    database.close()


@pytest.mark.parametrize("memory", slow_but([1_000_000, 3000], {3000}))
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_lost_chunk_of_any_table_is_told(kind, memory, new_store):
    store = new_store(kind)
    make(store, memory)
    for table in TABLES:
        for which in ("first", "last"):
            with tarry.LabelJoin.open(store) as join:
                assert join.decide(id=f"d{ROUNDS - 1}").id == f"d{ROUNDS - 1}"
                assert join.status().rounds == ROUNDS
            restore = remove(store, kind, table, which)
            with tarry.LabelJoin.open(store) as join:
                for call in (join.status, join.decide, lambda: join.decide(id=f"d{ROUNDS - 1}")):
                    with pytest.raises(StoreError, match="has lost some of a join's bytes: restore"):
                        call()
            restore()
