"""Stores for the tests: a SQLite file or a PostgreSQL database of their own."""

from __future__ import annotations

from itertools import count

import pytest
from stored import make_on

_numbers = count(1)


@pytest.fixture
def new_store(request, tmp_path):
    """A function that makes the address of a new, empty store: ``new_store("sqlite")``."""

    def make(kind):
        number = next(_numbers)
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/{number}.db"
        return request.getfixturevalue("postgres").url(f"t{number}")

    return make


@pytest.fixture
def ours(tmp_path):
    """A file with a session of some rounds."""
    path = tmp_path / "ours.db"
    with make_on(path) as session:
        session.ask_many(ids=[f"r{i}" for i in range(40)])
    assert not list(tmp_path.glob("*-wal"))
    return path
