"""A capacity that changes between rounds: weights keep mean 1 and their sum, on every path and by every draw."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from pickle import dumps, loads

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import ANSWER, OPEN, RESIZE, event_paths, events_of, overflow

from tarry.errors import NotGranted
from tarry.learners import Idle
from tarry.live import core
from tarry.schedulers import (
    Batching,
    Bernoulli,
    Coin,
    DropNewest,
    Morris,
    Pareto,
    Priority,
    Proxy,
    Thinning,
    VarOpt,
)
from tarry.schedulers.base import RecordedLosers, RecordedUniforms, draw, held
from tarry.tracking import Draws, Player, keyed_draws
from tarry.tracking.player import resize_draws
from tarry.tracking.tally import DRIFT, OCCUPANCY, balance

HORIZON = 4
SEQUENCES = list(product(range(4), range(3), range(2), range(1)))
CAPACITIES = [1, 2, 3, None]
SIZES = [2, 5, 1, 3]


def games(sizes, step):
    """Every delay sequence with the capacity changed at every moment, up and down; a second time where it fell."""
    for delays in SEQUENCES[::step]:
        plain = list(events_of(delays, sizes))
        for start, then, moment in product(CAPACITIES, CAPACITIES, range(1, len(plain) + 1)):
            if start != then:
                events = [*plain[:moment], (RESIZE, then), *plain[moment:]]
                yield start, events
                if then is not None and moment + 2 <= len(plain):
                    yield start, [*events[: moment + 3], (RESIZE, start), *events[moment + 3 :]]


def means_of(events, start, renew=max):
    """Return the mean weight times size of each round, and on each path the sum over rounds."""
    answered = {s: i for i, (kind, s) in enumerate(events) if kind == ANSWER}
    mean, totals = [Fraction(0)] * HORIZON, set()
    for probability, told in event_paths(events, start, renew):
        weights = [told[answered[s]] for s in range(1, HORIZON + 1)]
        mean = [m + probability * w for m, w in zip(mean, weights, strict=True)]
        totals.add(sum(weights))
    return mean, totals


@pytest.mark.parametrize("sizes", [None, SIZES])
def test_means_and_sums_stay(sizes):
    """By the definition, in rational numbers: E of every weight is 1, and the weights of every path add up."""
    own, seen = [1] * HORIZON if sizes is None else sizes, 0
    for start, events in games(sizes, 1):
        mean, totals = means_of(events, start)
        assert mean == own
        assert totals == {sum(own)}
        seen += 1
    assert seen > 3000


def test_survivors_that_are_not_raised_are_noticed():
    """The control: who stays keeps its weight in place of max(W, θ)."""
    kept = [means_of(events, start, lambda weight, theta: weight) for start, events in games(None, 5)]
    assert any(mean != [1] * HORIZON for mean, _ in kept)
    assert any(totals != {HORIZON} for _, totals in kept)


def driven(monkeypatch, events, start, told):
    """Drive the slots along one path; return what each event made of it."""
    lost = [lost for (kind, _), lost in zip(events, told, strict=True) if kind == OPEN]
    recorded = RecordedLosers(np.array([one[0] if one else 0 for one in lost]))
    monkeypatch.setattr(core, "keyed_draws", lambda _: Draws(recorded, None))
    slots, found = core.Slots(Player(Idle()), start), []
    for (kind, value), then in zip(events, told, strict=True):
        if kind == OPEN:
            slot = slots.open(size=float(value))
            found.append(tuple(slots.released()) if slot >= 0 else (slots.rounds,))
        elif kind == ANSWER:
            size = slots.state.tally.size[slots.state.table.rounds == value]
            found.append(slots.answer(value) * (size[0] if size.size else 0.0))
        else:
            names = RecordedLosers(np.zeros(HORIZON, np.int64))
            for i, one in enumerate(then):
                names.values[slots.tracked - 1 - i] = one
            monkeypatch.setattr(core, "resize_draws", lambda seed, t, names=names: names)
            found.append(tuple(slots.resize(value)))
            assert value is None or slots.tracked <= slots.size <= max(value, core.FIRST_SLOTS)
        assert np.count_nonzero(slots.state.table.rounds) == slots.tracked <= (slots.capacity or HORIZON)
    return slots, found


@pytest.mark.parametrize("sizes", [None, SIZES])
def test_slots_go_every_path(sizes, monkeypatch):
    paths = 0
    for start, events in games(sizes, 5):
        for _, told in event_paths(events, start):
            slots, found = driven(monkeypatch, events, start, told)
            for (kind, _), one, exact in zip(events, found, told, strict=True):
                assert one == (pytest.approx(float(exact), rel=1e-13) if kind == ANSWER else exact)
            assert sum(slots.fates().values()) == HORIZON
            paths += 1
    assert paths > 1000


@pytest.mark.parametrize("then", [1, 2, 3])
def test_the_chance_to_be_lost_is_that_of_the_definition(then, monkeypatch):
    """A grid of uniforms: the share of them that takes each member out first."""
    grid, sizes = 600, [5.0, 0.7, 11.0, 2.0]
    _, chances = overflow(dict(enumerate(map(Fraction, sizes), 1)), 3)
    lost = Counter()
    for u in (np.arange(grid) + 0.5) / grid:
        slots = core.Slots(Player(Idle()), None)  # where rounds stand in no order of weights
        for size in sizes:
            slots.open(size=size)
        uniforms = np.full(4, u)
        monkeypatch.setattr(core, "resize_draws", lambda seed, t, uniforms=uniforms: RecordedUniforms(uniforms))
        gone = slots.resize(then)
        assert len(gone) == 4 - then
        lost[gone[0]] += 1
    assert all(abs(lost[s] / grid - chance) <= 1 / grid for s, chance in chances.items())


def test_variance_of_a_fall_is_no_more_than_is_booked(monkeypatch):
    """What intervals are made of: with any numbers of 0 and 1, one fall adds no more variance than Λ says."""
    tight = 0
    for sizes in product([1, 2, 3, 7], repeat=3):
        slots = core.Slots(Player(Idle()), None)
        for size in sizes:
            slots.open(size=float(size))
        members = dict(enumerate(map(Fraction, sizes), 1))
        theta, chances = overflow(members, 2)
        monkeypatch.setattr(core, "resize_draws", lambda seed, t: RecordedUniforms(np.full(3, 0.5)))
        slots.resize(2)
        worst = max(
            sum(chances[s] for s in one) * (1 - sum(chances[s] for s in one)) * theta**2
            for one in ([1], [2], [3], [1, 2], [1, 3], [2, 3])
        )
        booked = slots.strays[DRIFT]
        assert worst <= booked * (1 + 1e-12)
        tight += worst == pytest.approx(booked)
    assert tight, "else a smaller number would do"


def test_draws_of_a_fall_are_its_own():
    """Over seeds every mean weight is 1, though capacities fall twice between the same two rounds."""
    seeds, total, squares = 1500, np.zeros(8), np.zeros(8)
    for seed in range(seeds):
        slots = core.Slots(Player(Idle()), 5, seed=seed)
        for _ in range(8):
            slots.open()
        assert [len(slots.resize(capacity)) for capacity in (3, 4, 2)] == [2, 0, 1]
        weights = np.array([slots.answer(s) for s in range(1, 9)])
        assert weights.sum() == pytest.approx(8.0)
        total, squares = total + weights, squares + weights**2
    error = np.sqrt((squares / seeds - (total / seeds) ** 2) / seeds)
    assert np.all(np.abs(total / seeds - 1.0) < 4.0 * error)


def test_no_two_draws_are_the_same():
    """Of a fall after round t with n members, over t and n, and of the rounds themselves."""
    with np.errstate(over="ignore"):
        falls = [draw(resize_draws(7, t), n) for t in range(60) for n in range(2, 60)]
        rounds = [draw(keyed_draws(7).schedule, t) for t in range(1, 200)]
    assert len({*falls, *rounds}) == len(falls) + len(rounds)
    assert np.mean(falls) == pytest.approx(0.5, abs=0.02)


def arrays(slots):
    """All that the slots hold, as bytes."""
    return [array.tobytes() for array in slots.arrays]


def check_runs(slots):
    """Runs by decreasing weight, every member where it is said to stand, and the sum of weights."""
    runs, top = slots.state.scheduler, int(slots.state.scheduler.top[0])
    start, size = runs.start[:top], runs.size[:top]
    placed = [int(runs.members[at]) for a, n in zip(start, size, strict=True) for at in range(a, a + n)]
    assert sorted(placed) == np.flatnonzero(slots.state.table.rounds).tolist()
    assert all(runs.members[runs.place[slot]] == slot for slot in placed)
    if slots.capacity is not None:
        assert np.all(np.diff(runs.weight[:top]) <= 0)
        assert slots.tracked <= slots.capacity
    if slots.rounds:
        assert balance(slots.state.tally, held(VarOpt(), runs), slots.rounds) == pytest.approx(1.0, rel=1e-11)


CALLS = st.one_of(
    st.tuples(st.just(OPEN), st.floats(0.1, 10.0)),
    st.tuples(st.just(ANSWER), st.integers(0, 200)),
    st.tuples(st.just(RESIZE), st.one_of(st.none(), st.integers(1, 12))),
)


@given(calls=st.lists(CALLS, max_size=120), seed=st.integers(0, 2**32), start=st.one_of(st.none(), st.integers(1, 9)))
def test_any_calls(calls, seed, start):
    """The layout holds, and a copy goes the same way."""
    slots = core.Slots(Player(Idle()), start, seed=seed)
    for kind, value in calls:
        copy = loads(dumps(slots))
        if kind == OPEN:
            assert slots.open(size=value) == copy.open(size=value)
        elif kind == ANSWER:
            s = value % (slots.rounds + 1)
            assert slots.answer(s) == copy.answer(s)
        else:
            before = set(slots.state.table.rounds.tolist()) - {0}
            lost = slots.resize(value)
            assert lost == copy.resize(value)
            assert len(lost) == max(0, len(before) - (value or 200))
            assert set(slots.state.table.rounds.tolist()) - {0} == before - set(lost)
        check_runs(slots)
        assert arrays(slots) == arrays(copy)
        assert sum(slots.fates().values()) == slots.rounds


def heard(slots, rounds=300):
    """Play rounds with sizes while the capacity changes every 20 of them; return who lost slots, and weights."""
    found = []
    for t in range(1, rounds + 1):
        slots.open(size=1.0 + t % 7)
        if t % 20 == 0:
            found += slots.resize([12, 30, 3, None, 5][t // 20 % 5])
        found.append(slots.answer(max(1, t - 25)))
    return found


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_compiled_slots_go_the_same_way(monkeypatch):
    compiled = heard(core.Slots(Player(Idle()), 8, seed=3))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert compiled == heard(core.Slots(Player(Idle()), 8, seed=3))


GROWING = {
    "Pareto": Pareto(1.5),
    "Bernoulli": Bernoulli(max_backlog=9, safety=1.0),
    "Coin": Coin(1.5),
    "Proxy": Proxy([1.0, 0.7, 0.5]),
    "Morris": Morris(0.5),
    "Priority": Priority(),
}


@pytest.mark.parametrize("kind", GROWING)
def test_growing_keeps_the_means_of_others(kind):
    """E of a weight less whether there was room is 0; weighed by the new capacity, old rounds would be off."""
    rounds, wait, half, scheduler = 12, 5, 6, GROWING[kind]
    information = "clairvoyant" if scheduler.needs_delays else "non-clairvoyant"
    found, wrong = [], []
    for seed in range(1200):
        slots = core.Slots(Player(Idle(), scheduler), 3, information, seed=seed)
        off, old = np.zeros(rounds + wait), 0.0
        for t in range(1, rounds + wait + 1):
            before = slots.state.tally.sums[OCCUPANCY]
            slots.open(wait if scheduler.needs_delays else -1)
            off[t - 1] -= kind == "Priority" or slots.state.tally.sums[OCCUPANCY] - before < slots.capacity
            if t > wait:
                weight = slots.answer(t - wait)
                off[t - wait - 1] += weight
                if kind == "Pareto" and t - wait <= half < t:
                    old += (weight > 0) / scheduler.survival(t - wait, wait, 6) - (weight > 0) * weight
            if t == half:
                slots.resize(6)
        found.append(off[:rounds])
        wrong.append(old)
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(mean) <= 4.0 * error + 1e-12)
    assert kind != "Pareto" or abs(np.mean(wrong)) > 4.0 * np.std(wrong) / np.sqrt(len(wrong)), "the control must fail"


@pytest.mark.parametrize("scheduler", [Pareto(), Priority(), DropNewest(), Batching(4)])
def test_only_varopt_gives_slots_up(scheduler):
    slots = core.Slots(Player(Idle(), scheduler), 8)
    slots.open()
    before = arrays(slots)
    with pytest.raises(NotGranted, match=f"{type(scheduler).__name__} cannot give up slots"):
        slots.resize(4)
    assert arrays(slots) == before


@pytest.mark.parametrize("scheduler", [Thinning(), Batching(4)])
def test_who_keeps_to_a_capacity_says_so(scheduler):
    slots = core.Slots(Player(Idle(), scheduler), 8, "semi-clairvoyant")
    with pytest.raises(NotGranted, match=f"{type(scheduler).__name__} keeps to the capacity that it began with"):
        slots.resize(9)
