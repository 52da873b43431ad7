"""The proxy-delay family, and in it the paper's schedulers: Pareto, Bernoulli, DoublingBernoulli and Coin.

Round t draws one uniform U on (0, 1]. Its proxy delay is the largest age that survives,

    d'_t = max{age : survival_t(age) ≥ U},    −1 if there is none, inf if there is no largest,

so P(d'_t ≥ age) = survival_t(age). The round enters if d'_t ≥ 0 and there is room, is preempted at the start
of round t + d'_t + 1, and its feedback weighs 1/survival_t(d_t) (Algorithm 1 of the paper). The *scale* is one number
that the round takes along in its slot, from which its survival is known again on arrival.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import Flag, Positive, as_int, as_positive
from tarry.errors import ArgumentError
from tarry.kernel import KW_ONLY, register_methods, step, verb, verb_with_default
from tarry.kernel.heap import Heap, discard, make_heap, push, take_due
from tarry.schedulers import base
from tarry.theory import calibrated_probability, calibrated_safety
from tarry.theory.arguments import harmonic as harmonic_sum

NEVER = np.inf
EULER = 0.57721566490153286  # lim H_t − ln t
SUMMED = 256  # up to here H_t is a sum; beyond, four terms of its expansion are exact to rounding


class SurvivalState(NamedTuple):
    """State of the proxy-delay family."""

    heap: Heap  # slots with a finite proxy, by the round that preempts them
    scale: np.ndarray  # by slot
    series: np.ndarray  # H_n, n, and the magnitude that the epoch guesses


class Surviving(base.Scheduler):
    """Base of the proxy-delay family: a member answers ``scale_of``, ``chance`` and ``invert``."""

    announces_preemption = True
    grows = True
    recorded_draws = ("uniforms", "proxy_delays")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        register_methods(cls, (scale_of, chance, invert))

    def allocate(self, slots: int, capacity: int) -> SurvivalState:
        return SurvivalState(heap=make_heap(slots), scale=np.zeros(slots), series=np.array([0.0, 0.0, 1.0]))

    def renew(self, state: SurvivalState, magnitude: float) -> None:
        state.series[0] = 0.0
        state.series[1] = 0.0
        state.series[2] = magnitude

    def expired(self, state: SurvivalState, t: int, pending: int) -> int:
        return take_due(state.heap, t)

    def admit(self, state: SurvivalState, draws: base.DrawSource, request: base.Request) -> int:
        scale = scale_of(self, state, request)
        proxy = proxy_delay(draws, self, scale, request.t)
        if proxy < 0:
            return base.UNTRACKED
        slot = request.vacancy
        if slot < 0:
            return base.SATURATED
        state.scale[slot] = scale
        if proxy < NEVER:  # a round kept to arrival costs the heap nothing
            push(state.heap, slot, request.t + proxy + 1.0)
        return slot

    def arrive(self, state: SurvivalState, slot: int, s: int, t: int) -> float:
        if state.heap.place.size > 0:
            discard(state.heap, slot)
        return 1.0 / chance(self, state.scale[slot], s, t - s)


@verb_with_default
def scale_of(scheduler: Surviving, state: SurvivalState, request: base.Request) -> float:
    """Return the scale of the round that asks, once a round; 0 (the default) where the curve alone tells."""
    return 0.0


@verb
def chance(scheduler: Surviving, scale: float, s: int, age: int) -> float:
    """Return P(d'_s ≥ age) for a round of this scale."""


@verb
def invert(scheduler: Surviving, scale: float, t: int, u: float) -> float:
    """Return the largest age whose chance is at least u; -1 if there is none, NEVER if there is no largest."""


@verb
def proxy_delay(source: base.DrawSource, scheduler: Surviving, scale: float, t: int) -> float:
    """Return round t's proxy delay, drawn or read."""


@proxy_delay.on(base.Keyed, base.Sealed, base.RecordedUniforms)
def _drawn(source: base.DrawSource, scheduler: Surviving, scale: float, t: int) -> float:
    return invert(scheduler, scale, t, base.draw(source, t))


@proxy_delay.on(base.RecordedProxies)
def _recorded(source: base.RecordedProxies, scheduler: Surviving, scale: float, t: int) -> float:
    return source.values[t - 1]


@step
def next_harmonic(state: SurvivalState) -> float:
    """Return H_n for the n-th round this state is asked about."""
    # Counted here and not read off t: an epoch begins its own series.
    state.series[1] += 1.0
    state.series[0] += 1.0 / state.series[1]
    return state.series[0]


def harmonic(t: int) -> float:
    """Return H_t = 1 + 1/2 + … + 1/t in constant time and memory."""
    if t <= SUMMED:
        return harmonic_sum(t)
    return float(np.log(t) + EULER + 1 / (2 * t) - 1 / (12 * t**2) + 1 / (120 * t**4))


def as_capacity(capacity: int | None) -> int:
    """Return the capacity as the formulas read it: None is UNLIMITED."""
    return base.UNLIMITED if capacity is None else int(capacity)


class KeptToArrival(Surviving):
    """Base of members that draw once whether to track a round and then keep it: the scale is the chance itself."""

    def chance(self, scale: float, s: int, age: int) -> float:
        return scale

    def invert(self, scale: float, t: int, u: float) -> float:
        return NEVER if u <= scale else -1.0

    def expired(self, state: SurvivalState, t: int, pending: int) -> int:
        return -1

    def without_unused(self, state: SurvivalState, draws: base.DrawSource) -> SurvivalState:
        return state if isinstance(draws, base.RecordedProxies) else state._replace(heap=make_heap(0))


class Pareto(Surviving):
    """Proxy delays with the tail min{1, C/(safety · H_s · (age+1))}, H_s = 1 + … + 1/s.

    Needs no knowledge of delays; round s keeps its own H_s. With the paper's ``safety`` = 16 the set is
    full with probability at most e^(−C). Preempts. The corollary "Pareto scheduler" of the paper.

    >>> float(Pareto().survival(t=2, age=1, capacity=16))
    0.3333333333333333
    """

    safety: Positive = 16.0

    needs_preemption = True
    fits_anytime_rates = False  # its second moments carry the factor H_s, which no backlog bounds

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

    def scale_of(self, state: SurvivalState, request: base.Request) -> float:
        return request.capacity / (self.safety * next_harmonic(state))

    def chance(self, scale: float, s: int, age: int) -> float:
        return min(1.0, scale / (age + 1.0))

    def invert(self, scale: float, t: int, u: float) -> float:
        return np.floor(scale / u) - 1.0


class Bernoulli(KeptToArrival, init=False):
    """Track a round with probability p and keep it until its feedback arrives with weight 1/p.

    ``Bernoulli(max_backlog=σ)`` is the paper's rule p = min{1, C/(safety·(σ+1))}, which fills the set
    with probability at most e^(−C) for ``safety`` = 8; the rule is cautious, and p = 1 would be free where
    σ < C. ``Bernoulli(probability=p)`` takes any p in (0, 1]. Never preempts. The corollary "Bernoulli
    scheduler" of the paper.

    >>> float(Bernoulli(max_backlog=3).survival(t=1, age=0, capacity=16))
    0.5
    """

    max_backlog: int  # -1 where the probability is given
    probability: float  # -1 where the backlog is
    safety: float

    def __new__(cls, max_backlog: int | None = None, *, probability: float | None = None, safety: float = 8.0) -> Self:
        if (max_backlog is None) == (probability is None):
            problem = f"give max_backlog or probability, and not both, got {max_backlog} and {probability}"
            remedy = 'max_backlog=game.delays.max_backlog, in a sweep max_backlog = "game.max_backlog"'
            raise ValueError(f"{problem}: the backlog of a game is {remedy}")
        if probability is not None and not 0 < probability <= 1:
            raise ArgumentError("probability", "must lie in (0, 1]", probability)
        backlog = -1 if max_backlog is None else as_int(max_backlog, "max_backlog")
        p = -1.0 if probability is None else float(probability)
        return cls.make(backlog, p, as_positive(safety, "safety"))

    @classmethod
    def calibrated(cls, max_backlog: int, capacity: int, *, saturation: float = 1e-3) -> Self:
        """Return the largest p that keeps a full set below this probability, by the exact binomial tail (our own).

        >>> round(Bernoulli.calibrated(200, 16).probability, 4)
        0.0327
        """
        return cls(probability=calibrated_probability(max_backlog=max_backlog, capacity=capacity, target=saturation))

    def survival(self, t: int, age: ArrayLike, capacity: int | None) -> NDArray[np.float64]:
        p = self.probability
        if p < 0:
            p = min(1.0, as_capacity(capacity) / (self.safety * (self.max_backlog + 1)))
        return np.full(np.shape(age), p)

    def scale_of(self, state: SurvivalState, request: base.Request) -> float:
        if self.probability > 0:
            return self.probability
        return min(1.0, request.capacity / (self.safety * (self.max_backlog + 1.0)))


class DoublingBernoulli(KeptToArrival):
    """Toss a coin for each round, with a chance for the backlog that is guessed.

    p = min{1, C/(safety·2^j)} while the backlog stays below 2^j: the paper's Bernoulli rule for its doubling trick.

    To be used with ``Player(…, epochs=Doubling("backlog"))``, which tells it when the backlog outgrows the guess.
    The appendix "Doubling Trick over Maximum Backlog" of the paper. ``fit`` (not in the paper) takes p = 1 for as
    long as 2^j ≤ C: the set cannot fill then.
    """

    safety: Positive = 8.0
    _: KW_ONLY
    fit: Flag = False

    follows_epochs = ("backlog",)

    def scale_of(self, state: SurvivalState, request: base.Request) -> float:
        if self.fit and state.series[2] <= request.capacity:
            return 1.0
        return min(1.0, request.capacity / (self.safety * state.series[2]))


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

    def scale_of(self, state: SurvivalState, request: base.Request) -> float:
        wide = request.capacity / (self.safety * next_harmonic(state))
        return min(1.0, wide / (request.delay + 1.0))
