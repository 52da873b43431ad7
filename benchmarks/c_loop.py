"""The hand-written loop in ``loop.c``: built, loaded and called on the same game as the compiled round."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stage import DIMENSION, SEED, Stage
from tarry.kernel import Purpose, make_key

SOURCE = Path(__file__).with_name("loop.c")
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")


class CGame(ctypes.Structure):
    """``Game`` of loop.c."""

    _fields_ = [
        ("horizon", ctypes.c_int64),
        ("dimension", ctypes.c_int64),
        ("capacity", ctypes.c_int64),
        ("cycle", ctypes.c_int64),
        ("rows", ctypes.c_void_p),
        ("rate", ctypes.c_double),
        ("radius", ctypes.c_double),
        ("delays", ctypes.c_int64),
        ("delay", ctypes.c_int64),
        ("log_failure", ctypes.c_double),
        ("delay_key", ctypes.c_uint64),
        ("schedule_key", ctypes.c_uint64),
        ("probability", ctypes.c_double),
        ("safety", ctypes.c_double),
        ("nodes", ctypes.c_int64),
    ]


class CBooks(ctypes.Structure):
    """``Books`` of loop.c."""

    _fields_ = [
        ("loss", ctypes.c_double),
        ("weight", ctypes.c_double),
        ("square", ctypes.c_double),
        ("largest", ctypes.c_double),
        ("occupancy", ctypes.c_double),
        ("fates", ctypes.c_int64 * 4),
        ("full", ctypes.c_int64),
        ("peak", ctypes.c_int64),
    ]


def compiler() -> str | None:
    """The C compiler, if there is one."""
    return shutil.which("cc") or shutil.which("gcc")


@functools.cache
def library() -> ctypes.CDLL:
    """loop.c as a library, built in a folder that is gone once it is loaded."""
    name = compiler()
    if name is None:
        raise RuntimeError("the hand-written loop needs a C compiler: install gcc or clang")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "loop.so"
        subprocess.run([name, *FLAGS, str(SOURCE), "-o", str(target), "-lm"], check=True)
        return ctypes.CDLL(str(target))


class CStage:
    """The C loop on a stage's game (linear losses from a table, fixed or geometric delays)."""

    def __init__(self, stage: Stage) -> None:
        delays, scheduler = stage.delays, stage.player.scheduler
        kind = type(delays).__name__.lower()
        self.rows = stage.losses.rows.values
        self.game = CGame(
            horizon=stage.horizon,
            dimension=DIMENSION,
            capacity=stage.capacity,
            cycle=self.rows.shape[0],
            rows=self.rows.ctypes.data,
            rate=stage.player.learner.rate.value,
            radius=stage.player.learner.domain.radius,
            delay=delays.delay if kind == "fixed" else 0,
            log_failure=getattr(delays, "log_failure", 0.0),
            delay_key=int(getattr(delays, "key", 0)),
            schedule_key=int(make_key(SEED, Purpose.SCHEDULE)),
            probability=_probability(scheduler, stage.capacity),
            safety=getattr(scheduler, "safety", 0.0),
            nodes=stage.nodes,
        )
        self.function = getattr(library(), f"{type(scheduler).__name__.lower()}_{kind}")

    def ready(self) -> Any:
        """A run, to be timed when called; it returns its books."""
        books = CBooks()

        def play() -> CBooks:
            self.function(ctypes.byref(self.game), ctypes.byref(books))
            return books

        return play


def _probability(scheduler: Any, capacity: int) -> float:
    if not hasattr(scheduler, "probability"):
        return 1.0
    return float(np.asarray(scheduler.survival(t=1, age=0, capacity=capacity)))
