import numpy as np
import pytest
from scipy import stats

from tarry import delays
from tarry.testing import DelaysContract

ROUNDS = 60_000


class TestLognormal(DelaysContract):
    def make(self, horizon: int, rng: int) -> delays.Lognormal:
        return delays.lognormal(horizon=horizon, median=20, spread=1.2, rng=rng)


def p_value(median: float, spread: float, rng: int) -> float:
    """Chi-square test against ⌊1000 · exp(0.5 Z)⌋ over equally likely cells."""
    values = delays.lognormal(horizon=ROUNDS, median=median, spread=spread, rng=rng).uncut(ROUNDS)
    law = stats.lognorm(0.5, scale=1000)
    edges = np.unique(np.ceil(law.ppf(np.linspace(0, 1, 13)[1:-1])))
    cells = np.concatenate(([0.0], law.cdf(edges), [1.0]))
    counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=edges.size + 1)
    return float(stats.chisquare(counts, np.diff(cells) * ROUNDS).pvalue)


@pytest.mark.parametrize("rng", [0, 1, 2])
def test_law(rng: int) -> None:
    assert p_value(1000, 0.5, rng) > 1e-4


def test_planted_two_percent_errors_fail() -> None:
    assert p_value(1000 * 1.02, 0.5, 0) < 1e-4
    assert p_value(1000, 0.5 * 1.03, 0) < 1e-4


def test_tails_beyond_64_bits_are_clipped() -> None:
    wild = delays.lognormal(horizon=300, median=1e9, spread=1e6, rng=1)
    assert set(wild.uncut(300).tolist()) == {0, 2**62}
