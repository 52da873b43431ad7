"""Files that are not ours, damaged, full or not to be written: a sentence, and no byte is changed."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
from hashlib import sha256
from pathlib import Path
from zlib import crc32

import numpy as np
import psycopg
import pytest
from processes import Child
from scenario import PLAYER

import tarry
from tarry.errors import StoreError
from tarry.live.regions import CHUNK
from tarry.live.stores import files
from tarry.live.stores.sqlite import FORMAT

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")


def make(path, **options):
    return tarry.Session(PLAYER, capacity=4, rng=1, store=f"sqlite:///{path}", **options)


def hashed(path):
    return sha256(Path(path).read_bytes()).hexdigest()


@pytest.fixture
def ours(tmp_path):
    """A file with a session of some rounds."""
    path = tmp_path / "ours.db"
    with make(path) as session:
        session.ask_many(ids=[f"r{i}" for i in range(40)])
    assert not list(tmp_path.glob("*-wal"))
    return path


def refuse(path, sentence):
    """Neither making nor opening a session touches the file or leaves anything beside it."""
    before, beside = hashed(path), sorted(path.parent.iterdir())
    for attempt in (lambda: make(path), lambda: tarry.Session.open(f"sqlite:///{path}")):
        with pytest.raises(StoreError, match=sentence):
            attempt().ask("next")
        assert hashed(path) == before
        assert sorted(path.parent.iterdir()) == beside


@pytest.mark.parametrize("content", [b"hello", b"x" * 5000, b"SQLite format 4\x00" + bytes(4096), b"\x00" * 4096])
def test_files_of_another_kind(content, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    refuse(path, "is not a SQLite file; it was left as it is")


def test_databases_of_another_program(tmp_path):
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as theirs:
        theirs.execute("CREATE TABLE precious (x)")
    theirs.close()
    refuse(path, "some other program; it was left as it is")


def test_files_of_a_later_version(ours):
    with sqlite3.connect(ours) as later:
        later.execute(f"PRAGMA user_version = {FORMAT + 1}")
    later.close()
    refuse(ours, f"format {FORMAT + 1}, this version of Tarry reads {FORMAT}")


def test_sessions_of_a_later_version(ours):
    with sqlite3.connect(ours) as later:
        text = (
            later.execute("SELECT configuration FROM tarry_sessions")
            .fetchone()[0]
            .replace('"format": 1', '"format": 9')
        )
        later.execute("UPDATE tarry_sessions SET configuration = ?, checksum = ?", (text, crc32(text.encode())))
    later.close()
    refuse(ours, "another version of Tarry")


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
def test_truncated_files(share, ours):
    size = ours.stat().st_size
    os.truncate(ours, int(size * share))
    refuse(ours, "damaged|not a SQLite file|some other program")


@pytest.mark.parametrize("table", ["tarry_state", "tarry_fates", "tarry_ids", "tarry_items", "tarry_sessions"])
def test_bytes_that_changed_on_the_disk(table, ours):
    """Wherever in a row's content a bit flips, its checksum tells."""
    column = {"tarry_items": "body", "tarry_sessions": "configuration"}.get(table, "data")
    # The last row of the items, since that round is asked for below; a long one of the others, which is found for sure.
    order = "place DESC" if table == "tarry_items" else f"length({column}) DESC, 1"
    look = sqlite3.connect(ours)
    content = look.execute(f"SELECT {column} FROM {table} ORDER BY {order} LIMIT 1").fetchone()[0]
    look.close()
    wanted = content.encode() if isinstance(content, str) else content
    raw = bytearray(ours.read_bytes())
    at = raw.find(wanted[:64]) + min(len(wanted), CHUNK) // 3
    raw[at] ^= 1
    ours.write_bytes(raw)
    before = hashed(ours)
    with pytest.raises(StoreError, match=f"is damaged .*{table}.* left as it is"):
        tarry.Session.open(f"sqlite:///{ours}").ask("r39")
    assert hashed(ours) == before


