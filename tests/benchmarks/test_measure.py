"""Rows of the table of speeds."""

from __future__ import annotations

import pytest

measure = pytest.importorskip("benchmarks.measure")


def test_a_row_whose_package_is_missing_says_so():
    def figure(_quick):
        import no_such_package  # noqa: F401

    assert measure.Row("a", 1.0, figure).report(True) == "a left out: no_such_package is not installed"


@pytest.mark.parametrize(("ratio", "verdict"), [(0.9, "ok"), (1.1, "falls short")])
def test_a_row_says_whether_it_holds(ratio, verdict):
    row = measure.Row("a", 1.0, lambda _quick: measure.Figure(ratio, "1 ns"))
    assert row.report(True) == f"a ratio {ratio:.2f} (hold 1.00) {verdict}   1 ns"
