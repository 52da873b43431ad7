"""Every path of VarOpt in a small game, in rational numbers and from its definition alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple


class Path(NamedTuple):
    """One outcome of all draws: who was lost in each round (0: nobody), the weights, θ of each overflow, else 0."""

    probability: Fraction
    lost: tuple[int, ...]
    weights: list[Fraction]
    thresholds: tuple[Fraction, ...]

    def held(self, delays) -> list[Fraction]:
        """h_1, …, h_{T+1}: the rounds before, less the weights that arrived before."""
        rounds = range(1, len(delays) + 2)
        return [v - 1 - sum(self.arrived(delays, u) for u in range(1, v)) for v in rounds]

    def arrived(self, delays, v) -> Fraction:
        """A_v, the weights that arrive in round v."""
        return sum((w for s, w in enumerate(self.weights, 1) if s + delays[s - 1] == v), start=Fraction(0))


def overflow(members, capacity):
    """θ and the chance of each candidate to be lost, from the defining equation."""
    ordered = sorted(members.values())
    for k in range(2, len(ordered) + 1):
        theta = sum(ordered[:k]) / (k - 1)
        if sum(min(Fraction(1), w / theta) for w in ordered) == capacity:
            return theta, {s: 1 - min(Fraction(1), w / theta) for s, w in members.items()}
    raise AssertionError("no θ solves the equation")


def varopt_paths(delays, capacity) -> Iterator[Path]:
    """Yield every path of a game with these delays."""
    horizon = len(delays)

    def walk(t, members, probability, lost, weights, thresholds):
        if t > horizon:
            listed = [weights.get(s, Fraction(0)) for s in range(1, horizon + 1)]
            yield Path(probability, lost, listed, thresholds)
            return
        members = {**members, t: Fraction(1)}
        branches, theta = [(Fraction(1), 0, members)], Fraction(0)
        if len(members) > capacity:
            theta, chances = overflow(members, capacity)
            branches = [
                (chance, out, {s: max(w, theta) for s, w in members.items() if s != out})
                for out, chance in chances.items()
                if chance > 0
            ]
        for chance, out, survivors in branches:
            due = {s: w for s, w in survivors.items() if s + delays[s - 1] == t}
            waiting = {s: w for s, w in survivors.items() if s not in due}
            yield from walk(
                t + 1, waiting, probability * chance, (*lost, out), {**weights, **due}, (*thresholds, theta)
            )

    yield from walk(1, {}, Fraction(1), (), {}, ())
