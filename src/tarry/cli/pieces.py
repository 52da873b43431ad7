"""Pieces of a game: its first rounds, and the best action of each of some equal stretches."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tarry import delays as late
from tarry.game import Game
from tarry.game.regret import comparator
from tarry.losses.base import Listed

PIECES = (1, 2, 4, 8, 16, 32)
SHORTEST = 8


def rows_of(losses: Any, rounds: int) -> Any:
    """The data of the first rounds, a row each."""
    return np.array([losses.row(t) for t in range(1, rounds + 1)])


def head(game: Game, rounds: int) -> Game:
    """The first rounds of a game, just as they are in the whole."""
    if rounds == game.horizon:
        return game
    endless = game.losses.horizon is None
    losses = game.losses if endless else game.losses.with_rows(Listed(rows_of(game.losses, rounds)))
    kept = {name: getattr(game, name) for name in ("feedback", "capacity", "information", "preemption")}
    return Game(game.domain, losses, late.array(game.delays.first(rounds)), **kept)


def best_of_pieces(game: Game) -> dict[int, float]:
    """By the number of equal pieces, the summed losses of the best action of each; pieces have 8 rounds at least.

    A sequence of actions with changes at the cuts only: one that may change anywhere loses no more.
    """
    rows = rows_of(game.losses, game.horizon)
    return {m: _least(game, rows, m) for m in PIECES if game.horizon >= SHORTEST * m}


def _least(game: Game, rows: Any, pieces: int) -> float:
    cuts = np.linspace(0, game.horizon, pieces + 1).astype(np.int64)
    total = 0.0
    for first, last in pairwise(cuts):
        losses = game.losses.with_rows(Listed(rows[first:last]))
        total += float(comparator(game.domain, losses, int(last - first), np.array([last - first])).losses[-1])
    return total
