"""Policies side by side on a log: the mean label that each believes, and how well a model does on its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import hypot, inf, isfinite, nan, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tarry.cases.log import CaseLog, Vector, case_log
from tarry.cases.measure import Heard, calibration, follow, losses, progress
from tarry.cases.models import GRIDS, make_model
from tarry.charts import CONFIDENCE, student
from tarry.checks import as_choice, as_int
from tarry.errors import ArgumentError
from tarry.outcomes import html_facts
from tarry.planning.columns import read_columns
from tarry.planning.policies import Policy, find_policy
from tarry.planning.sources import DROP, in_file
from tarry.times import AT_END_OF_WINDOW, OF_LABELS, RELEASES, find_times

if TYPE_CHECKING:
    import polars as pl

OURS, RIVAL, FREE = "VarOpt", "drop newest", "unlimited"
USUAL = (OURS, RIVAL, "drop oldest", "time out", FREE)
CLEAR = 2.0  # standard errors or deviations: a difference below may be chance
SLIGHT = 0.01  # of the loss: nobody would change a policy for less
SKIPPED = 10  # runs begin within the first so-manieth of a log
SHARE = 0.15  # of the mean backlog: slots, where none are said
SHORT = 10  # windows: on a log of fewer a burst is a good part of all rows
LEAST = 2  # slots that a share comes to: one alone holds whatever came last
TRIALS = 3  # further runs, which choose a model's step or penalty and are not reported

Runs = Sequence[tuple[CaseLog, Heard]]


class Spread(NamedTuple):
    """A figure over runs: its mean, and the standard deviation of one run (0 where runs do not differ)."""

    mean: float
    deviation: float
    runs: int

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """The spread of one value per run."""
        listed = np.asarray(values, dtype=np.float64)
        return cls(float(listed.mean()), float(listed.std(ddof=1)) if listed.size > 1 else 0.0, int(listed.size))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / sqrt(self.runs)

    @property
    def half(self) -> float:
        """Half the 95 % interval of the mean; infinite with one run."""
        return student(CONFIDENCE, self.runs - 1) * self.error if self.runs > 1 else inf


class Score(NamedTuple):
    """One policy, release and model on a log: a figure for each run where runs differ, else one.

    ``rows`` came out of the join, on average; ``believed`` is the mean label as they have it, ``losses`` the model's
    mean loss on settled decisions, each predicted with the rows before it, ``calibration`` its error by bins.
    ``setting`` is the model's step, penalty or learning rate over its default: the best of ``GRIDS`` in other runs.
    """

    model: str
    policy: str
    release: str
    slots: int | None
    rows: float
    believed: tuple[float, ...]
    losses: tuple[float, ...]
    calibration: float
    setting: float = 1.0

    @property
    def loss(self) -> Spread:
        return Spread.of(self.losses)

    @property
    def belief(self) -> Spread:
        return Spread.of(self.believed)

    def behind(self, other: Score) -> Spread:
        """Return by how much the loss is above another's, run by run."""
        return Spread.of(np.asarray(self.losses) - np.asarray(other.losses))


