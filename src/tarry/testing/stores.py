"""What every store of sessions must do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tarry.errors import Missing, StoreError
from tarry.live import LabelJoin
from tarry.live.buffers import FATES, HEAD, IDS, REGIONS, STATE, Chunk, make_chunk
from tarry.live.encoding import ItemRow
from tarry.live.stores import Change, Store


def _change(version: int, rows: Mapping[int, ItemRow | None] | None = None, **chunks: list[int]) -> Change:
    """Return a change to this version: chunks of these numbers by region, and rows by round."""
    made = {region: [make_chunk(i, version, b"%d" % i * 8) for i in numbers] for region, numbers in chunks.items()}
    return Change(make_chunk(HEAD, version, b"head %d" % version), {STATE: [], FATES: []} | made, rows or {})


def _refusal(call: Callable[[], Any], kind: type[Exception]) -> str:
    """Return what a call says that must raise."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"this call must raise {kind.__name__}")


class StoreContract:
    """A suite for one kind of store; pytest collects the subclass's tests.

    ``place(tmp_path)`` is a new, empty database in every test, and ``store(place, name)`` a store in it.

        class TestShelves(StoreContract):
            def place(self, tmp_path):
                return tmp_path / "shelves"

            def store(self, place, name):
                return Shelves(place, name)
    """

    def place(self, tmp_path: Path) -> Any:
        """Return where a database with nothing in it is: override this."""
        raise NotImplementedError(f"{type(self).__name__} must say where its stores are: override place()")

    def store(self, place: Any, name: str) -> Store:
        """Return a store for the session of this name: override this."""
        raise NotImplementedError(f"{type(self).__name__} must say which store it checks: override store()")

    def made(self, place: Any, name: str = "main") -> Store:
        """Return a store with a session in it, at version 1."""
        store = self.store(place, name)
        assert store.create("{}", 7, _change(1, state=[0, 1]))
        return store

    def test_a_session_is_made_once(self, tmp_path: Path) -> None:
        place = self.place(tmp_path)
        first, second = self.store(place, "main"), self.store(place, "main")
        assert first.configuration() is None
        assert first.names() == []
        assert first.create("{}", 7, _change(1, state=[0]))
        assert not second.create("other", 8, _change(1, state=[0]))
        assert first.configuration() == second.configuration() == ("{}", 7)
        first.close()
        second.close()

    def test_sessions_of_other_names_are_apart(self, tmp_path: Path) -> None:
        place = self.place(tmp_path)
        one, other = self.made(place, "one"), self.made(place, "other")
        one.begin(writes=True)
        one.commit(_change(2, {3: ItemRow("{}", b"", None, 0)}, state=[5]))
        assert other.begin(writes=False).version == 1
        assert [chunk.number for chunk in other.chunks(STATE, -1)] == [0, 1]
        assert other.row(3) is None
        other.rollback()
        assert one.names() == ["one", "other"]
        one.close()
        other.close()

    def test_what_is_removed_is_gone_and_others_stay(self, tmp_path: Path) -> None:
        place = self.place(tmp_path)
        one, other = self.made(place, "one"), self.made(place, "other")
        for store in (one, other):
            store.begin(writes=True)
            store.commit(_change(2, {3: ItemRow("{}", b"", None, 0), -2: ItemRow("{}", b"", None, 0)}, state=[5]))
        one.remove()
        one.remove()  # once more does nothing
        assert other.names() == ["other"]
        assert one.configuration() is None
        assert _refusal(lambda: one.begin(writes=False), Missing)
        one.rollback()
        assert other.begin(writes=False).version == 2
        assert other.row(3) is not None
        assert other.row(-2) is not None
        other.rollback()
        fresh = self.made(place, "one")
        fresh.begin(writes=False)
        assert fresh.row(3) is None
        assert fresh.row(-2) is None
        fresh.rollback()
        for store in (one, other, fresh):
            store.close()

    def test_what_was_committed_is_there(self, tmp_path: Path) -> None:
        """Chunks come back as they were, in their order; rows too, bytes and texts of any kind."""
        place = self.place(tmp_path)
        store = self.made(place)
        rows = {1: ItemRow('{"ü": "\\ud800"}', b"\0\xff", b"", 2**32 - 1), 2: ItemRow("{}", b"", None, 0)}
        change = _change(2, rows, state=[1, 300], fates=[0], ids=[2, 1])  # replaces, skips, and out of order
        store.begin(writes=True)
        store.commit(change)
        store.close()
        again = self.store(place, "main")
        again.configuration()
        assert again.begin(writes=False) == change.head
        assert [chunk.number for chunk in again.chunks(STATE, -1)] == [0, 1, 300]
        assert [*again.chunks(STATE, 1)] == change.chunks[STATE]
        assert [*again.chunks(IDS, -1)] == sorted(change.chunks[IDS])
        assert [*again.chunks(IDS, -1, range(2, 9))] == [c for c in change.chunks[IDS] if c.number == 2]
        assert [*again.chunks(FATES, 2)] == []
        assert (again.row(1), again.row(2), again.row(3)) == (rows[1], rows[2], None)
        again.rollback()
        again.close()

    def test_a_chunk_or_row_is_replaced_or_removed(self, tmp_path: Path) -> None:
        store = self.made(self.place(tmp_path))
        for version, row in ((2, ItemRow("a", b"", None, 0)), (3, ItemRow("b", b"", b"x", 1)), (4, None)):
            store.begin(writes=True)
            store.commit(_change(version, {1: row}, state=[0]))
            store.begin(writes=False)
            assert store.row(1) == row
            assert [chunk.version for chunk in store.chunks(STATE, -1)] == [version, 1]
            store.rollback()
        store.close()

    def test_a_new_configuration_replaces_all_chunks(self, tmp_path: Path) -> None:
        """Also within the transaction of whoever reads next; rows stay, and so do sessions of other names."""
        place = self.place(tmp_path)
        other, store = self.made(place, "other"), self.made(place)
        reader = self.store(place, "main")
        assert reader.configuration() == ("{}", 7)
        row = ItemRow("a", b"", None, 0)
        store.begin(writes=True)
        store.commit(_change(2, {4: row}, state=[2, 9], fates=[0, 3], ids=[1]))
        store.begin(writes=True)
        store.commit(_change(3, {5: row}, state=[0], ids=[0])._replace(configuration=("{1}", 8)))
        assert reader.begin(writes=False).version == 3
        assert reader.configuration() == ("{1}", 8)
        found = {region: [chunk.number for chunk in reader.chunks(region, -1)] for region in REGIONS}
        assert found == {STATE: [0], FATES: [], IDS: [0]}
        assert (reader.row(4), reader.row(5)) == (row, row)
        reader.rollback()
        assert other.begin(writes=False).version == 1
        assert other.configuration() == ("{}", 7)
        assert [chunk.number for chunk in other.chunks(STATE, -1)] == [0, 1]
        other.rollback()
        for one in (store, reader, other):
            one.close()

    def test_a_join_changes_while_others_have_it_open(self, tmp_path: Path) -> None:
        place = self.place(tmp_path)
        one, two = LabelJoin(4, rng=3, store=self.store(place, "main")), LabelJoin.open(self.store(place, "main"))
        for i in range(9):
            one.decide({"i": i}, id=f"d{i}")
        assert len(two.resize(capacity=2, memory=5)) == 2
        assert (one.status().tracked, one.fate("d0").name) == (2, "LATE")
        assert len(one.resize(capacity=6)) == 0
        assert [two.decide({"i": i}, id=f"d{i}").tracked for i in range(9, 13)] == [True] * 4
        rows = [one.label(f"d{i}", 1) for i in range(13)]
        assert abs(sum(row.weight for row in rows if row is not None) - 13.0) < 1e-9
        one.close()
        two.close()

    def test_a_transaction_that_is_left_leaves_no_trace(self, tmp_path: Path) -> None:
        store = self.made(self.place(tmp_path))
        for writes in (True, False):
            assert store.begin(writes=writes).version == 1
            store.rollback()
            store.rollback()  # where none is open, nothing happens
        assert store.begin(writes=True).version == 1
        store.commit(_change(2, state=[0]))
        assert store.begin(writes=True).version == 2
        store.rollback()
        store.close()

    def test_a_closed_store_says_so(self, tmp_path: Path) -> None:
        store = self.made(self.place(tmp_path))
        store.close()
        store.close()  # once is enough, twice does no harm
        assert "closed" in _refusal(lambda: store.begin(writes=True), StoreError)

    def test_heads_are_chunks_that_no_region_lists(self, tmp_path: Path) -> None:
        store = self.made(self.place(tmp_path))
        head = store.begin(writes=False)
        assert (type(head), head.number) == (Chunk, HEAD)
        assert all(chunk.number >= 0 for chunk in store.chunks(STATE, -1))
        store.rollback()
        store.close()

    def test_a_session_on_it_goes_on_as_one_in_memory(self, tmp_path: Path) -> None:
        """A join played by two clients in turn, opened again in the middle, gives what one in memory gives."""
        place = self.place(tmp_path)
        plain = LabelJoin(4, rng=3)  # in memory, by the same draws
        one = LabelJoin(4, rng=3, store=self.store(place, "main"))
        two = LabelJoin.open(self.store(place, "main"))
        for i in range(60):
            client = (one, two)[i % 2]
            assert client.decide({"i": i}, id=f"d{i}") == plain.decide({"i": i}, id=f"d{i}")
            assert client.label(f"d{i - 3}", i) == plain.label(f"d{i - 3}", i)
            if i == 30:
                two.close()
                two = LabelJoin.open(self.store(place, "main"))
        assert one.status() == two.status() == plain.status()
        assert one.ledger(60) == plain.ledger(60)
        one.close()
        two.close()

    def test_a_call_that_fails_changes_nothing(self, tmp_path: Path) -> None:
        place = self.place(tmp_path)
        join = LabelJoin(4, rng=3, store=self.store(place, "main"))
        join.decide({"i": 1}, id="a")

        def fail(*_: Any) -> None:
            join._tracker.open("b", None, {"i": 2})  # half of a decision, which must not stay
            raise ZeroDivisionError

        _refusal(lambda: join._turns.change(fail), ZeroDivisionError)
        assert join.status().rounds == 1
        assert join.decide({"i": 2}, id="b").tracked
        assert join.label("a", 1).features == {"i": 1}  # type: ignore[union-attr]
        join.close()
