"""Kernels for a GPU: how replicas are laid out, and that a thread holds what it was given."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from gpu import CAPABILITY, assembly  # noqa: F401 (a fixture)
from numba.core import types

from tarry.kernel import cuda, held, step


@step
def _add_entries(rules: Any, shared: Any, mine: Any, first: int, last: int) -> None:
    values, total = mine
    for t in range(first, last):
        values[t & 3] += 1
        total[0] += values[(5 * t + first) & 3]


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("size", [4, 20])
def test_a_thread_begins_with_the_entries_it_was_given(size, assembly):  # noqa: F811
    tree = (np.zeros(size, np.int64), np.zeros(1))
    kernel = cuda.make_kernel(_add_entries, (), held.plan_of(tree))
    stacked = tuple(types.Array(kind, 2, "F") for kind in (types.int64, types.float64))
    kinds = (cuda.kinds_of(()), types.Tuple(stacked), types.int64, types.int64, types.int64)
    lines = assembly(cuda.compile_kernel(kernel, kinds, CAPABILITY)).splitlines()
    read = [line for line in lines if line.strip().startswith(("ld.u64", "ld.global.u64"))]
    assert len(read) == size


FIRST = """
import pytest, tarry
from tarry.game import device
with pytest.MonkeyPatch.context() as patch:
    import gpu
    from tarry.game.run import prepare
    from tarry.tracking import keyed_draws
    inspect = gpu.assembly.__wrapped__(patch)
    ball = tarry.domains.Ball(2)
    waits = tarry.delays.uniform(horizon=20, low=1, high=5, rng=0)
    game = tarry.Game(ball, tarry.losses.Linear([[1.0, 0.0]] * 20), waits, capacity=2)
    run = prepare(game, tarry.Player(tarry.learners.DWFTRL(ball, rate=0.1)))
    kernel, _ = device.kernel_for(run, device.fit(run, run.start(keyed_draws(0))))
    assert ".visible .entry" in inspect(kernel.code)
"""


@pytest.mark.jit(only=True)
@pytest.mark.usefixtures("assembly")
def test_a_kernel_may_be_the_first_that_a_process_compiles():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", FIRST], env=environment, check=True)


def test_rows_of_many_games_are_laid_by_blocks_that_a_gpu_has(monkeypatch):
    asked = []

    class Kernel:
        def __getitem__(self, shape):
            asked.append(shape)
            return lambda *_arguments: None

    for name in ("_lay", "_fill"):
        monkeypatch.setattr(cuda, name, Kernel)
    monkeypatch.setattr(cuda, "cuda", SimpleNamespace(to_device=lambda array: array))
    monkeypatch.setattr(cuda, "is_simulated", lambda: False)
    rows = np.zeros((4, 2), order="F")
    cuda.lay(rows, np.ones((3, 2)))
    cuda.respread(rows, np.ones(2))
    assert all(isinstance(threads, int) and threads <= 1024 for _blocks, threads in asked)
    assert len(asked) == 2


def _slots(*sizes: int) -> tuple[np.ndarray, ...]:
    return tuple(np.zeros(size) for size in sizes)


@pytest.mark.parametrize(
    ("sizes", "threads", "registers"),
    [((), 128, None), ((4, 4), 128, None), ((16, 16), 128, None), ((35, 33), 64, 168), ((99, 67), 32, None)],
)
def test_blocks_have_as_many_threads_as_fast_memory_allows(sizes, threads, registers):
    near = _slots(*sizes)
    layout = held.layout_for(near)
    assert (layout.threads, layout.registers) == (threads, registers)
    plan = held.plan_of(near, layout, near)
    assert all(one.threads == (threads if one.shape[0] > held.FEW else 0) for one in plan)


def test_what_does_not_fit_stays_out_of_fast_memory():
    near = _slots(9, 400, 80)
    assert [one.threads for one in held.plan_of(near, None, near)] == [32, 0, 32]


def test_libraries_that_do_not_load_are_a_sentence(monkeypatch):
    def fail(_name):
        raise RuntimeError('Failure finding "libcudart.so.13"\nand where it was looked for')

    monkeypatch.setattr(cuda, "cuda", None)
    monkeypatch.setattr(cuda, "find_spec", lambda _name: True)
    monkeypatch.setattr(cuda, "import_module", fail)
    with pytest.raises(cuda.NoDevice, match=r'does not load \(Failure finding "libcudart.so.13"\): pip install'):
        cuda.find_device()


class Counted(NamedTuple):
    """A state of a user's: what it counts, and what outlasts a round, is not known."""

    row: Any
    counts: Any


def test_states_of_users_are_held_as_they_are():
    (row, counts), ours = (
        held.plan_of(Counted(np.zeros(3), np.zeros(3, np.int64))),
        held.plan_of((np.zeros(3, np.int64),)),
    )
    assert row.is_kept
    assert (counts.dtype, ours[0].dtype) == (types.int64, types.int32)
