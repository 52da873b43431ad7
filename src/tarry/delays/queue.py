"""Delays of a queue: feedback is work done by a few servers, first come, first served."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.checks import as_int, as_positive
from tarry.delays.base import Counts, Listed
from tarry.delays.laws import whole_rounds
from tarry.errors import ArgumentError
from tarry.kernel import Purpose, entry, keyed, make_key, make_seed
from tarry.kernel.heap import Heap, discard, make_heap, push, top

Service = str | ArrayLike | Callable[[np.random.Generator, int], ArrayLike]


def queue(
    *,
    horizon: int,
    servers: int,
    service: Service = "exponential",
    mean: float | None = None,
    load: float | None = None,
    spread: float = 1.0,
    shape: float = 2.0,
    rng: Any = None,
) -> Listed:
    """Return delays of a first-come-first-served queue with ``servers`` >= 1 servers, one job a round.

    Round t lasts from time t to t + 1. Its job arrives at time t, starts at S_t when a server is free, and departs at
    D_t = S_t + service time; its feedback comes in the round of the departure:

        S_t = max(t, the earliest time a server is free)        d_t = ⌊D_t⌋ − t

    ``service`` names a distribution with the given ``mean`` in rounds, or with mean ``load`` · servers: "fixed",
    "exponential", "lognormal" (``spread`` = standard deviation of the logarithm), "pareto" (Lomax, P(L > x) =
    (1 + x/scale)^(−shape), ``shape`` > 1). Or ``service`` is an array with one time per round, or a function of
    (Generator, n) that returns one. A ``load`` of 1 or more has a backlog that grows without end.

    >>> queue(horizon=6, servers=1, service=[2.5, 1, 0, 0, 0, 0]).values.tolist()
    [2, 2, 1, 0, 0, 0]
    """
    rounds = as_int(horizon, "horizon", 1)
    slots = min(as_int(servers, "servers", 1), rounds)  # more servers than jobs stand idle
    seed = make_seed(rng)
    if isinstance(service, str):
        if (mean is None) == (load is None):
            raise ValueError(f"give either mean or load, got mean={mean} and load={load}")
        size = as_positive(mean, "mean") if load is None else as_positive(load, "load") * int(servers)
        times = _named(service, seed, rounds, size, as_positive(spread, "spread"), shape)
    else:
        if mean is not None or load is not None:
            raise ValueError("mean and load go with a named service; these service times have their own")
        times = np.asarray(service(np.random.default_rng(seed), rounds) if callable(service) else service)
    if times.shape != (rounds,):
        raise ValueError(f"service needs one time per round, shape ({rounds},), got shape {times.shape}")
    times = np.ascontiguousarray(times, dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(times) & (times >= 0)))
    if bad.size:
        raise ValueError(f"service times must be finite and not negative, got {times[bad[0]]} in round {bad[0] + 1}")
    out = np.zeros(rounds, np.int64)
    _serve.dispatcher_for()(times, make_heap(slots), out)
    return Listed(out)


@entry
def _serve(times: NDArray[np.float64], heap: Heap, out: Counts) -> None:
    """Give each job in turn to the server that is free first; a heap orders them by that time."""
    for server in range(heap.key.size):
        push(heap, server, 0.0)
    for i in range(out.size):
        t = i + 1
        server = top(heap)
        departure = max(float(t), heap.key[server]) + times[i]
        discard(heap, server)
        push(heap, server, departure)
        out[i] = whole_rounds(departure) - t


def _named(service: str, seed: int, rounds: int, mean: float, spread: float, shape: float) -> NDArray[np.float64]:
    """Return service times with this mean from keyed draws, so that a longer queue begins like a shorter one."""
    key = make_key(seed, Purpose.DELAYS)
    t = np.arange(1, rounds + 1)
    with np.errstate(over="ignore"):  # the keyed generator wraps around by design
        match service:
            case "fixed":
                return np.full(rounds, mean)
            case "exponential":
                return np.asarray(-mean * np.log(keyed.uniform(key, t)))
            case "lognormal":
                radius = np.sqrt(-2.0 * np.log(keyed.uniform_at(key, t, 0)))
                z = radius * np.cos(2.0 * np.pi * keyed.uniform_at(key, t, 1))
                return np.asarray(mean * np.exp(spread * z - spread * spread / 2.0))
            case "pareto":
                if not shape > 1.0:
                    raise ArgumentError("shape", "must be above 1 for the mean to be finite", shape)
                scale = mean * (shape - 1.0)
                return np.asarray(scale * np.expm1(-np.log(keyed.uniform(key, t)) / shape))
    choices = 'must be "fixed", "exponential", "lognormal", "pareto", an array or a function'
    raise ArgumentError("service", choices, service)
