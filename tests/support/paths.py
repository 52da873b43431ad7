"""Every path of VarOpt in a small game, in rational numbers and from its definition alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import NamedTuple


class Path(NamedTuple):
    """One outcome of all draws: who was lost in each round (0: nobody), the weights, θ of each overflow, else 0."""

    probability: Fraction
    lost: tuple[int, ...]
    weights: list[Fraction]
    thresholds: tuple[Fraction, ...]
    sizes: tuple[Fraction, ...]

    def held(self, delays) -> list[Fraction]:
        """h_1, …, h_{T+1}: the sizes before, less the weights times sizes that arrived before."""
        rounds = range(1, len(delays) + 2)
        return [sum(self.sizes[: v - 1]) - sum(self.arrived(delays, u) for u in range(1, v)) for v in rounds]

    def arrived(self, delays, v) -> Fraction:
        """A_v, the weights times sizes that arrive in round v."""
        heard = zip(self.weights, self.sizes, delays, strict=True)
        return sum((w * b for s, (w, b, d) in enumerate(heard, 1) if s + d == v), start=Fraction(0))


def overflow(members, capacity):
    """θ and the chance of each candidate to be lost, from the defining equation."""
    ordered = sorted(members.values())
    for k in range(2, len(ordered) + 1):
        theta = sum(ordered[:k]) / (k - 1)
        if sum(min(Fraction(1), w / theta) for w in ordered) == capacity:
            return theta, {s: 1 - min(Fraction(1), w / theta) for s, w in members.items()}
    raise AssertionError("no θ solves the equation")


def branches_of(members, capacity, renew):
    """Return θ, or 0 where there is room, and what may happen: its chance, who is lost (0: nobody), who stays."""
    if len(members) <= capacity:
        return Fraction(0), [(Fraction(1), 0, members)]
    theta, chances = overflow(members, capacity)
    stay = {out: {s: renew(w, theta) for s, w in members.items() if s != out} for out in chances}
    return theta, [(chance, out, stay[out]) for out, chance in chances.items() if chance > 0]


def coin_paths(horizon, chance) -> Iterator[Path]:
    """Yield every path of coins that are independent of each other, with room for all."""
    for kept in product((True, False), repeat=horizon):
        probability = prod(chance if one else 1 - chance for one in kept)
        weights = [1 / chance if one else Fraction(0) for one in kept]
        yield Path(probability, (0,) * horizon, weights, (Fraction(0),) * horizon, (Fraction(1),) * horizon)


def varopt_paths(delays, capacity, sizes=None, renew=max) -> Iterator[Path]:
    """Yield every path of a game with these delays, and sizes if they are not all 1; survivors get renew(W, θ)."""
    horizon = len(delays)
    extents = tuple(map(Fraction, [1] * horizon if sizes is None else sizes))

    def walk(t, members, probability, lost, weights, thresholds):
        if t > horizon:
            listed = [weights.get(s, Fraction(0)) / extents[s - 1] for s in range(1, horizon + 1)]
            yield Path(probability, lost, listed, thresholds, extents)
            return
        members = {**members, t: extents[t - 1]}
        theta, branches = branches_of(members, capacity, renew)
        for chance, out, survivors in branches:
            due = {s: w for s, w in survivors.items() if s + delays[s - 1] == t}
            waiting = {s: w for s, w in survivors.items() if s not in due}
            yield from walk(
                t + 1, waiting, probability * chance, (*lost, out), {**weights, **due}, (*thresholds, theta)
            )

    yield from walk(1, {}, Fraction(1), (), {}, ())
