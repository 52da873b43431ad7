"""Experiments: sweeps from files, played on any number of workers, written as tidy Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tarry.experiments.folder import Folder, Tables, read_tables, write_tables
from tarry.experiments.run import Standing, Summary, run_sweep, standing
from tarry.experiments.sweep import Cell, Sweep, load_sweep

if TYPE_CHECKING:
    from tarry.experiments.engines import make_engine
    from tarry.experiments.play import play_cell

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
    "read_tables",
    "run_sweep",
    "standing",
    "write_tables",
]


def __getattr__(name: str) -> Any:
    """Import what plays games when it is first asked for: results are read without the compiler."""
    if name == "make_engine":
        from tarry.experiments.engines import make_engine

        return make_engine
    if name == "play_cell":
        from tarry.experiments.play import play_cell

        return play_cell
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
