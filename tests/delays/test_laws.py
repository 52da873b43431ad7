"""Every law of delays: its contract, and its distribution against closed forms."""

import numpy as np
import pytest
from marking import slow_but
from scipy import stats

from tarry import delays
from tarry.testing import DelaysContract

FEW, SOME, MANY = 40_000, 60_000, 100_000


class TestFixed(DelaysContract):
    random = False

    def make(self, horizon: int, rng: int) -> delays.Delays:
        return delays.fixed(horizon=horizon, delay=5)


def test_counts() -> None:
    found = delays.fixed(horizon=100, delay=7)
    assert found.values.tolist() == [7] * 93 + [6, 5, 4, 3, 2, 1, 0]
    assert found.summary() == (7 * 93 + 21, 7, 7)
    assert found.truncated == 7


class TestBursts(DelaysContract):
    random = False

    def make(self, horizon: int, rng: int) -> delays.Delays:
        return delays.bursts(horizon=horizon, length=10, slow=25, fast=1)


def test_default_instance() -> None:
    found = delays.bursts(horizon=1000).uncut(1000).tolist()
    assert found == ([400] * 250 + [3] * 250) * 2


class TestUniform(DelaysContract):
    def make(self, horizon: int, rng: int) -> delays.Delays:
        return delays.uniform(horizon=horizon, low=2, high=30, rng=rng)


def uniform_p_value(high: int, rng: int) -> float:
    """Chi-square test of draws on 3..``high`` against the uniform law on 3..12."""
    drawn = delays.uniform(horizon=FEW, low=3, high=high, rng=rng).uncut(FEW)
    return float(stats.chisquare(np.bincount(np.minimum(drawn, 12) - 3, minlength=10)).pvalue)


@pytest.mark.parametrize("rng", slow_but([0, 1, 2], {0}))
def test_uniform_law(rng: int) -> None:
    assert uniform_p_value(12, rng) > 1e-4


def test_uniform_a_planted_error_fails() -> None:
    assert uniform_p_value(13, 0) < 1e-4


def test_both_ends_occur() -> None:
    drawn = delays.uniform(horizon=1000, low=4, high=6, rng=3).uncut(1000)
    assert set(drawn.tolist()) == {4, 5, 6}


def test_one_value() -> None:
    assert set(delays.uniform(horizon=50, low=4, high=4, rng=3).uncut(50).tolist()) == {4}


def test_wide_ranges_stay_inside() -> None:
    wide = delays.uniform(horizon=2000, low=2**61, high=2**61 + 2**52 - 1, rng=1).uncut(2000)
    assert wide.min() >= 2**61
    assert wide.max() <= 2**61 + 2**52 - 1


class TestGeometric(DelaysContract):
    def make(self, horizon: int, rng: int) -> delays.Delays:
        return delays.geometric(horizon=horizon, mean=40, rng=rng)


def drawn(probability: float, rng: int) -> np.ndarray:
    return delays.geometric(horizon=MANY, probability=probability, rng=rng).uncut(MANY)


def geometric_mean_is_off(values: np.ndarray, probability: float) -> bool:
    mean, variance = stats.geom.stats(probability, loc=-1)
    return abs(values.mean() - mean) > 4 * np.sqrt(variance / values.size)


@pytest.mark.parametrize("probability", [0.5, 1 / 200])
@pytest.mark.parametrize("rng", slow_but([0, 1], {0}))
def test_mean(probability: float, rng: int) -> None:
    assert not geometric_mean_is_off(drawn(probability, rng), probability)


@pytest.mark.parametrize("rng", slow_but([0, 1], {0}))
def test_geometric_a_planted_error_fails(rng: int) -> None:
    assert geometric_mean_is_off(drawn(1 / 200, rng) * 1.02, 1 / 200)
    assert geometric_mean_is_off(drawn(0.02 * 1.02, rng), 0.02)


@pytest.mark.parametrize("probability", [0.5, 0.1])
def test_geometric_law(probability: float) -> None:
    values = drawn(probability, 7)
    edges = np.arange(12)
    law = stats.geom(probability, loc=-1)
    expected = np.append(law.pmf(edges), law.sf(edges[-1])) * values.size
    counts = np.bincount(np.minimum(values, edges.size), minlength=edges.size + 1)
    assert stats.chisquare(counts, expected).pvalue > 1e-4


