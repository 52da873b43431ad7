"""The books of a run: fates, weight moments, occupancy, and the sums of :mod:`tarry.tracking.certificate`.

In order of arrival, O(1) a round: E = Σ η_v m_v over closed rounds, m_v what arrived in round v, and every slot
remembers E as it was when its round began. For the other certificates a pair (s, t) of rounds contributes once both
weights are known, when the later one arrives; the other arrived during its life. So every tracked slot carries sums
over arrivals during its life, O(tracked) per used arrival. Epochs empty the set, so no pair crosses to the next.
"""

from __future__ import annotations

from math import isnan, log2, nan
from typing import Any, NamedTuple

import numpy as np

from tarry.checks import as_positive
from tarry.errors import ArgumentError, BrokenInvariant
from tarry.kernel import step
from tarry.outcomes import Fate, Weights

SUMS = 13
(
    WEIGHT,  # Σ w
    SQUARE,  # Σ w²
    LARGEST,  # max w
    OCCUPANCY,  # Σ |S| as rounds find it
    FORFEITED,  # Σ b w of tracked rounds that ended without an outcome
    SQUARES,  # Σ η m²; for values Σ η (w f/δ)²
    OVERLAPS,  # Σ η m_t m_s over rounds that were out together; for values of the weights alone
    CLOSED_EPOCHS,  # Σ 1/(2η) over epochs that have ended
    LONGEST,  # the largest |g| or |f| that was used; where |g| has a bound, for each unit of size; of a join, |label|
    INVERSE_RADII,  # Σ c_t
    RADIUS_OVERLAPS,  # Σ c_t q_t
    RADII,  # Σ w δ
    CAPPED,  # Σ min(w, 1)
) = range(SUMS)
# In order of arrival there are no radii; their places, which every store has, hold E and what the open round brought.
RISE, NEWS = INVERSE_RADII, RADIUS_OVERLAPS
FULL_ROUNDS, PEAK = range(2)
# How far weighted sums may stray: Λ, the largest θ and the unit of ``theory.intervals``. Of a join's labels, for each
# unit of size, the extremes; and the sizes of what is labelled, plain and weighted, once one of them is not 1.
DRIFT, THRESHOLD, UNIT, LEAST, MOST, LABELLED, MASS = range(7)
# What is certified: nothing, or flags added up. Gradients count as their rounds' sizes and values as 1 unless OBSERVED;
# pairs unless BY_ARRIVAL.
UNCERTIFIED, PLAIN, OBSERVED, BY_ARRIVAL = 0, 1, 2, 4
# By size: rounds of a size other than 1; Σ b, Σ b² over all rounds; Σ b w, Σ (b w)² over used arrivals, b of the last.
OTHER_SIZES, BEGUN, BEGUN_SQUARE, ARRIVED, ARRIVED_SQUARE, LAST = range(6)
_BY_SLOT = ("pair_sum", "rate", "inverse_radius", "pair_sum_w2", "pair_sum_w", "size")
LEAST_SIZE, LARGEST_SIZE = 1e-100, 1e100  # far from where sums of squares could overflow, or vanish


class Tally(NamedTuple):
    """Books; pair sums are over the arrivals s during a slot's life, with rate and radius of the later of s and t."""

    fates: np.ndarray  # by Fate
    sums: np.ndarray  # by the names above, as are counts; all else is by slot
    counts: np.ndarray
    pair_sum: np.ndarray  # Σ η m_s, times m_t when t arrives; by arrival −E, so that E then adds up the same
    rate: np.ndarray  # η_{t−1} of the round t in the slot
    inverse_radius: np.ndarray  # 1/δ_t, 0 for gradients
    pair_sum_w2: np.ndarray  # Σ η w_s²/δ, times w_t: the pair's c is that of t
    pair_sum_w: np.ndarray  # Σ η w_s/δ, times w_t²: the pair's c is that of s
    size: np.ndarray = np.zeros(0)  # b of the round in the slot; this and the next two are empty in the first stores
    strays: np.ndarray = np.zeros(0)  # by the names above
    sized: np.ndarray = np.zeros(0)  # sums by size


def make_tally(slots: int) -> Tally:
    """Return empty books for this many slots."""
    by_slot = (np.zeros(slots) for _ in range(6))
    books = Tally(np.zeros(len(Fate), np.int64), np.zeros(SUMS), np.zeros(2, np.int64), *by_slot)
    return books._replace(strays=np.zeros(MASS + 1), sized=np.zeros(LAST + 1))


def resettled(tally: Tally, kept: np.ndarray, slots: int) -> Tally:
    """Return the same books for so many slots, of which the first are those ``kept``."""
    books = Tally(*(part.copy() for part in tally))
    moved = {name: np.zeros(slots) for name in _BY_SLOT if getattr(tally, name).size}
    for name, new in moved.items():
        new[: kept.size] = getattr(tally, name)[kept]
    return books._replace(**moved)


