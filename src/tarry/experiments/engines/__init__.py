"""Engines: where cells are played. One file each."""

from __future__ import annotations

from tarry.experiments.engines.base import Engine, Outcome
from tarry.experiments.engines.threads import Threads

__all__ = ["Engine", "Outcome", "Threads", "make_engine"]

ENGINES = ("threads", "processes", "dask")


def make_engine(engine: str = "threads", workers: int | None = None, scheduler: str | None = None) -> Engine:
    """The engine of this name; ``scheduler`` is the address of a Dask cluster that is there already."""
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    return Threads(workers)
