"""What services meet: they are stopped in the middle of a call, their store goes back in time, a row cannot be read."""

from __future__ import annotations

import gc
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import weakref
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import psycopg
import pytest

import tarry
from tarry.errors import StoreError, TarryError
from tarry.live.encoding import Packed
from tarry.live.past import Ids
from tarry.live.stores.memory import Memory
from tarry.live.values import DEEPEST, LARGEST_TEXT

KINDS = ["sqlite", "postgresql"]


def make(store, capacity=8, **options):
    return tarry.LabelJoin(capacity, rng=5, store=store, durability="process", **options)


@pytest.mark.parametrize("kind", KINDS)
def test_closing_waits_for_the_call_of_another_thread(kind, new_store):
    """The call ends, or is told that this was closed; what was answered is there."""
    for trial in range(6):
        store, done, told = new_store(kind), [], []
        join = make(store)

        def decide(join=join, done=done, told=told):
            try:
                while True:
                    done.append(join.decide({"x": 1}, id=f"d{len(done)}").id)
            except StoreError as error:
                told.append(str(error))

        thread = threading.Thread(target=decide)
        thread.start()
        time.sleep(0.01 * (trial + 1))
        join.close()
        thread.join(60)
        assert not thread.is_alive()
        assert "this was closed: open it again" in told[0]
        with tarry.LabelJoin.open(store) as again:
            assert again.status().rounds == len(done)


def test_closing_from_within_a_call_is_refused(tmp_path):
    join = make(f"sqlite:///{tmp_path / 'a.db'}")
    with pytest.raises(TarryError, match="in the middle of a call"):
        join._turns.change(lambda *_: join.close())
    assert join.decide(id="a").tracked
    join.close()


def roll_back_sqlite(store, scratch):
    """Return a function that brings a SQLite file back to now, through SQLite's own backup."""
    path, kept = store.removeprefix("sqlite:///"), scratch / "kept.db"

    def copy(source, target):
        with sqlite3.connect(source) as one, sqlite3.connect(target) as other:
            one.backup(other)
        one.close()
        other.close()

    copy(path, kept)
    return lambda: copy(kept, path)


def roll_back_postgresql(store, scratch):
    """The same for the tables of a PostgreSQL database."""
    tables = ("tarry_journal", "tarry_objects")
    with psycopg.connect(store, autocommit=True) as database:
        for table in tables:
            database.execute(f"CREATE TABLE kept_{table} AS TABLE {table}")

    def restore():
        with psycopg.connect(store) as database:
            for table in tables:
                database.execute(f"DELETE FROM {table}")
                database.execute(f"INSERT INTO {table} SELECT * FROM kept_{table}")

    return restore


@pytest.mark.parametrize("others", [0, 20, 80])
@pytest.mark.parametrize("kind", KINDS)
def test_a_store_that_went_back_in_time_is_noticed(kind, others, new_store, tmp_path):
    """An open client is told once, and goes on from what is stored now, also where others have gone on from there."""
    store = new_store(kind)
    join = make(store)
    for i in range(100):
        join.decide({"i": i}, id=f"d{i}")
    back = (roll_back_sqlite if kind == "sqlite" else roll_back_postgresql)(store, tmp_path)
    for i in range(50):
        join.decide({"i": i}, id=f"lost{i}")
    back()
    with make(store) as other:
        for i in range(others):
            other.decide({"i": i}, id=f"other{i}")
        with pytest.raises(StoreError, match="went back in time"):
            join.decide({"i": 0}, id="new0")
        for i in range(10):
            join.decide({"i": i}, id=f"new{i}")
            other.label(f"d{90 + i}", 1.0)
        assert repr(join.status()) == repr(other.status())
        assert join.status().rounds == 100 + others + 10
        assert join.fate("lost1") is tarry.Answer.UNKNOWN
    join.close()
    twin = tarry.LabelJoin(8, rng=5)
    for name, count in (("d", 100), ("other", others)):
        for i in range(count):
            twin.decide({"i": i}, id=f"{name}{i}")
    for i in range(10):
        twin.decide({"i": i}, id=f"new{i}")
        twin.label(f"d{90 + i}", 1.0)
    with tarry.LabelJoin.open(store) as again:
        assert repr(again.status()) == repr(twin.status())
        assert again.ledger(120) == twin.ledger(120)


