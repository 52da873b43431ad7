"""kill -9 at any moment, 40 times for each store; ``make crash`` does it 500 times."""

from __future__ import annotations

import pytest
from crash import kill_often

KILLS = 40


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_clients_go_on_as_if_nothing_had_happened(kind, new_store, tmp_path):
    counts = kill_often(new_store(kind), KILLS, tmp_path, seed=17)
    assert counts["kills"] == KILLS
    assert counts["runs"] >= 1
