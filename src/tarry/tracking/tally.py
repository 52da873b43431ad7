"""The books of a run: fates, weight moments, occupancy, and the parts of the pathwise bound.

The weighted regret of DW-FTRL is at most D²/(2η_T) + G² Σ_t η_{t−1}(½ w_t² + w_t Σ_{s∈B_t} w_s).
A pair (s, t) contributes once both weights are known, that is when the later of the two arrives; the
other one arrived during its life. So every tracked slot carries the sum over arrivals during its
life, O(tracked) per used arrival.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel import step

WEIGHT, SQUARE, LARGEST, OCCUPANCY, OWN, PAIRS, FORFEITED = range(7)
FULL_ROUNDS, PEAK = range(2)


class Tally(NamedTuple):
    """``fates`` by Fate; ``sums`` and ``counts`` by the names above; ``cross`` and ``rate`` by slot."""

    fates: np.ndarray
    sums: np.ndarray
    counts: np.ndarray
    cross: np.ndarray
    rate: np.ndarray


def make_tally(slots: int) -> Tally:
    """Empty books."""
    return Tally(
        fates=np.zeros(6, np.int64),
        sums=np.zeros(7),
        counts=np.zeros(2, np.int64),
        cross=np.zeros(slots),
        rate=np.zeros(slots),
    )


@step
def book_entry(tally: Tally, rate: float, slot: int) -> None:
    """A round enters a slot; ``rate`` is η_{t−1}, the one that made its play."""
    tally.cross[slot] = 0.0
    tally.rate[slot] = rate


@step
def book_arrival(tally: Tally, rounds: Any, slot: int, s: int, weight: float) -> None:
    """The bound's share of a used arrival; ``rounds`` are the slots' rounds, s still among them."""
    own = tally.rate[slot]
    tally.sums[OWN] += own * weight * weight
    tally.sums[PAIRS] += weight * tally.cross[slot]
    # Slots are handed out lowest first, so only the first peak + 1 were ever in use. Vacant ones
    # among them collect rubbish here; an entry resets them.
    for other in range(min(rounds.size, tally.counts[PEAK] + 1)):
        rate = own if s > rounds[other] else tally.rate[other]
        tally.cross[other] += weight * rate


@step
def book_weight(tally: Tally, weight: float) -> None:
    tally.sums[WEIGHT] += weight
    tally.sums[SQUARE] += weight * weight
    tally.sums[LARGEST] = max(tally.sums[LARGEST], weight)


@step
def book_occupancy(tally: Tally, tracked: int, capacity: int) -> None:
    """|S| as round t finds it: after expiries, before a member is replaced."""
    tally.sums[OCCUPANCY] += tracked
    if tracked >= capacity:
        tally.counts[FULL_ROUNDS] += 1
    if tracked > tally.counts[PEAK]:
        tally.counts[PEAK] = tracked
