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
    monkeypatch.setattr(losses, "_is_installed", lambda _library: True, raising=False)
    monkeypatch.setattr(losses, "QUICK_ROUNDS", ROUNDS)
    (row,) = losses.ROWS
    told = row.measure(True).values
    assert {kind: list(costs) for kind, costs in told.items()} == {
        "Callables, PyTorch": ["8 seeds"],
        "Batched, PyTorch": ["1 seeds", "8 seeds"],
        "Logistic": ["2 seeds"],
    }


@pytest.mark.parametrize("missing", ["torch", "jax"])
def test_kinds_without_their_library_are_left_out_and_the_row_is_not_kept(missing, tmp_path, monkeypatch):
    file = tmp_path / "figures.json"
    monkeypatch.setattr("studies.numbers.NUMBERS", file)
    monkeypatch.setattr(losses, "find_spec", lambda name: None if name == missing else object(), raising=False)
    kinds = {"Callables, PyTorch": (8,), "Batched, PyTorch": (8,), "Batched, JAX": (2,), "Batched, NumPy": (2,)}
    monkeypatch.setattr(losses, "KINDS", kinds | {"Logistic": (2,)})
    for made in ("_in_torch", "_in_jax"):
        monkeypatch.setattr(losses, made, lambda: losses._by_hand)
    monkeypatch.setattr(losses, "QUICK_ROUNDS", ROUNDS)
    (row,) = losses.ROWS
    library = {"torch": "PyTorch", "jax": "JAX"}[missing]
    assert row.measure(True).values.keys() == {kind for kind in losses.KINDS if not kind.endswith(library)}
    assert f"left out, and nothing kept: {library} not installed" in row.report(True, write=True)
    assert not file.exists()
