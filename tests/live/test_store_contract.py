"""The contract of stores, for ours and for a fourth that is written here."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode

import pytest

from tarry.errors import Missing, StoreError
from tarry.live.buffers import Chunk
from tarry.live.encoding import ItemRow
from tarry.live.stores import open_store
from tarry.live.stores.memory import Memory
from tarry.testing import StoreContract


class TestMemory(StoreContract):
    def place(self, tmp_path):
        return {}

    def store(self, place, name):
        return Memory(name, place)


class TestSQLite(StoreContract):
    kind = "sqlite"

    @pytest.fixture(autouse=True)
    def _stores(self, new_store):
        self._new_store = new_store

    def place(self, tmp_path):
        return self._new_store(self.kind)

    def store(self, place, name):
        return open_store(place, name)


class TestPostgreSQL(TestSQLite):
    kind = "postgresql"


class Journal:
    """A store that appends a line of JSON for each change, as somebody else might write one."""

    errors = (OSError,)

    def __init__(self, path, name):
        self.where, self._path, self._name, self._is_closed = str(path), path, name, False

    def _lines(self):
        if self._is_closed:
            raise StoreError(f"{self.where}: this was closed")
        return [json.loads(line) for line in self._path.read_text().splitlines()] if self._path.exists() else []

    def _mine(self):
        return [line for line in self._lines() if line["name"] == self._name]

    def names(self):
        return list(dict.fromkeys(line["name"] for line in self._lines()))

    def configuration(self):
        return next((tuple(line["configuration"]) for line in reversed(self._mine()) if "configuration" in line), None)

    def create(self, configuration, checksum, change):
        if self.configuration() is not None:
            return False
        self._append({"name": self._name, "configuration": [configuration, checksum]}, change)
        return True

    def begin(self, *, writes):
        mine = self._mine()
        if not mine:
            raise Missing(f"{self._name!r} is gone from {self.where}")
        return _chunk(mine[-1]["head"])

    def chunks(self, region, since, numbers=None):
        found = {}
        for line in self._mine():
            found = {} if "configuration" in line else found
            found |= {chunk[0]: chunk for chunk in line["chunks"].get(region, [])}
        chosen = [found[i] for i in sorted(found) if found[i][1] > since and (numbers is None or i in numbers)]
        return [_chunk(chunk) for chunk in chosen]

    def row(self, t):
        found = next((line["rows"][str(t)] for line in reversed(self._mine()) if str(t) in line["rows"]), None)
        if found is None:
            return None
        body, play, payload, checksum = found
        return ItemRow(body, b64decode(play), None if payload is None else b64decode(payload), checksum)

    def commit(self, change):
        new = {} if change.configuration is None else {"configuration": change.configuration}
        self._append({"name": self._name, **new}, change)

    def _append(self, line, change):
        rows = {t: row and [row[0], _text(row[1]), _text(row[2]), row[3]] for t, row in change.rows.items()}
        chunks = {region: [[*c[:3], _text(c.data)] for c in some] for region, some in change.chunks.items()}
        line |= {"head": [*change.head[:3], _text(change.head.data)], "chunks": chunks, "rows": rows}
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def rollback(self):
        pass

    def remove(self):
        others = [json.dumps(line) + "\n" for line in self._lines() if line["name"] != self._name]
        self._path.write_text("".join(others))

    def close(self):
        self._is_closed = True

    def explain(self, error):
        return f"{self.where}: {error}"


def _text(data):
    return None if data is None else b64encode(data).decode()


def _chunk(plain):
    return Chunk(*plain[:3], b64decode(plain[3]))


class TestJournal(StoreContract):
    def place(self, tmp_path):
        return tmp_path / "journal.jsonl"

    def store(self, place, name):
        return Journal(place, name)
