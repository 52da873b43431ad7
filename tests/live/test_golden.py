"""Files written by every released version open and go on with exactly the plays and weights they would have had."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest
from scenario import Client, Scenario

import tarry
from tarry.live.configuration import FORMAT

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*.db"))


CASES = [(path, name) for path in FILES for name in json.loads(path.with_suffix(".json").read_text())]
KINDS = {"session": tarry.Session, "join": tarry.LabelJoin, "windows": tarry.LabelJoin}


def format_of(path):
    return int(path.stem.split("-")[1])


def test_there_is_one_for_each_format():
    assert {path.name for path in FILES} >= {f"format-{n}.db" for n in range(1, FORMAT + 1)}


@pytest.mark.parametrize(("path", "name"), CASES, ids=lambda one: getattr(one, "stem", one))
def test_golden_files_go_on(path, name, tmp_path):
    before = sha256(path.read_bytes()).digest()
    store = f"sqlite:///{shutil.copy(path, tmp_path / path.name)}"
    expected = json.loads(path.with_suffix(".json").read_text())[name]
    kind = KINDS[name]
    client = Client(Scenario(kind, {}, expected["script"]))
    number = format_of(path)
    if number < FORMAT:
        with pytest.raises(tarry.errors.StoreError, match=f"format {number}, .* run tarry join upgrade --store sqlite"):
            kind.open(store, name=name)
        assert tarry.live.upgrade_store(store) == number
    assert tarry.live.upgrade_store(store) == FORMAT  # again is no error
    with kind.open(store, name=name) as session:
        client.play(session)
        status = session.status()
        assert sum(status.fates.values()) == status.rounds
        assert status.balance == pytest.approx(1.0, abs=1e-9)
    assert client.answers == expected["answers"]
    assert sha256(path.read_bytes()).digest() == before


def test_bytes_laid_out_otherwise_are_refused(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'join.db'}"
    tarry.LabelJoin(4, rng=1, store=url).close()
    monkeypatch.setattr("tarry.live.core.describe", lambda _: "otherwise")
    with pytest.raises(tarry.errors.StoreError, match="another version of Tarry"):
        tarry.LabelJoin.open(url)


def test_an_upgrade_that_fails_has_changed_nothing(tmp_path, monkeypatch):
    path = shutil.copy(FOLDER / "format-2.db", tmp_path / "a.db")
    names = iter("ab")

    def fails(stored, _):
        return stored if next(names) == "a" else 1 / 0

    monkeypatch.setattr("tarry.live.stores.sqlite.upgraded", fails)
    with pytest.raises(ZeroDivisionError):
        tarry.live.upgrade_store(f"sqlite:///{path}")
    with sqlite3.connect(path) as after, sqlite3.connect(FOLDER / "format-2.db") as before:
        assert list(after.iterdump()) == list(before.iterdump())
        assert after.execute("PRAGMA user_version").fetchone() == (2,)
    after.close()
    before.close()


@pytest.mark.parametrize(
    ("path", "damage"),
    [
        (path, damage)
        for path in FILES
        for damage in ("chunk", "configuration", "head")
        # The first format had no count of chunks, and no checksum of heads.
        if format_of(path) < FORMAT and (damage == "configuration" or format_of(path) > 1)
    ],
    ids=lambda one: getattr(one, "stem", one),
)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_upgrade_hides_no_damage(path, damage, kind, tmp_path, new_store):
    """What was damaged or lost before an upgrade is not taken for whole after it, with checksums of its own."""
    changed = Path(shutil.copy(path, tmp_path / path.name))
    with sqlite3.connect(changed) as database:
        if damage == "chunk":
            last = "(SELECT max(place) FROM tarry_state WHERE place < 2 << 40)"
            assert database.execute(f"DELETE FROM tarry_state WHERE place = {last}").rowcount == 1
        elif damage == "configuration":
            database.execute(
                "UPDATE tarry_sessions SET configuration = replace(configuration, 'memory\": ', 'memory\": 1')"
            )
        else:
            # 8 slots more than there were; a text would be refused by its type.
            ((place, data),) = database.execute("SELECT place, data FROM tarry_state ORDER BY place LIMIT 1")
            database.execute(
                "UPDATE tarry_state SET data = ? WHERE place = ?", (bytes([data[0] ^ 8]) + data[1:], place)
            )
    database.close()
    store = f"sqlite:///{changed}"
    if kind == "postgresql":
        store = new_store(kind)
        copy_to_postgresql(changed, store, format_of(path))
    name = next(iter(json.loads(path.with_suffix(".json").read_text())))
    if damage == "chunk":
        tarry.live.upgrade_store(store)
        with (
            KINDS[name].open(store, name=name) as opened,
            pytest.raises(tarry.errors.StoreError, match="has lost some"),
        ):
            opened.status()
    else:
        with pytest.raises(tarry.errors.StoreError, match=r"is damaged .* and was left as it is"):
            tarry.live.upgrade_store(store)
        with pytest.raises(tarry.errors.StoreError, match=f"in format {format_of(path)}, this version"):
            KINDS[name].open(store, name=name)


def test_a_process_of_the_earlier_version_is_told(tmp_path):
    """Whoever has the store open while it is upgraded must notice: here a join that believes in format 2."""
    store = f"sqlite:///{shutil.copy(FOLDER / 'format-2-windows.db', tmp_path / 'a.db')}"
    with pytest.MonkeyPatch.context() as patch:
        for place in ("configuration", "stores.sqlite"):
            patch.setattr(f"tarry.live.{place}.FORMAT", 2)
        join = tarry.LabelJoin.open(store, name="windows")
        assert join.status().rounds
        patch.undo()
        code = f"from tarry.live import upgrade_store; print(upgrade_store({store!r}))"
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert told.stdout == "2\n"
        patch.setattr("tarry.live.configuration.FORMAT", 2)
        with join, pytest.raises(tarry.errors.StoreError, match="another version of Tarry"):
            join.decide(id="new", at=100)


@pytest.mark.parametrize(
    ("path", "name"), [case for case in CASES if format_of(case[0]) < FORMAT], ids=lambda one: getattr(one, "stem", one)
)
def test_databases_of_earlier_formats_go_on(path, name, new_store):
    """The golden file's rows in PostgreSQL's tables of its format: brought to this one by an upgrade."""
    number = format_of(path)
    url = new_store("postgresql")
    copy_to_postgresql(path, url, number)
    expected = json.loads(path.with_suffix(".json").read_text())[name]
    kind = KINDS[name]
    client = Client(Scenario(kind, {}, expected["script"]))
    with pytest.raises(tarry.errors.StoreError, match=f"the database is in format {number}, .* tarry join upgrade"):
        kind.open(url, name=name)
    assert tarry.live.upgrade_store(url) == number
    with kind.open(url, name=name) as session:
        client.play(session)
        status = session.status()
    assert client.answers == expected["answers"]
    with kind.open(url, name=name) as again:
        assert repr(again.status()) == repr(status)


def copy_to_postgresql(path, url, number):
    """Write what a SQLite file of an earlier format holds as that version kept it in PostgreSQL."""
    with sqlite3.connect(path) as old, psycopg.connect(url, autocommit=True) as new:
        for statement in (
            "CREATE TABLE tarry_format (version INTEGER NOT NULL)",
            f"INSERT INTO tarry_format VALUES ({number})",
            "CREATE TABLE tarry_sessions (number SERIAL PRIMARY KEY, name TEXT UNIQUE NOT NULL, "
            "configuration TEXT NOT NULL, checksum BIGINT NOT NULL)",
            "CREATE TABLE tarry_items (session INTEGER, round BIGINT, body TEXT NOT NULL, play BYTEA NOT NULL, "
            "payload BYTEA, checksum BIGINT NOT NULL, PRIMARY KEY (session, round))",
        ):
            new.execute(statement)
        if number == 1:
            new.execute("CREATE TABLE tarry_heads (session INTEGER PRIMARY KEY, version BIGINT, slots BIGINT)")
        for row in old.execute("SELECT * FROM tarry_sessions"):
            new.execute("INSERT INTO tarry_sessions VALUES (%s, %s, %s, %s)", row)
        for place, *row in old.execute("SELECT * FROM tarry_items"):
            at = ((place + 1000) >> 40, (place + 1000 & (1 << 40) - 1) - 1000)  # rows of an outbox lie below
            new.execute("INSERT INTO tarry_items VALUES (%s, %s, %s, %s, %s, %s)", (*at, *row))
        for table in ("tarry_state", "tarry_fates", "tarry_ids"):
            new.execute(
                f"CREATE TABLE {table} (session INTEGER, chunk BIGINT, version BIGINT NOT NULL, "
                "checksum BIGINT NOT NULL, data BYTEA NOT NULL, PRIMARY KEY (session, chunk))"
            )
            for place, version, checksum, data in old.execute(f"SELECT * FROM {table}"):
                session, chunk = place >> 40, (place & (1 << 40) - 1) - 1
                if chunk >= 0 or number > 1:
                    new.execute(
                        f"INSERT INTO {table} VALUES (%s, %s, %s, %s, %s)", (session, chunk, version, checksum, data)
                    )
                else:
                    slots = int.from_bytes(data, "little")
                    new.execute("INSERT INTO tarry_heads VALUES (%s, %s, %s)", (session, version, slots))
    old.close()
