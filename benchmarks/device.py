"""A GPU against the CPU: the same games to the digit, and rounds a second. ``python -m benchmarks.device --help``

Kernels are compiled in processes side by side, and measured one at a time. With ``NUMBA_ENABLE_CUDASIM=1`` and small
numbers it runs where there is no GPU, and then says nothing about speed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import tarry
from benchmarks.measure import machine
from benchmarks.stage import SEED
from studies.numbers import lines_of, write_numbers
from tarry.game.blocks import Part
from tarry.game.device import DeviceBlock, fit, kernel_for
from tarry.game.run import prepare
from tarry.game.simulate import core_count
from tarry.reports.table import Table
from tarry.tracking import keyed_draws
from tests.support.examples import LEARNERS, first_of_each
from tests.support.random_games import GAMES, draw_game, play

SECTIONS = ("equality", "rates", "growth", "learners")
DIMENSION, CAPACITY, DELAY = 10, 16, 200
DIMENSIONS, CAPACITIES = (2, 50), (4, 64)  # beside those above
SHARE = 10  # of the rounds, one part warms up
ACROSS = 8  # cells in a line of the table of learners


class Case(NamedTuple):
    """A game for timing: rows of unit length, one delay, and so many slots."""

    learner: str  # "DWFTRL", or the name of an example
    scheduler: str
    dimension: int = DIMENSION
    capacity: int = CAPACITY

    def make(self, horizon: int) -> tuple[tarry.Game, tarry.Player]:
        """Return the game of so many rounds, and its player."""
        delay = min(DELAY, horizon - 1)
        coin = tarry.schedulers.Bernoulli.calibrated(delay, self.capacity)
        scheduler = {"VarOpt": tarry.schedulers.VarOpt(), "Bernoulli": coin}[self.scheduler]
        if self.learner in LEARNERS:
            learner = LEARNERS[self.learner].learner(self.dimension)
        else:
            learner = tarry.learners.DWFTRL(tarry.domains.Ball(self.dimension), rate=0.01)
        rows = np.random.default_rng(SEED).normal(size=(horizon, self.dimension))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        game = tarry.Game(
            learner.domain,
            tarry.losses.LeastSquares(rows, rows[:, 0]) if learner.feedback == "example" else tarry.losses.Linear(rows),
            tarry.delays.fixed(horizon=horizon, delay=delay),
            capacity=self.capacity,
            feedback=learner.feedback,
            queries=learner.queries,
        )
        return game, tarry.Player(learner, scheduler)

    def __str__(self) -> str:
        return f"{self.learner}, {self.scheduler}, k = {self.dimension}, C = {self.capacity}"


def measure_kernel(case: Case, replicas: int, horizon: int) -> str:
    """Return rounds a second of one launch, with what the kernel takes of the device."""
    game, player = case.make(horizon)
    run = prepare(game, player, checkpoints=20, bound=False)
    fresh, started = fit(run, run.start(keyed_draws(0))), time.perf_counter()
    kernel, _shared = kernel_for(run, fresh)
    kernel.load()
    compiled = time.perf_counter() - started
    with _turn:
        block = DeviceBlock(run, fresh, replicas)
        block.begin([Part(run, range(block.size), fresh)])
        warm = max(1, horizon // SHARE)
        block.launch(1, warm)
        started = time.perf_counter()
        block.launch(warm + 1, horizon)
        taken = time.perf_counter() - started
    rounds = block.size * (horizon - warm)
    return f"{rounds / taken / 1e9:8.3f} G rounds/s   {block.size} replicas, {kernel.words()}, made in {compiled:.0f} s"


def measure_whole(case: Case, replicas: int, horizon: int, device: str) -> str:
    """Return rounds a second of ``simulate``, compiled before."""
    game, player = case.make(horizon)

    def play(seeds: int) -> float:
        started = time.perf_counter()
        tarry.simulate(game, player, seeds, bound=False, checkpoints=20, device=device)
        return time.perf_counter() - started

    play(2)
    taken = play(replicas)
    return f"{replicas * horizon / taken / 1e9:8.3f} G rounds/s   {replicas} seeds in {taken:.2f} s"


def _attempt(task: tuple[Callable[..., str], tuple[Any, ...]]) -> tuple[tuple[Any, ...], str]:
    measure, arguments = task
    try:
        return arguments, measure(*arguments)
    except Exception as error:  # one that fails must not hide the others
        return arguments, f"FAILED: {type(error).__name__}: {str(error)[:300]}"


def _begin(turn: Any) -> None:
    global _turn
    _turn = turn


_told: dict[str, float] = {}  # billions of rounds a second
_turn: Any = multiprocessing.Lock()  # who measures


def side_by_side(
    measure: Callable[..., str], given: Iterable[tuple[Any, ...]], jobs: int, seconds: float
) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield arguments and what was measured, as processes finish, until time is up."""
    context, ends = multiprocessing.get_context("spawn"), time.monotonic() + seconds
    with context.Pool(jobs, _begin, (context.Lock(),)) as pool:
        found = pool.imap_unordered(_attempt, [(measure, arguments) for arguments in given])
        while True:
            try:
                yield found.next(max(0.0, ends - time.monotonic()))
            except StopIteration:
                return
            except multiprocessing.TimeoutError:
                print(f"time is up after {seconds:.0f} s", flush=True)
                return


