"""A loss is a convex function of the play, fixed before play by the round's data row.

A loss type holds its *rows* (a table, or a keyed generator of them) and a few constants. The verbs ``value`` and
``gradient`` see only the row and the play; the game asks by round (``value_in``, ``gradient_in``), so that a table's
rows need not be copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import NonNegative, as_nonnegative
from tarry.errors import ArgumentError
from tarry.kernel import Parameters, Unmoved, register_methods, step, verb, verb_with_default

Vector = NDArray[np.float64]
CHUNK = 1 << 16  # rows looked at together: temporaries of some megabytes, however long the table
SMALL = 1 << 18  # multiplications of a product for which OpenBLAS wakes no threads: on a busy machine they wait long


class RowSource(Parameters):
    """Base of the data of every round: a table, or a generator of rows, with the verb ``fetch``."""

    reacts = False  # rows are made as play goes on: see ``Reacting``

    def __init_subclass__(cls) -> None:
        register_methods(cls, (fetch, value_in, gradient_in, row_in, allocate, react, see, face))
        if "fetch" in vars(cls):  # shortcuts of an ancestor would read other rows
            for shortcut in (value_in, gradient_in, row_in):
                if shortcut.__name__ not in vars(cls) and shortcut.default is not None:
                    shortcut.on(cls)(shortcut.default)

    @property
    def horizon(self) -> int | None:
        """The number of rows; None (the default): endless."""
        return None

    @property
    def width(self) -> int:
        """The number of entries of a row."""
        raise NotImplementedError(f"{type(self).__name__} needs a width")

    def largest_norm(self) -> float:
        """Return a length that no row exceeds, the largest Euclidean norm where that is known."""
        return inf


Rows = ArrayLike | RowSource


class Region(Protocol):
    """What bounds need to know of a domain: a ball that contains it."""

    @property
    def center(self) -> Vector: ...
    @property
    def outer_radius(self) -> float: ...


class Losses(Parameters):
    """Base of losses: a member adds ``dimension`` and its bounds, and overrides what else it knows.

    Bounds are suprema over the domain or safe over-estimates of them. ``value`` and ``gradient`` are methods of a play
    and a round, so the verbs of these names are registered beside the class, by ``@value.on(…)``.
    """

    rows: Any  # a RowSource

    has_kink = False  # it has a field ``smoothing``, and so a smooth lower bound
    is_curved = False  # it is known not to be linear
    has_stated_constants = False  # its constants are the author's word: 0 and infinity mean "not known"

    def __init_subclass__(cls) -> None:
        register_methods(cls, (support,))

    @property
    def horizon(self) -> int | None:
        """The number of rounds there are losses for; None: endless."""
        return self.rows.horizon

    @property
    def dimension(self) -> int:
        """The number of entries of a play."""
        raise NotImplementedError(f"{type(self).__name__} needs a dimension")

    @property
    def strong_convexity(self) -> float:
        """The λ ≥ 0 of which every loss is strongly convex."""
        return 0.0

    def gradient_bound(self, domain: Region) -> float:
        """Return a length that no gradient on the domain exceeds; infinite where none is known."""
        return inf

    def value_bound(self, domain: Region) -> float:
        """Return what no absolute value on the domain exceeds; infinite where it is not known."""
        return inf

    def isotropic(self) -> tuple[float, float] | None:
        """Return (c, b) where ∇f_t(x) = c·x + b·row in every round, or None: then the best action has a closed form."""
        return None

    def corner_range(self) -> tuple[float, float] | None:
        """Return the least and the largest loss at the corners e_i of the unit simplex, None where it is not known."""
        return None

    def smoothed(self, smoothing: float) -> Self:
        """Return a smooth lower bound of these losses (where ``has_kink``); 0 is the losses themselves."""
        if not self.has_kink:
            raise NotImplementedError(f"{type(self).__name__} has no smooth lower bound")
        fields = self._asdict() | {"smoothing": as_nonnegative(smoothing, "smoothing")}
        return self.make(*fields.values())

    def row(self, t: int) -> Vector:
        """Return the data of round t (from 1)."""
        if int(t) != t or t < 1 or (self.horizon is not None and t > self.horizon):
            last = "" if self.horizon is None else f" of at most {self.horizon}"
            raise ArgumentError("t", f"must be a round from 1{last}", t)
        out = np.zeros(self.rows.width)
        with np.errstate(over="ignore"):  # the keyed generator wraps around by design
            fetch(self.rows, int(t), out)
        return out

    def value(self, x: ArrayLike, t: int) -> float:
        """Return f_t(x)."""
        return float(value(self, self.row(t), as_point(x, self)))

    def gradient(self, x: ArrayLike, t: int) -> Vector:
        """Return a subgradient of f_t at x."""
        point = as_point(x, self)
        out = np.zeros(point.size)
        gradient(self, self.row(t), point, out)
        return out

    def with_rows(self, rows: RowSource) -> Self:
        """Return the same losses of other data."""
        return self.make(*(self._asdict() | {"rows": rows}).values())


@verb
def fetch(rows: RowSource, t: int, row: Vector) -> None:
    """Write the data row of round t."""


@verb
def value(loss: Losses, row: Vector, x: Vector) -> float:
    """Return the loss of this row at x."""


@verb
def gradient(loss: Losses, row: Vector, x: Vector, out: Vector) -> None:
    """Write a subgradient of this row's loss at x."""


