"""The books of a run: fates, weight moments, occupancy, and the sums that certificates are made of.

The weighted regret of DW-FTRL is at most D²/(2η_T) + Σ_t η_{t−1}(½ m_t² + m_t Σ_{s∈B_t} m_s), m_t = w_t|g_t|.
A pair (s, t) contributes once both weights are known, that is when the later of the two arrives; the
other one arrived during its life. So every tracked slot carries the sums over arrivals during its
life, O(tracked) per used arrival. Epochs empty the set, so no pair crosses from one to the next.

Values (DW-FTBL) need one sum more, Σ_t c_t √q_t with c_t = η_{t−1} w_t/δ_t and q_t = Σ_{s∈B_t} w_s², which is no sum
over pairs. It is at most √(Σ c_t · Σ c_t q_t) (Cauchy and Schwarz), where the first runs over arrivals and the second
over pairs.
"""

from __future__ import annotations

from math import nan
from typing import Any, NamedTuple

import numpy as np

from tarry.kernel import step
from tarry.results import Weights

SUMS = 13
(
    WEIGHT,
    SQUARE,
    LARGEST,
    OCCUPANCY,
    FORFEITED,
    OWN,  # Σ η m²; for values Σ η (w f/δ)²
    PAIRS,  # Σ η_{t−1} m_t m_s over pairs; for values of the weights alone
    CLOSED,  # Σ 1/(2η) over epochs that have ended
    LONGEST,  # the largest |g| or |f| that was used
    LENGTHS,  # Σ c_t
    SPREADS,  # Σ c_t q_t
    SMOOTHED,  # Σ w δ
    CAPPED,  # Σ min(w, 1)
) = range(SUMS)
FULL_ROUNDS, PEAK = range(2)
UNCERTIFIED, PLAIN, OBSERVED = range(3)


class Tally(NamedTuple):
    """``fates`` by Fate; ``sums`` and ``counts`` by the names above; all else by slot.

    ``rate`` is η_{t−1} and ``sharpness`` 1/δ_t (0 for gradients) of the round in a slot. When it arrives, ``cross``
    and ``line`` are multiplied by its weight and ``arc`` by the square of it.
    """

    fates: np.ndarray
    sums: np.ndarray
    counts: np.ndarray
    cross: np.ndarray
    rate: np.ndarray
    sharpness: np.ndarray
    line: np.ndarray
    arc: np.ndarray


def make_tally(slots: int) -> Tally:
    """Empty books."""
    return Tally(np.zeros(6, np.int64), np.zeros(SUMS), np.zeros(2, np.int64), *(np.zeros(slots) for _ in range(5)))


def weights_of(tally: Tally, settled: int) -> Weights:
    """The moments of the weights over so many settled rounds (NaN before the first)."""
    total, squares = float(tally.sums[WEIGHT]), float(tally.sums[SQUARE])
    return Weights(
        mean=total / settled if settled else nan,
        second_moment=squares / settled if settled else nan,
        max=float(tally.sums[LARGEST]),
        effective_sample_size=total * total / squares if squares else 0.0,
    )


@step
def book_entry(tally: Tally, rate: float, radius: float, slot: int) -> None:
    """A round enters a slot; ``rate`` is η_{t−1}, the one that made its play, ``radius`` δ_t or 0."""
    tally.rate[slot] = rate
    tally.sharpness[slot] = 1.0 / radius if radius > 0.0 else 0.0
    tally.cross[slot] = 0.0
    tally.line[slot] = 0.0
    tally.arc[slot] = 0.0


@step
def book_arrival(tally: Tally, rounds: Any, slot: int, s: int, weight: float, size: float) -> None:
    """A certificate's share of a used arrival; ``rounds`` are the slots' rounds, s still among them.

    ``size`` is that of its feedback, or 1 where a bound on it is put in later.
    """
    # Free slots are a stack, and a fresh one is opened only when all opened before are taken: so only the first
    # peak + 1 were ever in use. Vacant ones among them are written to as well; an entry resets them.
    used = min(rounds.size, tally.counts[PEAK] + 1)
    if tally.sharpness[slot] > 0.0:
        book_value(tally, rounds, used, slot, s, weight, size)
    else:
        book_gradient(tally, rounds, used, slot, s, weight * size)


@step
def book_gradient(tally: Tally, rounds: Any, used: int, slot: int, s: int, mass: float) -> None:
    own = tally.rate[slot]
    tally.sums[OWN] += own * mass * mass
    tally.sums[PAIRS] += mass * tally.cross[slot]
    for other in range(used):
        rate = own if s > rounds[other] else tally.rate[other]
        tally.cross[other] += mass * rate


@step
def book_value(tally: Tally, rounds: Any, used: int, slot: int, s: int, weight: float, size: float) -> None:
    own, sharpness = tally.rate[slot], tally.sharpness[slot]
    length = weight * sharpness
    tally.sums[OWN] += own * (length * size) * (length * size)
    tally.sums[PAIRS] += weight * tally.cross[slot]
    tally.sums[LENGTHS] += own * length
    tally.sums[SPREADS] += weight * (tally.line[slot] + weight * tally.arc[slot])
    tally.sums[SMOOTHED] += weight / sharpness
    for other in range(used):
        if s > rounds[other]:  # c of the pair is that of s, its q gains the square of the other's weight
            tally.cross[other] += weight * own
            tally.arc[other] += own * length
        else:
            tally.cross[other] += weight * tally.rate[other]
            tally.line[other] += weight * weight * tally.rate[other] * tally.sharpness[other]


@step
def book_epoch(tally: Tally, rate: float) -> None:
    """An epoch ends; ``rate`` is its closing rate."""
    tally.sums[CLOSED] += 0.5 / rate


@step
def book_weight(tally: Tally, weight: float) -> None:
    tally.sums[WEIGHT] += weight
    tally.sums[SQUARE] += weight * weight
    tally.sums[CAPPED] += min(weight, 1.0)
    tally.sums[LARGEST] = max(tally.sums[LARGEST], weight)


@step
def book_occupancy(tally: Tally, tracked: int, capacity: int) -> None:
    """|S| as round t finds it: after expiries, before a member is replaced."""
    tally.sums[OCCUPANCY] += tracked
    if tracked >= capacity:
        tally.counts[FULL_ROUNDS] += 1
    if tracked > tally.counts[PEAK]:
        tally.counts[PEAK] = tracked
