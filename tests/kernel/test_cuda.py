"""Kernels for a GPU: how replicas are laid out, and that a thread holds what it was given."""

from __future__ import annotations

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
