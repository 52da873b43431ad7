"""How many slots do I need? A plan: the backlog, what each capacity would see, and the smallest that is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tarry.checks import as_int, as_nonnegative, as_positive
from tarry.delays.base import Delays, array, backlog_of
from tarry.errors import ArgumentError
from tarry.game.problem import as_sizes, check_delays
from tarry.outcomes import counted, html_facts
from tarry.planning.measure import (
    LARGEST_ERROR,
    Backlog,
    Figures,
    Workload,
    by_quarter,
    comes_in_time,
    describe,
    measure,
)
from tarry.planning.policies import TAIL, Conditions, Policy, choose_policies

if TYPE_CHECKING:
    import polars as pl

LARGEST_SATURATION = 0.01  # of rounds: what a calibrated scheduler may refuse
ALL_BUT_EQUAL = 0.02  # of effective sample size: below what replays can tell apart
UNEVEN = 1.15  # times what another quarter sees: then a plan is no guide to the next log
DELAYS = 3  # on average: quarters no longer than so many say nothing of a trend
SHORT = 40  # decisions: of fewer a quarter says nothing
ROW_BYTES = 100  # of a pending row, where no log tells
MUCH_MEMORY = 1e9  # bytes: less is kept without a thought
AMPLE = 8  # slots for each round of the largest backlog: there also the paper's coin is 1

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
    left_out: tuple[str, ...] = ()  # schedulers that were named and take no sizes
    tried: Figures | None = None  # what the quarters were tried with: the choice, or the smallest capacity given
    quarters: tuple[float, ...] = ()  # the share seen in each quarter of the decisions, a log of its own
    row_bytes: float | None = None  # of a row of the log; None: ROW_BYTES is assumed

    @property
    def capacity(self) -> int | None:
        """The recommended capacity."""
        return None if self.choice is None else self.choice.capacity

    @property
    def keep_all(self) -> str:
        """The advice to keep every pending row, where that takes little memory; nothing where it does not."""
        size = self.backlog.max_backlog * (self.row_bytes or ROW_BYTES)
        if size > MUCH_MEMORY:
            return ""
        each = (
            f"{self.row_bytes:,.0f} bytes each, as in this log"
            if self.row_bytes
            else f"{ROW_BYTES} bytes each, assumed"
        )
        rows = counted(self.backlog.max_backlog, "pending row")
        megabytes = "under 1 MB" if size < 1e6 else f"about {few(size / 1e6)} MB"
        checks = " If each tracked decision costs a check, add --no-preemption (preemption=False)."
        return (
            f"{rows} ({each}) are {megabytes}: keep them all, you do not need Tarry, unless "
            f"a slot is more than memory, such as a reviewer's time.{checks if self.preemption else ''}"
        )

    @property
    def table(self) -> pl.DataFrame:
        """A row per capacity and scheduler; effective labels a day where decisions a day are known."""
        import polars as pl

        frame = pl.DataFrame(self.figures, schema=list(Figures._fields), orient="row")
        rate, labels = self.backlog.per_day, self.backlog.horizon - self.backlog.truncated
        daily = pl.col("effective") * (rate * self.backlog.answered) if rate else pl.lit(None, pl.Float64)
        return frame.with_columns(
            (pl.col("effective") * labels).alias("effective_sample_size"), daily.alias("effective_per_day")
        )

    @property
    def recommendation(self) -> str:
        """The answer in one sentence."""
        asked = f"an effective sample size of {self.target:.0%} of all labels"
        if self.choice is None:
            most = max(AMPLE * (self.backlog.max_backlog + 1), *(f.capacity for f in self.figures))
            way_out = f"nor would up to {most:,} slots, so allow other schedulers, or a lower target"
            if self.beyond is not None:
                way_out = (
                    f"it would take {self.beyond.capacity:,} slots with {self.beyond.scheduler}, or a lower target"
                )
            return f"No capacity tried reaches {asked} without bias: {way_out}."
        best, answered = self.choice, self.backlog.answered
        daily = self.daily(best)
        per_day = "" if daily is None else f" ({few(daily)} effective labels a day)"
        return (
            f"{best.capacity:,} slots with {best.scheduler} are enough: labels of {share(best.seen)} of decisions are "
            f"seen, where {share(answered)} are answered; they are worth {best.effective:.0%} of all labels{per_day}, "
            f"and standard errors grow {best.error_factor:.2f}-fold."
        )

    def daily(self, figures: Figures) -> float | None:
        """Return the effective labels a day, None where decisions a day are not known."""
        rate = self.backlog.per_day
        return None if rate is None else figures.effective * rate * self.backlog.answered

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the numbers."""
        found = list(self.backlog.warnings)
        # A quarter of a few delays has hardly an answer of its own.
        is_long = self.backlog.horizon > 4 * DELAYS * self.backlog.mean_delay
        if self.tried is not None and is_long and max(self.quarters) > UNEVEN * min(self.quarters):
            steps = np.diff(self.quarters)
            is_trend = bool(np.all(steps > 0) or np.all(steps < 0))
            what = "has a trend" if is_trend else "is uneven"
            seen = ", ".join(map(share, self.quarters))
            found.append(
                f"the log {what}: of its four quarters, each by itself, {self.tried.scheduler} with "
                f"{self.tried.capacity:,} slots sees {seen}, and what comes next may differ from this plan as much"
            )
        if self.left_out:
            left = ", ".join(self.left_out)
            found.append(f"left out: {left}; VarOpt alone takes sizes, so name no other, or leave sizes out")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, for JSON."""
        return {
            "backlog": self.backlog.to_dict(),
            "target": self.target,
            "preemption": self.preemption,
            "capacity": self.capacity,
            "scheduler": None if self.choice is None else self.choice.scheduler,
            "keep_all": self.keep_all or None,
            "row_bytes": self.row_bytes,
            "beyond": None if self.beyond is None else {n: getattr(self.beyond, n) for n in ("capacity", "scheduler")},
            "recommendation": self.recommendation,
            "warnings": list(self.warnings),
            "quarters": list(self.quarters),
            "table": self.table.to_dicts(),
        }

    def plot(self) -> Any:
        """The backlog over time, and effective sample size against slots (an Altair chart)."""
        from tarry.planning.chart import plan_chart

        return plan_chart(self)

    def __repr__(self) -> str:
        return f"Plan({' '.join(self._facts().values())})"

    def _repr_html_(self) -> str:
        return html_facts("Plan", self._facts())

    def _facts(self) -> dict[str, str]:
        facts = {"backlog": self.backlog.sentence, "all": self.keep_all, "recommendation": self.recommendation}
        return {name: fact for name, fact in facts.items() if fact}


def few(number: float) -> str:
    """Return a number as text: whole, but with two digits below 10."""
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.2g}"


def share(part: float) -> str:
    """Return a share as text: whole per cents, but with a digit more below 10."""
    return f"{part:.0%}" if part >= 0.0995 else f"{part:.1%}"


def plan(
    delays: Delays,
    *,
    per_day: float | None = None,
    capacities: Iterable[int] | None = None,
    schedulers: Iterable[str | Policy] | Mapping[str, Any] | None = None,
    target: float = 0.5,
    max_second_moment: float | None = None,
    preemption: bool = True,
    sizes: Any = None,
    seeds: int = 8,
    precision: float = LARGEST_ERROR,
    mean_delay_days: float | None = None,
    windows: float | None = None,
    row_bytes: float | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Replay delays at several capacities under several schedulers, and find the smallest capacity for a target.

    ``capacities``: powers of two below the largest backlog and one above it, unless given; the recommendation is then
    sought between them, or among those given. ``schedulers``: names (see ``POLICIES``), or a mapping from names to
    schedulers or functions of (max_backlog, capacity). ``target`` in (0, 1]: effective sample size as a share of
    unlimited tracking; ``max_second_moment`` y ≥ 1 of weights stands for ``target=1/y``. ``preemption=False`` leaves
    out schedulers that drop tracked rounds; ``sizes``, an array or a function of t, all but VarOpt. At least ``seeds``
    replays each, and more until second moments are known to ``precision``. ``windows`` says how many windows the record
    is long, where decisions are settled by one, and ``row_bytes`` how large a row is.

    >>> from tarry import delays
    >>> made = plan(delays.fixed(horizon=400, delay=20), target=0.5, schedulers=["VarOpt"], seeds=2, precision=1)
    >>> made.backlog.max_backlog, made.table.height >= 6, 8 <= made.capacity <= 14
    (20, True, True)
    """
    check_delays(delays, may_react=False)
    values = delays.values
    if not comes_in_time(values).any():
        raise ValueError(
            f"none of {values.size:,} decisions has feedback before the last one, so there is nothing to see: plan "
            "from a longer record, or with a shorter window"
        )
    windows = None if windows is None else as_nonnegative(windows, "windows")
    row_bytes = None if row_bytes is None else as_positive(row_bytes, "row_bytes")
    counts = (as_int(seeds, "seeds", 2), as_positive(precision, "precision"))
    # As a list, so that the loop is compiled once per scheduler whatever the model.
    listed = None if sizes is None else as_sizes(sizes, values.size)
    work = Workload(array(values), int(backlog_of(values).max()), preemption, *counts, listed)
    policies = choose_policies(schedulers, preemption=preemption)
    wanted = _share(target, max_second_moment)
    search = _Search(policies, work, wanted, progress if progress is not None else lambda text: None)
    grid = _grid(capacities, work.max_backlog)
    figures = [f for capacity in grid for f in search.row(policies, capacity)]
    if not figures:
        what = "these capacities without preemption: allow it, or give other schedulers"
        if listed is not None:
            what = "sizes, which VarOpt alone takes, with preemption: name it and allow that, or leave sizes out"
        raise ValueError(f"none of the schedulers can serve {what}")
    choice = search.smallest(figures)
    if choice is not None and capacities is None:
        choice = search.refine(choice, max((c for c in grid if c < choice.capacity), default=0))
        if choice.capacity not in grid:
            row = search.row(policies, choice.capacity)
            figures += [choice if f.scheduler == choice.scheduler else f for f in row]
            figures.sort(key=lambda f: f.capacity)
    beyond = None if choice is not None else search.beyond(grid[-1])
    backlog = describe(values, per_day, mean_delay_days, windows)
    served = {one.scheduler for one in figures}
    named = policies if schedulers is not None and listed is not None else []
    left_out = tuple(policy.name for policy in named if policy.name not in served)
    tried = choice if capacities is None and choice else next((one for one in figures if one.is_unbiased), None)
    quarters: tuple[float, ...] = ()
    if tried is not None and values.size >= SHORT:
        quarters = by_quarter(next(p for p in policies if p.name == tried.scheduler), work, tried.capacity)
    return Plan(
        backlog=backlog,
        target=wanted,
        preemption=preemption,
        figures=tuple(figures),
        choice=choice,
        beyond=beyond,
        left_out=left_out,
        tried=tried if quarters else None,
        quarters=quarters,
        row_bytes=row_bytes,
    )


