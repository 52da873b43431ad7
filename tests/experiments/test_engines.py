"""Engines of this machine: the same bits whoever plays, and workers that die."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sweeping import LONGER, sweep_of, tables_of

from tarry.experiments import Folder, make_engine, run_sweep
from tarry.experiments.engines import Outcome, Processes, processes
from tarry.experiments.engines.processes import _Worker


@pytest.fixture
def reference(tmp_path):
    return tables_of(sweep_of(tmp_path), tmp_path / "reference", make_engine("threads", 1))


@pytest.mark.parametrize(("engine", "workers"), [("threads", 2), ("threads", 5), ("processes", 2)])
def test_the_same_bits(tmp_path, reference, engine, workers):
    assert tables_of(sweep_of(tmp_path), tmp_path / engine, make_engine(engine, workers)) == reference


class Murder(Processes):
    """Kills all its workers after the first result: all but one have a cell."""

    kills = 0

    def play(self, contents):
        results = 0
        for outcome in super().play(contents):
            yield outcome
            results += outcome is not None
            if outcome is not None and results == 1:
                for child in multiprocessing.active_children():
                    os.kill(child.pid, signal.SIGKILL)
                    self.kills += 1


def test_a_killed_process_costs_a_retry(tmp_path):
    sweep = sweep_of(tmp_path, LONGER.replace("1500", "500"))
    engine = Murder(2)
    found = tables_of(sweep, tmp_path / "killed", engine)
    assert engine.kills == 2
    assert found == tables_of(sweep, tmp_path / "reference")
    assert not [child for child in multiprocessing.active_children() if child.name == "tarry-worker"]


def deadly(monkeypatch, victims):
    """Every worker that is given a victim is killed; how many were."""
    give, killed = _Worker.give, []

    def give_and_kill(self, cell, content):
        given = give(self, cell, content)
        if cell in victims:
            self._process.kill()
            killed.append(cell)
        return given

    monkeypatch.setattr(_Worker, "give", give_and_kill)
    return killed


def test_a_cell_that_kills_its_workers_fails_alone(tmp_path, monkeypatch):
    sweep, folder = sweep_of(tmp_path), Folder(tmp_path / "results")
    victim = next(iter(sweep.contents))
    killed = deadly(monkeypatch, {victim})
    done = run_sweep(sweep, folder, Processes(1))
    assert list(done.failed) == [victim]
    assert "worker after worker died" in done.failed[victim]
    assert done.finished == 15
    assert killed == [victim] * 3


class Doomed(_Worker):
    """Stands for a process that dies over its first cell, or, gone already, when it is given one."""

    is_gone, given = False, []

    def __init__(self):
        self.pipe, self.theirs = multiprocessing.Pipe()
        self.theirs.send(Outcome("", None))
        self.is_ready, self.cell = False, ""

    def give(self, cell, content):
        self.theirs.close()
        self.given.append(cell)
        return super().give(cell, content) and not self.is_gone

    def exit_code(self):
        return -9

    def end(self):
        self.pipe.close()


@pytest.mark.parametrize("is_gone", [False, True])
def test_where_every_worker_dies_the_run_stops(tmp_path, monkeypatch, is_gone):
    monkeypatch.setattr(processes, "_Worker", Doomed)
    monkeypatch.setattr(Doomed, "is_gone", is_gone)
    monkeypatch.setattr(Doomed, "given", [])
    with pytest.raises(ChildProcessError, match=r"10 worker processes died and none has finished a cell, .* code -9"):
        run_sweep(sweep_of(tmp_path), Folder(tmp_path / "results"), Processes(1))
    assert len(Doomed.given) == 10


def test_a_few_cells_over_which_all_die_are_told_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_Worker", Doomed)
    contents = dict(list(sweep_of(tmp_path).contents.items())[:3])
    outcomes = [outcome for outcome in Processes(1).play(contents) if outcome is not None]
    assert [outcome.cell for outcome in outcomes] == list(contents)
    assert {outcome.error[:26] for outcome in outcomes} == {"worker after worker died w"}


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
    with script(tmp_path, UNFIT, sweep_of(tmp_path).path, tmp_path / "results") as running:
        said, shouted = running.communicate(timeout=120)
    assert said.startswith(
        "worker processes cannot start: 3 in a row ended before their first cell, the last with exit"
    )
    assert "exit code 1. See what they wrote; a script must be safe to import" in said
    assert 3 <= shouted.count("ImportError: not here") <= 4  # two at first, another for each that died but the third


ABANDONED = """
import multiprocessing, sys
from tarry.experiments import load_sweep
from tarry.experiments.engines import Outcome, Processes, processes
from tarry.experiments.engines.processes import _Worker

if __name__ == "__main__":
    results = pauses = 0
    for outcome in Processes(1).play(load_sweep(sys.argv[1]).contents):
        results += outcome is not None
        pauses += results > 0 and outcome is None
        if pauses == 3:
            print(*(child.pid for child in multiprocessing.active_children()), flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks at /proc")
def test_workers_of_a_killed_process_end_at_once(tmp_path):
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
    assert [make_engine(name)._workers for name in ("threads", "processes")] == [3, 3]
    monkeypatch.delattr(os, "sched_getaffinity")
    assert make_engine("threads")._workers == 64
    assert make_engine("threads", 5)._workers == 5


def test_only_dask_has_a_scheduler():
    with pytest.raises(ValueError, match="address of a Dask cluster, got 'tcp://x' with the engine 'threads'"):
        make_engine("threads", scheduler="tcp://x")


@pytest.mark.jit(only=True)
def test_compiled_cells_are_the_same_in_threads_and_in_processes(tmp_path):
    """Long enough that several are under way at once."""
    sweep = sweep_of(tmp_path, LONGER.replace("1500", "30_000"))
    one, two = (tables_of(sweep, tmp_path / str(workers), make_engine("threads", workers)) for workers in (1, 2))
    assert one == two
    assert one == tables_of(sweep, tmp_path / "processes", make_engine("processes", 2))
