"""Engines: where cells are played. One file each; what this room exports is what there is to choose from."""

from __future__ import annotations

from tarry.experiments.engines.base import Engine, Outcome
from tarry.experiments.engines.dask import Dask
from tarry.experiments.engines.processes import Processes
from tarry.experiments.engines.threads import Threads
from tarry.experiments.words import pick

__all__ = ["Dask", "Engine", "Outcome", "Processes", "Threads", "make_engine"]


def make_engine(engine: str = "threads", workers: int | None = None, scheduler: str | None = None) -> Engine:
    """The engine of this name; ``scheduler`` is the address of a Dask cluster that is there already.

    >>> make_engine("thread")
    Traceback (most recent call last):
    ValueError: engine: there is no engine 'thread', did you mean 'threads'? Take one of dask, processes, threads
    """
    known = {name.lower(): globals()[name] for name in __all__ if hasattr(globals()[name], "play")}
    del known["engine"]  # what they all are
    made = known[pick(engine, known, "engine", what="engine")]
    if scheduler is None:
        return made(workers)  # type: ignore[no-any-return]
    if made is not Dask:
        raise ValueError(f"scheduler is the address of a Dask cluster, got {scheduler!r} with the engine {engine!r}")
    return made(workers, scheduler)
