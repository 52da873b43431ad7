"""What a sweep will cost, from what it has cost so far."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tarry.experiments.cells import canonical
from tarry.experiments.members import find, make, parameters_of
from tarry.experiments.sweep import Sweep

if TYPE_CHECKING:
    import polars as pl

    from tarry.experiments.folder import Folder

ROUND_SECONDS = 2e-7
CELL_SECONDS = 5e-3
"""Guesses for a round and for starting a cell, until some cell has been measured."""


class Standing(NamedTuple):
    """Where a sweep stands: cells planned, finished and failed, damaged files, and what is still to do."""

    cells: int
    finished: int
    failed: dict[str, str]
    damaged: int
    rounds: int
    seconds: float
    is_measured: bool

    @property
    def missing(self) -> int:
        """Cells still to be played."""
        return self.cells - self.finished


def standing(sweep: Sweep, folder: Folder) -> Standing:
    """Where a sweep stands; ``seconds`` are those of one worker, once everything is compiled."""
    contents = folder.read(["cell", "seconds", "horizon", "seed"])
    planned, done = sweep.contents, contents.cells
    left = [content for cell, content in planned.items() if cell not in done]
    horizons: dict[str, int] = {}
    rounds = sum(_rounds(content, horizons) for content in left)
    measured = _seconds_a_round(contents.frames)
    failed = {cell: sentence for cell, sentence in folder.failed().items() if cell in planned}
    guess = rounds * (ROUND_SECONDS if measured is None else measured) + CELL_SECONDS * len(left)
    return Standing(
        cells=len(planned),
        finished=len(planned) - len(left),
        failed=failed,
        damaged=len(contents.damaged),
        rounds=rounds,
        seconds=guess,
        is_measured=measured is not None,
    )


def _rounds(content: str, horizons: dict[str, int]) -> int:
    plain = json.loads(content)
    delays, horizon = plain["game"]["delays"], plain["game"]["horizon"]
    key = canonical([delays, horizon])
    if key not in horizons:
        horizons[key] = _horizon(delays, horizon)
    return len(plain["seeds"]) * horizons[key]


def _horizon(delays: dict[str, Any], horizon: int | None) -> int:
    """The rounds of a game: as many as it says, or as its delays have of their own; 0 where it will not be played."""
    if "horizon" in parameters_of(find("delays", delays["type"], "delays")):
        return int(delays.get("horizon", horizon) or 0)
    try:
        return int(make("delays", delays, lambda _: 0).horizon)
    except (ValueError, TypeError, OSError):
        return 0


def _seconds_a_round(frames: list[pl.DataFrame]) -> float | None:
    """The median over finished cells, less what starting a cell costs: the few that compiled do not count."""
    import polars as pl

    if not frames:
        return None
    rows = pl.concat(frames)
    cells = rows.group_by("cell").agg(pl.col("seconds").first(), pl.col("horizon").sum().alias("rounds"))
    rates = ((cells["seconds"] - CELL_SECONDS) / cells["rounds"]).drop_nulls()
    return max(float(np.median(rates.to_numpy())), 1e-9) if rates.len() else None
