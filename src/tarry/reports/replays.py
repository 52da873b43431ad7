"""What a report is given from a replay: one setting, played again for a while under one seed, some players."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl

DELAYS = "feedback itself"
"""The line of the delays in the frame of survivals."""


class Replays(NamedTuple):
    """Plain frames, each with a column ``line``; empty ones where there was nothing to tell.

    stays     lane, start, stop, fate: tracked rounds that touch rounds first..last, a lane for each slot
    passed    t, fate: rounds in first..last that were never tracked; untracked, saturated, or empty if that is unknown
    tracked   t, tracked: how many are tracked in a round, before its feedback
    waiting   t, waiting: how many rounds wait for feedback (no line: the same for all)
    survival  age, share: P(delay ≥ age), P(proxy delay ≥ age)
    segments  pieces, regret: against the best action of each of so many equal pieces of the game
    """

    setting: str
    seed: int
    capacity: int | None
    first: int
    last: int
    played: int
    stays: pl.DataFrame
    passed: pl.DataFrame
    tracked: pl.DataFrame
    waiting: pl.DataFrame
    survival: pl.DataFrame
    segments: pl.DataFrame

    @property
    def lines(self) -> list[str]:
        """The players that were replayed."""
        return list(dict.fromkeys(self.tracked["line"]))
