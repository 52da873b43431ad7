"""Seeds in threads: two against one, a seed's cost beyond its rounds, and ``python -m benchmarks.threads``, a table.

The best turn of each counts: a machine whose cores are busy elsewhere has but one to give. The table, of rounds a
second in 1, 2, 4, … threads, is for a machine of many cores; it needs what the package itself needs and nothing else.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import tarry
from benchmarks.measure import TURNS, Figure, Row, interleave, machine
from benchmarks.rounds import SCHEDULERS
from benchmarks.stage import DIMENSION, learner, some_rows
from studies.numbers import short, write_numbers
from tarry.game.blocks import Block, Part, even_share, most_replicas
from tarry.game.run import Stop, prepare
from tarry.game.simulate import core_count
from tarry.tracking import keyed_draws

CAPACITY, DELAY = 16, 200
MANY = 256  # seeds of a usual length
MICROSECONDS = 30.0
IN_TABLE = ("varopt", "bernoulli")


def _game(horizon: int) -> tarry.Game:
    return tarry.Game(
        domain=tarry.domains.Ball(DIMENSION),
        losses=tarry.losses.Linear(some_rows(horizon)),
        delays=tarry.delays.geometric(horizon=horizon, mean=DELAY, rng=1),
        capacity=CAPACITY,
    )


def _play(game: tarry.Game, player: Any, seeds: int, threads: int) -> Callable[[], None]:
    return lambda: tarry.simulate(game, player, seeds=seeds, threads=threads, bound=False) and None


def _two_threads(horizon: int, seeds: int, _quick: bool) -> Figure:
    game, player = _game(horizon), tarry.Player(learner())
    plays = {threads: _play(game, player, seeds, threads) for threads in (1, 2)}
    one, two = interleave([partial(plays.__getitem__, n) for n in plays], 3 * TURNS, time.perf_counter)
    rounds = seeds * horizon
    speeds = f"{rounds / min(one) / 1e6:.0f} and {rounds / min(two) / 1e6:.0f} million rounds a second"
    detail = f"{speeds}; two threads just now got {_cores(plays[2]):.1f} cores"
    return Figure(min(one) / min(two), detail)


def _cores(play: Callable[[], None]) -> float:
    wall, busy = time.perf_counter(), time.process_time()
    play()
    return (time.process_time() - busy) / (time.perf_counter() - wall)


def _beyond_rounds(horizon: int, _quick: bool) -> Figure:
    """Return the microseconds of a seed in ``simulate`` less those of its compiled rounds."""
    game, player = _game(horizon), tarry.Player(learner())
    run = prepare(game, player, checkpoints=100, bound=False)
    fresh = run.start(keyed_draws(0))
    size = even_share(MANY, most_replicas(Part(run, range(MANY), fresh), MANY))  # as simulate has them
    parts = [Part(run, range(first, min(first + size, MANY)), fresh) for first in range(0, MANY, size)]
    blocks = [Block(run, fresh, size) for _ in parts]

    def rounds() -> Callable[[], None]:
        for block, part in zip(blocks, parts, strict=True):
            block.begin([part])
        return lambda: [block.advance(Stop(), 1, horizon) for block in blocks] and None

    whole, bare = interleave([lambda: _play(game, player, MANY, 1), rounds], 2 * TURNS, time.process_time)
    # Within a turn: what slows the machine down meets both.
    beyond = statistics.median(one - other for one, other in zip(whole, bare, strict=True))
    cost, rest = 1e6 / MANY * beyond, 1e6 / MANY * statistics.median(bare)
    return Figure(cost, f"microseconds, beside {rest:.0f} of rounds; {MANY} seeds")


def table(horizon: int, seeds: int, write: bool = False) -> None:
    """Print, and keep if asked, millions of rounds a second in 1, 2, 4, … threads, and how many times those of one."""
    counts = [2**i for i in range(core_count().bit_length())]
    print(f"{seeds} seeds of {horizon} rounds, {core_count()} cores")
    told: dict[str, Any] = {}
    for name in IN_TABLE:
        game, player = _game(horizon), tarry.Player(learner(), SCHEDULERS[name])
        makers = [partial(_play, game, player, seeds, threads) for threads in counts]
        seconds = interleave(makers, TURNS, time.perf_counter)
        for threads, taken in zip(counts, seconds, strict=True):
            speed, times = seeds * horizon / min(taken) / 1e6, min(seconds[0]) / min(taken)
            print(f"{name:16} {threads:3} threads {speed:8.1f} million rounds a second {times:6.2f} x one", flush=True)
            told.setdefault(name, {})[f"{threads} threads"] = {"speed": short(speed), "times": short(times)}
    if write:
        command = f"python -m benchmarks.threads {horizon} {seeds} --write"
        write_numbers(f"threads of {seeds} seeds", command, told, machine())


ROWS = [
    Row("two threads, long games", 1.7, partial(_two_threads, 10**6, 4), at_least=True),
    Row("two threads, many seeds", 1.85, partial(_two_threads, 20_000, MANY), at_least=True),
    Row("seed beyond its rounds, 2000", MICROSECONDS, partial(_beyond_rounds, 2_000)),
]


def main() -> None:
    """Print the table that was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    parser.add_argument("horizon", nargs="?", type=int, default=20_000, help="rounds of a seed")
    parser.add_argument("seeds", nargs="?", type=int, default=MANY, help="that the threads share")
    parser.add_argument("--write", action="store_true", help="keep the speeds in docs/figures.json, for the pages")
    table(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
