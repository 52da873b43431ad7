"""Kill -9 at any moment: no finished cell is lost, nothing half written stays."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest
from processes import Child
from sweeping import TINY, collected, sweep_of, tables_of

from tarry.experiments import Folder, run_sweep
from tarry.experiments import parts as parts_of_folder
from tarry.experiments.engines import Threads
from tarry.experiments.parts import list_parts, read_part, write_whole
from tarry.experiments.remains import sign, sweep_away

KILLS = 12
MANY = TINY.replace("seeds = 3", "seeds = 20").replace("seeds_per_cell = 2", "seeds_per_cell = 1")


def rows(folder):
    """Every finished row, with the time its cell took: a cell played again has another."""
    frames = [read_part(path) for path in list_parts(folder / "parts")]
    assert all(frame is not None for frame in frames)
    found = pl.concat(frames).unique(["cell", "seed"]) if frames else pl.DataFrame()
    return {(row["cell"], row["seed"]): row["seconds"] for row in found.iter_rows(named=True)}


def test_killed_again_and_again(tmp_path, monkeypatch):
    monkeypatch.setattr(parts_of_folder, "GATHERED_SECONDS", 0.02)  # so that kills meet many writes
    monkeypatch.setattr(parts_of_folder, "MERGED", 4)
    sweep, results, rng = sweep_of(tmp_path, MANY), tmp_path / "results", np.random.default_rng(3)
    kept, kills = {}, 0
    for _ in range(KILLS):
        child = Child(lambda: run_sweep(sweep, Folder(results), Threads(2)), tmp_path)
        time.sleep(rng.exponential(0.15))
        kills += child.kill()
        now = rows(results)
        assert kept.items() <= now.items(), "a finished cell was lost or played again"
        kept = now
    assert kills >= 5
    run_sweep(sweep, Folder(results))
    assert kept.items() <= rows(results).items()
    assert not list(results.rglob(".writing-*"))
    assert collected(results) == tables_of(sweep, tmp_path / "reference")


def test_half_files_of_the_dead_are_swept_away_and_those_of_the_living_are_not(tmp_path):
    ours = tmp_path / sign()
    ours.write_bytes(b"half")
    dead = Child(lambda: (tmp_path / sign()).write_bytes(b"half"), tmp_path)
    dead.join()
    assert len(list(tmp_path.glob(".writing-*"))) == 2
    assert sweep_away(tmp_path) == 1
    assert ours.exists()


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def refuse(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parts_of_folder.os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "a.parquet", b"x" * 100)
    assert list(tmp_path.iterdir()) == []
