"""Experiments: sweeps from files, played on any number of workers, written as tidy Parquet."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tarry.experiments.engines import make_engine
    from tarry.experiments.folder import Folder, Tables, read_tables, write_tables
    from tarry.experiments.play import play_cell
    from tarry.experiments.run import Standing, Summary, run_sweep, standing
    from tarry.experiments.sweep import Cell, Sweep, load_sweep

__all__ = ["Cell", "Folder", "Standing", "Summary", "Sweep", "Tables"]
__all__ += ["load_sweep", "make_engine", "play_cell", "read_tables", "run_sweep", "standing", "write_tables"]


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it."""
    # Imported when asked for, the lightest first: help starts without Polars, results are read without the compiler.
    for home in ("sweep", "folder", "run", "engines") if name in __all__ else ():
        module = import_module(f"{__name__}.{home}")
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
