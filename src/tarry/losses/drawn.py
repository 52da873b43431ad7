"""Rows drawn by key: endless, the same row whenever it is asked for.

    row_t = finish(drift·v + noise·z_b/√k),   b = ⌊(t − 1)/block⌋,   z_b ~ N(0, I)

with v uniform on the unit sphere of R^k, drawn once. Normals take several times as long as a round, ten of them 145 ns
(130 in a plain C loop of the same bits): the first rounds of a game are drawn once into a table (``in_table``) that
seeds, players, capacities and comparators share.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, Self

import numpy as np

from tarry.checks import as_int, as_nonnegative
from tarry.errors import ArgumentError
from tarry.kernel import Purpose, entry, make_key, make_seed
from tarry.kernel.kept import Kept
from tarry.kernel.keyed import normals
from tarry.losses.base import Listed, Losses, RowSource, Vector, fetch

TABLE_BYTES = 1 << 27  # of the rows of one game that are drawn once; longer ones are drawn as they are played
KEPT_BYTES = 1 << 28  # of all tables: a sweep comes back to the losses of its seeds with every player
_tables = Kept[Listed](KEPT_BYTES)  # by rows and their number

NONE, SPHERE, BALL = 0, 1, 2
FINISHES = {"none": NONE, "sphere": SPHERE, "ball": BALL}


class Drawn(RowSource, init=False):
    """Rows around a fixed direction v; ``finish`` is ``"none"``, ``"sphere"`` or ``"ball"``.

    ``"sphere"`` scales each row to norm 1, ``"ball"`` projects it on the unit ball. Rows change every
    ``block`` rounds.

    >>> from tarry.losses import Linear
    >>> bool(abs(np.linalg.norm(Linear(Drawn(5, finish="sphere", rng=1)).row(10**9)) - 1) < 1e-12)
    True
    """

    key: np.uint64
    direction: np.ndarray
    drift: float
    noise: float
    block: int
    finish: int

    def __new__(
        cls,
        dimension: int,
        drift: float = 0.0,
        noise: float = 1.0,
        block: int = 1,
        finish: str = "none",
        *,
        rng: Any = None,
    ) -> Self:
        size, length = as_int(dimension, "dimension", 1), as_int(block, "block", 1)
        if finish not in FINISHES:
            raise ArgumentError("finish", f"must be one of {', '.join(map(repr, FINISHES))}", finish)
        around, spread = as_nonnegative(drift, "drift"), as_nonnegative(noise, "noise")
        if finish == "sphere" and around == spread == 0.0:
            raise ValueError("drift and noise are both 0: rows of zeros cannot be scaled to norm 1")
        key = make_key(make_seed(rng), Purpose.LOSSES)
        normal = np.zeros(size)
        with np.errstate(over="ignore"):  # the keyed generator wraps around by design
            normals(key, 0, normal)
        return cls.make(key, normal / np.linalg.norm(normal), around, spread, length, FINISHES[finish])

    @classmethod
    def drifting_targets(cls, dimension: int, *, rng: Any = None) -> Self:
        """Return independent targets Π(0.5v + 0.5z_t), on the unit ball; they do not drift, v is fixed."""
        return cls(dimension, 0.5, 0.5, 1, "ball", rng=rng)

    @classmethod
    def block_targets(cls, dimension: int, *, length: int = 200, rng: Any = None) -> Self:
        """Return targets that jump every ``length`` rounds: Π(z_b + 0.5v), on the unit ball."""
        return cls(dimension, 0.5, 1.0, length, "ball", rng=rng)

    @property
    def width(self) -> int:
        return int(self.direction.size)

    def largest_norm(self) -> float:
        if self.finish != NONE:
            return 1.0
        return self.drift if self.noise == 0.0 else inf

    def fetch(self, t: int, row: Vector) -> None:
        k = self.direction.size
        if self.noise > 0.0:
            normals(self.key, (t - 1) // self.block + 1, row)  # draw 0 is the direction's
        else:
            for i in range(k):
                row[i] = 0.0
        scale = self.noise / sqrt(float(k))
        squares = 0.0
        for i in range(k):
            row[i] = self.drift * self.direction[i] + scale * row[i]
            squares += row[i] * row[i]
        if self.finish == SPHERE or (self.finish == BALL and squares > 1.0):
            shrink = 1.0 / sqrt(squares)
            for i in range(k):
                row[i] *= shrink


def drifting(dimension: int, *, rng: Any = None) -> Drawn:
    """Return rows of linear losses with drift: g_t = (0.3v + z_t)/‖·‖, z_t ~ N(0, I/k)."""
    return Drawn(dimension, 0.3, 1.0, 1, "sphere", rng=rng)


def blocks(dimension: int, *, length: int = 200, rng: Any = None) -> Drawn:
    """Return adversarial blocks: one uniform unit vector per ``length`` rounds."""
    return Drawn(dimension, 0.0, 1.0, length, "sphere", rng=rng)


@entry
def _draw(rows: Drawn, out: Vector) -> None:
    for t in range(1, out.shape[0] + 1):
        if (t - 1) % rows.block == 0:
            fetch(rows, t, out[t - 1])
        else:  # as in the round before
            for i in range(out.shape[1]):
                out[t - 1, i] = out[t - 2, i]


def table_bytes(losses: Any, horizon: int) -> int:
    """Return the bytes of the table that ``in_table`` makes, 0 where it makes none."""
    size = 8 * horizon * losses.rows.width if isinstance(losses, Losses) and type(losses.rows) is Drawn else 0
    return size if size <= TABLE_BYTES else 0


def in_table(losses: Any, horizon: int, is_empty: bool = False) -> Any:
    """Return losses whose rows are drawn with these rows in a table, the same numbers; any others as they are.

    So they are where the table would be too large, or where nothing is compiled. One that ``is_empty`` tells types.
    """
    if not table_bytes(losses, horizon):
        return losses
    draw = _draw.dispatcher_for(losses.rows)
    if draw is _draw.plain:
        return losses
    if is_empty:
        return losses.with_rows(Listed.make(np.zeros((0, losses.rows.width))))
    key = (losses.rows, horizon)
    table = _tables.find(key)
    if table is None:  # two threads may draw one table, and keep either
        values = np.zeros((horizon, losses.rows.width))
        draw(losses.rows, values)
        table = _tables.take(key, Listed.make(values), values.nbytes)
    return losses.with_rows(table)
