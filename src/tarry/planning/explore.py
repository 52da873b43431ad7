"""The same streams of late labels under several policies: what each would estimate, its bias and its spread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.checks import as_choice, as_int
from tarry.delays.base import Delays, array
from tarry.errors import ArgumentError
from tarry.game.replay import replay
from tarry.outcomes import Fate
from tarry.planning.policies import POLICIES, Conditions, Policy, find_policy

USUAL = ("VarOpt", "drop newest", "time out")
LEANS = ("slow", "quick", "neither")  # which labels are 1 more often
POINTS = 100  # of a curve
_LOW, _HIGH = 0.1, 0.5  # the chance of a 1 among the labels that lean least, and most


class Line(NamedTuple):
    """What one policy makes of the streams: its estimate of each one's mean label, and along the first one."""

    policy: str
    is_unbiased: bool
    mean: float
    bias: float  # the mean error over streams
    bias_error: float  # its standard error
    deviation: float  # of the errors, standard
    error: float  # root of the mean square, bias and deviation together
    seen: float
    fates: dict[str, float]  # shares of the decisions
    estimates: tuple[float, ...]
    curve: tuple[float | None, ...]


class Exploration(NamedTuple):
    """The truth of the first stream, at its end and along it, and what policies make of all of them."""

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
    draw: Callable[[int], tuple[Delays, NDArray[np.float64]]],
    *,
    capacity: int,
    policies: Iterable[str] = USUAL,
    patience: int | None = None,
    streams: int = 16,
) -> Exploration:
    """Replay streams under several policies, and estimate each stream's mean label from what was heard, weighted.

    ``draw`` makes the delays and labels of a stream by its number; all policies meet the same ones. The bias is the
    mean error over streams, and ``bias_error`` its standard error. ``patience`` is the number of decisions after which
    "time out" gives a label up; the mean delay unless given.

    >>> from tarry import delays
    >>> def draw(i):
    ...     waits = delays.geometric(horizon=300, mean=20, rng=i)
    ...     return waits, labels_of(waits, "slow", i)
    >>> found = explore(draw, capacity=8, streams=12)
    >>> [line.policy for line in found.lines if abs(line.bias) > 4 * line.bias_error]
    ['time out']
    """
    slots, count = as_int(capacity, "capacity", 1), as_int(streams, "streams", 2)
    drawn = [draw(i) for i in range(count)]
    for waits, labels in drawn:
        if np.shape(labels) != waits.values.shape:
            raise ArgumentError("labels", f"must be one for each of {waits.horizon} decisions", np.shape(labels))
    known = [policy for policy in POLICIES if policy.is_limited and policy.compared is not None]
    chosen = [find_policy(name, known) for name in policies]
    (waits, labels), *_ = drawn
    ends = np.unique(np.linspace(0, labels.size, min(POINTS, labels.size) + 1).astype(int)[1:])
    lines = tuple(_line(policy, drawn, slots, patience, ends) for policy in chosen)
    truths = tuple((np.cumsum(labels)[ends - 1] / ends).tolist())
    mean_delay, truth = float(waits.values.mean()), float(labels.mean())
    return Exploration(labels.size, slots, mean_delay, truth, tuple(ends.tolist()), truths, lines)


def _line(policy: Policy, drawn: list[Any], slots: int, patience: int | None, ends: NDArray[np.int64]) -> Line:
    estimates, errors, shares, fates = [], [], [], []
    curve: list[float] = []
    for i, (waits, labels) in enumerate(drawn):
        # As a list, so that the loop is compiled once per scheduler whatever the law.
        scheduler = policy.make(Conditions.of(waits, slots, patience=patience))
        run = replay(scheduler, array(waits.values), capacity=slots, seeds=[i], keep_rounds=True)
        heard = run.heard(i)
        with np.errstate(invalid="ignore"):  # where nothing was heard there is no estimate
            estimates.append(float(heard @ labels / heard.sum()))
            curve = curve or (np.cumsum(heard * labels)[ends - 1] / np.cumsum(heard)[ends - 1]).tolist()
        errors.append(estimates[-1] - float(labels.mean()))
        shares.append(float((heard > 0).mean()))
        fates.append(run.fates[0] / labels.size)
    spread = float(np.std(errors, ddof=1))
    return Line(
        policy=policy.name,
        is_unbiased=bool(scheduler.is_unbiased),
        mean=float(np.mean(estimates)),
        bias=float(np.mean(errors)),
        bias_error=spread / len(errors) ** 0.5,
        deviation=spread,
        error=float(np.sqrt(np.mean(np.square(errors)))),
        seen=float(np.mean(shares)),
        fates={fate.name.lower(): float(np.mean([one[fate] for one in fates])) for fate in Fate},
        estimates=tuple(estimates),
        curve=tuple(None if np.isnan(one) else one for one in curve),
    )
