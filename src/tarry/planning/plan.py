"""How many slots do I need? A plan: the backlog, what each capacity would see, and the smallest that is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tarry.checks import as_int, as_positive
from tarry.delays.base import array, backlog_of
from tarry.errors import ArgumentError
from tarry.outcomes import html_facts
from tarry.planning.measure import LARGEST_ERROR, Backlog, Figures, Workload, describe, measure
from tarry.planning.policies import Policy, choose_policies

if TYPE_CHECKING:
    import polars as pl

LARGEST_SATURATION = 0.01  # of rounds: what a calibrated scheduler may refuse
ALL_BUT_EQUAL = 0.02  # of effective sample size: below what replays can tell apart

Progress = Callable[[str], None]


@dataclass(frozen=True, repr=False)
class Plan:
    """What to expect of a tracking set, by capacity and scheduler.

    ``target`` is the effective sample size asked for, as a share of unlimited tracking; ``choice`` the figures of the
    smallest capacity that reaches it without bias, None if no capacity tried does; ``beyond`` are then those of the
    smallest larger capacity that would (None again if none would).
    """

    backlog: Backlog
    target: float
    preemption: bool
    figures: tuple[Figures, ...]
    choice: Figures | None
    beyond: Figures | None = None

    @property
    def capacity(self) -> int | None:
        """The recommended capacity."""
        return None if self.choice is None else self.choice.capacity

    @property
    def table(self) -> pl.DataFrame:
        """A row per capacity and scheduler; effective labels a day where decisions a day are known."""
        import polars as pl

        frame = pl.DataFrame(self.figures, schema=list(Figures._fields), orient="row")
        rate = self.backlog.per_day
        return frame.with_columns(
            (pl.col("effective") * self.backlog.horizon).alias("effective_sample_size"),
            (pl.col("effective") * rate if rate else pl.lit(None, pl.Float64)).alias("effective_per_day"),
        )

    @property
    def recommendation(self) -> str:
        """The answer in one sentence."""
        asked = f"an effective sample size of {self.target:.0%} of all labels"
        if self.choice is None:
            return f"No capacity tried reaches {asked} without bias: {self._way_out}."
        best, rate = self.choice, self.backlog.per_day
        daily = f" ({best.effective * rate:,.0f} effective labels a day)" if rate else ""
        return (
            f"{best.capacity:,} slots with {best.scheduler} are enough: {best.seen:.0%} of labels are seen, they are "
            f"worth {best.effective:.0%} of all of them{daily}, and standard errors grow {best.error_factor:.2f}-fold."
        )

    @property
    def _way_out(self) -> str:
        if self.beyond is None:
            most = max(_ample(self.backlog.max_backlog), *(f.capacity for f in self.figures))
            return f"nor would up to {most:,} slots, so allow other schedulers, or a lower target"
        return f"it would take {self.beyond.capacity:,} slots with {self.beyond.scheduler}, or a lower target"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the numbers."""
        return self.backlog.warnings

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, for JSON."""
        return {
            "backlog": self.backlog.to_dict(),
            "target": self.target,
            "preemption": self.preemption,
            "capacity": self.capacity,
            "scheduler": None if self.choice is None else self.choice.scheduler,
            "beyond": None if self.beyond is None else {n: getattr(self.beyond, n) for n in ("capacity", "scheduler")},
            "recommendation": self.recommendation,
            "warnings": list(self.warnings),
            "table": self.table.to_dicts(),
        }

    def plot(self) -> Any:
        """The backlog over time, and effective sample size against slots (an Altair chart)."""
        from tarry.planning.chart import plan_chart

        return plan_chart(self)

    def __repr__(self) -> str:
        return f"Plan({self.backlog.sentence} {self.recommendation})"

    def _repr_html_(self) -> str:
        return html_facts("Plan", {"backlog": self.backlog.sentence, "recommendation": self.recommendation})


def plan(
    delays: Any,
    *,
    per_day: float | None = None,
    capacities: Iterable[int] | None = None,
    schedulers: Iterable[str] | Mapping[str, Any] | None = None,
    target: float = 0.5,
    preemption: bool = True,
    seeds: int = 8,
    precision: float = LARGEST_ERROR,
    mean_delay_days: float | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Replay delays at several capacities under several schedulers, and find the smallest capacity for a target.

    ``capacities``: powers of two below the largest backlog and one above it, unless given; the recommendation is then
    sought between them, or among those given. ``schedulers``: names (see ``POLICIES``), or a mapping from names to
    schedulers or functions of (max_backlog, capacity). ``target`` in (0, 1]: effective sample size as a share of
    unlimited tracking; a second moment of at most y is ``target=1/y``. ``preemption=False`` leaves out schedulers that
    drop tracked rounds. At least ``seeds`` replays each, and more until second moments are known to ``precision``.

    >>> from tarry import delays
    >>> made = plan(delays.fixed(horizon=400, delay=20), target=0.5, schedulers=["VarOpt"], seeds=2, precision=1)
    >>> made.backlog.max_backlog, made.table.height >= 6, 8 <= made.capacity <= 14
    (20, True, True)
    """
    work = _workload(delays, preemption, seeds, precision)
    policies = choose_policies(schedulers, preemption=preemption)
    wanted = _share(target)
    say = progress if progress is not None else lambda text: None
    grid = _grid(capacities, work.max_backlog)
    figures = [f for capacity in grid for f in _row(policies, work, capacity, say)]
    if not figures:
        raise ValueError("none of the schedulers can serve these capacities without preemption: allow it, or others")
    choice = _smallest(figures, wanted)
    if choice is not None and capacities is None:
        choice = _refine(choice, grid, policies, work, wanted, say)
        if choice.capacity not in grid:
            row = _row(policies, work, choice.capacity, say)
            figures += [choice if f.scheduler == choice.scheduler else f for f in row]
            figures.sort(key=lambda f: f.capacity)
    beyond = None if choice is not None else _beyond(grid[-1], policies, work, wanted, say)
    backlog = describe(work.values, per_day, mean_delay_days, int(getattr(delays, "truncated", 0)))
    return Plan(backlog, wanted, preemption, tuple(figures), choice, beyond)