def test_named_instance() -> None:
    by_mean = delays.geometric(horizon=500, mean=199, rng=1)
    by_probability = delays.geometric(horizon=500, probability=1 / 200, rng=1)
    assert by_mean == by_probability
    assert by_mean.mean == 199.0


def test_sure_success_is_no_delay() -> None:
    for sure in (
        delays.geometric(horizon=99, mean=0, rng=1),
        delays.geometric(horizon=99, probability=1, rng=1),
    ):
        assert sure.max_delay == 0


def test_hopeless_feedback_is_clipped() -> None:
    hopeless = delays.geometric(horizon=99, probability=1e-300, rng=1)
    assert set(hopeless.uncut(99).tolist()) == {2**62}
    assert hopeless.truncated == 99


class TestPareto(DelaysContract):
    def make(self, horizon: int, rng: int) -> delays.Delays:
        return delays.pareto(horizon=horizon, shape=0.9, scale=20, rng=rng)


def pareto_p_value(shape: float, scale: float, rng: int) -> float:
    """Chi-square test against ⌊20 · Lomax(0.9)⌋ over equally likely cells."""
    values = delays.pareto(horizon=SOME, shape=shape, scale=scale, rng=rng).uncut(SOME)
    law = stats.lomax(0.9, scale=20)
    edges = np.unique(np.ceil(law.ppf(np.linspace(0, 1, 13)[1:-1])))
    cells = np.concatenate(([0.0], law.cdf(edges), [1.0]))
    counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=edges.size + 1)
    return float(stats.chisquare(counts, np.diff(cells) * SOME).pvalue)


@pytest.mark.parametrize("rng", slow_but([0, 1, 2], {0}))
def test_pareto_law(rng: int) -> None:
    assert pareto_p_value(0.9, 20, rng) > 1e-4


def test_planted_errors_fail() -> None:
    assert pareto_p_value(0.9 * 1.04, 20, 0) < 1e-4
    assert pareto_p_value(0.9, 20 * 1.05, 0) < 1e-4


def pareto_mean_is_off(values: np.ndarray) -> bool:
    """Against the mean of ⌊50 · Lomax(6)⌋, the sum of its tail P(d ≥ j) = (1 + j/50)^(−6)."""
    mean = ((1 + np.arange(1, 100_000) / 50.0) ** -6.0).sum()
    return abs(values.mean() - mean) > 4 * values.std() / np.sqrt(values.size)


def test_mean_and_a_planted_two_percent() -> None:
    values = delays.pareto(horizon=200_000, shape=6, scale=50, rng=4).uncut(200_000)
    assert not pareto_mean_is_off(values)
    assert pareto_mean_is_off(values * 1.02)


def test_pareto_tails_beyond_64_bits_are_clipped() -> None:
    wild = delays.pareto(horizon=300, shape=0.001, scale=1e9, rng=1)
    assert wild.uncut(300).max() == 2**62
    assert wild.uncut(300).min() >= 0
    assert wild.max_delay <= 299


class TestLognormal(DelaysContract):
    def make(self, horizon: int, rng: int) -> delays.Delays:
        return delays.lognormal(horizon=horizon, median=20, spread=1.2, rng=rng)


def lognormal_p_value(median: float, spread: float, rng: int) -> float:
    """Chi-square test against ⌊1000 · exp(0.5 Z)⌋ over equally likely cells."""
    values = delays.lognormal(horizon=SOME, median=median, spread=spread, rng=rng).uncut(SOME)
    law = stats.lognorm(0.5, scale=1000)
    edges = np.unique(np.ceil(law.ppf(np.linspace(0, 1, 13)[1:-1])))
    cells = np.concatenate(([0.0], law.cdf(edges), [1.0]))
    counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=edges.size + 1)
    return float(stats.chisquare(counts, np.diff(cells) * SOME).pvalue)


@pytest.mark.parametrize("rng", slow_but([0, 1, 2], {0}))
def test_lognormal_law(rng: int) -> None:
    assert lognormal_p_value(1000, 0.5, rng) > 1e-4


def test_planted_two_percent_errors_fail() -> None:
    assert lognormal_p_value(1000 * 1.02, 0.5, 0) < 1e-4
    assert lognormal_p_value(1000, 0.5 * 1.03, 0) < 1e-4


def test_lognormal_tails_beyond_64_bits_are_clipped() -> None:
    wild = delays.lognormal(horizon=300, median=1e9, spread=1e6, rng=1)
    assert set(wild.uncut(300).tolist()) == {0, 2**62}
