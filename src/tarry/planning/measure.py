"""What one scheduler at one capacity makes of given delays."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry.game.replay import Replay, replay
from tarry.planning.policies import TAIL, Conditions, Policy

LARGEST_ERROR = 0.02
ROUNDS = 1 << 21


class Workload(NamedTuple):
    """Delays, their largest backlog, and how much replaying is wanted.

    At least ``seeds`` replays (fewer of a long log, never less than two); then more, up to ROUNDS rounds in all, until
    the second moment is known to a relative standard error of ``precision``.
    """

    delays: Any
    values: NDArray[np.int64]
    max_backlog: int
    preemption: bool
    seeds: int
    precision: float

    @property
    def horizon(self) -> int:
        return int(self.values.size)

    def conditions(self, capacity: int) -> Conditions:
        """Return what policies are made for at this capacity."""
        return Conditions.of(self.delays, capacity, saturation=TAIL)

    def first_seeds(self) -> int:
        """How many replays to begin with."""
        return min(self.seeds, max(2, ROUNDS // self.horizon))


class Figures(NamedTuple):
    """One row of a plan's table.

    ``effective``: effective sample size as a share of unlimited tracking, (mean w)²/mean w²; ``error_factor``: how
    many times larger standard errors are, its inverse root (√(mean w²) where weights have mean 1); ``saturated``:
    the share of rounds refused for lack of room.
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
    """The figures of a policy at a capacity; None where it has nothing to offer."""
    given = work.conditions(capacity)
    scheduler = policy.offer(given)
    if scheduler is None or (scheduler.needs_preemption and not work.preemption):
        return None
    first = work.first_seeds()
    runs = [_run(scheduler, work, capacity, 0, first)]
    if policy.survivals is not None:
        chances = policy.survivals(given, work.values)
        return _from_chances(policy.name, runs[0], capacity, chances)
    while _relative_error(runs) > work.precision:
        done = sum(len(run.seeds) for run in runs)
        more = min(done, ROUNDS // work.horizon - done)
        if more <= 0:
            break
        runs.append(_run(scheduler, work, capacity, done, more))
    return _from_replays(policy.name, runs, capacity, scheduler.is_unbiased)


def _run(scheduler: Any, work: Workload, capacity: int, start: int, count: int) -> Replay:
    seeds = range(start, start + count)
    return replay(scheduler, work.delays, capacity=capacity, preemption=work.preemption, seeds=seeds)


def _moments(runs: list[Replay]) -> NDArray[np.float64]:
    return np.concatenate([run.weights.second_moment for run in runs])


def _relative_error(runs: list[Replay]) -> float:
    moments = _moments(runs)
    mean = float(moments.mean())
    return float(moments.std(ddof=1)) / sqrt(moments.size) / mean if mean > 0 and moments.size > 1 else 0.0


def _from_replays(name: str, runs: list[Replay], capacity: int, is_unbiased: bool) -> Figures:
    fates = np.concatenate([run.fates for run in runs])
    weight = float(np.concatenate([run.weights.mean for run in runs]).mean())
    moment = float(_moments(runs).mean())
    return _figures(
        capacity=capacity,
        scheduler=name,
        is_unbiased=is_unbiased,
        seen=float(fates[:, 0].mean()) / runs[0].horizon,
        mean_weight=weight,
        second_moment=moment,
        second_moment_error=_relative_error(runs) * moment,
        saturated=float(fates[:, 2].mean()) / runs[0].horizon,
        replays=len(fates),
    )


def _from_chances(name: str, run: Replay, capacity: int, chances: NDArray[np.float64]) -> Figures:
    """P(seen) = chance · P(room) and E[w²] = P(room)/chance: only the room is counted.

    Few labels pass the paper's rules, so their weights would have to be averaged over very many replays.
    """
    room = 1.0 - float(run.occupancy.full.mean())
    return _figures(
        capacity=capacity,
        scheduler=name,
        is_unbiased=True,
        seen=room * float(chances.mean()),
        mean_weight=room,
        second_moment=room * float(np.mean(1.0 / chances)),
        second_moment_error=0.0,
        saturated=float(run.fates[:, 2].mean()) / run.horizon,
        replays=len(run.seeds),
    )


def _figures(**known: Any) -> Figures:
    weight, moment = known["mean_weight"], known["second_moment"]
    effective = weight**2 / moment if moment > 0 else 0.0
    return Figures(**known, effective=effective, error_factor=1.0 / sqrt(effective) if effective > 0 else inf)
