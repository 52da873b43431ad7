"""The backlog in words and numbers, with Little's law beside it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarry.checks import as_positive
from tarry.delays.base import backlog_of

POINTS = 200


@dataclass(frozen=True)
class Backlog:
    """How many decisions wait for their feedback.

    Delays count in decisions, and in days where ``per_day`` is known. ``curve`` has the columns t, mean, peak: the
    backlog in up to 200 stretches, t the last decision of each. ``truncated`` decisions had no feedback by the end.
    """

    horizon: int
    mean_backlog: float
    max_backlog: int
    mean_delay: float
    max_delay: int
    truncated: int
    per_day: float | None
    mean_delay_days: float | None
    curve: tuple[tuple[int, float, int], ...]

    @property
    def sentence(self) -> str:
        """Size and peak."""
        return (
            f"{self.horizon:,} decisions, {self.mean_backlog:,.1f} waiting for feedback on average and "
            f"{self.max_backlog:,} at most."
        )

    @property
    def little(self) -> str:
        """Little's law: mean backlog = arrival rate × mean delay."""
        if self.per_day is None or self.mean_delay_days is None:
            return f"Little's law: 1 decision a round × {self.mean_delay:,.1f} rounds = {self.mean_delay:,.1f} waiting."
        waiting = self.per_day * self.mean_delay_days
        return (
            f"Little's law: {self.per_day:,.1f} decisions a day × {self.mean_delay_days:,.3g} days = "
            f"{waiting:,.1f} waiting (counted whenever one is made: {self.mean_backlog:,.1f})."
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may make the log a poor guide."""
        found = []
        if self.truncated > 0.05 * self.horizon:
            found.append(
                f"{self.truncated / self.horizon:.0%} of decisions had no feedback by the end: their true delays are "
                "longer than counted"
            )
        if self.mean_delay > 0.1 * self.horizon:
            found.append(
                f"the mean delay of {self.mean_delay:,.0f} decisions is long against {self.horizon:,} decisions in "
                "all: the backlog hardly had time to build up, and a longer record would need more slots"
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, for JSON."""
        points = [dict(zip(("t", "mean", "peak"), point, strict=True)) for point in self.curve]
        return {**asdict(self), "curve": points, "little": self.little}


def describe(
    values: NDArray[np.int64], per_day: float | None, mean_delay_days: float | None, truncated: int
) -> Backlog:
    """The backlog of delays that are cut to the horizon."""
    rate = None if per_day is None else as_positive(per_day, "per_day")
    mean = float(values.mean())
    days = mean_delay_days if mean_delay_days is not None or rate is None else mean / rate
    waiting = backlog_of(values)
    return Backlog(
        horizon=int(values.size),
        mean_backlog=float(waiting.mean()),
        max_backlog=int(waiting.max()),
        mean_delay=mean,
        max_delay=int(values.max()),
        truncated=truncated,
        per_day=rate,
        mean_delay_days=days,
        curve=_curve(waiting),
    )


def _curve(waiting: NDArray[np.int64]) -> tuple[tuple[int, float, int], ...]:
    ends = np.unique(np.linspace(0, waiting.size, min(POINTS, waiting.size) + 1).astype(np.int64))
    return tuple((int(b), float(waiting[a:b].mean()), int(waiting[a:b].max())) for a, b in pairwise(ends))
