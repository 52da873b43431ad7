"""How long until something happens: imports, and the first compiled game."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial

from benchmarks.measure import Figure, Row, interleave, ratio

COLD, WARM = 10.0, 1.5

FIRST_GAME = """
import time
import numpy as np
import tarry
rows = np.random.default_rng(1).normal(size=(1000, 10))
started = time.perf_counter()
game = tarry.Game(
    domain=tarry.domains.Ball(10),
    losses=tarry.losses.Linear(rows),
    delays=tarry.delays.geometric(horizon=1000, mean=20, rng=1),
    capacity=16,
)
tarry.simulate(game, tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.05)), seeds=2)
print(time.perf_counter() - started)
"""


def _import(name: str) -> Callable[[], None]:
    return lambda: subprocess.run([sys.executable, "-c", f"import {name}"], check=True) and None


def _imports(_quick: bool) -> Figure:
    makers = [partial(_import, name) for name in ("tarry", "numba")]
    ours, numba = interleave(makers, clock=time.perf_counter)
    return Figure(ratio(ours, numba), f"import tarry {min(ours):.2f} s, import numba {min(numba):.2f} s")


def _first_game(warm: bool, _quick: bool) -> Figure:
    """Seconds of Game and simulate after the import, in a process with an empty or a filled cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for _ in range(2 if warm else 1):
            command = [sys.executable, "-c", FIRST_GAME]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, limit = float(done.stdout), WARM if warm else COLD
    return Figure(seconds / limit, f"{seconds:.2f} s of {limit:.1f} after the import")


ROWS = [
    Row("start import", 2.2, _imports),
    Row("start first game cold", 1.0, partial(_first_game, False)),
    Row("start first game warm", 1.0, partial(_first_game, True)),
]
