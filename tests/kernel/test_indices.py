"""Our own steps count indices from the start: compiled, they are not asked whether they count from the end."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from marking import slow_but

from tarry.game import blocks
from tarry.kernel import is_compiled
from tarry.kernel.views import remade
from tests.support import random_games


class Forward(np.ndarray):
    """An array that refuses what counts from its end."""

    def __getitem__(self, key):
        return super().__getitem__(_checked(key))

    def __setitem__(self, key, value):
        super().__setitem__(_checked(key), value)


is_playing = []  # rounds: measuring is no step


def _checked(key):
    for one in key if isinstance(key, tuple) else (key,):
        if isinstance(one, (int, np.integer)) and one < 0 and is_playing:
            raise AssertionError(f"the index {one} counts from the end")
    return key


def _forward(tree):
    if isinstance(tree, tuple):
        return remade(tree, map(_forward, tree))
    return tree.view(Forward) if isinstance(tree, np.ndarray) else tree


@pytest.mark.skipif(is_compiled(), reason="compiled rounds index no Python object")
@pytest.mark.parametrize("start", slow_but(list(range(0, random_games.GAMES, 25)), {0, 100}))
def test_no_step_counts_from_the_end(start, monkeypatch):
    replicate, cells_of, advance = blocks.replicate, blocks.cells_of, blocks.Block.advance

    def watched(*given):
        is_playing.append(True)
        try:
            return advance(*given)
        finally:
            is_playing.pop()

    monkeypatch.setattr(blocks.Block, "advance", watched)
    monkeypatch.setattr(blocks, "replicate", lambda *given: _forward(replicate(*given)))
    monkeypatch.setattr(blocks, "cells_of", lambda *given: _forward(cells_of(*given)))
    for i in range(start, start + 25):
        random_games.draw_game(i).play("cpu", 1)


def test_indices_from_the_end_are_refused(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "is_playing", [True])
    with pytest.raises(AssertionError, match="-1 counts from the end"):
        np.zeros((2, 3)).view(Forward)[0, -1]
