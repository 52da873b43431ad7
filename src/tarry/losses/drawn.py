"""Rows drawn by key: endless, nothing stored, the same row whenever it is asked for.

    row_t = finish(drift·v + noise·z_b/√k),   b = ⌊(t − 1)/block⌋,   z_b ~ N(0, I)

with v uniform on the unit sphere of R^k, drawn once.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, Self

import numpy as np

from tarry.checks import as_int, as_nonnegative
from tarry.errors import ArgumentError
from tarry.kernel import Purpose, make_key, make_seed
from tarry.kernel.keyed import normals
from tarry.losses.base import RowSource, Vector

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
        """Return independent targets around a fixed one: Π(0.5v + 0.5z_t), on the unit ball."""
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
