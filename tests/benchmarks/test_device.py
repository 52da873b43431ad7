"""What the measurements on a GPU keep."""

from __future__ import annotations

import pytest

device = pytest.importorskip("benchmarks.device")


@pytest.mark.parametrize("lost", [None, "FAILED: ValueError: no", "time is up"])
def test_a_table_that_is_not_whole_is_not_kept(monkeypatch, lost):
    def side_by_side(_measure, given, *_limits):
        *others, last = given
        yield from ((case, "1.5 G rounds/s") for case in others)
        if lost != "time is up":
            yield last, lost or "1.5 G rounds/s"

    kept = []
    monkeypatch.setattr(device, "side_by_side", side_by_side)
    monkeypatch.setattr(device, "write_numbers", lambda part, *_others: kept.append(part))
    monkeypatch.setattr(device, "_device", lambda: "none")
    monkeypatch.setattr("sys.argv", ["device", "growth", "learners", "--write"])
    device.main()
    assert kept == ([] if lost else ["device growth", "device learners"])
