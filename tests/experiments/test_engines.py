"""Engines of this machine: the same bits whoever plays, and workers that die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
from marking import slow_but
from sweeping import LONGER, TINY, sweep_of, tables_of

from tarry.errors import ArgumentError
from tarry.experiments import Folder, engines, make_engine, run_sweep
from tarry.game import device
from tarry.kernel import cuda


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


def script(tmp_path, text, *arguments, **variables):
    """A script of its own, as a user would start it."""
    path = tmp_path / "script.py"
    path.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place), **variables}
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


# In a process of its own: Numba asks for its simulator when it is loaded.
SIMULATED = """
import sys
from tarry.experiments import Folder, load_sweep, make_engine, run_sweep
sweep, launches = load_sweep(sys.argv[1]), []
from tarry.game import device
play = device.play_block
device.play_block = lambda parts, *rest: launches.append(len(parts)) or play(parts, *rest)
for engine in ("threads", "own"):
    folder = Folder(sys.argv[2] + engine)
    made = make_engine(engine, device="cuda") if engine == "threads" else None
    print(run_sweep(sweep, folder, made).finished)
    folder.write_plan(sweep)
    tables = folder.tables()
    tables.runs.sort("cell", "seed").write_parquet(sys.argv[2] + engine + ".parquet")
print(max(launches))
"""


@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
def test_cells_share_launches_of_a_gpu_and_have_the_same_numbers(tmp_path, reference):
    sweep = sweep_of(tmp_path, 'device = "cuda"\n' + TINY)
    environment = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    with script(tmp_path, SIMULATED, sweep.path, tmp_path / "on-", **environment) as running:
        said, shouted = running.communicate(timeout=300)
    assert running.returncode == 0, shouted
    first, second, most = map(int, said.split())
    assert first == second == len(sweep.contents) == 16
    assert most > 2  # more than the games of one cell
    folder = Folder(tmp_path / "cpu")
    run_sweep(sweep._replace(device="cpu"), folder)
    runs = folder.tables().runs.sort("cell", "seed")
    for name in ("threads", "own"):
        assert runs.equals(pl.read_parquet(tmp_path / f"on-{name}.parquet").select(runs.columns))


def test_a_missing_gpu_is_told_before_anything_is_played(monkeypatch, tmp_path, caplog):
    def nowhere():
        raise cuda.NoDevice("no GPU answers")

    monkeypatch.setattr(cuda, "find_device", nowhere)
    device._tell_once.cache_clear()
    with pytest.raises(
        ArgumentError, match="device 'cuda' cannot be used here, no GPU answers: 'cpu' and 'auto' play here"
    ):
        make_engine(device="cuda")
    with pytest.raises(ValueError, match="device must be one of"):
        make_engine(device="gpu")
    with caplog.at_level("INFO", "tarry"):
        assert make_engine("threads", 3, device="auto")._workers == 3
    assert "played on the CPU: no GPU answers" in caplog.text
    sweep = sweep_of(tmp_path, 'device = "auto"\n' + TINY)
    assert sweep.contents == sweep_of(tmp_path).contents  # no part of a cell's identity
    assert run_sweep(sweep, Folder(tmp_path / "results")).finished == 16


def test_a_cell_that_fails_on_a_device_does_not_take_others_along(monkeypatch, tmp_path):
    good = list(sweep_of(tmp_path).contents.items())[:3]
    bad = json.dumps(json.loads(good[0][1]) | {"player": {"learner": {"type": "DWFTRL", "rate": -1.0}}})
    broken, play_cells = "c", engines.play_cells

    def play(cells, stopped, device):
        if any(one.cell == broken for one in cells):
            raise ValueError("one play is not finite")
        return play_cells(cells, stopped, "cpu")

    monkeypatch.setattr(engines, "play_cells", play)
    group = [("a", good[0][1]), ("b", bad), ("c", good[1][1]), ("d", good[2][1])]
    found = engines.play_group(group, device="cuda")
    assert [one.cell for one in found] == ["a", "b", "c", "d"]
    assert "rate must be positive" in found[1].error
    assert found[2].error == "one play is not finite"
    assert found[0].columns["regret"].tolist() == engines.play_cell(*group[0])["regret"].tolist()
    assert found[3].columns is not None


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
