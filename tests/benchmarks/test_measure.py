"""Rows of the table of speeds."""

from __future__ import annotations

import pytest

from studies.numbers import read_numbers

measure = pytest.importorskip("benchmarks.measure")


def test_a_row_whose_package_is_missing_says_so():
    def figure(_quick):
        import no_such_package  # noqa: F401

    assert measure.Row("a", 1.0, figure).report(True) == "a left out: no_such_package is not installed"


@pytest.mark.parametrize(("ratio", "verdict"), [(0.9, "ok"), (1.1, "falls short")])
def test_a_row_says_whether_it_holds(ratio, verdict):
    row = measure.Row("a", 1.0, lambda _quick: measure.Figure(ratio, "1 ns"))
    assert row.report(True) == f"a ratio {ratio:.2f} (hold 1.00) {verdict}   1 ns"


def test_a_row_is_kept_with_its_command_and_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.numbers.NUMBERS", tmp_path / "figures.json")
    for name in ("peer, a: b", "c"):
        measure.Row(name, 1.0, lambda _quick: measure.Figure(1 / 3, "", {"seconds": 2.0})).report(True, write=True)
    kept = read_numbers()
    assert kept.keys() == {"peer, a b", "c"}
    assert kept["peer, a b"]["values"] == {"ratio": 0.333333, "seconds": 2.0}
    assert kept["peer, a b"]["command"] == 'python -m benchmarks "peer, a: b" --write'
    assert "cores" in kept["c"]["machine"]