def _share(target: float, max_second_moment: float | None) -> float:
    if max_second_moment is not None:
        if not (np.isfinite(max_second_moment) and max_second_moment >= 1):
            problem = "the second moment of weights with mean 1 is at least 1, so the limit must be"
            raise ValueError(f"{problem}, got {max_second_moment}")
        return 1.0 / float(max_second_moment)
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


class _Search(NamedTuple):
    """The search for the smallest capacity at which one of the policies reaches the target."""

    policies: list[Policy]
    work: Workload
    target: float
    say: Progress

    def row(self, policies: list[Policy], capacity: int) -> list[Figures]:
        """Return the figures of the policies that have something to offer at a capacity."""
        tried = (self._measure(policy, self.work, capacity) for policy in policies)
        return [figures for figures in tried if figures is not None]

    def _measure(self, policy: Policy, work: Workload, capacity: int) -> Figures | None:
        self.say(f"{policy.name}, {capacity:,} slots")
        return measure(policy, work, capacity)

    def is_enough(self, figures: Figures) -> bool:
        """Return whether the target is reached without bias, and hardly a round is refused."""
        # Weights are summed in floating point: all labels seen may read 1 - 1e-16.
        is_effective = figures.effective >= self.target - 1e-9
        return figures.is_unbiased and figures.saturated <= LARGEST_SATURATION and is_effective

    def smallest(self, figures: list[Figures]) -> Figures | None:
        """Return the best at the smallest capacity that is enough; where all but equal, the preferred scheduler."""
        enough = [f for f in figures if self.is_enough(f)]
        least = [f for f in enough if f.capacity == enough[0].capacity]
        best = max((f.effective for f in least), default=0.0)
        return next((f for f in least if f.effective >= (1.0 - ALL_BUT_EQUAL) * best), None)

    def refine(self, choice: Figures, below: int) -> Figures:
        """Bisect between a capacity that is enough and one below that is not; return the figures of the least."""
        # Neighbours differ little, so look closer.
        close = self.work._replace(seeds=4 * self.work.seeds, precision=self.work.precision / 8)
        policy = next(p for p in self.policies if p.name == choice.scheduler)
        while choice.capacity - below > 1:
            middle = (below + choice.capacity) // 2
            tried = self._measure(policy, close, middle)
            if tried is not None and self.is_enough(tried):
                choice = tried
            else:
                below = middle
        return choice

    def beyond(self, largest: int) -> Figures | None:
        """Return the figures of the smallest capacity above those tried that would be enough, None if none would."""
        peak, below = self.work.max_backlog, largest
        end = AMPLE * (peak + 1)
        while below < end:
            # One slot more than the peak is where most policies lose nothing: do not step over it.
            capacity = min(2 * below, end if below > peak else peak + 1)
            given = Conditions.of(self.work.delays, capacity, saturation=TAIL)
            able = [p for p in self.policies if getattr(p.offer(given), "is_unbiased", False)]
            choice = self.smallest(self.row(able, capacity))
            if choice is not None:
                return self.refine(choice, below)
            below = capacity
        return None
