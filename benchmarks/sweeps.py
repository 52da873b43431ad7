"""What a sweep costs beyond its games: per cell, planned and gathered."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import tarry
from benchmarks.measure import Figure, Row, ratio
from tarry.experiments import Folder, load_sweep, make_engine, play_cell, run_sweep, write_tables
from tarry.experiments.parts import Writer
from tarry.experiments.play import build_game, build_player
from tarry.experiments.sweep import Sweep

SMALL_HOLD, PLAN_HOLD, COLLECT_HOLD, TABLE1_HOLD = 0.002, 10.0, 30.0, 120.0
TURNS = 5
TEXT = """
seeds = {seeds}
seeds_per_cell = 1
checkpoints = 20
axes.mean = {means}
[games.drift]
horizon = {horizon}
dimension = 10
capacity = 16
losses = {{ type = "Linear", rows = {{ type = "drifting", rng = 1 }} }}
delays = {{ type = "geometric", mean = "axis.mean", rng = 1 }}
[players.ours]
learner = {{ type = "DWFTRL", rate = 0.05 }}
"""


@contextmanager
def _sweep(horizon: int, cells: int, means: int = 1) -> Iterator[tuple[Sweep, Path]]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        values = list(range(1, means + 1))
        file = place / "bench.toml"
        file.write_text(TEXT.format(horizon=horizon, seeds=cells // means, means=values), encoding="utf-8")
        yield load_sweep(file), place


def _bare(sweep: Sweep) -> Callable[[], None]:
    """The same games by simulate alone, made beforehand."""
    ready = []
    for content in sweep.contents.values():
        plain = json.loads(content)
        game, _ = build_game(plain["game"], 0)
        ready.append((game, build_player(plain["player"], game), plain["seeds"]))

    def run() -> None:
        for game, player, seeds in ready:
            tarry.simulate(game, player, seeds, checkpoints=20, threads=1)

    return run


def _timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def _compared(horizon: int, cells: int) -> tuple[list[float], list[float]]:
    """Seconds of sweeps on one thread, and of the same games by simulate alone; a first turn warms up."""
    with _sweep(horizon, cells) as (sweep, place):
        ours, theirs = [], []
        for turn in range(TURNS + 1):
            folder, bare = Folder(place / str(turn)), _bare(sweep)  # new games: played ones know their best action
            ours.append(_timed(lambda folder=folder: run_sweep(sweep, folder, make_engine("threads", 1))))
            theirs.append(_timed(bare))
    return ours[1:], theirs[1:]


def _small_cells(quick: bool) -> Figure:
    cells = 100 if quick else 500
    ours, theirs = _compared(200, cells)
    seconds = statistics.median(a - b for a, b in zip(ours, theirs, strict=True)) / cells
    return Figure(seconds / SMALL_HOLD, f"{1e3 * seconds:.2f} ms a cell beyond simulate, of {1e3 * SMALL_HOLD:.0f}")


def _long_cells(quick: bool) -> Figure:
    ours, theirs = _compared(10**6 if quick else 2 * 10**6, 2)
    each = statistics.median(theirs) / 2
    return Figure(ratio(ours, theirs), f"cells of {each:.2f} s")


def _planned(quick: bool) -> Figure:
    cells = 10**4 if quick else 10**5
    with _sweep(200, cells, means=cells // 100) as (sweep, _place):
        seconds = _timed(lambda: load_sweep(sweep.path).contents) * 10**5 / cells
    return Figure(seconds / PLAN_HOLD, f"{seconds:.1f} s for 1e5 cells, of {PLAN_HOLD:.0f}")


def _gathered(quick: bool) -> Figure:
    """Collecting cells that were written as a run writes them; what is in them is the same for all."""
    cells = 10**4 if quick else 10**5
    with _sweep(200, cells, means=cells // 100) as (sweep, place):
        folder = Folder(place / "results")
        folder.write_plan(sweep)
        writer, columns = Writer(folder.parts), play_cell("", sweep.cells[0].content)
        for cell in sweep.contents:
            writer.add(columns | {"cell": [cell]})
        writer.flush()
        seconds = _timed(partial(_collect, folder)) * 10**5 / cells
    return Figure(seconds / COLLECT_HOLD, f"{seconds:.1f} s for 1e5 cells, of {COLLECT_HOLD:.0f}")


def _collect(folder: Folder) -> None:
    write_tables(folder.tables(), folder.path)


def _table1(_quick: bool) -> Figure:
    """`table1 --quick` as a user calls it; a first turn fills the cache."""
    with tempfile.TemporaryDirectory() as place:
        asked = [sys.executable, "-m", "studies", "table1", "--quick", "--results"]
        turns = [partial(subprocess.run, [*asked, f"{place}/{i}"], capture_output=True) for i in range(2)]
        turns[0]()
        seconds = _timed(turns[1])
        if not Path(place, "1", "table1.html").is_file():
            raise RuntimeError(f"table1 --quick wrote no page: {turns[1]().stderr.decode()[-500:]}")
    return Figure(seconds / TABLE1_HOLD, f"{seconds:.0f} s for table1 --quick, of {TABLE1_HOLD:.0f}")


ROWS = [
    Row("sweeps small cells", 1.0, _small_cells),
    Row("sweeps cells of a second", 1.05, _long_cells),
    Row("sweeps plan 1e5 cells", 1.0, _planned),
    Row("sweeps collect 1e5 cells", 1.0, _gathered),
    Row("sweeps table1 --quick", 1.0, _table1, is_long=True),
]
