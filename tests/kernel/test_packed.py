"""Packed replicas are the stacked ones, for Python and for compiled code."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from tarry.kernel import entry, step
from tarry.kernel.packed import Packed, unpack
from tarry.kernel.views import alone, replica, replicate


class Nothing(NamedTuple):
    """A tuple without parts."""


class Leaf(NamedTuple):
    flags: Any
    empty: Any


class Tree(NamedTuple):
    key: Any
    nothing: Nothing
    leaf: Leaf
    cube: Any
    share: Any


@step
def change(tree, i):
    tree.leaf.flags[1] = not tree.leaf.flags[0]
    tree.cube[1, 0, 2] += tree.share + float(tree.key >> np.uint64(60)) + tree.leaf.empty.size
    tree.cube[0, 2, 1] = i


@entry
def change_all(packed):
    for i in range(packed.count):
        change(unpack(packed, i), i)
    return packed.count


@pytest.fixture
def trees():
    cube = np.arange(24.0).reshape(2, 3, 4)
    tree = Tree(np.uint64(0), Nothing(), Leaf(np.zeros(2, np.bool_), np.zeros((0, 3))), cube, 0.5)
    made = replicate(tree, 4)
    made.key[:] = np.uint64(2**60) * np.arange(1, 5, dtype=np.uint64)
    made.leaf.flags[2:, 0] = True
    made.share[:] = np.linspace(0.0, 1.0, 4)
    return made


def flat(tree):
    return [leaf for part in tree for leaf in flat(part)] if isinstance(tree, tuple) else [np.array(tree)]


@pytest.mark.jit
@pytest.mark.parametrize("count", [4, 3])
def test_packed_replicas_change_as_each_would_alone(trees, count):
    expected = replicate(replica(trees, 0), 4)
    for ours, theirs in zip(flat_views(expected), flat_views(trees), strict=True):
        ours[:] = theirs
    for i in range(count):
        change(replica(expected, i), i)
    packed = Packed(trees).first(count)
    assert change_all.dispatcher_for(trees)(packed) == count
    assert all(map(np.array_equal, flat(trees), flat(expected)))


def flat_views(tree):
    return [leaf for part in tree for leaf in flat_views(part)] if isinstance(tree, tuple) else [tree]


@pytest.mark.jit
def test_one_tree_is_packed_as_the_stack_of_its_only_replica(trees):
    one = replica(trees, 2)
    change_all.dispatcher_for(trees)(Packed(alone(one)))
    assert trees.cube[2, 0, 2, 1] == 0.0
    assert trees.cube[2, 1, 0, 2] == 14.0 + (trees.share[2] + 3.0)


@pytest.mark.jit
def test_replicas_that_were_moved_are_found_where_they_are(trees):
    packed = Packed(trees)
    run = change_all.dispatcher_for(trees)
    run(packed.first(1))
    moved = Packed(trees._replace(cube=trees.cube.copy()))
    run(moved)
    assert moved.trees.cube[:, 0, 2, 1].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert trees.cube[1, 0, 2, 1] == 9.0


def test_what_does_not_lie_in_one_piece_is_refused(trees):
    with pytest.raises(TypeError, match="in one piece"):
        assert Packed(trees._replace(cube=trees.cube[:, :, ::2])).address
