"""Real kills of a join with windows, an outbox and a changing capacity, and of whoever reads its rows.

A writer decides, labels, ends windows and changes the capacity; a reader puts rows into a table of its own, the number
of the last one in the same transaction, and acknowledges. Both are killed at any moment and begin again. In the end the
table has every row of an uninterrupted run once. ``python tests/support/outbox_kills.py 300`` kills 300 times a store.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from postgres import Server
from processes import Child

import tarry
from tarry.live import Row

STEPS = 120
WINDOW = 9
LIFE = 0.12  # seconds a process lives on average
RULES: dict[str, Any] = {"window": WINDOW, "missing": 0, "outbox": True, "rng": 5, "durability": "process"}


def step(join: tarry.LabelJoin, t: int) -> list[Row]:
    """Make the calls of one moment; made again, they change nothing."""
    if t % 20 == 0:
        join.resize(capacity=2 + t // 20 % 4)
    join.decide({"t": t}, f"d{t}", at=t)
    for back in (2, 5):  # the second comes for decisions that the first has not labelled
        if t > back and (t * back) % 3:
            join.label(f"d{t - back}", t - back, at=t)
    return join.advance(t)


def write(store: str, name: str) -> None:
    """Go on where the store is, with the step that may have been cut short."""
    with tarry.LabelJoin.open(store, name=name, durability="process") as join:
        for t in range(max(1, join.status().rounds), STEPS + 1):
            step(join, t)


def read(store: str, name: str, table: Path, *, to_the_end: bool = False) -> None:
    """Put rows into a table, and acknowledge them afterwards."""
    database = sqlite3.connect(table)
    database.execute("CREATE TABLE IF NOT EXISTS rows (number INTEGER, id TEXT, label INTEGER, weight REAL)")
    with tarry.LabelJoin.open(store, name=name, durability="process") as join:
        while True:
            (last,) = database.execute("SELECT coalesce(max(number), 0) FROM rows").fetchone()
            found = join.rows(after=last, limit=3)
            if not found and to_the_end:
                break
            with database:
                given = [(row.number, row.id, row.label, row.weight) for row in found]
                database.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", given)
            join.ack(found[-1].number if found else last)
    database.close()


def kill_often(store: str, kills: int, scratch: Path, seed: int = 0) -> dict[str, int]:
    """Kill writers and readers that often; return how many runs and rows there were."""
    draw, left = np.random.default_rng(seed), kills
    counts = {"kills": kills, "runs": 0, "rows": 0}
    memory = tarry.LabelJoin(2, **RULES)
    expected = [(row.number, row.id, row.label, row.weight) for t in range(1, STEPS + 1) for row in step(memory, t)]
    while left > 0:
        counts["runs"] += 1
        name, table = f"run {counts['runs']}", scratch / f"rows-{counts['runs']}.db"
        tarry.LabelJoin(2, **RULES, store=store, name=name).close()
        while left > 0 and _rounds(store, name) < STEPS:
            reader = Child(lambda n=name, a=table: read(store, n, a), scratch)
            writer = Child(lambda n=name: write(store, n), scratch)
            for child in draw.permutation([reader, writer]):
                time.sleep(min(draw.exponential(LIFE), 5 * LIFE))
                left -= child.kill()
        write(store, name)
        read(store, name, table, to_the_end=True)
        with closing(sqlite3.connect(table)) as database:
            found = database.execute("SELECT * FROM rows").fetchall()
        assert found == expected
        counts["rows"] += len(found)
    return counts


def _rounds(store: str, name: str) -> int:
    with tarry.LabelJoin.open(store, name=name) as join:
        return join.status().rounds


def main(kills: int) -> None:
    """Kill that often on both stores, and tell how long it took."""
    server = Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for kind, store in (("sqlite", f"sqlite:///{folder}/kills.db"), ("postgresql", server.url("kills"))):
                begun, scratch = time.monotonic(), Path(folder) / kind
                scratch.mkdir()
                told = ", ".join(f"{count} {what}" for what, count in kill_often(store, kills, scratch).items())
                sys.stdout.write(f"{kind}: {told}, none lost, none twice; {time.monotonic() - begun:.0f} s\n")
    finally:
        server.remove()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
