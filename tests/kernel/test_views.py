"""Views of stacked states: the i-th copy, by slot or not, nested, with the JIT and without."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from tarry.kernel import entry, step
from tarry.kernel.heap import Heap, make_heap, push
from tarry.kernel.views import learn_slots, replica, replicate, stack, view


class Inner(NamedTuple):
    total: np.ndarray
    by_slot: np.ndarray


class Outer(NamedTuple):
    table: np.ndarray
    inner: Inner
    heap: Heap


class Unlike(NamedTuple):
    part: np.ndarray


class Nothing(NamedTuple):
    pass


class Tree(NamedTuple):
    key: np.uint64
    copies: Outer
    nothing: Nothing
    pair: tuple[np.ndarray, np.ndarray]


def make(slots):
    inner = Inner(np.zeros(1), np.zeros((slots, 2)))
    return Outer(np.arange(6.0).reshape(2, 3), inner, make_heap(slots))


@step
def change(state, by):
    state.table[1, 2] += by
    state.inner.total[0] = by
    state.inner.by_slot[1, 0] += by
    push(state.heap, 0, by)


@entry
def change_all(states):
    for i in range(states.table.shape[0]):
        change(view(states, i), float(i + 1))


@entry
def change_one(states, i):
    change(view(states, i), 7.0)


@pytest.fixture
def states():
    learn_slots(make(1), make(2))
    return stack(make(2), 3)


def test_copies_change_on_their_own_and_share_what_is_by_slot(states):
    change_all.dispatcher_for(states)(states)
    assert states.table[:, 1, 2].tolist() == [6.0, 7.0, 8.0]
    assert states.inner.total.tolist() == [[1.0], [2.0], [3.0]]
    assert states.inner.by_slot.tolist() == [[0.0, 0.0], [6.0, 0.0]]
    assert states.heap.key[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert states.heap.size.tolist() == [[1], [1], [1]]


def test_views_hold_what_they_show(states):
    run = change_one.dispatcher_for(states)
    for i in (1, 0):
        run(states, i)
    assert states.inner.by_slot[1, 0] == 14.0
    assert states.table[:, 1, 2].tolist() == [12.0, 12.0, 5.0]
    assert np.array_equal(view(states, 1).table, states.table[1])


def test_states_that_cannot_be_stacked_are_refused():
    with pytest.raises(TypeError, match="a named tuple of arrays, nested or not, got a tuple"):
        learn_slots((np.zeros(1),), (np.zeros(2),))
    learn_slots(Unlike(np.zeros(1)), Unlike(np.zeros(2)))
    with pytest.raises(TypeError, match="by slot in one learner and not in another"):
        learn_slots(Unlike(np.zeros(1)), Unlike(np.zeros(1)))


@step
def change_tree(tree, j):
    change(view(tree.copies, j), float(tree.key))
    tree.pair[0][0] += 1.0
    tree.pair[1][0, 1] += tree.pair[0][0]


@entry
def change_some(trees, count, j):
    for i in range(count):
        change_tree(replica(trees, i), j)


@pytest.fixture
def trees(states):
    tree = Tree(np.uint64(5), states, Nothing(), (np.ones(1), np.zeros((1, 2), np.int64)))
    made = replicate(tree, 4)
    made.key[:] = 2**63 + 2**40 * np.arange(4, dtype=np.uint64)
    return made


@pytest.mark.jit
@pytest.mark.parametrize("order", ["C", "F"])
def test_replicas_change_as_they_would_alone_and_share_nothing(trees, order):
    laid = replicate(replica(trees, 0), 4, order)
    laid.key[:] = trees.key
    alone = [replica(replicate(replica(trees, i), 1), 0) for i in range(4)]
    change_some.dispatcher_for(laid)(laid, 3, 1)
    for i in range(4):
        if i < 3:
            change_tree(alone[i], 1)
        found, expected = leaves(replica(laid, i)), leaves(alone[i])
        assert all(map(np.array_equal, found, expected))
        assert [leaf.dtype for leaf in found] == [leaf.dtype for leaf in expected]
    assert type(replica(laid, 2).nothing) is Nothing


def leaves(tree):
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def test_what_is_by_slot_is_shared_by_copies_and_not_by_replicas(trees):
    assert trees.copies.table.shape == (4, 3, 2, 3)
    assert trees.copies.inner.by_slot.shape == (4, 2, 2)
    assert np.array_equal(replica(trees, 3).copies.table, np.stack([np.arange(6.0).reshape(2, 3)] * 3))


def test_only_arrays_and_numbers_have_replicas():
    with pytest.raises(TypeError, match="arrays and numbers, in tuples or not, got a str"):
        replicate(("a",), 2)