def shape_of(losses: Any) -> tuple[float, float] | None:
    """Return what losses answer to ``isotropic``, None where a subclass has another ``value`` or ``gradient``."""
    home = next((cls for cls in type(losses).__mro__ if "isotropic" in vars(cls)), None)
    if home is None or is_changed(losses, home, value, gradient):
        return None
    shape: tuple[float, float] | None = losses.isotropic()
    return shape


def is_changed(losses: Any, home: type, *verbs: Any) -> bool:
    """Return whether a subclass of ``home`` answers one of these verbs, so that what ``home`` says may not hold."""
    kinds = type(losses).__mro__
    return any(cls in verb.members for cls in kinds[: kinds.index(home)] for verb in verbs)


@verb_with_default
def value_in(rows: RowSource, loss: Losses, t: int, scratch: Vector, x: Vector) -> float:
    """Return the loss of round t at x; its row is read where it lies, or fetched into ``scratch``."""
    fetch(rows, t, scratch)
    return value(loss, scratch, x)


@verb_with_default
def gradient_in(rows: RowSource, loss: Losses, t: int, scratch: Vector, x: Vector, out: Vector) -> None:
    """Write a subgradient of round t at x, after ``value_in`` of that round with the same ``scratch``."""
    gradient(loss, scratch, x, out)


@verb_with_default
def row_in(rows: RowSource, t: int, scratch: Vector, out: Vector) -> None:
    """Write the data row of round t, after ``value_in`` of that round with the same ``scratch``."""
    fetch(rows, t, out)


@verb_with_default
def allocate(rows: RowSource) -> Any:
    """Return what rows know of the plays before the first round (Python only): a named tuple of arrays."""
    return Unmoved()


@verb
def react(rows: RowSource, state: Any, t: int, row: Vector) -> None:
    """Write the row of round t, from what was seen of the rounds before it."""


@verb_with_default
def see(rows: RowSource, state: Any, t: int, play: Vector, slot: int) -> None:
    """Take note of the play of round t, and of its slot (negative: not tracked); by default nothing is done."""


@verb_with_default
def face(rows: RowSource, state: Any, t: int, row: Vector, met: Vector) -> None:
    """Write the row of round t where rows react, and keep it in ``met``, by round; by default nothing is done."""