def test_random_damage_is_told_or_harmless(ours, tmp_path):
    """A flipped bit anywhere: a sentence, or the very answers of the undamaged file."""
    with make(ours) as session:
        was = session.ask_many(ids=[f"r{i}" for i in range(40)])
    raw, rng, told = ours.read_bytes(), np.random.default_rng(1), 0
    for n in range(100):
        damaged = bytearray(raw)
        damaged[rng.integers(len(raw))] ^= 1 << rng.integers(8)
        copy = tmp_path / f"copy{n}.db"
        copy.write_bytes(damaged)
        try:
            with tarry.Session.open(f"sqlite:///{copy}") as session:
                now = session.ask_many(ids=[f"r{i}" for i in range(40)])
        except StoreError:
            told += 1
            continue
        assert np.array_equal(was.plays, now.plays)
        assert np.array_equal(was.tracked, now.tracked)
        assert was.released == now.released
    assert told > 5


@pytest.mark.parametrize(
    ("place", "sentence"),
    [("", "is a folder"), ("no/such/file.db", "there is no folder"), ("missing.db", "there is no file")],
)
def test_places_that_are_none(place, sentence, tmp_path):
    attempt = tarry.Session.open if place == "missing.db" else lambda url: make(tmp_path / place)
    with pytest.raises(StoreError, match=sentence):
        attempt(f"sqlite:///{tmp_path / place}")
    assert not list(tmp_path.iterdir())


def test_an_empty_file_becomes_a_store_but_holds_no_session(tmp_path):
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(StoreError, match="is empty: make a session or join first"):
        tarry.Session.open(f"sqlite:///{path}")
    assert path.stat().st_size == 0
    with make(path) as session:
        assert session.ask().id == 1


def as_nobody(work, scratch):
    def child():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        work()

    Child(child, scratch).join()


@as_root
@pytest.mark.parametrize("which", ["file", "folder", "unreadable"])
def test_read_only_stores(which, ours):
    world = Path(os.environ.get("TMPDIR", "/tmp")) / f"tarry-read-only-{os.getpid()}-{which}"
    world.mkdir()
    scratch = world / "scratch"
    scratch.mkdir(mode=0o777)
    scratch.chmod(0o777)
    path = shutil.copy(ours, world / "f.db")
    try:
        world.chmod(0o777 if which == "file" else 0o755)
        path.chmod({"file": 0o444, "folder": 0o666, "unreadable": 0o000}[which])
        before = hashed(path)

        def work():
            with pytest.raises(StoreError, match=r"read-only|cannot be opened|cannot be read"):
                tarry.Session.open(f"sqlite:///{path}").ask("next")

        as_nobody(work, scratch)
        assert hashed(path) == before
        with make(path) as session:
            assert session.ask("r39").status is tarry.Answer.REPEATED
            assert session.status().rounds == 40
    finally:
        shutil.rmtree(world)


def test_a_full_disk_loses_nothing(ours, tmp_path):
    """Every call that finds no room says so; the session then goes on as one that never met a full disk."""
    twin_path = shutil.copy(ours, tmp_path / "twin.db")
    with make(ours) as session, make(twin_path) as twin:
        run = session._tracker.vault.store.database.execute
        run(f"PRAGMA max_page_count = {run('PRAGMA page_count').fetchone()[0]}")
        refused = 0
        for i in range(120):
            try:
                found, told = session.ask(f"n{i}"), ""
            except StoreError as error:
                told = str(error)
            if told:
                assert "the disk is full, so nothing was changed" in told
                assert session.status().rounds == 40 + i  # reading needs no room
                refused += 1
                run(f"PRAGMA max_page_count = {run('PRAGMA page_count').fetchone()[0] + 1}")
                found = session.ask(f"n{i}")
            wanted = twin.ask(f"n{i}")
            assert found[2:] == wanted[2:]
            assert np.array_equal(found.play, wanted.play)
        assert refused > 2
        assert session.status() == twin.status()


