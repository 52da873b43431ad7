"""Experiments: sweeps from files, played on any number of workers, written as tidy Parquet."""

from tarry.experiments.cells import Cell
from tarry.experiments.collect import Tables, write_tables
from tarry.experiments.engines import make_engine
from tarry.experiments.estimate import Standing, standing
from tarry.experiments.folder import Folder
from tarry.experiments.play import play_cell
from tarry.experiments.run import Summary, run_sweep
from tarry.experiments.sweep import Sweep, load_sweep

__all__ = [
    "Cell",
    "Folder",
    "Standing",
    "Summary",
    "Sweep",
    "Tables",
    "load_sweep",
    "make_engine",
    "play_cell",
    "run_sweep",
    "standing",
    "write_tables",
]
