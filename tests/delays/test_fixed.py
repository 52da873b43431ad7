from tarry import delays
from tarry.testing import DelaysContract


class TestFixed(DelaysContract):
    random = False

    def make(self, horizon: int, rng: int) -> delays.Fixed:
        return delays.fixed(horizon=horizon, delay=5)


def test_counts() -> None:
    found = delays.fixed(horizon=100, delay=7)
    assert found.values.tolist() == [7] * 93 + [6, 5, 4, 3, 2, 1, 0]
    assert found.summary() == (7 * 93 + 21, 7, 7)
    assert found.truncated == 7
