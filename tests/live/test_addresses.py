"""A store's address means one place, for good; what is shown of it holds no password."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
from scenario import PLAYER

import tarry
from tarry.errors import StoreError
from tarry.live.stores import open_store, sqlite, stored_names, without_password


def make(path):
    return tarry.Session(PLAYER, capacity=4, rng=1, store=f"sqlite:///{path}")


def test_a_relative_path_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    with make("a.db") as session:
        session.ask()
        monkeypatch.chdir(other)
        session._turns.store._is_lost = True
        assert session.ask().id == 2
    assert not list(other.iterdir())


@pytest.mark.parametrize("is_emptied", [False, True])
def test_a_lost_file_is_not_made_again(is_emptied, tmp_path):
    path = tmp_path / "a.db"
    with make(path) as session:
        session._turns.store._let_go()
        session._turns.store._is_lost = True
        path.unlink()
        if is_emptied:
            path.touch()
        for _ in range(2):
            with pytest.raises(
                StoreError, match="is empty: make a session or join first" if is_emptied else "cannot be opened"
            ):
                session.ask()
        assert path.exists() == is_emptied
        assert not is_emptied or not path.stat().st_size


def test_names_with_a_meaning_for_sqlite_are_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["file:b.db", "file::memory:?cache=shared", "a?mode=ro.db", "%20x.db", "#c.db"]
    for name in names:
        with make(name) as session:
            session.ask()
    assert {path.name for path in tmp_path.iterdir()} == set(names)
    with pytest.raises(ValueError, match="store='memory:'"):
        make(":memory:")


def test_a_store_without_a_write_ahead_log_is_refused(tmp_path, monkeypatch):
    class Kept(sqlite3.Connection):
        def execute(self, statement, *given):
            return super().execute(statement.replace("journal_mode = WAL", "journal_mode = DELETE"), *given)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite.sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Kept))
    with pytest.raises(StoreError, match="SQLite keeps the mode 'delete'"):
        make(tmp_path / "a.db")


def test_a_closed_session_stays_closed(tmp_path):
    session = make(tmp_path / "a.db")
    session.ask()
    session.close()
    for call in (session.ask, session.status, session.ask, lambda: session.fate(1), session.ask):
        with pytest.raises(StoreError, match="this was closed: open it again"):
            call()
    session.close()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:s3cret@db/main?password=s3cret", "postgresql://ada@db/main"),
        ("postgresql+psycopg://ada:s3cret@db/main", "postgresql+psycopg://ada@db/main"),
        ("mysql://ada:s3/cr@et@db/main", "mysql://ada@db/main"),
        ("postgres://db/main?password=s3cr@et", "postgres://…"),
        ("postgresql://ada:s3?cret@db/main", "postgresql://…"),
        ("host=db password=s3cret", "host=db…"),
        ("sqlite:///me@home.db", "sqlite:///me@home.db"),
        ("memory:", "memory:"),
    ],
)
def test_what_is_shown_holds_no_password(url, shown):
    assert without_password(url) == shown


@pytest.mark.parametrize("url", ["mysql://ada:s3cret@db/main", "postgresql+psycopg://ada:s3cret@db/main"])
def test_an_address_of_another_kind_is_refused_without_its_password(url):
    with pytest.raises(ValueError, match="store must be") as told:
        open_store(url)
    assert "s3cret" not in str(told.value)


@pytest.mark.parametrize(
    "rest",
    [
        "ada:s3%zzcret@127.0.0.1:1/db",
        "ada:s3 cret@127.0.0.1:1/db",
        "ada:s3cret@[::1/db",
        "ada:s3cret@127.0.0.1:1/db",
        "ada:ab@cret@127.0.0.1:1/db",
    ],
)
def test_a_driver_that_quotes_the_password_is_not_quoted(rest):
    with pytest.raises(StoreError) as told:
        open_store(f"postgresql://{rest}")
    assert "cret" not in str(told.value)
    assert told.value.__suppress_context__


def test_opening_makes_no_tables_in_a_database(new_store):
    url = new_store("postgresql")
    for attempt in (lambda: tarry.Session.open(url), lambda: open_store(url, must_exist=True)):
        with pytest.raises(StoreError, match="make a session or join first"):
            attempt()
    with psycopg.connect(url) as database:
        assert database.execute("SELECT to_regclass('tarry_format')").fetchone() == (None,)
    with tarry.Session(PLAYER, capacity=4, rng=1, store=url) as session:
        session.ask()
    assert stored_names(url) == {"main": "session"}
    with tarry.Session.open(url) as again:
        assert again.ask().id == 2
