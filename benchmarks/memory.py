"""Memory of a long run, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

from benchmarks.measure import Figure, Row

LIMIT = 500.0

PROGRAM = """
import sys
import tarry
from benchmarks.stage import cyclic_losses
horizon = int(sys.argv[1])
game = tarry.Game(
    domain=tarry.domains.Ball(10),
    losses=cyclic_losses(),
    delays=tarry.delays.geometric(horizon=horizon, mean=200, rng=1),
    capacity=16,
)
tarry.simulate(game, tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.01)), bound=False)
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM")))
"""


def peak(horizon: int) -> float:
    """Return the largest memory (MiB) of a process that plays so many rounds.

    The process reads its own high-water mark: ``getrusage`` would count what its parent held when it was forked.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, str(horizon)]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def _fits(quick: bool) -> Figure:
    horizon = 10**7 if quick else 10**8
    used = peak(horizon)
    return Figure(used / LIMIT, f"{used:.0f} MiB of {LIMIT:.0f} for {horizon:.0e} rounds")


def _level(horizons: tuple[int, int], _quick: bool) -> Figure:
    small, large = (peak(horizon) for horizon in horizons)
    return Figure(large / small, f"{small:.0f} to {large:.0f} MiB for {horizons[0]:.0e} to {horizons[1]:.0e} rounds")


ROWS = [
    Row("memory of a long run", 1.0, _fits),
    Row("growth of memory in horizon", 1.25, partial(_level, (10**6, 10**7))),
]
