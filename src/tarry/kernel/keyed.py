"""Keyed randomness: (seed, purpose, round) names a draw, a splitmix64 hash; nothing is streamed.

So a round gets the same draw live, simulated, in any thread and after any restart, and draws need not be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from hashlib import blake2b
from math import cos, log, pi, sin, sqrt
from secrets import token_hex
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
# SipHash's first words, the byte of its last block that has the length of a message, and what ends it.
_SIP = tuple(
    np.uint64(word) for word in (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
)
_LENGTH, _FINAL = np.uint64(8 << 56), np.uint64(0xFF)
_S13, _S16, _S17, _S21, _S32 = np.uint64(13), np.uint64(16), np.uint64(17), np.uint64(21), np.uint64(32)
_S51, _S48, _S47, _S43 = np.uint64(51), np.uint64(48), np.uint64(47), np.uint64(43)


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
def unit(bits: np.uint64) -> Any:
    """Return a uniform on (0, 1] from 64 random bits."""
    return np.float64((bits >> _S11) + _ONE) * _UNIT


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


@step
def _round(v: Any) -> Any:
    """Return the four words of SipHash after one round."""
    a, b, c, d = v
    a, c = a + b, c + d
    b, d = ((b << _S13) | (b >> _S51)) ^ a, ((d << _S16) | (d >> _S48)) ^ c
    a = (a << _S32) | (a >> _S32)
    c, a = c + b, a + d
    b, d = ((b << _S17) | (b >> _S47)) ^ c, ((d << _S21) | (d >> _S43)) ^ a
    c = (c << _S32) | (c >> _S32)
    return a, b, c, d


@step
def sealed_word(first: np.uint64, second: np.uint64, t: int) -> Any:
    """Return 64 random bits of round t under a key of 128 bits (SipHash-2-4): no number of them tells the key."""
    message = np.uint64(t)
    v = (first ^ _SIP[0], second ^ _SIP[1], first ^ _SIP[2], second ^ _SIP[3] ^ message)
    v = _round(_round(v))
    v = (v[0] ^ message, v[1], v[2], v[3] ^ _LENGTH)
    v = _round(_round(v))
    v = _round(_round(_round(_round((v[0] ^ _LENGTH, v[1], v[2] ^ _FINAL, v[3])))))
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def make_secret() -> str:
    """Return a seed that nobody can guess, for draws that must not be foreseen."""
    return token_hex(16)


def sealed_key(secret: str, purpose: Purpose) -> tuple[np.uint64, np.uint64]:
    """Return the two halves of the key of one purpose under a secret."""
    data = blake2b(bytes.fromhex(secret), digest_size=16, person=b"tarry %d" % purpose).digest()
    return np.uint64(int.from_bytes(data[:8], "little")), np.uint64(int.from_bytes(data[8:], "little"))


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
