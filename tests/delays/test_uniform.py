import numpy as np
import pytest
from scipy import stats

from tarry import delays
from tarry.testing import DelaysContract

ROUNDS = 40_000


class TestUniform(DelaysContract):
    def make(self, horizon: int, rng: int) -> delays.Uniform:
        return delays.uniform(horizon=horizon, low=2, high=30, rng=rng)


def p_value(high: int, rng: int) -> float:
    """Chi-square test of draws on 3..``high`` against the uniform law on 3..12."""
    drawn = delays.uniform(horizon=ROUNDS, low=3, high=high, rng=rng).uncut(ROUNDS)
    return float(stats.chisquare(np.bincount(np.minimum(drawn, 12) - 3, minlength=10)).pvalue)


@pytest.mark.parametrize("rng", [0, 1, 2])
def test_law(rng: int) -> None:
    assert p_value(12, rng) > 1e-4


def test_a_planted_error_fails() -> None:
    assert p_value(13, 0) < 1e-4


def test_both_ends_occur() -> None:
    drawn = delays.uniform(horizon=1000, low=4, high=6, rng=3).uncut(1000)
    assert set(drawn.tolist()) == {4, 5, 6}


def test_one_value() -> None:
    assert set(delays.uniform(horizon=50, low=4, high=4, rng=3).uncut(50).tolist()) == {4}


def test_wide_ranges_stay_inside() -> None:
    wide = delays.uniform(horizon=2000, low=2**61, high=2**61 + 2**52 - 1, rng=1).uncut(2000)
    assert wide.min() >= 2**61
    assert wide.max() <= 2**61 + 2**52 - 1
