"""The backlog of given delays, and what one scheduler at one capacity makes of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.checks import as_positive
from tarry.delays.base import Delays, backlog_of
from tarry.game.replay import Replay, replay
from tarry.outcomes import Fate
from tarry.planning.policies import TAIL, Conditions, Policy, chances_of
from tarry.schedulers.base import Scheduler

LARGEST_ERROR = 0.02  # of a second moment, relative: two digits of an effective sample size
ROUNDS = 1 << 21  # replayed at most, in all: about a second compiled
POINTS = 200  # of the curve of the backlog: as many as a chart can show


class Workload(NamedTuple):
    """Delays, their largest backlog, and how much replaying is wanted.

    At least ``seeds`` replays (fewer of a long log, never less than two); then more, up to ROUNDS rounds in all, until
    the second moment is known to a relative standard error of ``precision``.
    """

    delays: Delays
    max_backlog: int
    preemption: bool
    seeds: int
    precision: float
    sizes: Any = None

    def replay(self, scheduler: Scheduler, capacity: int, seeds: range) -> Replay:
        """Return who is seen, and with what weight, when a scheduler meets these delays and sizes."""
        rules = {"capacity": capacity, "preemption": self.preemption, "sizes": self.sizes}
        return replay(scheduler, self.delays, seeds=seeds, **rules)

    def fits(self, scheduler: Scheduler) -> bool:
        """Return whether a scheduler can do without preemption, and with sizes, where that is asked."""
        may_preempt = self.preemption or not scheduler.needs_preemption
        return may_preempt and (self.sizes is None or scheduler.takes_sizes)


class Figures(NamedTuple):
    """One row of a plan's table.

    ``effective``: effective sample size as a share of unlimited tracking, (mean w)²/mean w²; ``error_factor``: how
    many times larger standard errors are, its inverse root (√(mean w²) where weights have mean 1); ``saturated``:
    the share of rounds refused for lack of room. Where rounds have sizes b, the mean of w² is Σ w²b²/Σ b²: it is about
    sums of labels as large as the sizes.
    """

    capacity: int
    scheduler: str
    is_unbiased: bool
    seen: float
    mean_weight: float
    second_moment: float
    second_moment_error: float
    effective: float
    error_factor: float
    saturated: float
    replays: int


def measure(policy: Policy, work: Workload, capacity: int) -> Figures | None:
    """Return the figures of a policy at a capacity; None where it has nothing to offer."""
    scheduler = policy.offer(Conditions.of(work.delays, capacity, saturation=TAIL))
    if scheduler is None or not work.fits(scheduler):
        return None
    most = ROUNDS // work.delays.values.size
    runs = [work.replay(scheduler, capacity, range(min(work.seeds, max(2, most))))]
    while not policy.has_chances and _second_moment(runs)[1] > work.precision:
        done = sum(len(run.seeds) for run in runs)
        more = min(done, most - done)  # twice as many: the error falls by √2 a trial
        if more <= 0:
            break
        runs.append(work.replay(scheduler, capacity, range(done, done + more)))
    fates, horizon = np.concatenate([run.fates for run in runs]), runs[0].horizon
    if policy.has_chances:
        # P(seen) = chance · P(room) and E[w²] = P(room)/chance, so only the room is counted: few labels pass the
        # paper's rules, and their weights would have to be averaged over very many replays.
        chances = chances_of(scheduler, capacity, work.delays.values)
        weight = 1.0 - float(runs[0].occupancy.full.mean())
        seen, moment, error = weight * float(chances.mean()), weight * float(np.mean(1.0 / chances)), 0.0
    else:
        weight = float(np.concatenate([run.weights.mean for run in runs]).mean())
        seen = float(fates[:, Fate.USED].mean()) / horizon
        moment, error = _second_moment(runs)
    total = 1.0 if work.sizes is not None else weight  # what arrives adds up to all sizes
    effective = total**2 / moment if moment > 0 else 0.0
    return Figures(
        capacity=capacity,
        scheduler=policy.name,
        is_unbiased=scheduler.is_unbiased,
        seen=seen,
        mean_weight=weight,
        second_moment=moment,
        second_moment_error=error * moment,
        effective=effective,
        error_factor=1.0 / sqrt(effective) if effective > 0 else inf,
        saturated=float(fates[:, Fate.SATURATED].mean()) / horizon,
        replays=len(fates),
    )


def _second_moment(runs: list[Replay]) -> tuple[float, float]:
    """Return the mean square of the weights, and its relative standard error over the replays."""
    by_size = (run.size_moments for run in runs)
    found = [run.weights.second_moment if own is None else own for run, own in zip(runs, by_size, strict=True)]
    moments = np.concatenate(found)
    mean = float(moments.mean())
    is_known = mean > 0 and moments.size > 1
    return mean, float(moments.std(ddof=1)) / sqrt(moments.size) / mean if is_known else 0.0


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
    """Return the backlog of delays that are cut to the horizon."""
    rate = None if per_day is None else as_positive(per_day, "per_day")
    mean = float(values.mean())
    waiting = backlog_of(values)
    ends = np.unique(np.linspace(0, waiting.size, min(POINTS, waiting.size) + 1).astype(np.int64))
    return Backlog(
        horizon=int(values.size),
        mean_backlog=float(waiting.mean()),
        max_backlog=int(waiting.max()),
        mean_delay=mean,
        max_delay=int(values.max()),
        truncated=truncated,
        per_day=rate,
        mean_delay_days=mean_delay_days if mean_delay_days is not None or rate is None else mean / rate,
        curve=tuple((int(b), float(waiting[a:b].mean()), int(waiting[a:b].max())) for a, b in pairwise(ends)),
    )
