"""Every exported member is held to the contract by the test file of its own name."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tarry import delays

FACTORIES = delays.MEMBERS


@pytest.mark.parametrize("name", FACTORIES)
def test_has_a_contract_test(name: str) -> None:
    module = inspect.getmodule(FACTORIES[name]).__name__.rsplit(".", 1)[1]
    text = (Path(__file__).parent / f"test_{module}.py").read_text()
    assert "(DelaysContract)" in text


@pytest.mark.parametrize("name", FACTORIES)
def test_is_documented_with_an_example(name: str) -> None:
    assert ">>>" in FACTORIES[name].__doc__


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: delays.fixed(horizon=0, delay=1), "horizon must be a whole number of at least 1, got 0"),
        (lambda: delays.fixed(horizon=2.5, delay=1), "horizon must be a whole number"),
        (lambda: delays.fixed(horizon=True, delay=1), "horizon must be a whole number"),
        (lambda: delays.fixed(horizon=5, delay=-1), "delay must be a whole number of at least 0, got -1"),
        (lambda: delays.fixed(horizon=5, delay=2**62), "below 2"),
        (lambda: delays.uniform(horizon=5, low=3, high=2), "high must be at least low"),
        (lambda: delays.uniform(horizon=5, low=0.5, high=2), "low must be a whole number"),
        (lambda: delays.uniform(horizon=5, low=0, high=2**60), "high - low must be below"),
        (lambda: delays.geometric(horizon=5), "either mean or probability"),
        (lambda: delays.geometric(horizon=5, mean=1, probability=0.5), "either mean or probability"),
        (lambda: delays.geometric(horizon=5, probability=0.0), "probability must be positive"),
        (lambda: delays.geometric(horizon=5, probability=1.5), r"probability must be in \(0, 1\], got 1.5"),
        (lambda: delays.geometric(horizon=5, mean=-1), "mean must be positive and finite, got -1"),
        (lambda: delays.geometric(horizon=5, mean=float("nan")), "mean must be"),
        (lambda: delays.pareto(horizon=5, shape=0, scale=1), "shape must be positive and finite, got 0"),
        (lambda: delays.pareto(horizon=5, shape=1, scale=float("inf")), "scale must be positive"),
        (lambda: delays.lognormal(horizon=5, median=-1, spread=1), "median must be positive"),
        (lambda: delays.lognormal(horizon=5, median=1, spread="wide"), "spread must be positive"),
        (lambda: delays.bursts(horizon=5, length=0), "length must be a whole number of at least 1"),
        (lambda: delays.bursts(horizon=5, slow=-4), "slow must be a whole number"),
    ],
)
def test_refuses_with_a_sentence(make, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


def test_refuses_an_odd_rng() -> None:
    with pytest.raises(TypeError, match="rng must be an int"):
        delays.geometric(horizon=5, mean=2, rng="seed")
