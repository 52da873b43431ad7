"""The contract of stores, for ours and for the one that a page shows how to write."""

from __future__ import annotations

from functools import cache

import pytest
from shown import blocks_of, pages

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


@cache
def shown():
    """What the page on stores of one's own defines."""
    block = blocks_of("howto/stores.md", pages()["howto/stores.md"])[0]
    names = {}
    exec(block.text.partition("\njoin = ")[0], names)
    return names


class TestShelves(StoreContract):
    def place(self, tmp_path):
        return tmp_path / "shelves"

    def store(self, place, name):
        return shown()["Shelves"](place, name)