def _workload(delays: Any, preemption: bool, seeds: int, precision: float) -> Workload:
    if not hasattr(delays, "horizon"):
        raise TypeError("delays must be made by tarry.delays, for example tarry.delays.array(values)")
    values = delays.values
    peak = int(backlog_of(values).max())
    # As a list, so that the loop is compiled once per scheduler whatever the model.
    return Workload(
        array(values), values, peak, preemption, as_int(seeds, "seeds", 2), as_positive(precision, "precision")
    )


def _share(target: float) -> float:
    if not 0 < target <= 1:
        raise ArgumentError("target", "must be a share in (0, 1] of the effective sample size of all labels", target)
    return float(target)


def _grid(capacities: Iterable[int] | None, peak: int) -> list[int]:
    if capacities is None:
        return [2**i for i in range(peak.bit_length()) if 2**i <= peak] + [peak + 1]
    grid = sorted({as_int(c, "capacity", 1) for c in capacities})
    if not grid:
        raise ValueError("capacities is empty: leave it out to try powers of two up to the largest backlog")
    return grid


def _row(policies: list[Policy], work: Workload, capacity: int, say: Progress) -> list[Figures]:
    found = []
    for policy in policies:
        say(f"{policy.name}, {capacity:,} slots")
        figures = measure(policy, work, capacity)
        if figures is not None:
            found.append(figures)
    return found


def _is_enough(figures: Figures, target: float) -> bool:
    # Weights are summed in floating point: all labels seen may read 1 - 1e-16.
    return figures.is_unbiased and figures.saturated <= LARGEST_SATURATION and figures.effective >= target - 1e-9


def _smallest(figures: list[Figures], target: float) -> Figures | None:
    """At the smallest capacity that is enough the best; schedulers stand in order of preference where all but equal."""
    enough = [f for f in figures if _is_enough(f, target)]
    least = [f for f in enough if f.capacity == enough[0].capacity]
    best = max((f.effective for f in least), default=0.0)
    return next((f for f in least if f.effective >= (1.0 - ALL_BUT_EQUAL) * best), None)


def _refine(
    choice: Figures, grid: list[int], policies: list[Policy], work: Workload, target: float, say: Progress
) -> Figures:
    """Bisect between the capacity that is enough and the one tried below it."""
    # Neighbours differ little, so look closer.
    close = work._replace(seeds=4 * work.seeds, precision=work.precision / 8)
    policy = next(p for p in policies if p.name == choice.scheduler)
    below = max((c for c in grid if c < choice.capacity), default=0)
    while choice.capacity - below > 1:
        middle = (below + choice.capacity) // 2
        say(f"{policy.name}, {middle:,} slots")
        tried = measure(policy, close, middle)
        if tried is not None and _is_enough(tried, target):
            choice = tried
        else:
            below = middle
    return choice


def _ample(max_backlog: int) -> int:
    """The capacity at which also the paper's coin is 1."""
    return 8 * (max_backlog + 1)


def _beyond(largest: int, policies: list[Policy], work: Workload, target: float, say: Progress) -> Figures | None:
    """The smallest capacity above those tried that would be enough."""
    end, below = _ample(work.max_backlog), largest
    while below < end:
        capacity = min(2 * below, end if below > work.max_backlog else work.max_backlog + 1)
        able = [p for p in policies if getattr(p.offer(work.conditions(capacity)), "is_unbiased", False)]
        choice = _smallest(_row(able, work, capacity, say), target)
        if choice is not None:
            return _refine(choice, [below], policies, work, target, say)
        below = capacity
    return None


def second_moment_target(limit: float) -> float:
    """The target at which weights of mean 1 have a second moment of at most ``limit`` ≥ 1.

    >>> second_moment_target(4)
    0.25
    """
    if not (np.isfinite(limit) and limit >= 1):
        raise ValueError(f"the second moment of weights with mean 1 is at least 1, so the limit must be, got {limit}")
    return 1.0 / float(limit)
