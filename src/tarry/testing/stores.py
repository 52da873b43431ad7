"""What every store of sessions must do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tarry.errors import Missing, StoreError
from tarry.live import LabelJoin
from tarry.live.stores import TOKEN, Entry, Snapshot, Store

FIRST = Snapshot(0, b"0" * TOKEN, b"before all \x00\xff")


def _entry(seq: int, body: bytes = b"", token: bytes = b"") -> Entry:
    """Return an entry with this number."""
    return Entry(seq, token or b"%014d" % seq, body or b"call %d \x00\xff" % seq)


def _refusal(call: Callable[[], Any], kind: type[Exception]) -> str:
    """Return what a call says that must raise."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"this call must raise {kind.__name__}")


def _append(store: Store, *entries: Entry) -> None:
    """Write entries, each in a transaction."""
    for entry in entries:
        store.begin(entry.seq - 1, writes=True)
        store.append(entry)


def _stored(store: Store, after: int = 0) -> list[Entry]:
    """Return the entries that a reader finds."""
    store.begin(after, writes=False)
    entries = [*store.entries(after)]
    store.rollback()
    return entries


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
        """Return a store with a join in it, before its first call."""
        store = self.store(place, name)
        assert store.create("join", FIRST)
        return store

    def test_a_name_is_made_once(self, tmp_path: Path) -> None:
        place = self.place(tmp_path)
        first, second = self.store(place, "main"), self.store(place, "main")
        assert first.snapshot() is None
        assert first.names() == {}
        assert first.create("join", FIRST)
        second = self.store(place, "main")
        assert not second.create("session", FIRST._replace(body=b"other"))
        assert first.snapshot() == second.snapshot() == FIRST
        assert first.names() == {"main": "join"}
        first.close()
        second.close()

    def test_names_are_apart(self, tmp_path: Path) -> None:
        place = self.place(tmp_path)
        one, other = self.made(place, "one"), self.made(place, "other")
        _append(one, _entry(1), _entry(2))
        assert _stored(other) == []
        _append(other, _entry(1, b"its own"))
        assert [entry.body for entry in _stored(other)] == [b"its own"]
        assert _stored(one) == [_entry(1), _entry(2)]
        assert [*one.names()] == ["one", "other"]
        one.close()
        other.close()

    def test_what_is_removed_is_gone_and_others_stay(self, tmp_path: Path) -> None:
        place = self.place(tmp_path)
        one, other = self.made(place, "one"), self.made(place, "other")
        for store in (one, other):
            _append(store, _entry(1))
        one.remove()
        one.remove()  # once more does nothing
        assert [*other.names()] == ["other"]
        assert one.snapshot() is None
        assert _refusal(lambda: one.begin(0, writes=False), Missing)
        one.rollback()
        assert _stored(other) == [_entry(1)]
        fresh = self.made(place, "one")
        assert _stored(fresh) == []
        for store in (one, other, fresh):
            store.close()

    def test_what_was_committed_is_there_in_its_order(self, tmp_path: Path) -> None:
        place = self.place(tmp_path)
        store = self.made(place)
        entries = [_entry(seq) for seq in range(1, 12)]
        _append(store, *entries)
        store.close()
        again = self.store(place, "main")
        assert again.snapshot() == FIRST
        assert _stored(again) == entries
        assert _stored(again, 4) == entries[4:]
        assert _stored(again, 11) == []
        again.close()

    def test_others_are_told_what_is_new(self, tmp_path: Path) -> None:
        """``begin`` gives the entries after one, and may give None only where nobody else has written."""
        place = self.place(tmp_path)
        writer, reader = self.made(place), self.store(place, "main")
        assert reader.snapshot() == FIRST
        for seq in (1, 2, 3):
            _append(writer, _entry(seq))
            for writes in (False, True):
                found = reader.begin(seq - 1, writes=writes)
                reader.rollback()
                assert found is None if writes and found is None else found == [_entry(seq)]
        writer.close()
        reader.close()

    def test_a_snapshot_takes_the_place_of_entries(self, tmp_path: Path) -> None:
        """Of those before its own, but for entries whose tokens are to stay."""
        place = self.place(tmp_path)
        store, other = self.made(place), self.made(place, "other")
        entries = [_entry(seq) for seq in range(1, 8)]
        _append(store, *entries)
        _append(other, *entries)
        late = Snapshot(5, b"t" * 3 * TOKEN, b"after five")
        store.replace(late, entries[2].token)
        assert store.snapshot() == late
        assert _stored(store) == entries[2:]
        store.replace(Snapshot(4, b"", b"too old"), b"\xff" * TOKEN)
        assert store.snapshot() == late
        last = late._replace(seq=6)
        store.replace(last, b"\xff" * TOKEN)
        assert (store.snapshot(), _stored(store)) == (last, entries[5:])
        assert (other.snapshot(), _stored(other)) == (FIRST, entries)
        store.close()
        other.close()

    def test_a_name_may_be_changed(self, tmp_path: Path) -> None:
        place = self.place(tmp_path)
        store, other = self.made(place), self.made(place, "other")
        _append(store, _entry(1))
        assert not store.rename("other")
        assert store.rename("new")
        assert set(other.names()) == {"new", "other"}
        assert _stored(store) == [_entry(1)]
        assert _stored(other) == []
        store.close()
        other.close()

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
            store.begin(0, writes=writes)
            store.rollback()
            store.rollback()  # where none is open, nothing happens
        store.begin(0, writes=True)
        store.begin(0, writes=True)  # one that was left open is ended first
        store.append(_entry(1))
        assert _stored(store) == [_entry(1)]
        store.close()

    def test_a_closed_store_says_so(self, tmp_path: Path) -> None:
        store = self.made(self.place(tmp_path))
        store.close()
        store.close()  # once is enough, twice does no harm
        assert "closed" in _refusal(lambda: store.begin(0, writes=True), StoreError)

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
            join._tracker.open("b")  # a decision that is made, and must not stay
            raise ZeroDivisionError

        _refusal(lambda: join._turns.change(fail), ZeroDivisionError)
        assert join.status().rounds == 1
        assert join.decide({"i": 2}, id="b").tracked
        assert join.label("a", 1).features == {"i": 1}  # type: ignore[union-attr]
        join.close()
