"""States of learners: the shapes of their arrays, where they start, and the steps that most of them make."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from tarry.domains.base import as_domain, as_vector, contains
from tarry.kernel import step
from tarry.rates.base import MEMORY

AnyDomain = Annotated[Any, as_domain]
AnyPoint = Any  # of a ``start``: what NumPy makes a vector of, or None for the domain's centre
Array = np.ndarray

# Arrays of a state, by shape: k is the learner's dimension. Only arrays by slot may have the slots as first axis.
Vector = Annotated[np.ndarray, ("k",)]
Number = Annotated[np.ndarray, (1,)]
Integer = Annotated[np.ndarray, (1,), np.int64]
Memory = Annotated[np.ndarray, (MEMORY,)]  # what a rate remembers
NumberBySlot = Annotated[np.ndarray, ("slots",)]
IndexBySlot = Annotated[np.ndarray, ("slots",), np.int64]
VectorBySlot = Annotated[np.ndarray, ("slots", "k")]


@step
def show_point(point: Array, play: Array) -> None:
    """Write a point as the play."""
    for i in range(play.size):
        play[i] = point[i]


@step
def clear(total: Array) -> None:
    """Set every entry to zero."""
    for i in range(total.size):  # of one array: places that the compiler knows, on GPUs too, become registers
        total[i] = 0.0


@step
def keep_play(point: Array, plays: Array, slot: int) -> None:
    """Keep the play of the round that enters this slot."""
    for i in range(point.size):
        plays[slot, i] = point[i]


@step
def add_weighted(total: Array, weight: float, feedback: Array) -> None:
    """Add w_s g_s to a running sum."""
    for i in range(total.size):
        total[i] += weight * feedback[i]


@cache
def _hints_of(kind: Any) -> tuple[Any, ...]:
    # Kept: annotations are text that Python evaluates anew at each question, for longer than the zeros take.
    return tuple(get_type_hints(kind, include_extras=True).values())


def zeros_of(kind: Any, dimension: int, slots: int) -> Any:
    """Return a state of this class, all zeros, by the shapes its fields are annotated with."""
    # Zeros come from the system untouched: slots that are never used cost no memory.
    sizes = {"k": dimension, "slots": slots}
    parts = []
    for hint in _hints_of(kind):
        if get_origin(hint) is not Annotated:
            parts.append(zeros_of(hint, dimension, slots))
            continue
        _, shape, *dtype = get_args(hint)
        parts.append(np.zeros([sizes.get(size, size) for size in shape], *dtype))
    return kind(*parts)


def starting_point(domain: Any, start: ArrayLike | None) -> Array:
    """Return the given start, or the domain's centre; raise ValueError if it lies outside the domain."""
    point = as_vector(domain.center if start is None else start, "start", domain.dimension)
    # A point that was projected is this near: projections round by a few units in the last place of the diameter.
    if not contains(domain, point, 1e-9 * max(1.0, domain.diameter)):
        raise ValueError(f"start must lie in the domain, got {point}: use tarry.domains.nearest")
    return point
