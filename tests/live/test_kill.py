"""kill -9 at any moment, 10 or 40 times for each store; ``make crash`` does it 500 times."""

from __future__ import annotations

import outbox_kills
import pytest
from crash import kill_often
from marking import slow_but


@pytest.mark.parametrize("kills", slow_but([10, 40], {10}))
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_clients_go_on_as_if_nothing_had_happened(kind, kills, new_store, tmp_path):
    counts = kill_often(new_store(kind), kills, tmp_path, seed=17)
    assert counts["kills"] == kills
    assert counts["runs"] >= 1


@pytest.mark.parametrize("kills", slow_but([8, 40], {8}))
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_no_row_is_lost_and_none_comes_twice(kind, kills, new_store, tmp_path):
    counts = outbox_kills.kill_often(new_store(kind), kills, tmp_path, seed=3)
    assert counts["rows"] >= 20 * counts["runs"]
