import numpy as np
import pytest
from scipy import stats

from tarry import delays
from tarry.testing import DelaysContract

ROUNDS = 60_000


class TestPareto(DelaysContract):
    def make(self, horizon: int, rng: int) -> delays.Pareto:
        return delays.pareto(horizon=horizon, shape=0.9, scale=20, rng=rng)


def p_value(shape: float, scale: float, rng: int) -> float:
    """Chi-square test against ⌊20 · Lomax(0.9)⌋ over equally likely cells."""
    values = delays.pareto(horizon=ROUNDS, shape=shape, scale=scale, rng=rng).uncut(ROUNDS)
    law = stats.lomax(0.9, scale=20)
    edges = np.unique(np.ceil(law.ppf(np.linspace(0, 1, 13)[1:-1])))
    cells = np.concatenate(([0.0], law.cdf(edges), [1.0]))
    counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=edges.size + 1)
    return float(stats.chisquare(counts, np.diff(cells) * ROUNDS).pvalue)


@pytest.mark.parametrize("rng", [0, 1, 2])
def test_law(rng: int) -> None:
    assert p_value(0.9, 20, rng) > 1e-4


def test_planted_errors_fail() -> None:
    assert p_value(0.9 * 1.04, 20, 0) < 1e-4
    assert p_value(0.9, 20 * 1.05, 0) < 1e-4


def mean_is_off(values: np.ndarray) -> bool:
    """Against the mean of ⌊50 · Lomax(6)⌋, the sum of its tail P(d ≥ j) = (1 + j/50)^(−6)."""
    mean = ((1 + np.arange(1, 100_000) / 50.0) ** -6.0).sum()
    return abs(values.mean() - mean) > 4 * values.std() / np.sqrt(values.size)


def test_mean_and_a_planted_two_percent() -> None:
    values = delays.pareto(horizon=200_000, shape=6, scale=50, rng=4).uncut(200_000)
    assert not mean_is_off(values)
    assert mean_is_off(values * 1.02)


def test_tails_beyond_64_bits_are_clipped() -> None:
    wild = delays.pareto(horizon=300, shape=0.001, scale=1e9, rng=1)
    assert wild.uncut(300).max() == 2**62
    assert wild.uncut(300).min() >= 0
    assert wild.max_delay <= 299