@pytest.mark.parametrize("name", ["features", "label", "missing"])
def test_what_others_could_not_read_is_never_stored(name, tmp_path):
    deep = []
    for _ in range(5000):
        deep = [deep]
    with make(f"sqlite:///{tmp_path / 'a.db'}", labels="all", outbox=True) as join:
        join.decide(id="a")
        call = {
            "features": lambda value: join.decide(value, id="b"),
            "label": lambda value: join.label("a", value),
            "missing": lambda value: join.finish("a", value),
        }[name]
        limits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
        sys.setrecursionlimit(20_000)
        sys.set_int_max_str_digits(0)
        try:
            for bad, said in ((deep, "levels of nesting"), (10**5000, "digits"), ({"n": [10**5000]}, "digits")):
                with pytest.raises(ValueError, match=said):
                    call(bad)
        finally:
            sys.setrecursionlimit(limits[0])
            sys.set_int_max_str_digits(limits[1])
        with pytest.raises(ValueError, match="bytes at once"):
            call("x" * (LARGEST_TEXT + 1))
        nested = 1
        for _ in range(DEEPEST):
            nested = [nested]
        call({"deep": nested[0]} if name == "features" else nested)
        assert join.status().rounds == (2 if name == "features" else 1)


def test_features_that_cannot_be_read_harm_themselves_alone(tmp_path):
    """A payload too deep for this process: its round waits, the others go on, and copies have it as it is."""
    store = f"sqlite:///{tmp_path / 'a.db'}"
    with make(store, 4) as join:
        for i in range(4):
            join.decide(Packed("[" * 100_000) if i == 1 else {"i": i}, id=f"d{i}")
    with make(store, 4) as join:
        with pytest.raises(StoreError, match="cannot be read"):
            join.label("d1", 1.0)
        assert join.fate("d1") is tarry.Answer.PENDING
        exported = join.export(payloads=True)["tracked"]
        assert ["unreadable" in one for one in exported] == [False, True, False, False]
        copy = join.copy_to(Memory())  # the features move as they are: others may read them
        assert copy.label("d0", 1.0).features == {"i": 0}
        with pytest.raises(StoreError, match="cannot be read"):
            copy.label("d1", 1.0)
        for i in range(300):
            join.decide({"i": i}, id=f"more{i}")
            assert join.status().tracked == 4
        if join.fate("d1") is tarry.Answer.PENDING:
            assert join.expire("d1").status is tarry.Answer.EXPIRED
    with make(store, 4) as join:
        assert join.status().rounds == 304


def test_features_that_a_process_cannot_read_keep_no_others_waiting(tmp_path, monkeypatch):
    """A time zone that another machine knows, or pandas where it is not installed: the row waits for one that can."""
    store = f"sqlite:///{tmp_path / 'a.db'}"
    with tarry.LabelJoin(4, window=10, missing=0, outbox=True, store=store, rng=1) as join:
        for i, zone in enumerate((None, ZoneInfo("Europe/Berlin"), None, ZoneInfo("Europe/Berlin"))):
            join.decide({"made": datetime(2024, 1, 1, tzinfo=zone)}, f"d{i}", at=i)
    with tarry.LabelJoin.open(store) as join, monkeypatch.context() as elsewhere:
        elsewhere.setattr("tarry.live.values.ZoneInfo", unknown_zone)
        assert [row.id for row in join.advance(12)] == ["d0", "d2"]
        assert join.due(12) == ["d1"]
        with pytest.raises(StoreError, match=r"features stored here cannot be read .*: expire"):
            join.finish("d1")
        assert [row.number for row in join.rows()] == [1, 2]
    with tarry.LabelJoin.open(store) as join:
        (row,) = join.advance(12)
        assert (row.id, row.number, row.weight) == ("d1", 3, 1.0)
        assert row.features["made"].tzinfo.key == "Europe/Berlin"
    with tarry.LabelJoin.open(store) as join, monkeypatch.context() as elsewhere:
        elsewhere.setattr("tarry.live.values.ZoneInfo", unknown_zone)
        assert [row.number for row in join.rows()] == [1, 2]  # what comes before it
        with pytest.raises(StoreError, match=r"row 3 of the outbox cannot be read .*No time zone.* ack\(3\)"):
            join.rows(after=2)
        assert join.ack(3) == 0


def unknown_zone(key):
    raise ZoneInfoNotFoundError(f"No time zone found with key {key}")


