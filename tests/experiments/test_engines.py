"""Engines of this machine: the same bits whoever plays, and workers that die."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from marking import slow_but
from sweeping import LONGER, sweep_of, tables_of

from tarry.errors import ArgumentError
from tarry.experiments import make_engine


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    return tables_of(sweep_of(folder), folder / "reference", make_engine("threads", 1))


ENGINES = [("threads", 2), ("threads", 5), ("processes", 2)]


@pytest.mark.parametrize(("engine", "workers"), slow_but(ENGINES, ENGINES[1:]))
def test_the_same_bits(tmp_path, reference, engine, workers):
    if engine == "processes":
        pytest.importorskip("distributed")
    assert tables_of(sweep_of(tmp_path), tmp_path / engine, make_engine(engine, workers)) == reference


UNFIT = """
if __name__ != "__main__":
    raise ImportError("not here")
import sys
from tarry.experiments import Folder, load_sweep, make_engine, run_sweep
try:
    run_sweep(load_sweep(sys.argv[1]), Folder(sys.argv[2]), make_engine("processes", 2))
except ChildProcessError as error:
    print(error)
"""


def script(tmp_path, text, *arguments):
    """A script of its own, as a user would start it."""
    path = tmp_path / "script.py"
    path.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
    command = [sys.executable, str(path), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_workers_that_cannot_start_are_not_tried_for_ever(tmp_path):
    pytest.importorskip("distributed")
    with script(tmp_path, UNFIT, sweep_of(tmp_path).path, tmp_path / "results") as running:
        said, shouted = running.communicate(timeout=120)
    assert said.startswith("worker processes cannot start. See what they wrote; a script must be safe to import")
    assert "ImportError: not here" in shouted


ABANDONED = """
import multiprocessing, sys
from tarry.experiments import load_sweep, make_engine

if __name__ == "__main__":
    results = pauses = 0
    for outcome in make_engine("processes", 1).play(load_sweep(sys.argv[1]).contents):
        results += outcome is not None
        pauses += results > 0 and outcome is None
        if pauses == 3:
            print(*(child.pid for child in multiprocessing.active_children()), flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks at /proc")
def test_workers_of_a_killed_process_end_at_once(tmp_path):
    pytest.importorskip("distributed")
    text = LONGER.replace("seeds = 8", "seeds = 1\naxes.horizon = [20, 400_000]").replace("horizon = 1500\n", "")
    with script(tmp_path, ABANDONED, sweep_of(tmp_path, text).path) as running:
        (worker,) = running.stdout.readline().split()
        running.kill()
    deadline = time.monotonic() + 5
    while is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(worker)


def is_running(process):
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not tell")
def test_one_worker_for_each_core_that_may_be_used(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 6})
    assert make_engine("threads")._workers == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert make_engine("threads")._workers == 64
    assert make_engine("threads", 5)._workers == 5


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_only_dask_has_a_scheduler(engine):
    with pytest.raises(ArgumentError, match=f"address of a Dask cluster, got 'tcp://x' with the engine '{engine}'"):
        make_engine(engine, scheduler="tcp://x")


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_compiled_cells_are_the_same_in_threads_and_in_processes(tmp_path):
    """Long enough that several are under way at once."""
    pytest.importorskip("distributed")
    sweep = sweep_of(tmp_path, LONGER.replace("1500", "30_000"))
    one, two = (tables_of(sweep, tmp_path / str(workers), make_engine("threads", workers)) for workers in (1, 2))
    assert one == two
    assert one == tables_of(sweep, tmp_path / "processes", make_engine("processes", 2))
