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


OPEN, ANSWER, RESIZE = (
    "open",
    "answer",
    "resize",
)  # a round begins (its size), feedback of s comes, the capacity changes


def events_of(delays, sizes=None):
    """Return what happens in a game with these delays, one thing after the other."""
    for t in range(1, len(delays) + 1):
        yield OPEN, Fraction(1) if sizes is None else Fraction(sizes[t - 1])
        yield from ((ANSWER, s) for s in range(1, t + 1) if s + delays[s - 1] == t)


def event_paths(events, capacity, renew=max, probability=Fraction(1), told=()):
    """Yield the chance of every path, with what each event made of it: who was lost, the total weight, or who were."""
    yield from _walk(tuple(events), (capacity, {}, 0), renew, probability, told)


def _walk(events, state, renew, probability, told):
    if not events:
        yield probability, told
        return
    (kind, given), (capacity, members, t) = events[0], state
    if kind == ANSWER:
        left = {s: w for s, w in members.items() if s != given}
        yield from _walk(events[1:], (capacity, left, t), renew, probability, (*told, members.get(given, Fraction(0))))
        return
    if kind == OPEN:
        limit, members, t = len(members) + 1 if capacity is None else capacity, {**members, t + 1: given}, t + 1
    else:
        capacity = given
        limit = len(members) if given is None else given
    for chance, lost, left in _reduced(members, limit, renew):
        yield from _walk(events[1:], (capacity, left, t), renew, probability * chance, (*told, lost))


def _reduced(members, limit, renew, lost=()):
    """Yield the chance, who was lost and who stays, where members go one after the other until so many are left."""
    if len(members) <= limit:
        yield Fraction(1), lost, members
        return
    _, branches = branches_of(members, len(members) - 1, renew)
    for chance, out, left in branches:
        for rest, gone, stay in _reduced(left, limit, renew, (*lost, out)):
            yield chance * rest, gone, stay
