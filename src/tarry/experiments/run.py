"""Running a sweep: what is missing is played, written, and only then counted; and what that would cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from tarry.errors import ArgumentError
from tarry.experiments.folder import Folder
from tarry.experiments.parts import Writer
from tarry.experiments.sweep import BEST, Sweep, canonical

if TYPE_CHECKING:
    from tarry.experiments.engines import Engine

# Guesses for a round, for starting a cell and for each of its seeds, until some cell has been measured.
ROUND_SECONDS = 2e-7
CELL_SECONDS, SEED_SECONDS = 5e-3, 1e-3
FEWEST_CELLS = 5  # by whose median the others are judged: the first of them have waited for the compiler
# What a round costs more: where its row is drawn, for each coordinate, once for a game; and where the best fixed action
# has no closed form.
DRAWN_SECONDS, SOLVED_SECONDS = 3e-8, 1e-6
CLOSED = ("Linear", "Quadratic")
USUAL = 10  # coordinates, where the domain has a number of its own


class Summary(NamedTuple):
    """How a run ended: cells that were there before, that it finished, that failed with their sentences."""

    found: int
    finished: int
    failed: dict[str, str]


def share(sweep: Sweep, task: tuple[int, int]) -> dict[str, str]:
    """Return a task's share of all cells, finished or not: the same whenever and wherever it starts."""
    number, count = task
    if not 1 <= number <= count:
        raise ArgumentError("task", f"must be i/n with i from 1 to n, got {number}/{count}")
    return dict(list(sweep.contents.items())[number - 1 :: count])


def run_sweep(
    sweep: Sweep,
    folder: Folder,
    engine: Engine | None = None,
    *,
    task: tuple[int, int] = (1, 1),
    progress: Callable[[int, int], None] | None = None,
) -> Summary:
    """Play what is missing. Interrupted, it keeps what is finished and raises the interrupt.

    Without an engine threads play, on the sweep's own device. Tasks (1, n) to (n, n) part the sweep among them.
    ``progress(done, total)`` is called as cells reach the disk, or fail.
    """
    from tarry.experiments.engines import Threads  # compiled code: not for a look at where a sweep stands

    folder.tidy()
    folder.set_damaged_aside()
    folder.write_plan(sweep)
    contents, finished_cells = share(sweep, task), folder.read(["cell"]).cells
    left = {cell: content for cell, content in contents.items() if cell not in finished_cells}
    writer, failed, finished = Writer(folder.parts), dict[str, str](), 0

    def count(cells: list[str], *, changed: bool = False) -> None:
        nonlocal finished
        folder.forgive(cells)
        finished += len(cells)
        if progress is not None and (cells or changed):
            progress(len(contents) - len(left) + finished + len(failed), len(contents))

    count([], changed=True)
    try:
        with closing((engine or Threads(device=sweep.device)).play(left)) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                if outcome is None:
                    count(writer.rest())
                elif outcome.columns is not None:
                    count(writer.add(outcome.columns))
                elif outcome.error:
                    failed[outcome.cell] = outcome.error
                    folder.fail(outcome.cell, outcome.error)
                    count([], changed=True)
        count(writer.flush())
    finally:
        count(writer.flush())  # what an interrupt left, that of the line above too
    return Summary(len(contents) - len(left), finished, failed)


def parse_task(text: str) -> tuple[int, int]:
    """Return the numbers of ``"3/8"``, 3 and 8; raise ArgumentError unless the first is from 1 to the second."""
    number, _, count = text.partition("/")
    if not (number.strip().isdecimal() and count.strip().isdecimal() and 1 <= int(number) <= int(count)):
        raise ArgumentError("task", "must be i/n with i from 1 to n, as in 3/8", text, "arrays that count from 0 add 1")
    return int(number), int(count)


class Standing(NamedTuple):
    """Where a sweep stands: cells planned, finished and failed, damaged files, and what is still to do.

    ``seconds`` are those of one worker, once everything is compiled; a guess unless ``is_measured``.
    """

    cells: int
    finished: int
    failed: dict[str, str]
    damaged: int
    rounds: int
    seconds: float
    is_measured: bool

    @property
    def missing(self) -> int:
        return self.cells - self.finished


def standing(sweep: Sweep, folder: Folder) -> Standing:
    """Return where a sweep stands."""
    contents = folder.read(["cell", "seconds", "horizon", "seed"])
    planned, finished_cells = sweep.contents, contents.cells
    left = [json.loads(content) for cell, content in planned.items() if cell not in finished_cells]
    horizons: dict[str, int] = {}  # many cells have few delays among them, and some must be drawn to be measured
    rounds, guessed, combinations = 0, CELL_SECONDS * len(left), set[str]()
    for plain in left:
        delays, horizon = plain["game"]["delays"], plain["game"]["horizon"]
        key = canonical([delays, horizon])
        if key not in horizons:
            horizons[key] = _horizon(delays, horizon)
        seeds = len(plain["seeds"])
        rounds += seeds * horizons[key]
        # Rows are drawn, and a best action is solved for, once for all players and capacities.
        same = canonical(
            [plain["game"][part] for part in ("domain", "losses", "horizon", "dimension")] + plain["seeds"]
        )
        guessed += seeds * (SEED_SECONDS + horizons[key] * _guessed_round(plain, is_new=same not in combinations))
        combinations.add(same)
    measured = _seconds_a_round(contents.frames)
    failed = {cell: sentence for cell, sentence in folder.failed().items() if cell in planned}
    guess = guessed if measured is None else rounds * measured + CELL_SECONDS * len(left)
    finished, damaged = len(planned) - len(left), len(contents.damaged)
    return Standing(len(planned), finished, failed, damaged, rounds, guess, measured is not None)


def _guessed_round(content: dict[str, Any], is_new: bool) -> float:
    """Return the seconds of a round by what its losses are made of, and whether no cell before had the same."""
    game = content["game"]
    if not is_new:
        return ROUND_SECONDS
    losses, is_solved = game["losses"], content.get("comparator", BEST) == BEST
    is_drawn = any(isinstance(value, dict) and "type" in value for value in losses.values())
    drawn = DRAWN_SECONDS * (game["dimension"] or USUAL) if is_drawn else 0.0
    return ROUND_SECONDS + drawn + (SOLVED_SECONDS if is_solved and losses["type"] not in CLOSED else 0.0)


def _horizon(delays: dict[str, Any], horizon: int | None) -> int:
    """Return the rounds of a game: its own, or those of its delays; 0 where it will not be played."""
    from tarry.experiments.members import constructor_of, make, parameters_of

    try:
        if "horizon" in parameters_of(constructor_of("delays", delays, "delays")):
            return int(delays.get("horizon", horizon) or 0)
        return int(make("delays", delays, lambda _: 0).horizon)
    except (ValueError, TypeError, OSError):
        return 0


def _seconds_a_round(frames: list[pl.DataFrame]) -> float | None:
    """Return the median over finished cells, less what starting a cell costs: the few that compiled do not count.

    None where there are so few that these would.
    """
    if not frames:
        return None
    cells = pl.concat(frames).group_by("cell").agg(pl.col("seconds").first(), rounds=pl.col("horizon").sum())
    if cells.height < FEWEST_CELLS:
        return None
    rate: Any = ((cells["seconds"] - CELL_SECONDS) / cells["rounds"]).median()
    return None if rate is None else max(rate, 1e-9)
