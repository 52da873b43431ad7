"""The backlog of given delays, and what one scheduler at one capacity makes of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.checks import as_positive
from tarry.delays.base import Delays, Unheard, array, backlog_of
from tarry.game.replay import Replay, replay
from tarry.outcomes import Fate
from tarry.planning.policies import TAIL, Conditions, Policy, chances_of
from tarry.schedulers.base import Scheduler

LARGEST_ERROR = 0.02  # of a second moment, relative: two digits of an effective sample size
MEAN_ERROR = 0.1  # of the mean weight: more is no chance where second moments are known to two digits
ROUNDS = 1 << 21  # replayed at most, in all: about a second compiled
FULL_WINDOWS = 2  # that a log is long: then the backlog is full for a window
POINTS = 200  # of the curve of the backlog: as many as a chart can show


def comes_in_time(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rounds' feedback comes before the last decision, as :meth:`tarry.LabelJoin.stream` hears it."""
    return np.asarray(np.arange(1, values.size + 1) + values < values.size)


def unheard_after(values: NDArray[np.int64]) -> Unheard:
    """Return these delays, but that feedback which comes after the last decision never comes."""
    never = values.size - np.arange(values.size)  # the round past the last
    late = ~comes_in_time(values)
    return Unheard.make(np.where(late, never, values), int(late.sum()))


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
        return replay(scheduler, unheard_after(self.delays.values), seeds=seeds, **rules)

    def fits(self, scheduler: Scheduler) -> bool:
        """Return whether a scheduler can do without preemption, and with sizes, where that is asked."""
        may_preempt = self.preemption or not scheduler.needs_preemption
        return may_preempt and (self.sizes is None or scheduler.takes_sizes)


