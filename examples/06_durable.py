"""Labels come late, the process dies on the way, and nothing is lost: a label join in a SQLite file.

Positive labels take ten times as long as negative ones, so whoever averages the labels seen so far is wrong.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tarry

ORDERS, CAPACITY = 3000, 30
rng = np.random.default_rng(3)
labels = (rng.random(ORDERS) < 0.3).astype(int).tolist()
waits = [int(rng.integers(200, 400) if y else rng.integers(0, 40)) for y in labels]
due: dict[int, list[int]] = {}
for i, wait in enumerate(waits):
    due.setdefault(i + wait, []).append(i)


def work(url: str, dies_at: int) -> None:
    """Go through the log from where the join stands; end without warning at one point."""
    # Against loss of power leave durability out; then each call waits for the disk.
    join = tarry.LabelJoin(CAPACITY, store=url, durability="process", rng=1)
    first = max(0, join.status().rounds - 1)  # the last step may have been cut short: repeat it, nothing counts twice
    for now in range(first, ORDERS + 400):
        if now < ORDERS:
            join.decide({"order": now}, id=f"order-{now}")
        if now == dies_at:
            os._exit(1)
        come = due.get(now, [])
        join.label_many([f"order-{i}" for i in come], [labels[i] for i in come])


if __name__ == "__main__" and len(sys.argv) == 3:
    work(sys.argv[1], int(sys.argv[2]))
elif __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'orders.db'}"
        for dies_at in (1000, 2000, -1):
            subprocess.run([sys.executable, __file__, url, str(dies_at)], check=False)
            with tarry.LabelJoin.open(url) as join:
                status, found = join.status(), join.estimate()
            print(f"{status.rounds} decisions, {status.tracked} tracked, {status.fates['used']} labels used")
        size = Path(url.removeprefix("sqlite:///")).stat().st_size
    print(f"balance {status.balance:.6f}, weights average {status.weights.mean:.6f}")
    print(f"true mean {np.mean(labels):.3f}")
    print(f"weighted  {found.mean:.3f}, 95% between {found.low:.3f} and {found.high:.3f}")
    print(f"naive     {found.naive:.3f}")
    print(f"the file has less than 4 kB for each tracked decision and 9 bytes for each id: {size < 1 << 20}")
