"""One stream of late labels under several policies: what each would estimate, its bias and its spread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.checks import as_choice, as_int
from tarry.delays.base import Delays
from tarry.errors import ArgumentError
from tarry.game.replay import replay
from tarry.outcomes import Fate
from tarry.planning.policies import POLICIES, Conditions, find_policy

USUAL = ("VarOpt", "drop newest", "time out")
LEANS = ("slow", "quick", "neither")  # which labels are 1 more often
POINTS = 100  # of a curve
_LOW, _HIGH = 0.1, 0.5  # the chance of a 1 among the labels that lean least, and most


class Line(NamedTuple):
    """What one policy makes of the stream: estimates of the mean label, by seed, and along the stream by the first."""

    policy: str
    is_unbiased: bool
    mean: float
    bias: float
    deviation: float  # standard, over seeds
    error: float  # root of the mean square, bias and deviation together
    seen: float
    fates: dict[str, float]  # shares of the decisions
    estimates: tuple[float, ...]
    curve: tuple[float | None, ...]


class Exploration(NamedTuple):
    """The truth, at the end and along the stream, and what policies make of it."""

    horizon: int
    capacity: int
    mean_delay: float
    truth: float
    at: tuple[int, ...]
    truths: tuple[float, ...]
    lines: tuple[Line, ...]


def labels_of(delays: Delays, lean: str, seed: int) -> NDArray[np.float64]:
    """Return labels of 0 and 1, more often 1 where feedback is slow, where it is quick, or anywhere."""
    as_choice(lean, "lean", LEANS)
    values = delays.values
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable") / max(1, values.size - 1)
    share = {"slow": rank, "quick": 1.0 - rank, "neither": np.full(values.size, 0.5)}[lean]
    drawn = np.random.default_rng(seed).random(values.size) < _LOW + (_HIGH - _LOW) * share
    return drawn.astype(np.float64)


def explore(
    delays: Delays,
    labels: NDArray[np.float64],
    *,
    capacity: int,
    policies: Iterable[str] = USUAL,
    patience: int | None = None,
    seeds: int = 16,
) -> Exploration:
    """Replay delays under several policies, and estimate the mean label from what each has heard, weighted.

    ``patience`` is the number of decisions after which "time out" gives a label up; the mean delay unless given.

    >>> from tarry import delays
    >>> waits = delays.geometric(horizon=400, mean=20, rng=1)
    >>> found = explore(waits, labels_of(waits, "slow", 1), capacity=8, seeds=8)
    >>> [line.policy for line in found.lines if abs(line.bias) > 3 * line.deviation / 8**0.5]
    ['drop newest', 'time out']
    """
    labels = np.asarray(labels, float)
    if labels.shape != delays.values.shape:
        raise ArgumentError("labels", f"must be one for each of {delays.horizon} decisions", labels.shape)
    slots, count = as_int(capacity, "capacity", 1), as_int(seeds, "seeds", 1)
    given = Conditions.of(delays, slots, patience=patience)
    ends = np.unique(np.linspace(0, labels.size, min(POINTS, labels.size) + 1).astype(int)[1:])
    lines = []
    for name in policies:
        policy = find_policy(name, [one for one in POLICIES if one.is_limited and one.compared is not None])
        runs = count if policy.is_random else 1
        scheduler = policy.make(given)
        run = replay(scheduler, delays, capacity=slots, seeds=runs, keep_rounds=True)
        lines.append(_line(policy.name, scheduler.is_unbiased, run, labels, ends))
    sums = np.cumsum(labels)
    truths = tuple((sums[ends - 1] / ends).tolist())
    return Exploration(
        labels.size,
        slots,
        float(delays.values.mean()),
        float(labels.mean()),
        tuple(ends.tolist()),
        truths,
        tuple(lines),
    )


def _line(name: str, is_unbiased: bool, run: Any, labels: NDArray[np.float64], ends: NDArray[np.int64]) -> Line:
    heard = np.array([run.heard(seed) for seed in run.seeds])
    with np.errstate(invalid="ignore"):  # where nothing was heard there is no estimate
        estimates = heard @ labels / heard.sum(axis=1)
        curve = np.cumsum(heard[0] * labels)[ends - 1] / np.cumsum(heard[0])[ends - 1]
    truth, mean = float(labels.mean()), float(estimates.mean())
    fates = run.fates.mean(axis=0) / labels.size
    return Line(
        policy=name,
        is_unbiased=is_unbiased,
        mean=mean,
        bias=mean - truth,
        deviation=float(estimates.std(ddof=1)) if len(estimates) > 1 else 0.0,
        error=float(np.sqrt(np.mean((estimates - truth) ** 2))),
        seen=float((heard > 0).mean()),
        fates={fate.name.lower(): float(fates[fate]) for fate in Fate},
        estimates=tuple(estimates.tolist()),
        curve=tuple(None if np.isnan(one) else one for one in curve.tolist()),
    )