class Figures(NamedTuple):
    """One row of a plan's table.

    ``seen``: the share of decisions whose label comes, before the last decision, while they are tracked. Means of
    weights are over decisions whose label comes by then. ``effective``: effective sample size as a share of unlimited
    tracking, (mean w)²/mean w²; ``error_factor``: how many times larger standard errors are, its inverse root
    (√(mean w²) where weights have mean 1); ``saturated``: the share of rounds refused for lack of room. Where rounds
    have sizes b, the mean of w² is Σ w²b²/Σ b²: it is about sums of labels as large as the sizes.
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
    in_time = comes_in_time(work.delays.values)
    while not policy.has_chances and not _is_known(runs, in_time, work, scheduler):
        done = sum(len(run.seeds) for run in runs)
        more = min(done, most - done)  # twice as many: the error falls by √2 a trial
        if more <= 0:
            break
        runs.append(work.replay(scheduler, capacity, range(done, done + more)))
    fates, horizon = np.concatenate([run.fates for run in runs]), runs[0].horizon
    if policy.has_chances:
        # P(seen) = chance · P(room) and E[w²] = P(room)/chance, so only the room is counted: few labels pass the
        # paper's rules, and their weights would have to be averaged over very many replays.
        chances = chances_of(scheduler, capacity, work.delays.values)[in_time]
        weight = 1.0 - float(runs[0].occupancy.full.mean())
        seen, moment, error = weight * float(chances.sum()) / horizon, weight * float(np.mean(1.0 / chances)), 0.0
    else:
        weight = float(np.concatenate([run.weights.mean for run in runs]).mean()) * horizon / int(in_time.sum())
        seen = float(fates[:, Fate.USED].mean()) / horizon
        moment, error = _second_moment(runs, in_time, work.sizes)
    effective = weight**2 / moment if moment > 0 else 0.0
    if work.sizes is not None and moment > 0:
        # On average what arrives adds up to all sizes, and the moment is at least 1; in few replays it may be less.
        effective = min(1.0, 1.0 / moment)
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


def by_quarter(policy: Policy, work: Workload, capacity: int) -> tuple[float, ...]:
    """Return the share that a policy sees in each quarter of the decisions, taken as a log of its own."""
    values = work.delays.values
    # The scheduler is that of the whole log, as it would be in the next one.
    fixed = policy._replace(scheduler=policy.make(Conditions.of(work.delays, capacity, saturation=TAIL)))
    ends = np.linspace(0, values.size, 5).astype(np.int64)
    seen = []
    for a, b in pairwise(ends):
        part = array(values[a:b])
        sizes = None if work.sizes is None else work.sizes[a:b]
        one = work._replace(delays=part, precision=inf, sizes=sizes)
        figures = measure(fixed._replace(is_offered=None), one, capacity) if comes_in_time(part.values).any() else None
        seen.append(0.0 if figures is None else figures.seen)
    return tuple(seen)


def _is_known(runs: list[Replay], in_time: NDArray[np.bool_], work: Workload, scheduler: Scheduler) -> bool:
    """Return whether weights are known well enough: their second moment and, where it must be 1, their mean."""
    if work.precision == inf:
        return True
    if _second_moment(runs, in_time, work.sizes)[1] > work.precision:
        return False
    if not scheduler.is_unbiased or work.sizes is not None or any(run.refused > 0 for run in runs):
        return True
    # Where few labels come the replays may agree because none of them has met a large weight.
    mean = float(np.mean([run.weights.mean.mean() for run in runs])) / float(in_time.mean())
    return abs(mean - 1.0) <= max(MEAN_ERROR, 5.0 * work.precision)


def _second_moment(runs: list[Replay], in_time: NDArray[np.bool_], sizes: Any) -> tuple[float, float]:
    """Return the mean square of the weights, and its relative standard error over the replays."""
    if sizes is None:
        found, share = [run.weights.second_moment for run in runs], in_time.mean()
    else:
        squares = np.square(sizes)
        found, share = [run.size_moments for run in runs], squares[in_time].sum() / squares.sum()
    moments = np.concatenate(found) / share
    mean = float(moments.mean())
    is_known = mean > 0 and moments.size > 1
    return mean, float(moments.std(ddof=1)) / sqrt(moments.size) / mean if is_known else 0.0


@dataclass(frozen=True)
class Backlog:
    """How many decisions wait for their feedback.

    Delays count in decisions, and in days where ``per_day`` is known; waiting ends with the last decision. ``curve``
    has the columns t, mean, peak: the backlog in up to 200 stretches, t the last decision of each. ``truncated``
    decisions had no feedback before the last one. ``windows`` is how many windows the log is long, None without one.
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
    windows: float | None = None

    @property
    def answered(self) -> float:
        """The share of decisions that had feedback before the last one."""
        return 1.0 - self.truncated / self.horizon

    @property
    def sentence(self) -> str:
        """Size, answers and peak."""
        return (
            f"{self.horizon:,} decisions, {self.horizon - self.truncated:,} of them ({self.answered:.1%}) answered "
            f"before the last; {self.mean_backlog:,.1f} waiting for feedback on average and {self.max_backlog:,} at "
            "most, counted at each decision."
        )

    @property
    def little(self) -> str:
        """Little's law: mean backlog = arrival rate × mean delay."""
        if self.per_day is None or self.mean_delay_days is None:
            return f"By rate (Little's law): 1 decision a round × {self.mean_delay:,.1f} rounds waited."
        waiting = self.per_day * self.mean_delay_days
        return (
            f"By rate (Little's law): {self.per_day:,.1f} decisions a day × {self.mean_delay_days:,.3g} days waited, "
            f"to the last decision at most, = {waiting:,.1f} waiting."
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may make the log a poor guide."""
        found = []
        if self.truncated > 0.05 * self.horizon:
            found.append(
                f"{self.truncated / self.horizon:.0%} of decisions had no feedback before the last one: these count as "
                "not seen, and their delays are counted up to the last decision"
            )
        if self.windows is not None:
            if self.windows < FULL_WINDOWS:
                found.append(
                    f"the log is {self.windows:.2g} windows long: the backlog is full after one and stays so, so plan "
                    f"from a record of {FULL_WINDOWS} windows or more"
                )
        elif self.mean_delay > 0.1 * self.horizon:
            found.append(
                f"the mean delay of {self.mean_delay:,.0f} decisions is long against {self.horizon:,} decisions in "
                "all: the backlog hardly had time to build up, and a longer record would need more slots"
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, for JSON."""
        points = [dict(zip(("t", "mean", "peak"), point, strict=True)) for point in self.curve]
        return {**asdict(self), "answered": self.answered, "curve": points, "little": self.little}


def describe(
    values: NDArray[np.int64], per_day: float | None, mean_delay_days: float | None, windows: float | None = None
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
        truncated=int(np.count_nonzero(~comes_in_time(values))),
        per_day=rate,
        mean_delay_days=mean_delay_days if mean_delay_days is not None or rate is None else mean / rate,
        curve=tuple((int(b), float(waiting[a:b].mean()), int(waiting[a:b].max())) for a, b in pairwise(ends)),
        windows=windows,
    )