def test_two_ids_with_one_hash_are_told_apart(monkeypatch):
    """Where the id itself is kept it is compared: the second is refused and not taken for the first."""
    plain = Ids.hash
    monkeypatch.setattr(Ids, "hash", lambda ids, id: plain(ids, "same" if id in ("one", "two") else id))
    join = tarry.LabelJoin(4, rng=1)
    join.decide({"x": 1}, id="one")
    for call in (lambda: join.decide({"x": 2}, id="two"), lambda: join.label("two", 1.0), lambda: join.fate("two")):
        with pytest.raises(ValueError, match="the ids 'one' and 'two' cannot be told apart"):
            call()
    assert join.status().rounds == 1
    assert join.label("one", 1.0).features == {"x": 1}


@pytest.mark.parametrize("kind", ["memory", *KINDS])
def test_what_is_closed_is_gone_at_once(kind, new_store):
    """No reference cycle keeps the arrays of a closed session until the next collection of garbage."""
    store = "memory:" if kind == "memory" else new_store(kind)
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            join = make(store)
            join.decide(id="a")
            join.label("a", 1.0)
            join.status()
            arrays = weakref.ref(join._tracker)
            join.close()
            del join
            assert arrays() is None
    finally:
        gc.enable()


def test_a_file_whose_log_holds_the_truth_is_opened(tmp_path):
    """A checkpoint that was cut short leaves a main file that is not whole; with the log beside it, it is."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    with make(f"sqlite:///{path}") as join:
        for i in range(300):
            join.decide({"i": i}, id=f"d{i}")
        expected = repr(join.status())
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{copy}{end}")
    with path.open("rb") as whole, copy.open("r+b") as file:
        file.write(whole.read(4096))  # page 1 was written back, and says that there are more pages than there are
        assert copy.stat().st_size < path.stat().st_size
    with make(f"sqlite:///{copy}") as again:
        assert repr(again.status()) == expected


class Lossy(Memory):
    """Loses its connection in the next commit; ``fault`` says when, and what happens before it is back."""

    errors = (ConnectionError,)
    fault = lost = None

    def append(self, entry):
        fault, self.fault = self.fault, None
        if fault == "before":
            raise ConnectionError("lost")
        super().append(entry)
        if fault is not None:
            self.lost = fault
            raise ConnectionError("lost")

    def begin(self, after, *, writes):
        lost, self.lost = self.lost, None
        if lost == "unreachable":
            raise ConnectionError("still lost")
        if lost == "others":
            with tarry.LabelJoin.open(Memory(self.name, self.database)) as other:
                other.decide(id="b")
        return super().begin(after, writes=writes)


@pytest.mark.parametrize("fault", ["before", "after", "unreachable", "others"])
def test_a_connection_lost_in_a_commit_is_asked_for_its_outcome(fault):
    join = tarry.LabelJoin(8, rng=5, store=(store := Lossy()))
    join.decide({"x": 1}, id="a")
    store.fault = fault
    if fault in ("after", "others"):  # it is looked for in the journal, also where others have gone on
        assert join.label("a", 1.0) == ({"x": 1}, 1.0, 1.0, "a", 1.0, 1)
    else:
        said = "lost" if fault == "before" else r"whether this call was stored is unknown: ask fate\(id\)"
        with pytest.raises(StoreError, match=said):
            join.label("a", 1.0)
    assert join.fate("a") is (tarry.Answer.PENDING if fault == "before" else tarry.Answer.USED)
    assert join.status().rounds == 1 + (fault == "others")


class Away(Lossy):
    """The same, and one may wait for it."""

    away = (ConnectionError,)


@pytest.mark.parametrize("fault", ["before", "after", "unreachable", "others"])
def test_patience_waits_for_a_connection_and_gives_the_answer_once(fault):
    join = tarry.LabelJoin(8, rng=5, store=(store := Away()), patience=5)
    join.decide({"x": 1}, id="a")
    store.fault = fault
    assert join.label("a", 1.0) == ({"x": 1}, 1.0, 1.0, "a", 1.0, 1)
    assert join.label("a", 1.0) is None
    answers = join.status().answers
    assert (answers["used"], answers["duplicate"]) == (1, 1)


def test_patience_ends():
    join = tarry.LabelJoin(8, rng=5, store=(store := Away()), patience=0.3)
    join.decide({"x": 1}, id="a")
    store.begin = lambda after, *, writes: (_ for _ in ()).throw(ConnectionError("gone"))
    started = time.monotonic()
    with pytest.raises(StoreError, match="gone"):
        join.label("a", 1.0)
    with pytest.raises(StoreError, match="gone"):
        join.fate("a")
    failures = join.together([join.status] * 2)
    assert [type(failure) for failure in failures] == [StoreError] * 2
    assert 0.6 < time.monotonic() - started < 5


@pytest.mark.parametrize("wrong", [-1, "long", float("nan")])
def test_patience_is_a_number_of_seconds(wrong):
    with pytest.raises((ValueError, TypeError), match="patience"):
        tarry.LabelJoin(8, patience=wrong)


def test_a_backup_copied_over_an_open_file_is_noticed(tmp_path):
    """The same file by its name and number, with another content, and its log removed: nothing is acknowledged."""
    path, backup = tmp_path / "a.db", tmp_path / "backup.db"
    join = make(f"sqlite:///{path}")
    for i in range(40):
        join.decide({"i": i}, id=i)
    with sqlite3.connect(path) as source, sqlite3.connect(backup) as target:
        source.backup(target)
    source.close()
    target.close()
    for i in range(40, 60):
        join.decide({"i": i}, id=i)
    path.write_bytes(backup.read_bytes())
    for end in ("-wal", "-shm"):
        path.with_name(f"a.db{end}").unlink()
    for call in (lambda: join.decide(id="lost"), join.status):
        with pytest.raises(StoreError, match="was deleted, moved or replaced while it was open"):
            call()
    join.close()

    program = (
        "import sqlite3, sys, tarry\n"
        "with tarry.LabelJoin.open(f'sqlite:///{sys.argv[1]}') as again:\n"
        "    assert again.status().rounds == 40\n"
        "    again.decide(id='next')\n"
        "assert sqlite3.connect(sys.argv[1]).execute('PRAGMA integrity_check').fetchall() == [('ok',)]\n"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_call_that_is_interrupted_twice_is_in_no_later_entry(moment, tmp_path):
    """The second interrupt comes while the first one's transaction is undone."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    join = tarry.LabelJoin(4, rng=1, store=url)
    store = join._turns.store
    append, rollback = store.append, store.rollback

    def interrupted(entry):
        if moment == "after":
            append(entry)
        store.rollback = twice
        raise KeyboardInterrupt

    def twice():
        store.rollback = rollback
        raise KeyboardInterrupt

    store.append = interrupted
    with pytest.raises(KeyboardInterrupt):
        join.decide(id="a")
    store.append = append
    join.decide(id="b")
    with tarry.LabelJoin.open(url) as again:
        assert again.status().rounds == join.status().rounds == (2 if moment == "after" else 1)
        assert [again.fate(id) for id in "ab"] == [join.fate(id) for id in "ab"]