def without_unused(tally: Tally, certify: int, sizes: bool) -> Tally:
    """Return fresh books without room for certificates where none is wanted, or for sizes where all are 1."""
    unused = [] if certify else ["pair_sum", "rate", "inverse_radius", "pair_sum_w2", "pair_sum_w"]
    unused += [] if sizes else ["size", "sized"]
    return tally._replace(**{name: getattr(tally, name)[:0] for name in unused})


def as_size(value: Any, name: str = "size") -> float:
    """Return the size of a round, a positive number between 1e-100 and 1e100."""
    size = as_positive(value, name)
    if not LEAST_SIZE <= size <= LARGEST_SIZE:
        raise ArgumentError(name, "must lie between 1e-100 and 1e100", value, "give it in another unit")
    return size


def weights_of(sums: np.ndarray, settled: int) -> Weights:
    """Return the moments of the weights over so many settled rounds (NaN before the first), for each row of sums."""
    total, squares, rounds = sums[..., WEIGHT], sums[..., SQUARE], settled or nan
    heard = squares > 0.0
    sample = np.where(heard, total * total / np.where(heard, squares, 1.0), 0.0)
    return Weights(total / rounds, squares / rounds, sums[..., LARGEST], sample)


def weights_by_size(sums: np.ndarray, sized: np.ndarray, settled: int, out: np.ndarray) -> Weights:
    """Return the moments over settled rounds, by size where there are any; ``out`` are Σ b and Σ b² of tracked ones."""
    found = Weights(*map(as_number, weights_of(sums, settled)))
    if not settled or not sized.size or not sized[OTHER_SIZES]:
        return found
    total, squares = float(sized[ARRIVED]), float(sized[ARRIVED_SQUARE])
    begun, begun_squares = float(sized[BEGUN] - out[0]), float(sized[BEGUN_SQUARE] - out[1])
    return found._replace(  # NaN where rounding has left nothing of the whole
        mean=total / begun if begun > 0 else nan,
        second_moment=squares / begun_squares if begun_squares > 0 else nan,
        effective_sample_size=total * total / squares if squares else 0.0,
    )


def as_number(value: Any) -> float:
    """Return a number of the books; NaN is one object, so that two reports without a number are equal."""
    return nan if isnan(value) else float(value)


def balance(tally: Tally, holding: Any, t: int) -> Any:
    """Return arrived, forfeited and held weight per round, or by size; NaN where ``holding`` < 0: no identity."""
    # For VarOpt the weights that arrived and those still held sum to the rounds played, on every path; where rounds
    # have sizes, weights times sizes to the sizes.
    arrived, total = tally.sums[..., WEIGHT], _begun(tally, t)
    if total is not t:
        arrived = tally.sized[..., ARRIVED]
    if t == 0:
        return nan
    return np.where(holding < 0, nan, (arrived + tally.sums[..., FORFEITED] + holding) / total)


def _begun(tally: Tally, t: int) -> Any:
    """Return the sum of the sizes of all rounds, t itself where all are 1."""
    is_by_size = tally.sized.size > 0 and np.any(tally.sized[..., OTHER_SIZES] > 0.0)
    return tally.sized[..., BEGUN] if is_by_size else t


def check_balance(tally: Tally, holding: Any, t: int) -> None:
    """Raise BrokenInvariant where the identity should hold, in the books of one seed or of many, and does not."""
    found = np.atleast_1d(balance(tally, holding, t))
    # Rounding grows like the depth of VarOpt's merges, which is logarithmic in the rounds.
    broken = np.flatnonzero(np.abs(found - 1.0) > 1e-9 * max(1.0, log2(max(t, 1))))
    if not broken.size:
        return
    total = _begun(tally, t)
    what, total = ("weights", t) if total is t else ("weights times sizes", np.atleast_1d(total)[broken[0]])
    raise BrokenInvariant(
        f"after round {t} the {what} that arrived and are held sum to {found[broken[0]] * total}, not {total}: "
        "the state is corrupted, or this is a defect worth reporting"
    )


@step
def is_sized(tally: Tally) -> bool:
    """Return whether some round has had another size than 1."""
    return tally.sized.size > 0 and tally.sized[OTHER_SIZES] > 0.0


@step
def size_of(tally: Tally, slot: int) -> float:
    """Return the size of the round in a slot."""
    return tally.size[slot] if tally.size.size > 0 else 1.0


@step
def book_size(tally: Tally, slot: int, size: float) -> None:
    """Count the size of a round that begins, in this slot if it has one."""
    if tally.sized.size == 0:
        return
    if size != 1.0:
        tally.sized[OTHER_SIZES] += 1.0
    tally.sized[BEGUN] += size
    tally.sized[BEGUN_SQUARE] += size * size
    if slot >= 0:
        tally.size[slot] = size