def equality(options: argparse.Namespace) -> None:
    """Print which random games differ on the device."""
    played, bad = 0, 0
    for (i,), found in side_by_side(play, [(i,) for i in range(options.games)], options.jobs, options.seconds):
        played += 1
        if found:
            bad += 1
            print(found if found.startswith("game") else f"game {i} ({draw_game(i).words}): {found}", flush=True)
    print(f"equality: {played} of {options.games} games, {bad} differ", flush=True)


def rates(options: argparse.Namespace) -> None:
    """Print the rates of the two main games: the kernel, all of ``simulate``, and the CPU's."""
    size = options.replicas, options.horizon
    for scheduler in ("VarOpt", "Bernoulli"):
        case = Case("DWFTRL", scheduler)
        _tell(f"{case}, kernel", measure_kernel(case, *size))
        _tell(f"{case}, simulate", measure_whole(case, *size, "cuda"))
        seeds = min(options.replicas, 512 * core_count())
        _tell(f"{case}, cores", measure_whole(case, seeds, options.horizon, "cpu"))


def growth(options: argparse.Namespace) -> None:
    """Print rates by dimension and by slots."""
    both = [Case("DWFTRL", name, k) for name in ("VarOpt", "Bernoulli") for k in DIMENSIONS]
    both += [Case("DWFTRL", name, capacity=slots) for name in ("VarOpt", "Bernoulli") for slots in CAPACITIES]
    _print_rates([(case, options.replicas, options.horizon) for case in both], options)


def learners(options: argparse.Namespace) -> None:
    """Print the rate of each learner."""
    names = first_of_each(LEARNERS, lambda example: type(example.learner())).values()
    cases = [Case(name, "Bernoulli" if LEARNERS[name].learner().watches_tracked else "VarOpt") for name in names]
    _print_rates([(case, options.replicas, max(2, options.horizon // SHARE)) for case in cases], options)


def rate_table(told: Mapping[str, float]) -> list[str]:
    """Return the lines of a table of learners by their rates, the fastest first, four to a line.

    >>> rate_table({"OGD, constant rate, VarOpt": 13.66, "TsallisFTRL, VarOpt": 0.152})[1]
    '| OGD | 13.7 | TsallisFTRL | 0.15 | | | | |'
    """
    pairs = [(name.split(",")[0], f"{rate:#.2g}" if rate < 1 else f"{rate:.1f}") for name, rate in told.items()]
    cells = [cell for pair in sorted(pairs, key=lambda pair: -float(pair[1])) for cell in pair]
    cells += [""] * (-len(cells) % ACROSS)
    rows = [tuple(cells[i : i + ACROSS]) for i in range(0, len(cells), ACROSS)]
    return [re.sub(" +", " ", line) for line in lines_of(Table("", ("",) * ACROSS, rows))]


def _print_rates(given: list[tuple[Any, ...]], options: argparse.Namespace) -> None:
    for (case, *_size), found in side_by_side(measure_kernel, given, options.jobs, options.seconds):
        _tell(f"{case}, kernel", found)
    if len(_told) < len(given):
        print(f"{len(_told)} of {len(given)} rates: --write keeps all or none", flush=True)
        _told.clear()


def _tell(name: str, found: str) -> None:
    print(f"{name} {found}", flush=True)
    if not found.startswith("FAILED"):
        _told[name] = float(found.split()[0])


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device", description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], help="what to run (default: all)")
    parser.add_argument("--games", type=int, default=GAMES, help="random games to compare")
    parser.add_argument("--replicas", type=int, default=100_000, help="of a launch that is timed")
    parser.add_argument("--horizon", type=int, default=20_000, help="rounds of a game that is timed")
    parser.add_argument("--jobs", type=int, default=core_count(), help="processes that compile")
    parser.add_argument("--seconds", type=float, default=600.0, help="after which a section ends")
    parser.add_argument("--write", action="store_true", help="keep the rates in docs/figures.json, for the pages")
    options = parser.parse_args()
    for section in options.sections or SECTIONS:
        started = time.monotonic()
        globals()[section](options)
        print(f"== {section}: {time.monotonic() - started:.0f} s", flush=True)
        if options.write and _told:
            values = {"table": rate_table(_told)} if section == "learners" else dict(_told)
            write_numbers(f"device {section}", f"python -m benchmarks.device {section} --write", values, _device())
        _told.clear()


def _device() -> str:
    from numba import cuda

    return f"{cuda.get_current_device().name}, {machine()}"


if __name__ == "__main__":
    main()
