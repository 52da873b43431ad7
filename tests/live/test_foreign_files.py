"""Files that are not ours, damaged, full or not to be written: a sentence, and no byte is changed."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from zlib import crc32

import numpy as np
import psycopg
import pytest
from scenario import PLAYER
from stored import hashed, make_on

import tarry
from tarry.errors import StoreError
from tarry.live.configuration import FORMAT
from tarry.live.stores import open_store


def refuse(path, sentence):
    """Neither making nor opening a session touches the file or leaves anything beside it."""
    before, beside = hashed(path), sorted(path.parent.iterdir())
    for attempt in (lambda: make_on(path), lambda: tarry.Session.open(f"sqlite:///{path}")):
        with pytest.raises(StoreError, match=sentence):
            attempt().ask("next")
        assert hashed(path) == before
        assert sorted(path.parent.iterdir()) == beside


@pytest.mark.parametrize("content", [b"hello", b"x" * 5000, b"SQLite format 4\x00" + bytes(4096), b"\x00" * 4096])
def test_files_of_another_kind(content, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    refuse(path, "is not a SQLite file; it was left as it is")


def test_databases_of_another_program(tmp_path):
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as theirs:
        theirs.execute("CREATE TABLE precious (x)")
    theirs.close()
    refuse(path, "some other program; it was left as it is")


def test_files_of_a_later_version(ours):
    with sqlite3.connect(ours) as later:
        later.execute(f"PRAGMA user_version = {FORMAT + 1}")
    later.close()
    refuse(ours, f"format {FORMAT + 1}, this version of Tarry reads {FORMAT}")


def test_sessions_of_a_later_version(ours):
    change_head(ours, lambda head: head.__setitem__(0, FORMAT + 8))
    refuse(ours, f"format {FORMAT + 8}, this version of Tarry reads {FORMAT}")


def _more(plain):
    plain["player"]["fields"]["novel"] = 1


def _fewer(plain):
    plain["player"]["fields"].popitem()


def _renamed(plain):
    fields = plain["player"]["fields"]
    fields["planner"] = fields.pop("learner")


def _deeper(plain):
    plain["player"]["fields"]["learner"]["fields"]["novel"] = 1


def _above(plain):
    plain["novel"] = 1


def _without(plain):
    del plain["memory"]


@pytest.mark.parametrize("change", [_more, _fewer, _renamed, _deeper, _above, _without])
def test_sessions_with_other_fields(change, ours):
    change_configuration(ours, change)
    refuse(ours, "this session was written by another version of Tarry: open it with that version")


def test_joins_without_a_rule(tmp_path):
    path = tmp_path / "join.db"
    tarry.LabelJoin(4, rng=1, store=f"sqlite:///{path}").close()
    change_configuration(path, lambda plain: plain["options"].clear())
    before = hashed(path)
    for attempt in (tarry.LabelJoin.open, lambda url: tarry.LabelJoin(4, rng=1, store=url)):
        with pytest.raises(StoreError, match="this join was written by another version"):
            attempt(f"sqlite:///{path}")
    assert hashed(path) == before


def change_configuration(path, change):
    """Store another configuration, with the checksums it should have."""
    change_head(path, lambda head: change(head[2]))


def change_head(path, change):
    with sqlite3.connect(path) as database:
        (body,) = database.execute("SELECT body FROM tarry_objects").fetchone()
        seal, data = body[:4], body[4:]
        length = int.from_bytes(data[4:8], "little")
        head = json.loads(data[8 : 8 + length])
        change(head)
        text = json.dumps(head).encode()
        content = text + data[8 + length :]
        body = seal + crc32(content).to_bytes(4, "little") + len(text).to_bytes(4, "little") + content
        database.execute("UPDATE tarry_objects SET body = ?", (body,))
    database.close()


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
def test_truncated_files(share, ours):
    size = ours.stat().st_size
    os.truncate(ours, int(size * share))
    refuse(ours, "damaged|not a SQLite file|some other program")


@pytest.mark.parametrize(("table", "place"), [("tarry_objects", "its snapshot"), ("tarry_journal", "entry 3 of the")])
def test_bytes_that_changed_on_the_disk(table, place, ours):
    """Wherever in a row's content a bit flips, its checksum tells."""
    with make_on(ours) as session:
        session._turns.snapshot()
        session.ask("r40")
    look = sqlite3.connect(ours)
    (content,) = look.execute(f"SELECT body FROM {table} ORDER BY 1 LIMIT 1").fetchone()
    if table == "tarry_journal":
        (content,) = look.execute(f"SELECT body FROM {table} ORDER BY place DESC LIMIT 1").fetchone()
    look.close()
    raw = bytearray(ours.read_bytes())
    at = raw.rfind(content[:64]) + min(len(content), 64) // 2
    assert at > 64
    raw[at] ^= 1
    ours.write_bytes(raw)
    before = hashed(ours)
    with pytest.raises(StoreError, match=f"is damaged .*{place}.* left as it is"):
        tarry.Session.open(f"sqlite:///{ours}").ask("r39")
    assert hashed(ours) == before


