"""A running estimate of the mean label, with what it can be trusted to."""

from __future__ import annotations

from math import nan, sqrt
from typing import Any, NamedTuple

from tarry.live.sums import Moments, moments_of
from tarry.live.tracker import Tracker
from tarry.schedulers.base import held

FEW = 30  # so many equal labels are needed before their spread is believed to be small


class Estimate(NamedTuple):
    """The weighted mean of the labels with a confidence interval, and the naive mean of those seen.

    The interval is for the mean of what the labels are drawn from; for the mean of these very decisions it is wider
    than need be. It is Student's, with the effective sample size (Σw)²/Σw² for the number of labels. There is none
    (NaN) below two labels, and below 30 if all are equal: so few say nothing about how far others may lie. The naive
    mean answers another question: what the labels are *that came in time*.

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
    _check_level(level)
    moments = moments_of(tracker.vault.sums)
    mean, _, naive, n, _ = moments
    left_out, outstanding, reach = tracker.ledger()["used"] - n, _outstanding(tracker), _reach(moments, float(level))
    return Estimate(mean, mean - reach, mean + reach, naive, n, left_out, outstanding)


def _check_level(level: Any) -> None:
    try:
        is_level = 0 < level < 1
    except (TypeError, ValueError):
        is_level = False
    if not is_level:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")


def _reach(moments: Moments, level: float) -> float:
    """How far the interval goes to either side: Student's, as if ``effective`` labels of weight one had come."""
    from scipy.special import stdtrit

    if moments.labels < 2 or moments.effective <= 1 or (moments.error == 0 and moments.labels < FEW):
        return nan
    quantile = float(stdtrit(moments.effective - 1, (1 + level) / 2))
    return quantile * moments.error * sqrt(moments.effective / (moments.effective - 1))


def _outstanding(tracker: Tracker) -> float:
    """Held weight per decision, where that is known."""
    scheduler = tracker.player.scheduler
    if not (tracker.rounds and scheduler.is_unbiased):
        return nan
    if not tracker.vault.tracked:
        return 0.0
    holding = float(held(scheduler, tracker.state.scheduler))
    return nan if holding < 0 else min(1.0, holding / tracker.rounds)
