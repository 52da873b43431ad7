"""Keyed draws: known values, uniformity, independence of purposes, seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from tarry.kernel import Purpose, entry, make_key, make_seed
from tarry.kernel.keyed import normals, uniform, uniform_at, word

N = 50_000
MASK = 2**64 - 1


@entry
def _words(key: Any, start: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = word(key, start + i)


@entry
def _uniforms(key: Any, start: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = uniform(key, start + i)


@entry
def _inner(key: Any, t: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = uniform_at(key, t, i)


@entry
def _normals(key: Any, t: Any, out: Any) -> None:
    normals(key, t, out)


def words(seed: int, purpose: Purpose, start: int = 1, rounds: int = 1) -> np.ndarray:
    out = np.zeros(rounds, np.uint64)
    _words.dispatcher_for()(make_key(seed, purpose), start, out)
    return out


def uniforms(seed: int, purpose: Purpose, start: int = 1, rounds: int = N) -> np.ndarray:
    out = np.zeros(rounds)
    _uniforms.dispatcher_for()(make_key(seed, purpose), start, out)
    return out


def split_mix(state: int) -> int:
    """The finaliser over Python's own integers, which do not wrap by themselves."""
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return state ^ (state >> 31)


def expected_word(seed: int, purpose: int, t: int) -> int:
    golden = 0x9E3779B97F4A7C15
    base = split_mix(((seed & MASK) + golden) & MASK)
    key = split_mix((base + purpose * golden) & MASK)
    return split_mix((key + t * golden) & MASK)


def test_published_sequence() -> None:
    """splitmix64 from state 0 begins with these words in its authors' reference code."""
    out = np.zeros(3, np.uint64)
    _words.dispatcher_for()(np.uint64(0), 1, out)
    assert [hex(w) for w in out.tolist()] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]


KNOWN: list[tuple[int, Purpose, int, int]] = [
    (0, Purpose.LOSSES, 1, 0x238275BC38FCBE91),
    (0, Purpose.DELAYS, 1, 0x2F101FE21496EA20),
    (0, Purpose.SCHEDULE, 1, 0x0B91752FD22FB56A),
    (0, Purpose.DIRECTIONS, 1, 0xCDA3E176F37BC9FB),
    (1, Purpose.DELAYS, 1, 0x9EDBE9BD18AD781D),
    (1, Purpose.DELAYS, 2, 0x7D8E67D8F2AF75D5),
    (1, Purpose.DELAYS, 100000000, 0x1F2435E05B41C102),
    (-1, Purpose.SCHEDULE, 7, 0xD25CED01DA0B127C),
    (9223372036854775808, Purpose.LOSSES, 1099511627776, 0x9CB0673D104E5C2C),
]


@pytest.mark.parametrize(("seed", "purpose", "t", "known"), KNOWN)
def test_known_values(seed: int, purpose: Purpose, t: int, known: int) -> None:
    """Results in the world depend on these: they change only on purpose."""
    assert int(words(seed, purpose, t)[0]) == known
    assert expected_word(seed, int(purpose), t) == known
    assert uniforms(seed, purpose, t, 1)[0] == ((known >> 11) + 1) * 2.0**-53


@pytest.mark.parametrize("seed", [0, 7, -1, 2**63, 2**80 + 3])
def test_equals_arithmetic_on_unbounded_integers(seed: int) -> None:
    for purpose in Purpose:
        found = words(seed, purpose, 1, 20).tolist()
        assert found == [expected_word(seed, int(purpose), t) for t in range(1, 21)]


def test_uniform_lies_above_zero_and_up_to_one() -> None:
    drawn = uniforms(3, Purpose.LOSSES)
    assert drawn.min() > 0.0
    assert drawn.max() <= 1.0


@pytest.mark.parametrize(("wanted", "extreme"), [(0, 2.0**-53), (MASK, 1.0)])
def test_extreme_words_give_the_ends(wanted: int, extreme: float) -> None:
    """The key whose round 0 has this word, found by undoing the finaliser."""
    out = np.zeros(1)
    _uniforms.dispatcher_for()(np.uint64(undo_mix(wanted)), 0, out)
    assert out[0] == extreme


def undo_mix(z: int) -> int:
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9), (30, 1)):
        z ^= z >> shift ^ z >> 2 * shift
        z = z * pow(factor, -1, 2**64) & MASK
    return z


def p_value(drawn: np.ndarray) -> float:
    return float(stats.chisquare(np.histogram(drawn, bins=50, range=(0, 1))[0]).pvalue)


@pytest.mark.parametrize("purpose", Purpose)
def test_uniformity(purpose: Purpose) -> None:
    drawn = uniforms(11, purpose)
    assert p_value(drawn) > 1e-4
    assert p_value(np.minimum(drawn**1.05, 1.0)) < 1e-4


def test_bits_are_fair() -> None:
    drawn = words(5, Purpose.SCHEDULE, 1, N)
    for bit in range(64):
        ones = int(((drawn >> np.uint64(bit)) & np.uint64(1)).sum())
        assert abs(ones - N / 2) < 4.5 * np.sqrt(N / 4)


def test_purposes_seeds_and_rounds_are_uncorrelated() -> None:
    streams = [uniforms(2, purpose) for purpose in Purpose]
    streams += [uniforms(3, Purpose.DELAYS), uniforms(2, Purpose.DELAYS, start=2)]
    correlations = np.corrcoef(streams)[np.triu_indices(len(streams), 1)]
    assert np.abs(correlations).max() < 4.5 / np.sqrt(N)


def test_several_uniforms_of_one_round() -> None:
    drawn = np.zeros(N)
    _inner.dispatcher_for()(make_key(4, Purpose.DIRECTIONS), 9, drawn)
    assert p_value(drawn) > 1e-4
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 4.5 / np.sqrt(N)


def test_normals() -> None:
    drawn = np.zeros(N)
    _normals.dispatcher_for()(make_key(4, Purpose.DIRECTIONS), 9, drawn)
    assert stats.kstest(drawn, "norm").pvalue > 1e-4
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((drawn**power).mean() - moment) < 4 * np.sqrt(variance / N)
    assert abs(((1.02 * drawn) ** 2).mean() - 1) > 4 * np.sqrt(2 / N)


def test_normals_of_other_rounds_differ() -> None:
    here, there = np.zeros(5000), np.zeros(5000)
    _normals.dispatcher_for()(make_key(4, Purpose.DIRECTIONS), 9, here)
    _normals.dispatcher_for()(make_key(4, Purpose.DIRECTIONS), 10, there)
    assert abs(np.corrcoef(here, there)[0, 1]) < 4.5 / np.sqrt(5000)


def test_seeds_from_everything_numpy_users_have() -> None:
    assert make_seed(5) == 5
    assert make_seed(-3) == -3
    assert make_seed(np.int32(5)) == 5
    assert make_seed(np.random.SeedSequence(5)) == make_seed(np.random.SeedSequence(5))
    assert make_seed(np.random.SeedSequence(5)) != make_seed(np.random.SeedSequence(6))
    assert make_seed(np.random.default_rng(5)) == make_seed(np.random.default_rng(5))
    assert make_seed(None) != make_seed(None)


def test_a_generator_moves_on() -> None:
    rng = np.random.default_rng(5)
    assert make_seed(rng) != make_seed(rng)


@pytest.mark.parametrize("rng", ["5", 5.0, True, [5], np.random.RandomState(5)])
def test_refuses_other_seeds(rng: object) -> None:
    with pytest.raises(TypeError, match=f"rng must be an int.*got {type(rng).__name__}"):
        make_seed(rng)
