"""The losses whose times are compared are the same loss."""

from __future__ import annotations

import pytest

losses = pytest.importorskip("benchmarks.losses")
ROUNDS, SEEDS = 30, 2


@pytest.mark.parametrize("kind", losses.KINDS)
def test_every_way_to_write_the_loss_gives_the_same_numbers(kind):
    for library, name in (("torch", "PyTorch"), ("jax", "JAX")):
        if kind.endswith(name):
            pytest.importorskip(library)
    wanted = losses.play("Logistic", ROUNDS, SEEDS)()
    assert losses.play(kind, ROUNDS, SEEDS)().loss == pytest.approx(wanted.loss, rel=1e-9)


def test_the_row_keeps_a_number_for_each_cell(monkeypatch):
    monkeypatch.setattr(losses, "KINDS", {"Callables, PyTorch": (8,), "Batched, PyTorch": (1, 8), "Logistic": (2,)})
    monkeypatch.setattr(losses, "_in_torch", lambda: losses._by_hand)
    monkeypatch.setattr(losses, "QUICK_ROUNDS", ROUNDS)
    (row,) = losses.ROWS
    told = row.measure(True).values
    assert {kind: list(costs) for kind, costs in told.items()} == {
        "Callables, PyTorch": ["8 seeds"],
        "Batched, PyTorch": ["1 seeds", "8 seeds"],
        "Logistic": ["2 seeds"],
    }
