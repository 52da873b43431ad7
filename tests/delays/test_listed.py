import numpy as np
import pytest

from tarry import delays
from tarry.testing import DelaysContract


class TestListed(DelaysContract):
    def make(self, horizon: int, rng: int) -> delays.Listed:
        return delays.array(np.random.default_rng(rng).integers(0, 50, 1000)[:horizon])


def test_floats_that_are_whole_are_welcome() -> None:
    assert delays.array([2.0, 0.0, 9.0]) == delays.array([2, 0, 9])


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([], "one entry per round"),
        ([[1, 2]], "one entry per round"),
        ([1, 0.5], "whole numbers of rounds, got np.float64.0.5.: round them first"),
        ([1, np.nan], "whole numbers of rounds"),
        (["1"], "whole numbers of rounds"),
        ([0, -3], "not be negative, got -3 in round 2"),
        ([1e300], "at most 2"),
        (np.array([2**63], np.uint64), "at most 2"),
    ],
)
def test_refuses(values, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        delays.array(values)
