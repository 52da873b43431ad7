"""Replicas in step: losses of a Python function of many plays, found in one call a round for all replicas.

Compiled rounds stop when the play of a round is made and go on when they are called again for that round
(``pause`` and ``reopen`` of ``tarry.game.world``). What they wait for is written into the scratch for the round's row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tarry.game.world import NOT_OPEN, pause, reopen
from tarry.kernel import register_methods
from tarry.losses.base import Losses, RowSource, Vector, fetch, rows_react
from tarry.losses.custom import Batched

OPEN, VALUE, GRADIENT = range(3)  # of a row: its slot above NOT_OPEN, or 0; then the loss, the gradient and the data


class Told(RowSource):
    """Rows with room for what is told of the round: its loss and gradient; behind them the data."""

    data: Any  # a RowSource
    dimension: int

    @property
    def horizon(self) -> int | None:
        return self.data.horizon  # type: ignore[no-any-return]

    @property
    def width(self) -> int:
        return GRADIENT + self.dimension + int(self.data.width)

    def fetch(self, t: int, row: Vector) -> None:
        for i in range(GRADIENT + self.dimension):
            row[i] = 0.0
        fetch(self.data, t, row[GRADIENT + self.dimension :])

    def value_in(self, loss: Losses, t: int, scratch: Vector, x: Vector) -> float:
        return scratch[VALUE]  # type: ignore[no-any-return]

    def gradient_in(self, loss: Losses, t: int, scratch: Vector, x: Vector, out: Vector) -> None:
        for i in range(out.size):
            out[i] = scratch[GRADIENT + i]


class Awaited(Losses):
    """Stand, in compiled rounds, for losses that are found outside; its rows are :class:`Told`."""

    def reopen(self, row: Vector) -> int:
        slot = int(row[OPEN]) + NOT_OPEN
        row[OPEN] = 0.0
        return slot

    def pause(self, t: int, row: Vector, slot: int) -> bool:
        fetch(self.rows, t, row)
        row[OPEN] = slot - NOT_OPEN
        return True


register_methods(Awaited, (reopen, pause))


def plays_in_step(game: Any, learner: Any) -> bool:
    """Return whether the losses of a game are found for all replicas together."""
    # Several values a round and whole examples are asked for within the round; rows that react know no other.
    is_one = game.feedback in ("gradient", "value") and learner.queries == 1
    return isinstance(game.losses, Batched) and is_one and not rows_react(game.losses.rows)


def seen_losses(game: Any, learner: Any) -> Any:
    """Return the losses as rounds see them."""
    losses = game.losses
    return Awaited(Told(losses.rows, losses.dimension)) if plays_in_step(game, learner) else losses


def advance_in_step(
    rounds: Callable[..., int], losses: Batched, cells: Any, packed: Any, stop: Any, first: int, last: int
) -> int:
    """Advance packed replicas as ``rounds`` does, a round at a time; return the last round played."""
    data = GRADIENT + losses.dimension
    row, plays = packed.trees.world.row, packed.trees.state.play
    for t in range(first, last + 1):
        if not row[0, OPEN] and rounds(cells, packed, stop, t, t) < t:
            return t - 1
        if stop[0]:
            return t
        row[:, VALUE], row[:, GRADIENT:data] = losses.at(row[:, data:], plays)
        if rounds(cells, packed, stop, t, t) < t:
            return t - 1  # evaluated again once there is room: the round is still open
    return last
