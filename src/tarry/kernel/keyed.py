"""Keyed randomness: (seed, purpose, round) names a draw, a splitmix64 hash; nothing is streamed.

So a round gets the same draw live, simulated, in any thread and after any restart, and draws need not be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from math import cos, log, pi, sin, sqrt
from typing import Any

import numpy as np

from tarry.kernel.compile import step

# Splitmix64's constants: the odd part of 2⁶⁴ over the golden ratio, and the multipliers of its finaliser.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_ALL = 0xFFFFFFFFFFFFFFFF  # the bits of a key
_UNIT = 2.0**-53  # 53 bits are what a float holds


class Purpose(IntEnum):
    """What a draw is for; draws of different purposes are independent."""

    LOSSES = 1
    DELAYS = 2
    SCHEDULE = 3
    DIRECTIONS = 4
    RESIZE = 5


@step
def mix(z: np.uint64) -> Any:
    """Return the splitmix64 finaliser of z."""
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


@step
def word(key: np.uint64, t: int | np.ndarray) -> Any:
    """Return 64 random bits of round t under this key."""
    return mix(key + np.uint64(t) * _GOLDEN)


@step
def uniform(key: np.uint64, t: int | np.ndarray) -> Any:
    """Return a uniform on (0, 1] for round t: zero never occurs, so its logarithm and inverse are finite."""
    return np.float64((word(key, t) >> _S11) + _ONE) * _UNIT


@step
def uniform_at(key: np.uint64, t: int | np.ndarray, index: int) -> Any:
    """Return the index-th of several uniforms of one round."""
    return uniform(word(key, t), index)


@step
def normals(key: np.uint64, t: int, out: np.ndarray) -> None:
    """Fill ``out`` with the round's standard normals, two for each pair of uniforms (Box and Muller)."""
    inner = word(key, t)
    for i in range(0, out.size, 2):
        radius = sqrt(-2.0 * log(uniform(inner, i)))
        angle = 2.0 * pi * uniform(inner, i + 1)
        out[i] = radius * cos(angle)
        if i + 1 < out.size:
            out[i + 1] = radius * sin(angle)


def make_key(seed: int | Sequence[int], purpose: Purpose) -> Any:
    """Return the key of one purpose under a seed (any integer; negative ones wrap), or the keys under several."""
    wrapped = (
        seed & _ALL if isinstance(seed, (int, np.integer)) else np.array([word & _ALL for word in seed], np.uint64)
    )
    with np.errstate(over="ignore"):
        base = mix(np.uint64(wrapped) + _GOLDEN)
        return np.uint64(mix(base + np.uint64(int(purpose)) * _GOLDEN))


def make_seed(rng: Any) -> int:
    """Return an integer seed from an int, a SeedSequence, a Generator or None (fresh entropy)."""
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool):
        return int(rng)
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(0, 2**63))
    sequence = np.random.SeedSequence() if rng is None else rng
    if not isinstance(sequence, np.random.SeedSequence):
        raise TypeError(f"rng must be an int, a SeedSequence, a Generator or None, got {type(rng).__name__}")
    return int(sequence.generate_state(1, np.uint64)[0])
