"""Trees of parameters as words: what compiled code reads is what was written."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pytest

from tarry.kernel import entry
from tarry.kernel.words import kind_of, read, write


class Mode(IntEnum):
    SLOW = 1
    FAST = 2


class Tree(NamedTuple):
    mode: Any
    scale: Any
    count: Any
    table: Any


@entry
def add_up(like, words, i):
    tree = read(like, words, i)
    total = tree.scale * (tree.mode + 0) + tree.count
    for j in range(tree.table.size):
        total += tree.table[j]
    return total


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("mode", [2, 2.0, Mode.FAST, True], ids=repr)
@pytest.mark.parametrize("count", [-3, 2**40, np.uint8(7), np.float32(0.5)], ids=repr)
def test_compiled_code_reads_what_was_written(mode, count):
    trees = [Tree(mode, 0.5 * (i + 1), count, np.arange(i + 2.0)) for i in range(3)]
    words = write(trees)
    for i, tree in enumerate(trees):
        expected = tree.scale * mode + float(count) + tree.table.sum()
        assert add_up.dispatcher_for(trees[0])(trees[0], words, i) == pytest.approx(expected)


def test_trees_that_compiled_code_tells_apart_are_of_several_kinds():
    trees = [Tree(mode, 0.5, count, np.zeros(2)) for mode in (Mode.FAST, Mode.SLOW) for count in (5, 2**63 + 1, 5.0)]
    assert len({kind_of(tree) for tree in trees}) == 6
    assert kind_of(trees[0]) == kind_of(trees[0]._replace(scale=0.25, count=6, table=np.ones(9)))
