"""Small sweeps for tests, and what two runs of them must share."""

from __future__ import annotations

from tarry.experiments import Folder, load_sweep, run_sweep, write_tables

TINY = """
seeds = 3
seeds_per_cell = 2
checkpoints = 4
[axes]
capacity = [2, 4]
mean = [3, 6]
[games.drift]
horizon = 60
dimension = 2
losses = { type = "Linear", rows = "drifting" }
delays = { type = "geometric", mean = "axis.mean" }
[players.plain]
learner = { type = "DWFTRL", rate = 0.1 }
[players.paper]
player = "convex"
"""
LONGER = """
seeds = 8
seeds_per_cell = 1
checkpoints = 4
[games.drift]
horizon = 1500
dimension = 2
capacity = 8
losses = { type = "Linear", rows = "drifting" }
delays = { type = "geometric", mean = 20 }
[players.plain]
learner = { type = "DWFTRL", rate = 0.1 }
"""
PAIR = """
seeds = 2
checkpoints = 5
axes.capacity = [3, 6]
[games.drift]
horizon = 300
dimension = 2
losses = { type = "Linear", rows = "drifting" }
delays = { type = "geometric", mean = 20 }
[players.kept]
learner = { type = "DWFTRL", rate = 0.1 }
[players.fading]
learner = { type = "DWFTRL", rate = 0.1 }
scheduler = { type = "Pareto" }
"""


def sweep_of(folder, text=TINY, name="tiny"):
    """The sweep of a text."""
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return load_sweep(path)


def tables_of(sweep, folder, engine=None):
    """Play a sweep; the bytes of what was measured."""
    done = run_sweep(sweep, Folder(folder), engine)
    assert done.failed == {}
    return collected(folder)


def collected(folder):
    """The bytes of the collected runs and curves, which say nothing of how long anything took."""
    write_tables(Folder(folder).tables(), folder)
    return [(folder / f"{name}.parquet").read_bytes() for name in ("runs", "curves")]
