"""A process forked while another thread is in the middle of a call: it goes on, or says that it cannot."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from processes import Child

import tarry
from tarry.errors import StoreError, TarryError


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_lock_that_nobody_can_let_go_of(kind, tmp_path):
    join = tarry.LabelJoin(3, rng=5, store="memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'a.db'}")
    join.decide(id="a")
    held, go = threading.Event(), threading.Event()

    def hold():
        with join._turns._lock:
            held.set()
            go.wait(60)

    def child():
        assert join.decide(id="b").tracked
        assert join.status().rounds == 2

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        Child(child, tmp_path).join()
    finally:
        go.set()
        thread.join()
    assert join.status().rounds == (1 if kind == "memory" else 2)


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgresql"])
def test_a_call_that_the_fork_cut_in_two(kind, new_store, tmp_path):
    """The parent's call ends well. The child says why it cannot go on, or connects anew and waits for its turn."""
    join = tarry.LabelJoin(3, rng=5, store="memory:" if kind == "memory" else new_store(kind))
    held, go = threading.Event(), threading.Event()

    def half():
        def work(*_):
            join._tracker.slots.is_midway = True
            held.set()
            go.wait(60)
            join._tracker.open("a", None, None)

        join._turns.change(work)

    def child():
        if kind == "postgresql":
            assert join.status().rounds == 0  # as it was before that call
            return
        with pytest.raises(TarryError, match=r"interrupted in the middle of a round|was forked while another thread"):
            join.decide(id="b")

    thread = threading.Thread(target=half)
    thread.start()
    held.wait(60)
    try:
        Child(child, tmp_path).join()
    finally:
        go.set()
        thread.join()
    assert join.status().rounds == 1
    assert join.decide(id="b").tracked
    join.close()


def test_forks_beside_busy_threads_never_hang(tmp_path):
    """Whatever another thread is doing, a child makes its call or is refused with a sentence, also on another file."""
    join, stop = tarry.LabelJoin(16, rng=1, store=f"sqlite:///{tmp_path / 'a.db'}", durability="process"), []
    other = f"sqlite:///{tmp_path / 'b.db'}"
    tarry.LabelJoin(16, rng=1, store=other).close()

    def work(k):
        n = 0
        while not stop:
            join.decide(id=f"{k}-{n}")
            n += 1

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    codes = []
    try:
        for i in range(12):
            pid = os.fork()
            if not pid:
                signal.alarm(20)
                try:
                    tarry.LabelJoin.open(other).decide(id=f"c{i}") if i % 2 else join.decide(id=f"c{i}")
                except StoreError as error:
                    os._exit(3 if "forked while another thread" in str(error) else 5)
                except BaseException:
                    os._exit(6)
                os._exit(0)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    finally:
        stop.append(True)
        for thread in threads:
            thread.join()
    assert set(codes) <= {0, 3}
    assert join.status().rounds > 0
