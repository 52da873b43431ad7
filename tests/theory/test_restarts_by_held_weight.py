"""Theorem 1 (e), restarts without acknowledgements: each step of its proof on every path, and the bound as played.

A round that a restart drops has in the proof the weight that it had then. Small games alone would show nothing of the
bound, which is above T·GD there; so it is played as well, at a horizon at which two controls exceed it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import sqrt
from typing import NamedTuple

import numpy as np
import pytest
from paths import branches_of

import tarry
from tests.oracles.theory import backlogs

BALL = tarry.domains.Ball(1)
PLAYER = tarry.Player(
    tarry.learners.DWFTRL(BALL, rate=tarry.rates.DoublingRate(2.0, 1.0)), epochs=tarry.Doubling("total")
)
DELAYS = [delays for horizon in (3, 4, 5) for delays in product(*(range(horizon - t) for t in range(horizon)))]


class Path(NamedTuple):
    """Who was lost in each round; by round the epoch's m, h before and after a restart, weights as told and as cut."""

    probability: Fraction
    lost: tuple[int, ...]
    epochs: tuple[int, ...]
    before: tuple[Fraction, ...]
    within: tuple[Fraction, ...]
    told: dict[int, Fraction]
    cut: dict[int, Fraction]


def restarting_paths(delays, capacity):
    """Yield every path of VarOpt, restarted whenever Σ(1 + h) passes a power 4^m."""

    def walk(t, members, path):
        if t > len(delays):
            yield path
            return
        held = sum(members.values(), start=Fraction(0))
        before, within, epoch = (*path.before, held), held, max((0, *path.epochs))
        while t + sum(before) > 4**epoch:
            epoch += 1
        cut, told = dict(path.cut), dict(path.told)
        if path.epochs and epoch != path.epochs[-1]:
            cut, told = cut | members, told | dict.fromkeys(members, Fraction(0))
            members, within = {}, Fraction(0)
        members = {**members, t: Fraction(1)}
        for chance, out, tracked in branches_of(members, capacity, max)[1]:
            over = {s: w for s, w in tracked.items() if s + delays[s - 1] == t} | ({out: Fraction(0)} if out else {})
            waiting = {s: w for s, w in tracked.items() if s not in over}
            rounds = (*path.lost, out), (*path.epochs, epoch), before, (*path.within, within)
            yield from walk(t + 1, waiting, Path(path.probability * chance, *rounds, told | over, cut | over))

    yield from walk(1, {}, Path(Fraction(1), (), (), (), (), {}, {}))


def costs(path, delays, weights):
    """Σ_t (½w_t² + w_t Σ w_s), s of B_t and of the epoch of t."""
    total = Fraction(0)
    for t, w in weights.items():
        mates = [s for s in range(1, t) if s + delays[s - 1] >= t and path.epochs[s - 1] == path.epochs[t - 1]]
        total += w * (w / 2 + sum(weights[s] for s in mates))
    return total


@pytest.mark.parametrize("capacity", [1, 2])
def test_every_step_of_the_proof(capacity):
    dropped = False
    for delays in DELAYS:
        paths, rounds = list(restarting_paths(delays, capacity)), range(1, len(delays) + 1)

        def mean(number, paths=paths):
            return sum(path.probability * number(path) for path in paths)

        assert mean(lambda path: 1) == 1
        # Weights that are cut at a restart have mean 1, and conservation holds within epochs.
        assert [mean(lambda path: path.cut[s]) for s in rounds] == [1] * len(delays)  # noqa: B023
        price = mean(lambda path: sum(path.within) + Fraction(len(delays), 2))  # noqa: B023
        assert mean(lambda path: costs(path, delays, path.cut)) == price  # noqa: B023
        # The epochs' own bounds add up to 6GD√Z on every path, and what is held is no more than the backlog.
        for path in paths:
            for m in set(path.epochs):
                assert sum(1 + h for h, n in zip(path.within, path.epochs, strict=True) if n == m) <= 4**m
            assert sum(2**m for m in set(path.epochs)) ** 2 <= 16 * (len(delays) + sum(path.before))
        for t, sigma in zip(rounds, backlogs(delays), strict=True):
            assert mean(lambda path: path.before[t - 1]) <= int(sigma)  # noqa: B023
        # A control: with 0 for what a restart drops neither holds.
        if any(path.told != path.cut for path in paths):
            dropped = True
            assert min(mean(lambda path: path.told[s]) for s in rounds) < 1  # noqa: B023
            assert mean(lambda path: costs(path, delays, path.told)) < price  # noqa: B023
    assert dropped


@pytest.mark.parametrize("capacity", [1, 2])
def test_the_library_restarts_on_these_paths(capacity):
    for delays in [(4, 3, 2, 1, 0), (2, 2, 2, 1, 0), (1, 3, 0, 1, 0), (3, 0, 1, 1, 0)]:
        losses = tarry.losses.Linear(np.ones((len(delays), 1)))
        waits = tarry.delays.array(delays)
        game = tarry.Game(BALL, losses, waits, capacity=capacity, information="non-clairvoyant")
        for path in restarting_paths(delays, capacity):
            record = tarry.simulate(game, PLAYER, draws=tarry.Recorded(lost=path.lost), keep_rounds=True)
            wanted = [float(path.told[s]) for s in range(1, len(delays) + 1)]
            assert np.allclose(record.rounds()["weight"], wanted, rtol=1e-12)


LATE, HORIZON = 3, 1600
DRIFT = tarry.losses.Linear(np.ones((HORIZON, 1)))
DITCH = tarry.losses.Absolute(np.ones((HORIZON, 1)), np.full(HORIZON, 0.5))  # |x − ½|
# Steps of nearly 0, and in every epoch those of the first, D/G, which lead over the ditch and back.
GAMES = {"never moves": (DRIFT, 1e-9), "jumps": (DITCH, 2.0)}


@pytest.mark.parametrize("name", GAMES)
def test_the_bound_is_kept_where_controls_exceed_it(name):
    losses, rate = GAMES[name]
    delays = tarry.delays.fixed(horizon=HORIZON, delay=LATE)
    game = tarry.Game(BALL, losses, delays, capacity=1, information="non-clairvoyant")
    bound = 6 * 2 * sqrt(HORIZON + delays.total_delay)
    assert bound < 0.65 * HORIZON
    control = tarry.Player(tarry.learners.DWFTRL(BALL, rate=rate), epochs=PLAYER.epochs)
    found, missed = (tarry.simulate(game, one, seeds=3, bound=False, checkpoints=1).regret for one in (PLAYER, control))
    assert np.max(found) < bound / 2
    assert np.min(missed) > bound
