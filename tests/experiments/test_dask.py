"""The engine dask: workers, tasks and schedulers that go, and those that are not what they should be."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import CancelledError

import pytest
from marking import slow_but
from sweeping import LONGER, sweep_of, tables_of

from tarry.experiments import Folder, make_engine, run_sweep
from tarry.experiments import dask as engine_room
from tarry.experiments.dask import Cluster, Groups, code_here, play_task
from tarry.kernel.cache import EDITED

distributed = pytest.importorskip("distributed")


@pytest.fixture
def cluster():
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with distributed.LocalCluster(n_workers=2, **options) as running:
        yield running


@pytest.mark.slow
def test_dask_with_a_worker_killed_in_the_middle(tmp_path, cluster):
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


class StandIn:
    """Stands for a client; ``fate`` says what becomes of a task: None, or what its ``result`` raises."""

    status = "running"

    def __init__(self, fate, workers=2):
        self.fate, self.sizes, self.workers = fate, [], workers
        self.tasks = []

    def nthreads(self):
        return {str(i): 1 for i in range(self.workers)}

    def submit(self, play, group, pure):
        self.sizes.append(len(group))
        self.tasks.append(Task(self, play, group))
        return self.tasks[-1]

    def cancel(self, tasks, force):
        assert not tasks

    def play(self, contents):
        """What the engine makes of it."""
        played = make_engine("dask")._play(self, Cluster(self, "tcp://there"), Groups(contents))
        return [outcome for outcome in played if outcome is not None]


class Task:
    """Through when it is first looked at."""

    def __init__(self, client, play, group):
        self.client, self.play, self.group, self.fate = client, play, group, ()

    @property
    def status(self):
        self.fate = self.fate or (self.client.fate(self),)
        return "finished" if self.fate == (None,) else "error"

    def result(self):
        self.client.tasks.remove(self)
        if self.fate != (None,):
            raise self.fate[0]
        return self.play(self.group)


def killed():
    return distributed.scheduler.KilledWorker("task", None, 3)


def test_groups_over_which_workers_die_are_taken_apart(tmp_path):
    contents = sweep_of(tmp_path).contents
    victim = list(contents)[-1]
    client = StandIn(lambda task: killed() if victim in dict(task.group) else None)
    outcomes = client.play(contents)
    assert sorted(one.cell for one in outcomes) == sorted(contents)
    assert [(one.cell, one.error[:14]) for one in outcomes if one.columns is None] == [(victim, "worker after w")]
    assert max(client.sizes) > 1
    assert client.sizes[-1] == 1


def test_neighbours_of_a_cell_that_kills_are_not_blamed(tmp_path):
    """Dask blames a death on all that a worker had, begun or not."""
    contents = sweep_of(tmp_path).contents
    victim = list(contents)[3]

    def fate(task):
        return killed() if any(victim in dict(other.group) for other in task.client.tasks) else None

    outcomes = StandIn(fate, workers=1).play(contents)
    assert sorted(one.cell for one in outcomes) == sorted(contents)
    assert [one.cell for one in outcomes if one.columns is None] == [victim]


@pytest.mark.parametrize("error", [CancelledError("cancelled"), OSError("the scheduler went")])
def test_tasks_that_are_cancelled_are_given_out_again(tmp_path, error):
    contents, times = sweep_of(tmp_path).contents, Counter()

    def fate(task):
        times.update(list(dict(task.group)))
        return error if max(times[cell] for cell in dict(task.group)) <= 2 else None

    outcomes = StandIn(fate).play(contents)
    assert sorted(one.cell for one in outcomes) == sorted(contents)
    assert all(one.columns is not None for one in outcomes)


def test_tasks_that_are_cancelled_for_ever_are_told(tmp_path):
    contents = sweep_of(tmp_path).contents
    client = StandIn(lambda _: CancelledError("cancelled"))
    assert {one.error[:31] for one in client.play(contents)} == {"its task was cancelled 4 times:"}
    assert sum(client.sizes) == 4 * len(contents)


def test_a_result_that_is_lost_is_waited_for(tmp_path):
    contents, looked = sweep_of(tmp_path).contents, Counter()

    class Losing(StandIn):
        def submit(self, play, group, pure):
            task = super().submit(play, group, pure)
            return Lost(task, looked)

    outcomes = Losing(lambda _: None).play(contents)
    assert sorted(one.cell for one in outcomes if one.columns is not None) == sorted(contents)
    assert set(looked.values()) == {3}


class Lost:
    """Finished only when it is looked at for the third time."""

    def __init__(self, task, looked):
        self.task, self.looked = task, looked
        self.result = task.result

    @property
    def status(self):
        self.looked[id(self)] += 1
        return "lost" if self.looked[id(self)] < 3 else self.task.status


def test_workers_that_join_later_with_other_code_are_refused(tmp_path):
    contents = sweep_of(tmp_path).contents
    client, play = StandIn(lambda _: None), play_task
    submit = client.submit
    client.submit = lambda _, group, pure: submit(lambda g: (*play(g)[:2], "old", "0.0.9"), group, pure)
    client.cancel = lambda tasks, force: None
    sentence = rf"the worker on old has tarry 0.0.9, here is {code_here().replace('(', '.').replace(')', '.')}: install"
    with pytest.raises(ValueError, match=sentence):
        client.play(contents)


def test_code_edited_since_its_import_is_the_same_as_no_other(monkeypatch):
    monkeypatch.setattr(engine_room, "source", lambda: EDITED)
    client = StandIn(lambda _: None)
    client.run = lambda call: {"tcp://there": call()}
    with pytest.raises(ValueError, match=r"has tarry .* .source edited., .*: install the same, and start both anew"):
        Cluster(client, "tcp://there").check_code()


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("No module named 'tarry'"), RuntimeError("Error during\n  des.")]
)
def test_clusters_that_cannot_load_tarry_are_refused(tmp_path, error):
    client = StandIn(lambda _: error)
    client.cancel = lambda tasks, force: None
    told = " ".join(str(error).split())
    with pytest.raises(ImportError, match=f"cannot load tarry, install the same on its scheduler and .* here: {told}"):
        client.play(sweep_of(tmp_path).contents)


def test_workers_with_other_code_are_refused_at_the_start(tmp_path):
    class Old(StandIn):
        def run(self, _):
            return {"tcp://old": "0.1.0 (source 0123456789ab)"}

    with pytest.raises(
        ValueError, match=r"the worker tcp://old has tarry 0.1.0 .source 0123456789ab., here is 0.1.0 .so"
    ):
        Cluster(Old(None), None).check_code()


@pytest.mark.slow
def test_workers_of_a_local_cluster_leave_interrupts_to_whoever_started_them():
    with make_engine("dask", 1)._client() as client:
        assert list(client.run(_ignores_interrupts).values()) == [True]


def _ignores_interrupts():
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_scheduler_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_room, "PATIENCE", 0.6)  # is told as 1
    with socket.socket() as held:  # bound, but nobody listens
        held.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{held.getsockname()[1]}"
        engine = make_engine("dask", scheduler=address)
        with pytest.raises(OSError, match=f"no Dask scheduler answered at {address} within 1 s: see that it runs"):
            run_sweep(sweep_of(tmp_path), Folder(tmp_path / "results"), engine)


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler without workers, in a process of its own, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = "from distributed.cli.dask_scheduler import main; main()"
    command = [sys.executable, "-c", start, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    options = {"env": {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}}
    options |= {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    with subprocess.Popen(command, **options) as running:
        yield running, f"tcp://127.0.0.1:{port}"
        running.kill()


@pytest.mark.parametrize("how", slow_but([signal.SIGKILL, signal.SIGTERM], {signal.SIGKILL}))
def test_a_scheduler_without_workers_is_told_of_and_one_that_goes_stops_the_run(
    tmp_path, monkeypatch, caplog, scheduler, how
):
    running, address = scheduler
    engine = make_engine("dask", scheduler=address)
    outcomes = engine.play(sweep_of(tmp_path).contents)
    assert next(outcomes) is None
    monkeypatch.setattr(engine_room, "PATIENCE", 0.6)  # is told as 1
    deadline = time.monotonic() + 10
    while not caplog.messages and time.monotonic() < deadline:
        assert next(outcomes) is None
    for _ in range(100):
        assert next(outcomes) is None
    sentence = f"no worker has joined {address} for 1 s: start one with dask worker {address}"
    assert [message for message in caplog.messages if "worker" in message] == [sentence]
    running.send_signal(how)
    with pytest.raises(OSError, match=f"the Dask scheduler at {address} is gone: finished cells are kept"):
        list(outcomes)
