"""The table of slopes: what is steeper than stated, and that a part of the methods is not kept."""

from __future__ import annotations

import pytest

slopes = pytest.importorskip("benchmarks.slopes")


def test_a_row_has_the_slope_and_in_brackets_the_stated_one(monkeypatch):
    method = slopes.METHODS["OGD.fixed"]._replace(horizons=(16, 64))
    monkeypatch.setattr(slopes, "STEEPER", (("OGD.fixed", method, "alternating", slopes.IN_T),))
    assert slopes.steeper().rows == [("OGD.fixed", "alternating", "in T", "0.50 (0.50)")]


def test_a_part_of_the_methods_is_not_kept(monkeypatch):
    monkeypatch.setattr("sys.argv", ["slopes", "GOLD", "--write"])
    with pytest.raises(SystemExit, match="leave out their names"):
        slopes.main()
