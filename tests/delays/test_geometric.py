import numpy as np
import pytest
from scipy import stats

from tarry import delays
from tarry.testing import DelaysContract

ROUNDS = 100_000


class TestGeometric(DelaysContract):
    def make(self, horizon: int, rng: int) -> delays.Geometric:
        return delays.geometric(horizon=horizon, mean=40, rng=rng)


def drawn(probability: float, rng: int) -> np.ndarray:
    return delays.geometric(horizon=ROUNDS, probability=probability, rng=rng).uncut(ROUNDS)


def mean_is_off(values: np.ndarray, probability: float) -> bool:
    mean, variance = stats.geom.stats(probability, loc=-1)
    return abs(values.mean() - mean) > 4 * np.sqrt(variance / values.size)


@pytest.mark.parametrize("probability", [0.5, 1 / 200])
@pytest.mark.parametrize("rng", [0, 1])
def test_mean(probability: float, rng: int) -> None:
    assert not mean_is_off(drawn(probability, rng), probability)


@pytest.mark.parametrize("rng", [0, 1])
def test_a_planted_error_fails(rng: int) -> None:
    assert mean_is_off(drawn(1 / 200, rng) * 1.02, 1 / 200)
    assert mean_is_off(drawn(0.02 * 1.02, rng), 0.02)


@pytest.mark.parametrize("probability", [0.5, 0.1])
def test_law(probability: float) -> None:
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
