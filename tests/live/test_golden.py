"""Files written by every released version open and go on with exactly the plays and weights they would have had."""

from __future__ import annotations

import json
import shutil
import sqlite3
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest
from scenario import Client, Scenario

import tarry
from tarry.live.configuration import FORMAT

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*.db"))


def test_there_is_one_for_each_format():
    assert [path.name for path in FILES] == [f"format-{n}.db" for n in range(1, FORMAT + 1)]


@pytest.mark.parametrize("name", ["session", "join"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_files_go_on(path, name, tmp_path):
    before = sha256(path.read_bytes()).digest()
    store = f"sqlite:///{shutil.copy(path, tmp_path / path.name)}"
    expected = json.loads(path.with_suffix(".json").read_text())[name]
    kind = {"session": tarry.Session, "join": tarry.LabelJoin}[name]
    client = Client(Scenario(kind, {}, expected["script"]))
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


@pytest.mark.parametrize("name", ["session", "join"])
def test_databases_of_the_first_format_go_on(name, new_store):
    """The golden file's rows in PostgreSQL's tables of the first format: brought to this one when they are opened."""
    url = new_store("postgresql")
    copy_to_postgresql(FOLDER / "format-1.db", url)
    expected = json.loads((FOLDER / "format-1.json").read_text())[name]
    kind = {"session": tarry.Session, "join": tarry.LabelJoin}[name]
    client = Client(Scenario(kind, {}, expected["script"]))
    with kind.open(url, name=name) as session:
        client.play(session)
        status = session.status()
    assert client.answers == expected["answers"]
    with kind.open(url, name=name) as again:
        assert repr(again.status()) == repr(status)


def copy_to_postgresql(path, url):
    """Write what a SQLite file of the first format holds as the first version kept it in PostgreSQL."""
    with sqlite3.connect(path) as old, psycopg.connect(url, autocommit=True) as new:
        for statement in (
            "CREATE TABLE tarry_format (version INTEGER NOT NULL)",
            "INSERT INTO tarry_format VALUES (1)",
            "CREATE TABLE tarry_sessions (number SERIAL PRIMARY KEY, name TEXT UNIQUE NOT NULL, "
            "configuration TEXT NOT NULL, checksum BIGINT NOT NULL)",
            "CREATE TABLE tarry_heads (session INTEGER PRIMARY KEY, version BIGINT NOT NULL, slots BIGINT NOT NULL)",
            "CREATE TABLE tarry_items (session INTEGER, round BIGINT, body TEXT NOT NULL, play BYTEA NOT NULL, "
            "payload BYTEA, checksum BIGINT NOT NULL, PRIMARY KEY (session, round))",
        ):
            new.execute(statement)
        for row in old.execute("SELECT * FROM tarry_sessions"):
            new.execute("INSERT INTO tarry_sessions VALUES (%s, %s, %s, %s)", row)
        for place, *row in old.execute("SELECT * FROM tarry_items"):
            at = (place >> 40, place & (1 << 40) - 1)
            new.execute("INSERT INTO tarry_items VALUES (%s, %s, %s, %s, %s, %s)", (*at, *row))
        for table in ("tarry_state", "tarry_fates", "tarry_ids"):
            new.execute(
                f"CREATE TABLE {table} (session INTEGER, chunk BIGINT, version BIGINT NOT NULL, "
                "checksum BIGINT NOT NULL, data BYTEA NOT NULL, PRIMARY KEY (session, chunk))"
            )
            for place, version, checksum, data in old.execute(f"SELECT * FROM {table}"):
                session, chunk = place >> 40, (place & (1 << 40) - 1) - 1
                if chunk >= 0:
                    new.execute(
                        f"INSERT INTO {table} VALUES (%s, %s, %s, %s, %s)", (session, chunk, version, checksum, data)
                    )
                else:
                    slots = int.from_bytes(data, "little")
                    new.execute("INSERT INTO tarry_heads VALUES (%s, %s, %s)", (session, version, slots))
    old.close()