@step
def held_before(tally: Tally, t: int) -> Any:
    """Return the weight, times size, that is held when round t begins: all that began and has not arrived."""
    begun = t - 1.0
    arrived = tally.sums[WEIGHT]
    if is_sized(tally):
        begun = tally.sized[BEGUN]
        arrived = tally.sized[ARRIVED]
    return max(0.0, begun - arrived - tally.sums[FORFEITED])  # below 0 it is rounding


@step
def book_entry(tally: Tally, certify: int, rate: float, radius: float, slot: int) -> None:
    """Open a slot's sums; ``rate`` is η_{t−1}, the one that made the play, ``radius`` δ_t or 0."""
    tally.rate[slot] = rate
    tally.inverse_radius[slot] = 1.0 / radius if radius > 0.0 else 0.0
    tally.pair_sum[slot] = -tally.sums[RISE] if certify & BY_ARRIVAL else 0.0
    tally.pair_sum_w2[slot] = 0.0
    tally.pair_sum_w[slot] = 0.0


@step
def book_by_arrival(tally: Tally, slot: int, mass: float) -> None:
    """Add what the learner is told of a round; plays moved by at most the growth of E since the round began."""
    tally.sums[OVERLAPS] += mass * (tally.sums[RISE] + tally.pair_sum[slot])
    tally.sums[NEWS] += mass


@step
def close_round(tally: Tally, rate: float) -> None:
    """Add the squares of what a round brought, and let E rise; ``rate`` is η of the round's end."""
    news = tally.sums[NEWS]
    tally.sums[SQUARES] += rate * news * news
    tally.sums[RISE] += rate * news
    tally.sums[NEWS] = 0.0


@step
def book_arrival(tally: Tally, rounds: np.ndarray, slot: int, s: int, weight: float, size: float) -> None:
    """Add a used arrival, still among the slots' ``rounds``, to the certificate's sums; ``size`` is the feedback's."""
    # Free slots are a stack, and a fresh one is opened only when all opened before are taken: so only the first
    # peak + 1 were ever in use. Vacant ones among them are written to as well; an entry resets them.
    used = min(rounds.size, tally.counts[PEAK] + 1)
    own, inverse_radius = tally.rate[slot], tally.inverse_radius[slot]
    if inverse_radius == 0.0:  # a gradient
        mass = weight * size
        tally.sums[SQUARES] += own * mass * mass
        tally.sums[OVERLAPS] += mass * tally.pair_sum[slot]
        for other in range(used):
            rate = own if s > rounds[other] else tally.rate[other]
            tally.pair_sum[other] += mass * rate
        return
    length = weight * inverse_radius
    tally.sums[SQUARES] += own * (length * size) * (length * size)
    tally.sums[OVERLAPS] += weight * tally.pair_sum[slot]
    tally.sums[INVERSE_RADII] += own * length
    tally.sums[RADIUS_OVERLAPS] += weight * (tally.pair_sum_w2[slot] + weight * tally.pair_sum_w[slot])
    tally.sums[RADII] += weight / inverse_radius
    for other in range(used):
        if s > rounds[other]:  # c of the pair is that of s, its q gains the square of the other's weight
            tally.pair_sum[other] += weight * own
            tally.pair_sum_w[other] += own * length
        else:
            tally.pair_sum[other] += weight * tally.rate[other]
            tally.pair_sum_w2[other] += weight * weight * tally.rate[other] * tally.inverse_radius[other]


@step
def book_weight(tally: Tally, weight: float, size: float) -> None:
    """Add the weight of a used arrival of this size to the moments."""
    if tally.sized.size > 0:
        tally.sized[LAST] = size
        tally.sized[ARRIVED] += weight * size
        tally.sized[ARRIVED_SQUARE] += weight * size * (weight * size)
    tally.sums[WEIGHT] += weight
    tally.sums[SQUARE] += weight * weight
    tally.sums[CAPPED] += min(weight, 1.0)
    tally.sums[LARGEST] = max(tally.sums[LARGEST], weight)


@step
def book_overflow(tally: Tally, theta: float, size: float) -> None:
    """Add the most that the variance of a weighted sum grows by where a newcomer of this size overflows the set.

    Numbers are in a range of length 1 for each unit of size.
    """
    if tally.strays.size > 0:
        if tally.strays[DRIFT] == 0.0:
            tally.strays[UNIT] = theta  # known before the first draw
        tally.strays[DRIFT] += 0.25 * theta * theta if theta < 2.0 * size else size * (theta - size)
        tally.strays[THRESHOLD] = max(tally.strays[THRESHOLD], theta)


@step
def book_occupancy(tally: Tally, tracked: int, capacity: int) -> None:
    """Add |S| as round t finds it: after expiries, before a member is replaced."""
    tally.sums[OCCUPANCY] += tracked
    if tracked >= capacity:
        tally.counts[FULL_ROUNDS] += 1
    if tracked > tally.counts[PEAK]:
        tally.counts[PEAK] = tracked
