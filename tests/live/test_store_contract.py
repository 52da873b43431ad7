"""The contract of stores, for ours and for a fourth that is written here."""

from __future__ import annotations

import shutil

import pytest

from tarry.errors import Missing, StoreError
from tarry.live.stores import Entry, Snapshot, open_store
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


class Shelves:
    """A store in a folder, as somebody else might write one: a folder for each name, a file for each entry.

    One process uses it at a time.
    """

    errors = (OSError,)
    away = ()

    def __init__(self, folder, name):
        self.where, self._folder, self._name, self._is_closed = str(folder), folder, name, False

    def _shelf(self):
        if self._is_closed:
            raise StoreError(f"{self.where}: this was closed")
        if not (self._folder / self._name).exists():
            raise Missing(f"{self._name!r} is gone from {self.where}")
        return self._folder / self._name

    def names(self):
        shelves = sorted(self._folder.glob("*/kind"), key=lambda path: path.stat().st_ino)
        return {path.parent.name: path.read_text() for path in shelves}

    def create(self, kind, snapshot):
        if (self._folder / self._name).exists():
            return False
        new = self._folder / f".{self._name}"
        new.mkdir(parents=True)
        (new / "kind").write_text(kind)
        self._put(new / "snapshot", snapshot)
        new.rename(self._folder / self._name)
        return True

    def _put(self, path, parts):
        new = path.with_name(f".{path.name}")
        seq, tokens, body = parts
        new.write_bytes(b"%d %d\n%b%b" % (seq, len(tokens), tokens, body))
        new.rename(path)

    def _got(self, path):
        head, _, rest = path.read_bytes().partition(b"\n")
        seq, length = map(int, head.split())
        return seq, rest[:length], rest[length:]

    def begin(self, after, *, writes):
        return self.entries(after)

    def entries(self, after):
        found = [Entry(*self._got(path)) for path in self._shelf().glob("[0-9]*")]
        return sorted(entry for entry in found if entry.seq > after)

    def snapshot(self):
        path = self._folder / self._name / "snapshot"
        return Snapshot(*self._got(path)) if path.exists() else None

    def append(self, entry):
        self._put(self._shelf() / f"{entry.seq:012}", entry)

    def rollback(self):
        pass

    def replace(self, snapshot, oldest):
        if self.snapshot().seq < snapshot.seq:
            self._put(self._shelf() / "snapshot", snapshot)
            for entry in self.entries(0):
                if entry.seq < snapshot.seq and entry.token < oldest:
                    (self._shelf() / f"{entry.seq:012}").unlink()

    def rename(self, name):
        if (self._folder / name).exists():
            return False
        self._shelf().rename(self._folder / name)
        self._name = name
        return True

    def remove(self):
        shutil.rmtree(self._folder / self._name, ignore_errors=True)

    def close(self):
        self._is_closed = True

    def explain(self, error):
        return f"{self.where}: {error}"


class TestShelves(StoreContract):
    def place(self, tmp_path):
        return tmp_path / "shelves"

    def store(self, place, name):
        return Shelves(place, name)
