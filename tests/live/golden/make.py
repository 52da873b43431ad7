"""Make the golden file of this format again, while it is unreleased: ``python tests/live/golden/make.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tarry

HERE = Path(__file__).parent


def made() -> tarry.LabelJoin:
    """Return a join with decisions of every fate, gathered labels, windows and an outbox."""
    join = tarry.LabelJoin(4, rng=1, memory=50, window="1d", missing=0, labels="all", outbox=True)
    for i in range(60):
        join.decide({"n": i, "raw": b"x", "pair": (1, 2.5)}, f"d{i}", size=1.0 + i % 3, at=1000 * i)
        if i % 4 == 3:
            join.label(f"d{i - 1}", i, key=f"k{i}", at=1000 * i)
    join.expire("d59")
    join.advance(90_000)
    return join


def goes_on(join: tarry.LabelJoin) -> Any:
    """Return what a join answers from here on, as JSON."""
    tickets = [join.decide(None, f"e{i}", at=100_000 + i) for i in range(8)]
    rows = [[row.id, row.label, row.weight, row.number, str(row.features)] for row in join.advance(200_000)]
    return json.loads(json.dumps([[*map(list, tickets)], rows, join.status().fates, join.ledger(9)]))


if __name__ == "__main__":
    join = made()
    (HERE / "format-1.tarry").write_bytes(join.to_bytes())
    (HERE / "format-1.json").write_text(json.dumps(goes_on(join), indent=1) + "\n")
