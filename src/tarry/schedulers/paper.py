"""The paper's schedulers: Pareto, Bernoulli, Bernoulli on a guess of the backlog, and the clairvoyant coin."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import Flag, Positive, as_int, as_positive
from tarry.errors import ArgumentError
from tarry.kernel import KW_ONLY
from tarry.schedulers.base import Request, as_capacity
from tarry.schedulers.survival import (
    KeptToArrival,
    SurvivalState,
    Surviving,
    chance,
    harmonic,
    invert,
    next_harmonic,
    scale_of,
)
from tarry.theory import calibrated_probability, calibrated_safety


class Pareto(Surviving):
    """Proxy delays with the tail min{1, C/(safety · H_s · (age+1))}, H_s = 1 + … + 1/s.

    Needs no knowledge of delays; round s keeps its own H_s. With the paper's ``safety`` = 16 the set is
    full with probability at most e^(−C). Preempts. The corollary "Pareto scheduler" of the paper.

    >>> float(Pareto().survival(t=2, age=1, capacity=16))
    0.3333333333333333
    """

    safety: Positive = 16.0

    needs_preemption = True
    fits_anytime_rates = False

    @classmethod
    def calibrated(cls, capacity: int, *, saturation: float = 1e-3) -> Self:
        """Return the smallest safety that keeps a full set below this probability for all delays (not the paper's).

        >>> round(Pareto.calibrated(16).safety, 2)
        3.06
        """
        return cls(calibrated_safety(capacity=capacity, target=saturation))

    def survival(self, t: int, age: ArrayLike, capacity: int | None) -> NDArray[np.float64]:
        """Return P(d'_t ≥ age): the chance that round t is still tracked at this age, given room."""
        scale = as_capacity(capacity) / (self.safety * harmonic(t))
        return np.minimum(1.0, scale / (np.asarray(age, dtype=np.float64) + 1.0))


@scale_of.on(Pareto)
def _scale_of_pareto(scheduler: Pareto, state: SurvivalState, request: Request) -> float:
    return request.capacity / (scheduler.safety * next_harmonic(state))


@chance.on(Pareto)
def _chance(scheduler: Pareto, scale: float, s: int, age: int) -> float:
    return min(1.0, scale / (age + 1.0))


@invert.on(Pareto)
def _invert(scheduler: Pareto, scale: float, t: int, u: float) -> float:
    return np.floor(scale / u) - 1.0


class Bernoulli(KeptToArrival, init=False):
    """Track a round with probability p and keep it until its feedback arrives with weight 1/p.

    ``Bernoulli(max_backlog=σ)`` is the paper's rule p = min{1, C/(safety·(σ+1))}, which fills the set
    with probability at most e^(−C) for ``safety`` = 8; it is cautious, and p = 1 would be free where
    σ < C. ``Bernoulli(probability=p)`` takes any p in (0, 1]. Never preempts. The corollary "Bernoulli
    scheduler" of the paper. The field not given reads -1.

    >>> float(Bernoulli(max_backlog=3).survival(t=1, age=0, capacity=16))
    0.5
    """

    max_backlog: int
    probability: float
    safety: float

    def __new__(cls, max_backlog: int | None = None, *, probability: float | None = None, safety: float = 8.0) -> Self:
        if (max_backlog is None) == (probability is None):
            raise ValueError(f"give max_backlog or probability, and not both, got {max_backlog} and {probability}")
        if probability is not None and not 0 < probability <= 1:
            raise ArgumentError("probability", "must lie in (0, 1]", probability)
        return cls.make(
            -1 if max_backlog is None else as_int(max_backlog, "max_backlog"),
            -1.0 if probability is None else float(probability),
            as_positive(safety, "safety"),
        )

    @classmethod
    def calibrated(cls, max_backlog: int, capacity: int, *, saturation: float = 1e-3) -> Self:
        """Return the largest p that keeps a full set below this probability, by the exact binomial tail (our own).

        >>> round(Bernoulli.calibrated(200, 16).probability, 4)
        0.0327
        """
        p = calibrated_probability(max_backlog=max_backlog, capacity=capacity, target=saturation)
        return cls(probability=p)

    def survival(self, t: int, age: ArrayLike, capacity: int | None) -> NDArray[np.float64]:
        """Return P(d'_t ≥ age) = p at every age."""
        p = self.probability
        if p < 0:
            p = min(1.0, as_capacity(capacity) / (self.safety * (self.max_backlog + 1)))
        return np.full(np.shape(age), p)


@scale_of.on(Bernoulli)
def _scale_of_bernoulli(scheduler: Bernoulli, state: SurvivalState, request: Request) -> float:
    if scheduler.probability > 0:
        return scheduler.probability
    return min(1.0, request.capacity / (scheduler.safety * (scheduler.max_backlog + 1.0)))


class DoublingBernoulli(KeptToArrival):
    """p = min{1, C/(safety·2^j)} while the backlog stays below 2^j: the paper's Bernoulli rule for its doubling trick.

    To be used with ``Player(…, epochs=Doubling("backlog"))``, which tells it when the backlog outgrows the guess.
    The appendix "Doubling Trick over Maximum Backlog" of the paper. ``fit`` (not in the paper) takes p = 1 for as
    long as 2^j ≤ C: the set cannot fill then.

    >>> DoublingBernoulli()
    DoublingBernoulli(safety=8, fit=False)
    """

    safety: Positive = 8.0
    _: KW_ONLY
    fit: Flag = False

    follows_epochs = ("backlog",)


@scale_of.on(DoublingBernoulli)
def _scale_of_guess(scheduler: DoublingBernoulli, state: SurvivalState, request: Request) -> float:
    if scheduler.fit and state.series[2] <= request.capacity:
        return 1.0
    return min(1.0, request.capacity / (scheduler.safety * state.series[2]))


class Coin(KeptToArrival):
    """Track round t with probability p_t = min{1, C/(safety · H_t · (d_t+1))} and keep it to arrival.

    Sees each delay when its round begins (clairvoyant), never preempts; weight 1/p_t. The moments of
    :class:`Pareto` without preemption: the corollary of the paper's appendix "Non-Preemptive Framework".

    >>> float(Coin().survival(t=2, delay=1, capacity=16))
    0.3333333333333333
    """

    safety: Positive = 16.0

    needs_delays = True

    def survival(self, t: int, delay: ArrayLike, capacity: int | None) -> NDArray[np.float64]:
        """Return P(d'_t ≥ age) = p_t at every age, for a round with this delay."""
        scale = as_capacity(capacity) / (self.safety * harmonic(t))
        return np.minimum(1.0, scale / (np.asarray(delay, dtype=np.float64) + 1.0))


@scale_of.on(Coin)
def _scale_of_coin(scheduler: Coin, state: SurvivalState, request: Request) -> float:
    wide = request.capacity / (scheduler.safety * next_harmonic(state))
    return min(1.0, wide / (request.delay + 1.0))