def test_random_damage_is_told_or_harmless(ours, tmp_path):
    """A flipped bit anywhere: a sentence, or the very answers of the undamaged file."""
    with make_on(ours) as session:
        was = session.ask_many(ids=[f"r{i}" for i in range(40)])
    raw, rng, told = ours.read_bytes(), np.random.default_rng(1), 0
    for n in range(100):
        damaged = bytearray(raw)
        damaged[rng.integers(len(raw))] ^= 1 << rng.integers(8)
        copy = tmp_path / f"copy{n}.db"
        copy.write_bytes(damaged)
        try:
            with tarry.Session.open(f"sqlite:///{copy}") as session:
                now = session.ask_many(ids=[f"r{i}" for i in range(40)])
        except StoreError:
            told += 1
            continue
        assert np.array_equal(was.plays, now.plays)
        assert np.array_equal(was.tracked, now.tracked)
        assert was.released == now.released
    assert told > 5


@pytest.mark.parametrize(
    ("place", "sentence"),
    [("", "is a folder"), ("no/such/file.db", "there is no folder"), ("missing.db", "there is no file")],
)
def test_places_that_are_none(place, sentence, tmp_path):
    attempt = tarry.Session.open if place == "missing.db" else lambda url: make_on(tmp_path / place)
    with pytest.raises(StoreError, match=sentence):
        attempt(f"sqlite:///{tmp_path / place}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options", [{"capacity": 1 << 50}, {"capacity": 1 << 39}, {"memory": 1 << 41}, {"preemption": False}]
)
def test_what_is_refused_leaves_no_file(options, tmp_path):
    with pytest.raises(ValueError, match=r"takes up to .* bytes|preempt"):
        tarry.LabelJoin(**{"capacity": 4} | options, store=f"sqlite:///{tmp_path / 'a.db'}")
    assert not list(tmp_path.iterdir())


def test_an_empty_file_becomes_a_store_but_holds_no_session(tmp_path):
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(StoreError, match="is empty: make a session or join first"):
        tarry.Session.open(f"sqlite:///{path}")
    assert path.stat().st_size == 0
    with make_on(path) as session:
        assert session.ask().id == 1


def test_names_of_files_and_sessions(tmp_path):
    """Whatever characters they have, a file is that file and a session that session."""
    names = ["main", "'; DROP TABLE tarry_sessions; --", "../../etc", "=1+1", "%s ? :x", "ü 🦊", "a\nb"]
    path = tmp_path / "a?mode=memory&x=#%20 ü.db"
    for i, name in enumerate(names):
        with make_on(path, name=name) as session:
            session.ask_many(i + 1)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with closing(open_store(f"sqlite:///{path}", must_exist=True)) as store:
        assert [*store.names()] == names
    for i, name in enumerate(names):
        with tarry.Session.open(f"sqlite:///{path}", name=name) as session:
            assert session.status().rounds == i + 1


@pytest.mark.parametrize("name", ["", "\x00", "a\x00b", "\udc80"])
def test_names_that_no_database_can_hold(name, tmp_path):
    with pytest.raises(ValueError, match="the name of a session or join must be"):
        make_on(tmp_path / "a.db", name=name)


def test_databases_that_say_no(new_store):
    store = new_store("postgresql")
    with pytest.raises(StoreError, match="read-only"):
        tarry.Session(PLAYER, capacity=2, store=f"{store}%20-cdefault_transaction_read_only%3Don")
    with pytest.raises(StoreError, match="cannot be reached"):
        tarry.Session(PLAYER, capacity=2, store="postgresql://tarry:secret@127.0.0.1:1/none")
    with tarry.Session(PLAYER, capacity=2, store=store) as session:
        session.ask("a")
    with psycopg.connect(store, autocommit=True) as database:
        database.execute("UPDATE tarry_journal SET body = set_byte(body, 9, 77)")
        with (
            tarry.Session.open(store) as session,
            pytest.raises(StoreError, match=r"damaged \(entry 1 of the journal"),
        ):
            session.ask("b")
        database.execute("UPDATE tarry_format SET version = 9")
        with pytest.raises(StoreError, match="format 9, this version of Tarry reads 1"):
            tarry.Session.open(store)
