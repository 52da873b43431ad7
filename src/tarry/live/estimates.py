"""A running estimate of the mean label, with what it can be trusted to."""

from __future__ import annotations

from math import nan
from statistics import NormalDist
from typing import Any, NamedTuple

from tarry.live.sums import moments_of
from tarry.live.tracker import Tracker
from tarry.schedulers.base import held


class Estimate(NamedTuple):
    """The weighted mean of the labels with a confidence interval, and the naive mean of those seen.

    The interval is for the mean of what the labels are drawn from; for the mean of these very decisions it is wider
    than need be; below two labels there is none (NaN). The naive mean answers another question: what the labels are
    *that came in time*.

    It is made from ``labels`` of them; ``left_out`` were used too, but are no numbers below 1e100 in size.
    ``outstanding`` is the share of all decisions, by weight, whose labels are still awaited: while it is large, both
    means lean towards the labels that come quickly. It is 0 when no decision is tracked. While some are it is known
    where weights arrived and held make up all decisions (VarOpt), and NaN elsewhere and before the first decision.
    """

    mean: float
    low: float
    high: float
    naive: float
    labels: int
    left_out: int = 0
    outstanding: float = nan

    def rows(self) -> dict[str, str]:
        """The same as text, for tables."""
        return {name.replace("_", " "): f"{value:.6g}" for name, value in self._asdict().items()}


def estimate_now(tracker: Tracker, level: float = 0.95) -> Estimate:
    """The estimate of a join's books; to be called within a change."""
    reach = _reach(level)
    mean, error, naive, n = moments_of(tracker.vault.sums)
    left_out, outstanding = tracker.ledger()["used"] - n, _outstanding(tracker)
    return Estimate(mean, mean - reach * error, mean + reach * error, naive, n, left_out, outstanding)


def _reach(level: Any) -> float:
    """Standard errors to either side of the mean."""
    try:
        is_level = 0 < level < 1
    except (TypeError, ValueError):
        is_level = False
    if not is_level:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    return NormalDist().inv_cdf((1 + float(level)) / 2)


def _outstanding(tracker: Tracker) -> float:
    """Held weight per decision, where that is known."""
    scheduler = tracker.player.scheduler
    if not (tracker.rounds and scheduler.is_unbiased):
        return nan
    if not tracker.vault.tracked:
        return 0.0
    holding = float(held(scheduler, tracker.state.scheduler))
    return nan if holding < 0 else min(1.0, holding / tracker.rounds)
