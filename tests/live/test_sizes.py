"""The size formula against real files."""

from __future__ import annotations

from pathlib import Path

import pytest

import tarry
from tarry.live import expected_size

STEP = 500
LARGE = pytest.param(100_000, marks=[pytest.mark.jit(only=True), pytest.mark.slow])


def player(dimension):
    return tarry.Player(tarry.learners.DWFTRL(tarry.domains.Ball(dimension), rate=0.1))


def fill(path: Path, rounds, *, dimension=0, capacity=64, memory=1_000_000, id_bytes=0, payload_bytes=0):
    """A file with this many rounds, and its size."""
    where = {"store": f"sqlite:///{path}", "durability": "process", "rng": 1, "memory": memory}
    face = (
        tarry.Session(player(dimension), capacity=capacity, **where)
        if dimension
        else tarry.LabelJoin(capacity, **where)
    )
    features = "x" * (payload_bytes - 2) if payload_bytes else None
    with face:
        for first in range(0, rounds, STEP):
            ids = [f"{i:0{id_bytes}d}" for i in range(first, first + STEP)] if id_bytes else None
            if dimension:
                face.ask_many(None if ids else STEP, ids=ids)
            else:
                face.decide_many([features] * STEP, ids=ids)
    return path.stat().st_size


@pytest.mark.parametrize("rounds", [5_000, LARGE])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"id_bytes": 12, "payload_bytes": 300},
        {"id_bytes": 12, "memory": 4000},
        pytest.param({"capacity": 500, "payload_bytes": 1000}, marks=pytest.mark.slow),
        {"capacity": 100, "payload_bytes": 6000},
        {"dimension": 10},
        pytest.param({"dimension": 200}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_size_is_as_expected(given, rounds, tmp_path):
    size = fill(tmp_path / "a.db", rounds, **given)
    dimension = given.get("dimension", 0)
    wanted = {"capacity": 64} | {name: value for name, value in given.items() if name != "dimension"}
    expected = expected_size(player(dimension) if dimension else None, rounds=rounds, **wanted)
    assert 1 / 1.2 < size / expected < 1.2


def test_a_million_rounds_cost_three_bits_each():
    base = expected_size(capacity=64, rounds=1000)
    assert expected_size(capacity=64, rounds=1_001_000, memory=10**7) - base == pytest.approx(
        3.05e6 / 8 * 1.05, rel=0.01
    )
    named = expected_size(capacity=64, rounds=1_001_000, memory=10**7, id_bytes=1) - base
    assert named == pytest.approx((8 + 3.05 / 8) * 1e6 * 1.05, rel=0.01)
    assert expected_size(capacity=64, rounds=10**9) == expected_size(capacity=64, rounds=10**6)


def test_refusals():
    with pytest.raises(ValueError, match="capacity must be a whole number of at least 1, got None"):
        expected_size(capacity=None, rounds=10)