def test_a_process_that_opened_a_fresh_join_follows_the_first_snapshot(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with tarry.LabelJoin(4, rng=1, store=url) as join, tarry.LabelJoin.open(url) as waiting:
        join.decide_many([None] * 50, ids=list(range(50)))
        join.vacuum()
        join.decide(id="next")
        assert repr(waiting.status()) == repr(join.status())


def test_a_snapshot_in_a_group_or_a_signal_handler_is_refused(tmp_path):
    join = tarry.LabelJoin(4, rng=1, store=f"sqlite:///{tmp_path / 'a.db'}")
    ticket, refusal = join.together([lambda: join.decide(id="a"), join.vacuum])
    assert ticket.tracked
    assert isinstance(refusal, TarryError)
    store, refusals = join._turns.store, []
    replace = store.replace

    def handled(*arguments):
        for call in (join.status, join.close, join.vacuum):
            with pytest.raises(TarryError, match="in the middle of a call") as refused:
                call()
            refusals.append(refused)
        replace(*arguments)

    store.replace = handled
    join.vacuum()
    assert len(refusals) == 3
    assert join.fate("a") is tarry.Answer.PENDING


def test_a_snapshot_left_while_a_tracker_is_made_again_is_followed(tmp_path):
    """Between two queries of whoever reads everything again, another process leaves a snapshot."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with tarry.LabelJoin(4, rng=1, store=url) as join, tarry.LabelJoin.open(url) as other:
        join.decide_many([None] * 20, ids=list(range(20)))
        other.status()
        entries, other._turns._is_sound = other._turns.store.entries, False

        def late(after):
            other._turns.store.entries = entries
            join.decide(id="more")
            join.vacuum()
            join.decide(id="last")
            return entries(after)

        other._turns.store.entries = late
        assert repr(other.status()) == repr(join.status())
