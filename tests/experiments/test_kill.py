"""Kill -9 at any moment: no finished cell is lost, nothing half written stays."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from processes import Child
from sweeping import TINY, collected, sweep_of, tables_of

from tarry.experiments import Folder, run_sweep
from tarry.experiments import parts as parts_of_folder
from tarry.experiments.parts import Writer, list_parts, read_part, sign, sweep_away, write_whole
from tarry.experiments.play import play_cell

KILLS = 2
MANY = TINY.replace("seeds = 3", "seeds = 8").replace("seeds_per_cell = 2", "seeds_per_cell = 1")
# Not forked: Polars' threads do not survive that. It writes often and merges often, so that kills meet both.
CLIENT = """
import sys
from tarry.experiments import Folder, load_sweep, make_engine, parts, run_sweep
parts.GATHERED_SECONDS, parts.MERGED = 0.02, 4
run_sweep(
    load_sweep(sys.argv[1]),
    Folder(sys.argv[2]),
    make_engine("threads", 2),
    progress=lambda done, total: print("playing", flush=True),
)
"""


def rows(folder):
    """Every finished row, with the time its cell took: a cell played again has another."""
    frames = [read_part(path) for path in list_parts(folder / "parts")]
    assert all(frame is not None for frame in frames)
    found = pl.concat(frames).unique(["cell", "seed"]) if frames else pl.DataFrame()
    return {(row["cell"], row["seed"]): row["seconds"] for row in found.iter_rows(named=True)}


def start(sweep, results):
    """A client in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
    command = [sys.executable, "-c", CLIENT, str(sweep.path), str(results)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)


@pytest.mark.slow
def test_two_runs_and_a_reader_at_once(tmp_path):
    sweep, results, seen = sweep_of(tmp_path, MANY.replace("= 8", "= 20")), tmp_path / "results", [set()]
    with start(sweep, results) as one, start(sweep, results) as other:
        for client in (one, other):
            assert client.stdout.readline() == b"playing\n"
        while one.poll() is None or other.poll() is None:
            contents = Folder(results).read()
            assert contents.damaged == []
            assert seen[-1] <= contents.cells
            seen.append(contents.cells)
    assert one.returncode == other.returncode == 0
    assert len({len(cells) for cells in seen}) > 3
    assert collected(results) == tables_of(sweep, tmp_path / "reference")


def test_killed_again_and_again(tmp_path):
    sweep, results, rng = sweep_of(tmp_path, MANY), tmp_path / "results", np.random.default_rng(3)
    kept, grown = {}, 0
    for _ in range(KILLS):
        with start(sweep, results) as client:
            for _ in range(rng.integers(2, 6)):  # a line at the start, and one whenever cells reach the disk
                assert client.stdout.readline() == b"playing\n"
            time.sleep(rng.uniform(0.0, 0.05))
            client.kill()
        now = rows(results)
        assert kept.items() <= now.items(), "a finished cell was lost or played again"
        grown += len(now) > len(kept)
        kept = now
    assert grown == KILLS
    run_sweep(sweep, Folder(results))
    assert kept.items() <= rows(results).items()
    assert not list(results.rglob(".writing-*"))
    assert collected(results) == tables_of(sweep, tmp_path / "reference")


class Death(BaseException):
    """No handler sees it in a process that is killed; here the disk refuses everything from then on."""


class Disk:
    """Counts what a writer asks of the disk, half-way through writes too, and dies at a given count."""

    def __init__(self, life, monkeypatch):
        self.life = life
        monkeypatch.setattr(Path, "open", self.opening(Path.open))
        for place, name in ((Path, "replace"), (Path, "unlink"), (os, "fsync")):
            monkeypatch.setattr(place, name, self.doing(getattr(place, name)))

    def step(self):
        self.life -= 1
        if self.life <= 0:
            raise Death

    def doing(self, function):
        def done(*arguments, **options):
            self.step()
            answer = function(*arguments, **options)
            self.step()
            return answer

        return done

    def opening(self, function):
        def opened(path, mode="r", *arguments, **options):
            self.step()
            file = function(path, mode, *arguments, **options)
            return SlowFile(file, self) if mode == "wb" else file

        return opened


class SlowFile:
    def __init__(self, file, disk):
        self._file, self._disk = file, disk

    def write(self, data):
        self._file.write(data[: len(data) // 2])
        self._file.flush()
        self._disk.step()
        self._file.write(data[len(data) // 2 :])

    def flush(self):
        self._disk.step()
        self._file.flush()

    def fileno(self):
        return self._file.fileno()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()


def live_and_die(life, folder, columns, names):
    """Write cells one by one; those that the writer said are on the disk, and whether it lived."""
    noted = []
    with pytest.MonkeyPatch.context() as patched:
        Disk(life, patched)
        try:
            writer = Writer(folder)
            for name in names:
                writer.add(columns | {"cell": [name] * len(columns["cell"])})
                noted += writer.flush()
        except Death:
            return noted, False
    return noted, True


def test_death_at_every_step(tmp_path, monkeypatch):
    monkeypatch.setattr(parts_of_folder, "MERGED", 2)
    cell = sweep_of(tmp_path).cells[0]
    columns, names = play_cell(cell.id, cell.content), [f"{i:032x}" for i in range(4)]
    life, lived, before = 0, False, set()
    while not lived:
        life += 1
        folder = Folder(tmp_path / str(life))
        noted, lived = live_and_die(life, folder.parts, columns, names)
        contents = folder.read()
        assert contents.damaged == []
        assert set(noted) | before <= contents.cells <= set(names)
        before = contents.cells
    assert life > 50
    assert before == set(names)


def test_half_files_of_the_dead_are_swept_away_and_those_of_the_living_are_not(tmp_path):
    ours = tmp_path / sign()
    ours.write_bytes(b"half")
    dead = Child(lambda: (tmp_path / sign()).write_bytes(b"half"), tmp_path)
    dead.join()
    assert len(list(tmp_path.glob(".writing-*"))) == 2
    assert sweep_away(tmp_path) == 1
    assert ours.exists()


@pytest.mark.parametrize(("room", "name"), [(socket, "gethostname"), (os, "readlink")])
def test_half_files_of_other_hosts_and_containers_are_left_alone(room, name, tmp_path, monkeypatch):
    """Process ids say nothing there, however alike the names are."""
    dead = []
    for place in ("gpu-1-12", "gpu-11-2"):
        monkeypatch.setattr(room, name, lambda *_, place=place: place)
        assert sweep_away(tmp_path) == 0
        dead.append(Child(lambda: (tmp_path / sign()).write_bytes(b"half"), tmp_path))
        dead[-1].join()
    assert sweep_away(tmp_path) == 1  # its own
    for path in tmp_path.glob(".writing-*"):
        os.utime(path, (0, 0))
    assert sweep_away(tmp_path) == 1  # and the other's a day later


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def refuse(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "a.parquet", b"x" * 100)
    assert list(tmp_path.iterdir()) == []
