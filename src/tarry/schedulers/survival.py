"""The proxy-delay family: how long a round may wait is drawn once, when it asks for a slot.

Round t draws one uniform U on (0, 1]. Its proxy delay is the largest age that survives,

    d'_t = max{age : survival_t(age) ≥ U},    −1 if there is none, inf if there is no largest,

so P(d'_t ≥ age) = survival_t(age). It enters if d'_t ≥ 0 and there is room, is preempted at the start
of round t + d'_t + 1, and its feedback weighs 1/survival_t(d_t) (Algorithm 1 of the paper).

A member inherits :class:`Surviving` and answers three verbs; the *scale* is one number that the round
takes along in its slot, whatever the member needs to know its survival again on arrival.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.kernel import step, verb
from tarry.kernel.heap import Heap, discard, make_heap, push, take_due
from tarry.schedulers.base import (
    SATURATED,
    UNTRACKED,
    Keyed,
    RecordedProxies,
    RecordedUniforms,
    Request,
    Traits,
    admit,
    allocate,
    arrive,
    draw,
    expired,
    renew,
)

NEVER = np.inf
EULER = 0.57721566490153286


class Surviving(Traits):
    """The mixin of the proxy-delay family."""

    __slots__ = ()


class SurvivalState(NamedTuple):
    """``heap`` of finite proxies by the round that preempts them, ``scale`` by slot, ``series`` = (H, n, magnitude)."""

    heap: Heap
    scale: np.ndarray
    series: np.ndarray


@verb
def scale_of(scheduler: Any, state: SurvivalState, request: Request) -> float:
    """The scale of the round that asks, called once a round."""


@verb
def chance(scheduler: Any, scale: float, s: int, age: int) -> float:
    """P(d'_s ≥ age) for a round of this scale."""


@verb
def invert(scheduler: Any, scale: float, t: int, u: float) -> float:
    """The largest age whose chance is at least u; -1 if there is none, NEVER if there is no largest."""


@verb
def proxy_delay(source: Any, scheduler: Any, scale: float, t: int) -> float:
    """Round t's proxy delay, drawn or read."""


@proxy_delay.on(Keyed, RecordedUniforms)
def _drawn(source: Any, scheduler: Any, scale: Any, t: Any) -> Any:
    return invert(scheduler, scale, t, draw(source, t))


@proxy_delay.on(RecordedProxies)
def _recorded(source: Any, scheduler: Any, scale: Any, t: Any) -> Any:
    return source.values[t - 1]


@step
def next_harmonic(state: SurvivalState) -> Any:
    """H_n for the n-th round this state is asked about."""
    state.series[1] += 1.0
    state.series[0] += 1.0 / state.series[1]
    return state.series[0]


def harmonic(t: int) -> float:
    """H_t = 1 + 1/2 + … + 1/t."""
    if t <= 256:
        return float(np.sum(1.0 / np.arange(1, t + 1)))
    return float(np.log(t) + EULER + 1 / (2 * t) - 1 / (12 * t**2) + 1 / (120 * t**4))


@renew.on(Surviving)
def _renew(scheduler: Any, state: Any, magnitude: Any) -> None:
    state.series[0] = 0.0
    state.series[1] = 0.0
    state.series[2] = magnitude


@allocate.on(Surviving)
def _allocate(scheduler: Any, slots: int, capacity: int) -> SurvivalState:
    return SurvivalState(heap=make_heap(slots), scale=np.zeros(slots), series=np.array([0.0, 0.0, 1.0]))


@expired.on(Surviving)
def _expired(scheduler: Any, state: Any, t: Any, pending: Any) -> Any:
    return take_due(state.heap, t)


@admit.on(Surviving)
def _admit(scheduler: Any, state: Any, draws: Any, request: Any) -> Any:
    scale = scale_of(scheduler, state, request)
    proxy = proxy_delay(draws, scheduler, scale, request.t)
    if proxy < 0:
        return UNTRACKED
    slot = request.vacancy
    if slot < 0:
        return SATURATED
    state.scale[slot] = scale
    if proxy < NEVER:
        push(state.heap, slot, request.t + proxy + 1.0)
    return slot


@arrive.on(Surviving)
def _arrive(scheduler: Any, state: Any, slot: Any, s: Any, t: Any) -> Any:
    discard(state.heap, slot)
    return 1.0 / chance(scheduler, state.scale[slot], s, t - s)