def compare(
    log: CaseLog,
    *,
    models: Sequence[str] = ("river",),
    capacity: int | float | str = SHARE,
    seeds: int = 20,
    policies: Iterable[str | Policy] = USUAL,
    releases: Iterable[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Stream a log through a join under each policy and release, teach each model, and score what it predicts.

    ``capacity`` is a number of slots, or a share of the decisions that wait on average under a release (0.15, "15%").
    Every policy runs once per seed, each run beginning the log a little later (within its first tenth): differences are
    paired, and intervals also hold the luck of policies that draw nothing. Three further runs choose the step or
    penalty of each policy's model. ``releases``: those the log allows, "arrival" and, with a window, "window".
    """
    runs, chosen = as_int(seeds, "seeds", 2), [p if isinstance(p, Policy) else find_policy(p) for p in policies]
    for name in models:
        make_model(name, log.is_binary)  # refuse before hours of work
    kinds = log.releases if releases is None else tuple(as_choice(one, "release", RELEASES) for one in releases)
    logs = begun_later(log, runs + TRIALS)
    scores = [
        score
        for release in kinds
        for policy in chosen
        for score in _scores(logs, policy, slots_of(log, release, capacity), release, models, tell)
    ]
    return Comparison(log, runs, tuple(models), tuple(scores))


def begun_later(log: CaseLog, runs: int) -> list[CaseLog]:
    """Return a log for each run, begun within its first tenth, and with half of its settled decisions at least.

    The last ``TRIALS`` of them choose settings.
    """
    most = min(log.size / SKIPPED, log.settled.sum() / 2)
    return [log.tail(int(i * most / runs)) for i in range(runs)]


def predictions(model: str, setting: float, runs: Runs) -> list[Vector]:
    """Return what a new model predicts in each run."""
    return [progress(log, heard, make_model(model, log.is_binary, setting)) for log, heard in runs]


def mean_losses(runs: Runs, said: list[Vector]) -> Vector:
    """Return the mean loss of each run's predictions."""
    return np.array([losses(log, one).mean() for (log, _), one in zip(runs, said, strict=True)])


def best_setting(model: str, trials: Runs) -> float:
    """Return the step, penalty or learning rate with the smallest loss in trials, over the model's default."""
    return min(GRIDS[model], key=lambda setting: mean_losses(trials, predictions(model, setting, trials)).mean())


def slots_of(log: CaseLog, release: str, capacity: int | float | str) -> int:
    """Return a number of slots, from one or from a share of the mean backlog.

    Raise ArgumentError for anything else.
    """
    given: Any = capacity
    try:
        if isinstance(given, str):
            given = float(given[:-1]) / 100.0 if given.endswith("%") else float(given)
        if 0.0 < given < 1.0:
            return max(LEAST, round(float(given) * log.mean_backlog(release)))
        if given == int(given) and given >= 1:
            return int(given)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError("capacity", "must be a number of slots, or a share of the mean backlog such as 15%", capacity)


def _scores(
    logs: list[CaseLog], policy: Policy, slots: int, release: str, models: Sequence[str], tell: Callable[[str], None]
) -> Iterator[Score]:
    tell(f"{policy.name}, {release}")
    # All policies meet the same beginnings, whether they draw or not: differences are paired.
    heard = [(log, follow(log, policy, slots, release, seed)) for seed, log in enumerate(logs)]
    runs, trials = heard[:-TRIALS], heard[-TRIALS:]
    rows = float(np.mean([one.rows.size for _, one in runs]))
    believed = tuple(one.believed for _, one in runs)
    for name in models:
        tell(f"{policy.name}, {release}, {name}")
        setting = best_setting(name, trials)
        said = predictions(name, setting, runs)
        lost = tuple(mean_losses(runs, said).tolist())
        off = float(np.mean([calibration(log, one) for (log, _), one in zip(runs, said, strict=True)]))
        limit = slots if policy.is_limited else None
        yield Score(name, policy.name, release, limit, rows, believed, lost, off, setting)


@dataclass(frozen=True, repr=False)
class Comparison:
    """What each policy makes of a log; ``recommendation`` says in words which to take there."""

    log: CaseLog
    seeds: int
    models: tuple[str, ...]
    scores: tuple[Score, ...]

    @property
    def logs(self) -> list[CaseLog]:
        """The log as each run begins it."""
        return begun_later(self.log, self.seeds + TRIALS)[: self.seeds]

    @property
    def truth(self) -> float:
        """The mean label of settled decisions, on average over the runs' beginnings."""
        return float(np.mean([one.truth[one.settled].mean() for one in self.logs]))

    @property
    def facts(self) -> str:
        """The log in a few sentences."""
        log = self.log
        waiting = " and ".join(f"{log.mean_backlog(one):,.1f} ({one} release)" for one in log.releases)
        span = "" if log.window is None else f" The log is {self.windows:,.1f} windows long."
        features = f" Features: {', '.join(log.names) or 'none'}." if log.names or log.left_out else ""
        if log.left_out:
            features += f" Left out, since they name rows or hold lists: {', '.join(log.left_out)}."
        labels = log.truth[log.settled]
        return (
            f"{log.size:,} decisions, {labels.size:,} of them settled by the end of the log, with a mean label of "
            f"{labels.mean():.4g}, a constant prediction of which has the loss {self.constant:.4g}; waiting "
            f"on average {waiting}.{span}{features}"
        )

    @property
    def constant(self) -> float:
        """The loss of predicting the mean label of settled decisions, which is known at the end only."""
        return float(
            np.mean([losses(one, np.full(one.size, one.truth[one.settled].mean())).mean() for one in self.logs])
        )

    @property
    def windows(self) -> float:
        """How many windows fit into the log; NaN where decisions have none."""
        log = self.log
        return nan if log.window is None else float(log.decided[-1] - log.decided[0]) / log.window

    def find(self, model: str, policy: str, release: str) -> Score | None:
        """Return one score; None where it was not asked for."""
        wanted = (model, policy, release)
        return next((one for one in self.scores if (one.model, one.policy, one.release) == wanted), None)

    @property
    def table(self) -> pl.DataFrame:
        """A row for each model, release and policy; ``behind`` is the loss above drop newest's, with its interval."""
        import polars as pl

        rows = []
        for one in self.scores:
            rival = self.find(one.model, RIVAL, one.release)
            behind = None if rival is None or one.policy == RIVAL else one.behind(rival)
            rows.append(
                {
                    "model": one.model,
                    "release": one.release,
                    "policy": one.policy,
                    "slots": one.slots,
                    "rows": one.rows,
                    "believed": one.belief.mean,
                    "believed_deviation": one.belief.deviation,
                    "loss": one.loss.mean,
                    "loss_error": one.loss.error,
                    "behind": None if behind is None else behind.mean,
                    "behind_half": None if behind is None or behind.runs < 2 else behind.half,
                    "calibration": one.calibration,
                    "setting": one.setting,
                }
            )
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def recommendation(self) -> str:
        """Which policy to take on this log, for each model and for the mean label."""
        return " ".join(self.advice)

    @property
    def advice(self) -> list[str]:
        """The recommendation in parts: one for each model, one for the mean label, and whom to ask for slots."""
        slots = "How many slots a share of all labels takes, tarry plan tells."
        return [*(self._for_model(name) for name in self.models), self._for_rate(), slots]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, for JSON; None where a number is not finite."""
        table = [
            {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in row.items()}
            for row in self.table.iter_rows(named=True)
        ]
        said = {"facts": self.facts, "truth": self.truth, "seeds": self.seeds, "recommendation": self.recommendation}
        return {**said, "features": self.log.names, "left_out": self.log.left_out, "table": table}

    def __repr__(self) -> str:
        return f"Comparison({self.facts} {self.recommendation})"

    def _repr_html_(self) -> str:
        return html_facts("Comparison", {"log": self.facts, "recommendation": self.recommendation})

    def _best(self, model: str, policies: Iterable[str]) -> Score | None:
        named = set(policies)
        found = [one for one in self.scores if one.model == model and one.policy in named and one.rows > 0]
        return min(found, key=lambda one: one.loss.mean, default=None)

    def _for_model(self, model: str) -> str:
        """Say which policy the model does best with, and whether that may be chance."""
        others = {one.policy for one in self.scores if one.slots is not None} - {OURS}
        ours, rival = self._best(model, [OURS]), self._best(model, others)
        if ours is None or rival is None:
            return f"For {model} there is nothing to choose: fewer than two limited policies gave rows."
        by = ours.behind(rival)
        share = by.mean / rival.loss.mean
        mine, theirs = (f"{one.policy} with release={one.release!r}" for one in (ours, rival))
        figures = f"{ours.loss.mean:.4f} against {rival.loss.mean:.4f}, {share:+.1%} ± {by.half / rival.loss.mean:.1%}"
        if abs(by.mean) <= max(by.half, SLIGHT * rival.loss.mean):
            return f"For {model} take {mine}: its loss is level with that of {theirs} ({figures}).{self._cost(ours)}"
        if by.mean < 0:
            told = f"For {model} take {mine}: its loss is below that of {theirs} ({figures})."
            return f"{told}{self._cost(ours)}"
        told = f"For {model} take {theirs}: the loss of {mine} is above it ({figures})."
        return f"{told}{self._cost(rival)}{self._why(ours, rival)}"

    def _cost(self, taken: Score) -> str:
        """Say what the limit costs the model under the policy that it is to take."""
        free = self.find(taken.model, FREE, taken.release)
        if free is None:
            return ""
        by, whole = taken.behind(free), free.loss.mean
        reach = f" ± {by.half / whole:.1%}" if by.runs > 1 else ""
        told = f" Against no limit ({whole:.4f}) {taken.policy} costs it {by.mean / whole:+.1%}{reach} of loss."
        if min(whole, taken.loss.mean) < self.constant:
            return told
        first = "½" if self.log.is_binary else "0"
        return (
            f"{told} Neither is better than a constant, the mean label ({self.constant:.4f}): a model begins with "
            f"{first} and learns from its first rows on, so look for better features or a longer log first."
        )

    def _why(self, ours: Score, rival: Score) -> str:
        if rival.release != ours.release:
            return ""
        free = self.find(ours.model, FREE, ours.release)
        if free is not None and free.loss.mean > rival.loss.mean:
            return (
                f" It is below that of unlimited tracking too ({free.loss.mean:.4f}), so more labels do not help this "
                "model here: what has come out so far may lean to quick outcomes (docs/cases.md)."
            )
        if rival.policy != RIVAL or rival.rows <= ours.rows:
            return ""
        is_short = self.windows < SHORT  # not where there are none
        length = f", the more so on a log of only {self.windows:,.1f} windows" if is_short else ""
        return (
            f" Drop newest has heard {rival.rows:,.0f} rows against {ours.rows:,.0f}: it takes decisions in bursts and "
            f"gives no slot up. That pays where labels have nothing to do with how busy it is{length} (docs/cases.md)."
        )

    def _for_rate(self) -> str:
        """Say whose mean label to report: VarOpt's, held to the end of windows, unless another is nearer beyond chance.

        On one log any policy may be near by chance, and runs do not tell: those that do not draw are alike. So another
        has to be nearer even if chance has hidden two of its standard deviations, as they are of so many rows.
        """
        first = [one for one in self.scores if one.model == self.models[0] and one.slots is not None and one.rows > 0]
        heard = [one for one in first if isfinite(one.belief.mean)]
        if not heard:
            return "No limited policy gave rows in every run: take more slots."
        spread = float(self.log.truth[self.log.settled].std())
        noise = {one: max(one.belief.deviation, spread / sqrt(one.rows)) for one in heard}
        off = {one: abs(one.belief.mean - self.truth) for one in heard}
        errors = {one: hypot(off[one], noise[one]) for one in heard}
        at_worst = {one: off[one] + CLEAR * noise[one] for one in heard}
        nearest = min(heard, key=lambda one: errors[one])
        ours = (one for one in heard if one.policy == OURS)
        # At arrival quick outcomes lead.
        taken = max(ours, key=lambda one: one.release == AT_END_OF_WINDOW, default=nearest)
        surest = min(heard, key=lambda one: at_worst[one])
        if at_worst[surest] < errors[taken]:
            taken = nearest = surest
        level = ""
        if nearest is not taken:
            level = f" level with {nearest.policy} with release={nearest.release!r}, nearer by no more than chance;"
        told = [taken, nearest, *(one for one in heard if one.release == taken.release and one.policy in (OURS, RIVAL))]
        shown = ", ".join(
            f"{one.policy} {one.belief.mean:.4g}" + (f" ({one.release})" if one.release != taken.release else "")
            for one in dict.fromkeys(told)
        )
        return (
            f"To report the mean label ({self.truth:.4g}) take {taken.policy} with release={taken.release!r}:{level} "
            f"believed are {shown}, and a single run of {taken.policy} errs by about {errors[taken]:.2g}."
        )


def compare_log(
    source: Any,
    *,
    decided: str | None = None,
    labelled: str | None = None,
    label: str,
    features: Sequence[str] | None = None,
    id: str | None = None,
    window: Any = None,
    missing: Any = None,
    day_first: bool | None = None,
    **options: Any,
) -> Comparison:
    """Compare policies on one's own log, a CSV or Parquet file or a frame; ``options`` are those of :func:`compare`.

    Columns of moments are found by usual names unless they are given; ``features``, ``id``, ``window`` and ``missing``
    are those of :func:`case_log`. ``day_first`` tells 9/1/2024 from 1/9/2024 where no day of the log does.
    """
    import polars as pl

    if isinstance(source, (str, Path)):
        path = Path(source)
        frame, start, end = read_columns(path, decided, labelled, day_first, also=None, roles=OF_LABELS, label=label)
    else:
        frame = source if isinstance(source, pl.DataFrame) else pl.DataFrame(source)
        start, end = find_times(frame.columns, decided, labelled, OF_LABELS, label)
    said: dict[str, Any] = {"features": features, "id": id, "window": window, "missing": missing}
    try:
        log = case_log(frame, decided=start, labelled=end, label=label, **said)
    except ArgumentError:
        raise
    except ValueError as error:
        if not isinstance(source, (str, Path)):
            raise
        kept = frame[end].is_not_null().arg_true() if window is None and missing == DROP else None
        raise ValueError(in_file(str(error), source, kept)) from error
    return compare(log, **options)
