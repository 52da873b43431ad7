"""Losses of many plays in one call: seeds in step play as each would alone with the library's own losses."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tarry
from tarry.domains import Ball
from tarry.errors import ArgumentError
from tarry.learners import DWFTRL, OGD, OnePoint, TwoPoint
from tarry.losses import Batched, Drawn, Logistic, Quadratic

T, K = 60, 3
RNG = np.random.default_rng(7)
X, S = RNG.normal(size=(T, K)), RNG.choice([-1.0, 1.0], T)
BALL = Ball(K)


def logistic(rows, plays):
    z = -rows[:, -1] * np.einsum("ij,ij->i", rows[:, :-1], plays)
    return np.logaddexp(0.0, z), (-rows[:, -1] / (1.0 + np.exp(-z)))[:, np.newaxis] * rows[:, :-1]


def squared(rows, plays):
    return 0.5 * ((plays - rows) ** 2).sum(axis=1), plays - rows


class Counted:
    """A function that remembers for how many plays it was called."""

    def __init__(self, function):
        self.function, self.sizes = function, []

    def __call__(self, rows, plays):
        self.sizes.append(len(plays))
        return self.function(rows, plays)


def in_one_call(function=logistic, x=X, s=S):
    return Batched(np.column_stack((x, s)), function, dimension=K, gradient_bound=9.0, value_bound=9.0)


def game(losses, horizon=T, capacity=2, feedback="gradient", **more):
    more.setdefault("delays", tarry.delays.uniform(horizon, high=6, rng=3))
    return tarry.Game(domain=BALL, losses=losses, capacity=capacity, feedback=feedback, **more)


def assert_same(one, other):
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-12)
    np.testing.assert_allclose(one.regret, other.regret, atol=1e-7)
    for i in range(len(one.seeds)):
        np.testing.assert_allclose(one.plays(i), other.plays(i), atol=1e-12)
        assert one.events(i).equals(other.events(i))


GAMES = {
    "gradients": ({}, OGD(BALL, rate=0.3)),
    "values": ({"feedback": "value"}, OnePoint(OGD(BALL, rate=0.01), smoothing=0.3)),
    "at once": ({"delays": tarry.delays.fixed(T, delay=0)}, OGD(BALL, rate=0.3)),
    "delays known": ({"information": "clairvoyant"}, OGD(BALL, rate=0.3)),
    "unlimited": ({"capacity": None}, DWFTRL(BALL, rate=0.3)),
}


@pytest.mark.parametrize("name", GAMES)
def test_seeds_in_step_play_as_each_alone(name):
    more, learner = GAMES[name]
    seen = Counted(logistic)
    one = tarry.simulate(game(in_one_call(seen), **more), learner, 5, keep_rounds=True, comparator=np.zeros(K))
    assert seen.sizes[-T - 1 : -1] == [5] * T  # after a trial of some rounds; the last call is the comparator's
    assert_same(one, tarry.simulate(game(Logistic(X, S), **more), learner, 5, keep_rounds=True, comparator=np.zeros(K)))


def test_games_by_seed_share_calls():
    def drawn(seed):
        rng = np.random.default_rng(seed)
        return rng.normal(size=(T, K)), rng.choice([-1.0, 1.0], T)

    def play(make):
        return tarry.simulate(
            None, OGD(BALL, rate=0.3), 4, games=lambda seed: game(make(*drawn(seed))), keep_rounds=True, comparator=None
        )

    seen = Counted(logistic)
    one, other = play(lambda x, s: in_one_call(seen, x, s)), play(Logistic)
    assert seen.sizes[-T:] == [4] * T
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-12)
    np.testing.assert_allclose(one.plays(3), other.plays(3), atol=1e-12)


def test_other_functions_are_other_blocks():
    def lifted(rows, plays):
        values, slopes = logistic(rows, plays)
        return values + 1.0, slopes

    record = tarry.simulate(
        None,
        OGD(BALL, rate=0.3),
        4,
        games=lambda seed: game(in_one_call(lifted if seed % 2 else logistic)),
        comparator=None,
    )
    one, two = record.loss[0], record.loss[1]
    assert abs(two - one - T) < 10.0 < T
    assert one != two


def test_rows_that_are_drawn():
    rows = Drawn.block_targets(K, rng=1)
    known, one = (
        tarry.simulate(game(losses), OGD(BALL, rate=0.3), 3, keep_rounds=True)
        for losses in (Quadratic(rows), Batched(rows, squared, dimension=K, strong_convexity=1.0, gradient_bound=9.0))
    )
    assert_same(one, known)


def test_the_last_round_finds_room_where_all_are_pending():
    late = tarry.delays.array(np.full(T, 2 * T))
    found, expected = (
        tarry.simulate(game(losses, capacity=None, delays=late), OGD(BALL, 0.1), 2, keep_rounds=True)
        for losses in (Batched(X, squared, dimension=K), Quadratic(X))
    )
    assert_same(found, expected)


def test_room_for_more_pending_rounds_is_made_within_a_round():
    horizon = 2200
    rows = Drawn.block_targets(K, rng=1)
    more = {"delays": tarry.delays.array(np.full(horizon, 1900)), "horizon": horizon, "capacity": None}
    known, one = (
        tarry.simulate(game(losses, **more), OGD(BALL, rate=0.3), 1, comparator=None)
        for losses in (Quadratic(rows), Batched(rows, squared, dimension=K))
    )
    np.testing.assert_allclose(one.loss, known.loss, rtol=1e-12)


@pytest.mark.parametrize(
    "comparator", [np.full(K, 0.2), RNG.uniform(-0.3, 0.3, (T, K)), "best"], ids=["x", "path", "best"]
)
def test_comparators_take_few_calls(comparator):
    seen = Counted(logistic)
    one = tarry.simulate(game(in_one_call(seen)), OGD(BALL, rate=0.3), 3, comparator=comparator)
    known = tarry.simulate(game(Logistic(X, S)), OGD(BALL, rate=0.3), 3, comparator=comparator)
    np.testing.assert_allclose(one.regret, known.regret, atol=1e-6)
    np.testing.assert_allclose(one.comparators[0].losses, known.comparators[0].losses, atol=1e-6)
    assert seen.sizes.count(1) <= 1  # that of compiling passes over no round is not even made
    assert max(seen.sizes) == T


def test_several_values_a_round_are_asked_for_one_by_one():
    learner = TwoPoint(OGD(BALL, rate=0.01), smoothing=0.3)
    known, one = (
        tarry.simulate(game(losses, feedback="value", queries=2), learner, 2, keep_rounds=True)
        for losses in (Logistic(X, S), in_one_call())
    )
    assert_same(one, known)


def test_debug_mode_plays_the_same():
    plain, checked = (
        tarry.simulate(game(in_one_call()), OGD(BALL, rate=0.3), 2, keep_rounds=True, debug=debug)
        for debug in (False, True)
    )
    assert_same(checked, plain)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda rows, plays: 3, "must return values and gradients, got int"),
        (lambda rows, plays: (plays, plays), r"must return values of shape \(2,\), got \(2, 3\)"),
        (lambda rows, plays: (plays[:, 0], plays[:, 0]), r"must return gradients of shape \(2, 3\), got \(2,\)"),
        (lambda rows, plays: (plays[:, 0] + np.nan, plays), "must return finite values, got nan at"),
        (lambda rows, plays: (plays[:, 0], plays + np.inf), "must return finite gradients, got"),
    ],
)
def test_what_is_no_loss_is_told(function, sentence):
    with pytest.raises(ValueError, match=sentence):
        tarry.simulate(game(in_one_call(function)), OGD(BALL, rate=0.3), 2, comparator=None)


def test_the_users_arrays_are_copies():
    def greedy(rows, plays):
        values, slopes = logistic(rows, plays)
        rows[:], plays[:] = np.nan, np.nan
        return values, slopes

    one, other = (
        tarry.simulate(game(in_one_call(made)), OGD(BALL, rate=0.3), 2).loss.tolist() for made in (greedy, logistic)
    )
    assert one == other


def test_a_gpu_plays_no_function():
    with pytest.raises(ArgumentError, match="device plays compiled losses alone, not Batched"):
        tarry.simulate(game(in_one_call()), OGD(BALL, rate=0.3), 2, device="cuda")


def test_a_function_is_needed():
    with pytest.raises(TypeError, match="evaluate must be a function, got int"):
        in_one_call(3)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_adapters_say_what_to_install(name, monkeypatch):
    from tarry.adapters import jax, torch

    adapter = {"torch": torch, "jax": jax}[name]
    with pytest.raises(TypeError, match="function must be a function of a row and a play, got 3"):
        adapter.differentiated(3)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"pip install 'tarry\[{name}\]'"):
        adapter.differentiated(lambda row, x: x)


def loss_in(name):
    if name == "torch":
        torch = pytest.importorskip("torch")
        torch.set_num_threads(1)
        return lambda row, x: torch.nn.functional.softplus(-row[-1] * (row[:-1] @ x))
    jax = pytest.importorskip("jax")
    return lambda row, x: jax.nn.softplus(-row[-1] * (row[:-1] @ x))


@pytest.mark.parametrize("seeds", [1, 4])
@pytest.mark.parametrize("name", ["torch", "jax"])
def test_automatic_gradients_are_those_by_hand(name, seeds):
    from tarry.adapters import jax, torch

    function = loss_in(name)
    made = in_one_call({"torch": torch, "jax": jax}[name].differentiated(function))
    one = tarry.simulate(game(made), OGD(BALL, rate=0.3), seeds, keep_rounds=True)
    assert_same(one, tarry.simulate(game(Logistic(X, S)), OGD(BALL, rate=0.3), seeds, keep_rounds=True))
