"""The proxy-delay family: survival equals draws, and curves of one's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry.schedulers import Bernoulli, Coin, Pareto, Proxy
from tarry.schedulers.base import UNLIMITED, RecordedUniforms, Request, allocate
from tarry.schedulers.survival import harmonic, proxy_delay, scale_of
from tarry.testing import follow

AGES = np.arange(40)
GRID = (np.arange(4000) + 0.5) / 4000


def falling(t, age):
    return 0.05 + 0.9 / (1.0 + age / (2 + t % 5))


def scale_in(scheduler, t, capacity, delay):
    """The scale of round t, as a run of t rounds would reach it."""
    state = allocate(scheduler, 4, capacity)
    for s in range(1, t + 1):
        scale = scale_of(scheduler, state, Request(s, 0, 0, capacity, 0, delay))
    return scale


MEMBERS = [
    pytest.param(Pareto(), id="pareto"),
    pytest.param(Pareto(2.0), id="pareto, small safety"),
    pytest.param(Bernoulli(max_backlog=5), id="bernoulli"),
    pytest.param(Bernoulli(probability=0.3), id="bernoulli, own probability"),
    pytest.param(Coin(4.0), id="coin"),
    pytest.param(Proxy([0.9, 0.9, 0.4, 0.1]), id="table"),
    pytest.param(Proxy([[1.0, 0.5], [0.7, 0.2], [0.3, 0.3]]), id="rows"),
    pytest.param(Proxy(falling), id="function"),
]


@pytest.mark.parametrize("scheduler", MEMBERS)
@pytest.mark.parametrize("t", [1, 2, 30])
def test_survival_equals_draws(scheduler, t):
    """Of the uniforms on a fine grid, the share whose proxy reaches an age is the survival there."""
    scale = scale_in(scheduler, t, 8, 3)
    proxies = np.array([proxy_delay(RecordedUniforms(np.full(t, u)), scheduler, scale, t) for u in GRID])
    drawn = np.array([(proxies >= age).mean() for age in AGES])
    said = scheduler.survival(t, 3 if isinstance(scheduler, Coin) else AGES, 8)
    assert np.all(np.abs(drawn - said) <= 1 / GRID.size)
    assert np.all((proxies == -1) | (proxies >= 0))


@pytest.mark.parametrize("scheduler", [Pareto(), Bernoulli(max_backlog=300), Coin()])
def test_no_limit_means_certainty(scheduler):
    assert np.all(scheduler.survival(1000, AGES, None) == 1.0)
    scale = scale_in(scheduler, 50, UNLIMITED, 20)
    assert proxy_delay(RecordedUniforms(np.ones(50)), scheduler, scale, 50) > 1e9


@given(
    values=st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=40),
    u=st.floats(0, 1, exclude_min=True),
)
def test_bisection_finds_the_largest_age(values, u):
    curve = np.sort(values)[::-1]
    found = proxy_delay(RecordedUniforms(np.array([u])), Proxy(curve), 0.0, 1)
    passing = int(np.count_nonzero(curve >= u))
    assert found == (np.inf if passing == curve.size else passing - 1)


def test_preempted_after_the_proxy_delay():
    """A proxy of 2 covers delay 2 and not delay 3; the slot is free for the round that preempts."""
    scheduler = Proxy([0.9, 0.9, 0.9, 0.1])
    uniforms = RecordedUniforms(np.array([0.5, 0.95, 0.95, 0.5, 0.95, 0.95, 0.95, 0.95]))
    trace = follow(scheduler, [3, 0, 0, 2, 0, 0, 0, 0], capacity=1, draws=uniforms)
    assert trace.preempted_at.tolist() == [4, 0, 0, 0, 0, 0, 0, 0]
    assert trace.weight.tolist() == [0, 0, 0, 1 / 0.9, 0, 0, 0, 0]


def test_harmonic_numbers():
    exact = np.cumsum(1.0 / np.arange(1, 3001))
    assert np.allclose([harmonic(t) for t in range(1, 3001)], exact, rtol=1e-13)


@pytest.mark.jit(only=True)
def test_compiled_functions_equal_plain_ones():
    import numba

    delays = np.random.default_rng(3).integers(0, 30, 500)
    fast = follow(Proxy(numba.njit(falling)), delays, capacity=4, compiled=True)
    slow = follow(Proxy(falling), delays, capacity=4, compiled=True)
    assert np.array_equal(fast.weight, slow.weight)
    assert np.count_nonzero(fast.preempted_at) > 100


def test_plain_functions_play_whole_games():
    game = tarry.Game(
        domain=tarry.domains.Ball(1),
        losses=tarry.losses.Linear(np.ones((200, 1))),
        delays=tarry.delays.fixed(horizon=200, delay=9),
        capacity=4,
    )
    player = tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.1), Proxy(falling))
    table = Proxy([[falling(t, age) for age in range(200)] for t in range(1, 201)])
    record = tarry.simulate(game, player, seeds=[4], keep_rounds=True)
    expected = follow(table, np.full(200, 9), capacity=4, seed=4)
    assert np.array_equal(record.rounds()["weight"].to_numpy(), expected.weight)


@pytest.mark.parametrize(
    ("curve", "sentence"),
    [
        ([], "one value per age"),
        ([1.2], r"must lie in \[0, 1\], got 1.2"),
        ([0.5, np.nan], "must lie in"),
        ([0.2, 0.5], "may not increase with age, got 0.2 and then 0.5"),
        ([[0.5, 0.4], [0.1, 0.3]], "may not increase with age"),
        ([0.5, 0.0], "allow_zero=True"),
        (lambda t, age: 1.0 if age < 50 else 0.0, "allow_zero=True"),
        (lambda t, age: (age + 1) / (age + 2), "may not increase"),
    ],
)
def test_bad_curves_are_refused(curve, sentence):
    with pytest.raises(ValueError, match=sentence):
        Proxy(curve)


def test_zeros_on_request_are_biased():
    scheduler = Proxy([0.5, 0.0], allow_zero=True)
    assert not scheduler.is_unbiased
    assert follow(scheduler, [0, 3, 0, 3, 0, 0], capacity=6).weight[[1, 3]].tolist() == [0, 0]


def test_needs_preemption_unless_level():
    assert Proxy([0.5, 0.4]).needs_preemption
    assert Proxy(falling).needs_preemption
    assert not Proxy([0.5, 0.5]).needs_preemption
    assert not Proxy([[0.5], [0.1]]).needs_preemption


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Pareto(0), "safety must be positive"),
        (lambda: Coin(np.inf), "safety must be positive"),
        (lambda: Bernoulli(), r"max_backlog or probability, .*max_backlog=game\.delays\.max_backlog, in a sweep"),
        (lambda: Bernoulli(3, probability=0.5), "not both"),
        (lambda: Bernoulli(-1), "max_backlog must be a whole number of at least 0, got -1"),
        (lambda: Bernoulli(probability=0), r"must lie in \(0, 1\]"),
        (lambda: tarry.schedulers.Morris(-1), "epsilon must be finite and not negative, got -1"),
        (lambda: tarry.schedulers.Timeout(1.5), "age must be a whole number of at least 0"),
        (lambda: tarry.schedulers.Timeout("30d"), "age counts rounds and not time, got '30d'.*window='30d'"),
    ],
)
def test_bad_parameters_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
