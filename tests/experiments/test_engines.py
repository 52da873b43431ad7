"""Engines: the same bits whoever plays, and workers that die."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket

import pytest
from sweeping import sweep_of, tables_of

from tarry.experiments import Folder, make_engine, run_sweep
from tarry.experiments.engines import Processes

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


@pytest.fixture
def reference(tmp_path):
    return tables_of(sweep_of(tmp_path), tmp_path / "reference", make_engine("threads", 1))


@pytest.mark.parametrize(("engine", "workers"), [("threads", 2), ("threads", 5), ("processes", 2)])
def test_the_same_bits(tmp_path, reference, engine, workers):
    assert tables_of(sweep_of(tmp_path), tmp_path / engine, make_engine(engine, workers)) == reference


class Murder(Processes):
    """Kills a worker of its own after every third result, a few times."""

    kills = 0

    def play(self, contents):
        for number, outcome in enumerate(super().play(contents)):
            yield outcome
            victims = [child for child in multiprocessing.active_children() if child.name == "tarry-worker"]
            if self.kills < 2 and number % 3 == 0 and victims:
                os.kill(victims[0].pid, signal.SIGKILL)
                self.kills += 1


def test_a_killed_process_costs_a_retry(tmp_path):
    sweep = sweep_of(tmp_path, LONGER)
    engine = Murder(2)
    found = tables_of(sweep, tmp_path / "killed", engine)
    assert engine.kills == 2
    assert found == tables_of(sweep, tmp_path / "reference")
    assert not [child for child in multiprocessing.active_children() if child.name == "tarry-worker"]


def test_a_cell_that_kills_its_workers_fails_alone(tmp_path, monkeypatch):
    sweep, folder = sweep_of(tmp_path), Folder(tmp_path / "results")
    victim = next(iter(sweep.contents))
    monkeypatch.setattr(Processes, "play", _deadly(Processes.play, victim))
    done = run_sweep(sweep, folder, Processes(1))
    assert list(done.failed) == [victim]
    assert "worker after worker died" in done.failed[victim]
    assert done.finished == 15


def _deadly(play, victim):
    """Every worker that is given the victim is killed."""
    from tarry.experiments.engines.processes import _Worker

    give = _Worker.give

    def deadly(self, cell, content):
        given = give(self, cell, content)
        if cell == victim:
            self._process.kill()
        return given

    def wrapped(self, contents):
        _Worker.give = deadly
        try:
            yield from play(self, contents)
        finally:
            _Worker.give = give

    return wrapped


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=2, **options) as running:
        yield running


def test_dask_with_a_worker_killed_in_the_middle(tmp_path, cluster):
    import distributed

    sweep, killed = sweep_of(tmp_path, LONGER), []
    engine = make_engine("dask", scheduler=cluster.scheduler_address)
    play = engine.play

    def deadly(contents):
        for outcome in play(contents):
            if outcome is not None and not killed:
                with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
                    pids = client.run(os.getpid)
                assert len(set(pids.values())) == 2
                assert os.getpid() not in pids.values()
                killed.append(min(pids.values()))
                os.kill(killed[0], signal.SIGKILL)
            yield outcome

    engine.play = deadly
    found = tables_of(sweep, tmp_path / "dask", engine)
    assert killed
    assert found == tables_of(sweep, tmp_path / "reference")


class DeadlyCluster:
    """Stands for a cluster on which one cell kills whoever plays it, whatever company it has."""

    def __init__(self, victim):
        self.victim, self.sizes = victim, []

    def nthreads(self):
        return {"a": 1, "b": 1}

    def submit(self, play, group, pure):
        self.sizes.append(len(group))
        return DeadlyTask(play, group, self.victim)

    def cancel(self, tasks, force):
        assert not tasks


class DeadlyTask:
    def __init__(self, play, group, victim):
        self.status = "error" if victim in dict(group) else "finished"
        self.done, self.result = lambda: True, lambda: play(group)

    def exception(self):
        from distributed.scheduler import KilledWorker

        return KilledWorker("task", None, 3)


def test_dask_takes_groups_apart_over_which_workers_die(tmp_path):
    pytest.importorskip("distributed")
    contents = sweep_of(tmp_path).contents
    victim, cluster = list(contents)[-1], DeadlyCluster(list(contents)[-1])
    outcomes = [one for one in make_engine("dask")._play(cluster, contents) if one is not None]
    assert sorted(one.cell for one in outcomes) == sorted(contents)
    assert [(one.cell, one.error[:14]) for one in outcomes if one.columns is None] == [(victim, "worker after w")]
    assert max(cluster.sizes) > 1
    assert cluster.sizes[-1] == 1


def test_dask_starts_a_cluster_of_its_own(tmp_path, reference):
    pytest.importorskip("distributed")
    assert tables_of(sweep_of(tmp_path), tmp_path / "dask", make_engine("dask", 1)) == reference


def test_workers_of_a_local_cluster_leave_interrupts_to_whoever_started_them():
    pytest.importorskip("distributed")
    with make_engine("dask", 1)._client() as client:
        assert list(client.run(_ignores_interrupts).values()) == [True]


def _ignores_interrupts():
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_scheduler_that_is_not_there(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("tarry.experiments.engines.dask.PATIENCE", 1.0)
    with socket.socket() as held:  # bound, but nobody listens
        held.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{held.getsockname()[1]}"
        engine = make_engine("dask", scheduler=address)
        with pytest.raises(OSError, match=f"no Dask scheduler answered at {address} within 1 s: see that it runs"):
            run_sweep(sweep_of(tmp_path), Folder(tmp_path / "results"), engine)


def test_only_dask_has_a_scheduler():
    with pytest.raises(ValueError, match="address of a Dask cluster, got 'tcp://x' with the engine 'threads'"):
        make_engine("threads", scheduler="tcp://x")


@pytest.mark.compiled
def test_compiled_cells_are_the_same_in_threads_and_in_processes(tmp_path):
    """Long enough that several are under way at once."""
    sweep = sweep_of(tmp_path, LONGER.replace("1500", "30_000"))
    one, two = (tables_of(sweep, tmp_path / str(workers), make_engine("threads", workers)) for workers in (1, 2))
    assert one == two
    assert one == tables_of(sweep, tmp_path / "processes", make_engine("processes", 2))
