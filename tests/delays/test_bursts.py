from tarry import delays
from tarry.testing import DelaysContract


class TestBursts(DelaysContract):
    random = False

    def make(self, horizon: int, rng: int) -> delays.Bursts:
        return delays.bursts(horizon=horizon, length=10, slow=25, fast=1)


def test_default_instance() -> None:
    found = delays.bursts(horizon=1000).uncut(1000).tolist()
    assert found == ([400] * 250 + [3] * 250) * 2
