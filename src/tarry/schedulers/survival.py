"""The proxy-delay family: how long a round may wait is drawn once, when it asks for a slot.

Round t draws one uniform U on (0, 1]. Its proxy delay is the largest age that survives,

    d'_t = max{age : survival_t(age) ≥ U},    −1 if there is none, inf if there is no largest,

so P(d'_t ≥ age) = survival_t(age). It enters if d'_t ≥ 0 and there is room, is preempted at the start
of round t + d'_t + 1, and its feedback weighs 1/survival_t(d_t) (Algorithm 1 of the paper).

A member inherits :class:`Surviving` and answers three verbs; the *scale* is one number that the round
takes along in its slot, whatever the member needs to know its survival again on arrival. Members that never
preempt inherit :class:`KeptToArrival`, where the scale is the chance itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tarry.kernel import step, verb
from tarry.kernel.heap import Heap, discard, make_heap, push, take_due
from tarry.schedulers.base import (
    SATURATED,
    UNTRACKED,
    DrawSource,
    Keyed,
    RecordedProxies,
    RecordedUniforms,
    Request,
    Scheduler,
    admit,
    allocate,
    arrive,
    draw,
    expired,
    renew,
)
from tarry.theory.arguments import harmonic as harmonic_sum

NEVER = np.inf
EULER = 0.57721566490153286  # lim H_t − ln t
SUMMED = 256  # up to here H_t is a sum; beyond, four terms of its expansion are exact to rounding


class Surviving(Scheduler):
    """Base of the proxy-delay family."""

    announces_preemption = True
    recorded_draws = ("uniforms", "proxy_delays")


class KeptToArrival(Surviving):
    """Base of members that draw once whether to track a round and then keep it: survival is level in age."""


class SurvivalState(NamedTuple):
    """``heap`` of finite proxies by the round that preempts them, ``scale`` by slot, ``series`` = (H, n, magnitude)."""

    heap: Heap
    scale: np.ndarray
    series: np.ndarray


@verb
def scale_of(scheduler: Surviving, state: SurvivalState, request: Request) -> float:
    """Return the scale of the round that asks; called once a round."""


@verb
def chance(scheduler: Surviving, scale: float, s: int, age: int) -> float:
    """Return P(d'_s ≥ age) for a round of this scale."""


@chance.on(KeptToArrival)
def _level_chance(scheduler: KeptToArrival, scale: float, s: int, age: int) -> float:
    return scale


@verb
def invert(scheduler: Surviving, scale: float, t: int, u: float) -> float:
    """Return the largest age whose chance is at least u; -1 if there is none, NEVER if there is no largest."""


@invert.on(KeptToArrival)
def _all_or_nothing(scheduler: KeptToArrival, scale: float, t: int, u: float) -> float:
    return NEVER if u <= scale else -1.0


@verb
def proxy_delay(source: DrawSource, scheduler: Surviving, scale: float, t: int) -> float:
    """Return round t's proxy delay, drawn or read."""


@proxy_delay.on(Keyed, RecordedUniforms)
def _drawn(source: Keyed | RecordedUniforms, scheduler: Surviving, scale: float, t: int) -> float:
    return invert(scheduler, scale, t, draw(source, t))


@proxy_delay.on(RecordedProxies)
def _recorded(source: RecordedProxies, scheduler: Surviving, scale: float, t: int) -> float:
    return source.values[t - 1]


@step
def next_harmonic(state: SurvivalState) -> float:
    """Return H_n for the n-th round this state is asked about."""
    state.series[1] += 1.0
    state.series[0] += 1.0 / state.series[1]
    return state.series[0]


def harmonic(t: int) -> float:
    """Return H_t = 1 + 1/2 + … + 1/t in constant time and memory."""
    if t <= SUMMED:
        return harmonic_sum(t)
    return float(np.log(t) + EULER + 1 / (2 * t) - 1 / (12 * t**2) + 1 / (120 * t**4))


@allocate.on(Surviving)
def _allocate(scheduler: Surviving, slots: int, capacity: int) -> SurvivalState:
    return SurvivalState(heap=make_heap(slots), scale=np.zeros(slots), series=np.array([0.0, 0.0, 1.0]))


@renew.on(Surviving)
def _renew(scheduler: Surviving, state: SurvivalState, magnitude: float) -> None:
    state.series[0] = 0.0
    state.series[1] = 0.0
    state.series[2] = magnitude


@expired.on(Surviving)
def _expired(scheduler: Surviving, state: SurvivalState, t: int, pending: int) -> int:
    return take_due(state.heap, t)


@expired.on(KeptToArrival)
def _nobody_expires(scheduler: KeptToArrival, state: SurvivalState, t: int, pending: int) -> int:
    return -1


@admit.on(Surviving)
def _admit(scheduler: Surviving, state: SurvivalState, draws: DrawSource, request: Request) -> int:
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
def _arrive(scheduler: Surviving, state: SurvivalState, slot: int, s: int, t: int) -> float:
    discard(state.heap, slot)
    return 1.0 / chance(scheduler, state.scale[slot], s, t - s)
