"""Disks that are full, read-only or far away: calls say so and lose nothing."""

from __future__ import annotations

import os
import resource
import shutil
from pathlib import Path

import numpy as np
import pytest
from processes import Child
from stored import hashed, make_on

import tarry
from tarry.errors import StoreError
from tarry.live import stores

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")


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
        with make_on(path) as session:
            assert session.ask("r39").status is tarry.Answer.REPEATED
            assert session.status().rounds == 40
    finally:
        shutil.rmtree(world)


def test_a_full_disk_loses_nothing(ours, tmp_path):
    """Every call that finds no room says so; the session then goes on as one that never met a full disk."""
    twin_path = shutil.copy(ours, tmp_path / "twin.db")
    with make_on(ours) as session, make_on(twin_path) as twin:
        run = session._turns.store.database.execute
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
                run(f"PRAGMA max_page_count = {run('PRAGMA page_count').fetchone()[0] + 2}")
                found = session.ask(f"n{i}")
            wanted = twin.ask(f"n{i}")
            assert found[2:] == wanted[2:]
            assert np.array_equal(found.play, wanted.play)
        assert refused > 1
        assert session.status() == twin.status()


def test_a_limit_on_file_sizes_loses_nothing(ours, tmp_path):
    """The system itself refuses the write, in the middle of the log."""
    twin_path = shutil.copy(ours, tmp_path / "twin.db")

    def work():
        with make_on(ours) as session, make_on(twin_path) as twin:
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
    monkeypatch.setattr(stores, "MOUNTS", mounts)
    if is_warned:
        with pytest.warns(UserWarning, match=f"network file system \\({kind}\\)"):
            make_on(tmp_path / "a.db").close()
    else:
        make_on(tmp_path / "a.db").close()


def test_mounts_with_spaces_in_their_names(tmp_path, monkeypatch):
    place = tmp_path / "my files"
    place.mkdir()
    mounts = tmp_path / "mounts"
    escaped = str(place.resolve()).replace(" ", r"\040")
    mounts.write_text(f"server:/x {escaped} nfs rw 0 0\n")
    monkeypatch.setattr(stores, "MOUNTS", mounts)
    with pytest.warns(UserWarning, match="network file system"):
        make_on(place / "a.db").close()