def weighted_gram(rows: Vector, roots: Vector) -> Vector:
    """Return Σ (root·row)(root·row)ᵀ, in pieces that stay in a core's cache."""
    out = np.zeros((rows.shape[1], rows.shape[1]))
    size = max(64, SMALL // max(1, rows.shape[1] ** 2))
    for first in range(0, roots.size, size):
        part = rows[first : first + size] * roots[first : first + size, None]
        out += part.T @ part  # of a matrix with itself NumPy computes one half
    return out


@verb_with_default
def support(loss: Losses, row: Vector, x: Vector, height: float) -> float:
    """Return the height at x of a plane below the loss whose slope is ``gradient``; by default the value ``height``.

    A smoothed loss bends away from the exact one; its gradient may support the exact one higher than its own value.
    """
    return height


@step
def half_square(x: Vector) -> float:
    """Return ‖x‖²/2."""
    squares = 0.0
    for i in range(x.size):
        squares += x[i] * x[i]
    return 0.5 * squares


class Ridged(Losses):
    """Base of losses plus (ridge/2)‖x‖²; a member adds ``_extremes``."""

    ridge: NonNegative

    beyond = 0  # entries of a row behind those that go with the play's: an offset, a label

    @property
    def dimension(self) -> int:
        return int(self.rows.width) - self.beyond

    @property
    def strong_convexity(self) -> float:
        return self.ridge

    def gradient_bound(self, domain: Region) -> float:
        return self._extremes(domain)[0] + self.ridge * reach(domain)

    def value_bound(self, domain: Region) -> float:
        return self._extremes(domain)[1] + self.ridge * reach(domain) ** 2 / 2

    def _extremes(self, domain: Region) -> tuple[float, float]:
        """Return the largest gradient and value on the outer ball, without the ridge: a pass over all rounds."""
        raise NotImplementedError(f"{type(self).__name__} needs its extremes")


class Listed(RowSource, init=False):
    """Rows given as an array of shape (horizon, width); a read-only array is not copied."""

    values: np.ndarray

    def __new__(cls, values: ArrayLike, name: str = "losses") -> Self:
        table = np.asarray(values)
        # A read-only array cannot change under us; any other is copied.
        if table.dtype != np.float64 or not table.flags.c_contiguous or table.flags.writeable:
            table = np.array(table, dtype=np.float64, order="C")
        if table.ndim != 2 or table.size == 0:
            raise ValueError(f"{name} must be an array with one row per round, got shape {table.shape}")
        if not np.all(np.isfinite(table)):
            t, i = np.argwhere(~np.isfinite(table))[0]
            raise ValueError(f"{name} must be finite, got {table[t, i]} in round {t + 1}, entry {i}")
        return cls.make(table)

    @property
    def horizon(self) -> int | None:
        return int(self.values.shape[0])

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    def largest_norm(self) -> float:
        return float(np.sqrt(np.max(np.einsum("ij,ij->i", self.values, self.values))))

    def chunks(self) -> Iterator[Vector]:
        """Yield the rows in pieces, so that what is computed of them never takes a table's memory."""
        for first in range(0, self.values.shape[0], CHUNK):
            yield self.values[first : first + CHUNK]

    def fetch(self, t: int, row: Vector) -> None:
        for i in range(row.size):
            row[i] = self.values[t - 1, i]

    def value_in(self, loss: Losses, t: int, scratch: Vector, x: Vector) -> float:
        return value(loss, self.values[t - 1], x)

    def gradient_in(self, loss: Losses, t: int, scratch: Vector, x: Vector, out: Vector) -> None:
        gradient(loss, self.values[t - 1], x, out)


def is_table(rows: RowSource) -> bool:
    """Return whether rows are the ``values`` of a table: a user's subclass may fetch others."""
    return isinstance(rows, Listed) and fetch.find(type(rows)) is Listed.fetch


class Reacting(RowSource):
    """Base of rows that react to the plays before them: an adversary, with a state of its own for every seed.

    A member adds ``width``, ``largest_norm()`` where its rows are bounded, and three verbs: ``allocate(self)`` makes
    the state, ``react(self, state, t, row)`` writes the row of round t, and ``see(self, state, t, play, slot)`` is told
    that round's play afterwards. So the row of round t knows the plays before t, and neither x_t nor its draws.
    """

    reacts = True

    def fetch(self, t: int, row: Vector) -> None:
        raise ValueError(
            f"rows of {type(self).__name__} react to plays, so round {t} has none before it is played: "
            "ask record.played_game(seed).losses, after simulate(…, keep_rounds=True)"
        )

    def value_in(self, loss: Losses, t: int, scratch: Vector, x: Vector) -> float:
        return value(loss, scratch, x)

    def row_in(self, t: int, scratch: Vector, out: Vector) -> None:
        for i in range(out.size):
            out[i] = scratch[i]

    def face(self, state: Any, t: int, row: Vector, met: Vector) -> None:
        react(self, state, t, row)
        for i in range(row.size):
            met[t - 1, i] = row[i]


def rows_react(losses: Any) -> bool:
    """Return whether the rows of losses are made as play goes on; a user's need not inherit ``RowSource``."""
    return bool(getattr(getattr(losses, "rows", None), "reacts", False))


def as_rows(rows: Rows, name: str) -> Any:
    """Return rows made from an array, or a generator of rows unchanged."""
    if any(isinstance(rows, cls) for cls in fetch.members):  # a user's generator has its own ``fetch`` too
        return rows
    return Listed(cast("ArrayLike", rows), name)


def as_column(values: ArrayLike, name: str, table: Listed) -> Vector:
    """Return one finite number for each row of a table, or raise ValueError."""
    column = np.ascontiguousarray(values, dtype=np.float64)
    if column.shape != (table.horizon,):
        raise ValueError(f"{name} need one number for each of {table.horizon} rounds, got shape {column.shape}")
    if not np.all(np.isfinite(column)):
        t = int(np.flatnonzero(~np.isfinite(column))[0])
        raise ValueError(f"{name} must be finite, got {column[t]} in round {t + 1}")
    return column


def with_offsets(rows: Rows, name: str, offsets: ArrayLike | None) -> tuple[Any, int]:
    """Return the rows, widened by a last entry if there are offsets, and whether (1 or 0) there are."""
    source = as_rows(rows, name)
    if offsets is None:
        return source, 0
    if not is_table(source):
        raise ValueError(f"offsets go with {name} given as an array, got {type(source).__name__}: leave them out")
    return Listed(np.column_stack((source.values, as_column(offsets, "offsets", source))), name), 1


def as_point(x: ArrayLike, losses: Losses) -> Vector:
    """Return a play of the losses' dimension, or raise ValueError."""
    point = np.ascontiguousarray(x, dtype=np.float64)
    if point.shape != (losses.dimension,):
        raise ValueError(f"x must be a vector of {losses.dimension} entries, got shape {point.shape}")
    return point


def reach(domain: Region) -> float:
    """Return a norm that no point of the domain exceeds."""
    return float(np.linalg.norm(domain.center)) + float(domain.outer_radius)
