"""How long until something happens: imports, and the first compiled game."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial

from benchmarks.measure import Figure, Row, ratio

# Seconds: of a game of two seeds, which is played in Python, and of one of a thousand, which is compiled first.
HOLDS = {("cold", 2): 4.0, ("second", 2): 2.0, ("warm", 2): 0.5, ("cold", 1000): 7.0, ("second", 1000): 4.0}
HOLDS |= {("warm", 1000): 1.2}
PLACES = {"cold": 0, "second": 1, "warm": 0}  # of the seconds that a process prints: its first game, another's members
TIMES, QUICK_TIMES = 5, 1

IMPORTS = """
import time
import numpy
for name in ("tarry", "numba"):  # Numba as a first game finds it
    started = time.perf_counter()
    __import__(name)
    print(time.perf_counter() - started)
"""

GAMES = """
import sys
import time
import numpy as np
import tarry
rows = np.random.default_rng(1).normal(size=(1000, 10))
game = None
for scheduler in (None, tarry.schedulers.Bernoulli(max_backlog=20)):
    started = time.perf_counter()
    if game is None:
        game = tarry.Game(
            domain=tarry.domains.Ball(10),
            losses=tarry.losses.Linear(rows),
            delays=tarry.delays.geometric(horizon=1000, mean=20, rng=1),
            capacity=16,
        )
        learner = tarry.learners.DWFTRL(game.domain, rate=0.05)
    else:
        learner = tarry.learners.OGD(game.domain, rate=0.05)
    tarry.simulate(game, tarry.Player(learner, scheduler), seeds=int(sys.argv[1]))
    print(time.perf_counter() - started)
"""


def _printed(program: str, *arguments: str, env: Mapping[str, str] | None = None) -> list[float]:
    """Return the seconds that a program prints in a process of its own."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def _imports(quick: bool) -> Figure:
    """Seconds of imports alone: the interpreter's start and NumPy are not among them."""
    turns = [_printed(IMPORTS) for _ in range(QUICK_TIMES if quick else TIMES)]
    ours, numba = map(list, zip(*turns, strict=True))
    told = {"tarry": statistics.median(ours), "numba": statistics.median(numba)}
    return Figure(ratio(ours, numba), f"import tarry {told['tarry']:.4f} s, then numba {told['numba']:.2f} s", told)


def _first_game(when: str, seeds: int, quick: bool) -> Figure:
    """Seconds of a game after the import: the first, with an empty or a filled cache, or one of other members."""
    seconds = []
    for _ in range(QUICK_TIMES if quick else TIMES):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "PYTHONPYCACHEPREFIX": folder}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
            for _ in range(2 if when == "warm" else 1):
                printed = _printed(GAMES, str(seeds), env=environment)
        seconds.append(printed[PLACES[when]])
    taken, hold = statistics.median(seconds), HOLDS[when, seeds]
    detail = f"{taken:.2f} s of {hold:.1f} after the import, the median of {len(seconds)}"
    return Figure(taken / hold, detail, {"seconds": taken})


ROWS = [
    Row("start import", 2.2, _imports),
    *(Row(f"start {when}, {seeds} seeds", 1.0, partial(_first_game, when, seeds)) for when, seeds in HOLDS),
]