def test_a_limit_on_file_sizes_loses_nothing(ours, tmp_path):
    """The system itself refuses the write, in the middle of the log."""
    twin_path = shutil.copy(ours, tmp_path / "twin.db")

    def work():
        with make(ours) as session, make(twin_path) as twin:
            _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
            refused = 0
            for i in range(60):
                if i % 3 == 0:
                    log = Path(f"{ours}-wal").stat().st_size if i else 0
                    resource.setrlimit(resource.RLIMIT_FSIZE, (log + 3000, most))
                    with pytest.raises(StoreError, match="nothing was changed"):
                        session.ask(f"n{i}")
                    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
                    refused += 1
                found, wanted = session.ask(f"n{i}"), twin.ask(f"n{i}")
                assert found[2:] == wanted[2:]
                assert np.array_equal(found.play, wanted.play)
            assert session.status() == twin.status()

    Child(work, tmp_path).join()


@pytest.mark.parametrize(("kind", "is_warned"), [("nfs4", True), ("cifs", True), ("ext4", False), ("fuse.sshfs", True)])
def test_network_file_systems_are_warned_about(kind, is_warned, tmp_path, monkeypatch, recwarn):
    place = str(tmp_path.resolve())
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/x {place} {kind} rw 0 0\nnone {place}/beneath nfs rw 0 0\n")
    monkeypatch.setattr(files, "MOUNTS", mounts)
    if is_warned:
        with pytest.warns(UserWarning, match=f"network file system \\({kind}\\)"):
            make(tmp_path / "a.db").close()
    else:
        make(tmp_path / "a.db").close()


def test_mounts_with_spaces_in_their_names(tmp_path, monkeypatch):
    place = tmp_path / "my files"
    place.mkdir()
    mounts = tmp_path / "mounts"
    escaped = str(place.resolve()).replace(" ", r"\040")
    mounts.write_text(f"server:/x {escaped} nfs rw 0 0\n")
    monkeypatch.setattr(files, "MOUNTS", mounts)
    with pytest.warns(UserWarning, match="network file system"):
        make(place / "a.db").close()


def test_names_of_files_and_sessions(tmp_path):
    """Whatever characters they have, a file is that file and a session that session."""
    names = ["main", "'; DROP TABLE tarry_sessions; --", "../../etc", "=1+1", "%s ? :x", "ü 🦊", "a\nb"]
    path = tmp_path / "a?mode=memory&x=#%20 ü.db"
    for i, name in enumerate(names):
        with make(path, name=name) as session:
            session.ask_many(i + 1)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert tarry.live.stores.stored_names(f"sqlite:///{path}") == names
    for i, name in enumerate(names):
        with tarry.Session.open(f"sqlite:///{path}", name=name) as session:
            assert session.status().rounds == i + 1


@pytest.mark.parametrize("name", ["", "\x00", "a\x00b", "\udc80"])
def test_names_that_no_database_can_hold(name, tmp_path):
    with pytest.raises(ValueError, match="the name of a session or join must be"):
        make(tmp_path / "a.db", name=name)


def test_databases_that_say_no(new_store):
    store = new_store("postgresql")
    with pytest.raises(StoreError, match="read-only"):
        tarry.Session(PLAYER, capacity=2, store=f"{store}%20-cdefault_transaction_read_only%3Don")
    with pytest.raises(StoreError, match="cannot be reached"):
        tarry.Session(PLAYER, capacity=2, store="postgresql://tarry:secret@127.0.0.1:1/none")
    with tarry.Session(PLAYER, capacity=2, store=store) as session:
        session.ask("a")
    with psycopg.connect(store, autocommit=True) as database:
        database.execute("UPDATE tarry_state SET data = set_byte(data, 5, 77)")
        with (
            tarry.Session.open(store) as session,
            pytest.raises(StoreError, match=r"damaged \(chunk 0 of tarry_state"),
        ):
            session.ask("b")
        database.execute("UPDATE tarry_format SET version = 2")
        with pytest.raises(StoreError, match="format 2, this version of Tarry reads 1"):
            tarry.Session.open(store)
