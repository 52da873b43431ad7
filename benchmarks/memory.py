"""Memory of a long run, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from math import inf

from benchmarks.measure import Figure, Row

LIMIT = 500.0

PROGRAM = """
import sys
import tarry
from benchmarks.stage import cyclic_losses
horizon, seeds, checkpoints = map(int, sys.argv[1:])
game = tarry.Game(
    domain=tarry.domains.Ball(10),
    losses=cyclic_losses(),
    delays=tarry.delays.geometric(horizon=horizon, mean=200, rng=1),
    capacity=16,
)
player = tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.01))
tarry.simulate(game, player, seeds=seeds, checkpoints=checkpoints, bound=False)
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM")))
"""


def peak(horizon: int, seeds: int = 1, checkpoints: int = 100) -> float:
    """Return the largest memory (MiB) of a process that plays so many rounds for so many seeds.

    The process reads its own high-water mark: ``getrusage`` would count what its parent held when it was forked.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, str(horizon), str(seeds), str(checkpoints)]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def _fits(quick: bool) -> Figure:
    horizon = 10**7 if quick else 10**8
    used = peak(horizon)
    return Figure(used / LIMIT, f"{used:.0f} MiB of {LIMIT:.0f} for {horizon:.0e} rounds")


def _level(horizons: tuple[int, int], _quick: bool) -> Figure:
    small, large = (peak(horizon) for horizon in horizons)
    return Figure(large / small, f"{small:.0f} to {large:.0f} MiB for {horizons[0]:.0e} to {horizons[1]:.0e} rounds")


def _seeds(_quick: bool) -> Figure:
    """Return the MiB that 10⁵ seeds take more than 10², kept at one checkpoint and at the usual hundred."""
    few, bare, curves = (peak(200, seeds, kept) for seeds, kept in ((100, 100), (10**5, 1), (10**5, 100)))
    detail = f"MiB; {few:.0f} with 100 seeds, {bare:.0f} with 100,000, {curves:.0f} with their curves at 100 rounds"
    return Figure(bare - few, detail, {"bare": bare, "curves": curves})


ROWS = [
    Row("memory of a long run", 1.0, _fits),
    Row("memory of many seeds", inf, _seeds),
    Row("growth of memory in horizon", 1.25, partial(_level, (10**6, 10**7))),
]
