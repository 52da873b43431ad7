"""Every method against its own bound and order, on games where they could fail; and in one dimension and a thousand."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from marking import slow_but
from numba import typeof

import tarry
from tarry.game.run import Stop
from tarry.game.world import run_rounds
from tarry.learners.base import KeyedDirections, absorb, advance, allocate, enter, points_of, predict
from tarry.testing.learners import Course
from tests.oracles import hard
from tests.oracles.methods import METHODS, PLAYERS
from tests.oracles.promises import slope_in_delay, slope_in_horizon

PROMISES = METHODS | PLAYERS
BOUNDED = [name for name, method in PROMISES.items() if method.bound is not None]
TIGHT = [name for name, method in PROMISES.items() if method.tight is not None]
SHORT = 50_000
"""So many rounds take less time with the JIT off than it takes to compile them."""
TWINS = {
    "Interleaving(OGD.falling)": "BOLD(OGD.falling)",
    "Interleaving(OGD.strongly_convex)": "BOLD(OGD.strongly_convex)",
    "Interleaving(Exp3)": "BOLD(Exp3)",
    "ODFTRL.tuned": "DWFTRL, tuned",
    "ODFTRL.entropic": "EntropicFTRL",
}
"""Equal to another method in these games, which is tested elsewhere: not compiled here to measure the same."""
VARIANTS = {"BOLD(OGD.strongly_convex)", "DWFTRL, BestOfBoth, flat", "DWFTRL, inverse_time", "OGD.langford"}
"""Other rates of methods whose bounds are tested to be tight at one."""
COMPILED = [name for name, method in METHODS.items() if method.rounds > SHORT and name not in TWINS]
SLOPED = [name for name, method in PROMISES.items() if method.rounds <= SHORT]
KEY = np.uint64(0x5EED)


def _mean(game, method, seeds):
    return tarry.simulate(game, method.make(game), seeds, bound=False, keep_rounds=seeds == 1, threads=1)


def _is_drawn(method):
    """Whether its plays are: by the learner, or by the scheduler who hears."""
    seeds = method.seeds if method.tight is None else max(method.seeds, method.tight.seeds)
    return method.game(method.patterns[0], 8, 2).feedback == "value" or seeds > 1


def _is_quick(name):
    return PROMISES[name].tight.seeds == 1 and name not in TWINS and name not in VARIANTS


@pytest.mark.parametrize("name", slow_but(TIGHT, _is_quick))
def test_the_bound_holds_and_is_at_most_three_times_the_regret(name):
    method = PROMISES[name]
    game = method.hardest()
    record = _mean(game, method, method.tight.seeds)
    bound = method.bound(game, record)
    assert record.regret.mean() <= bound <= 3 * record.regret.mean()


WAITS = {
    "fixed": lambda t, n: tarry.delays.array(np.full(t, n)),
    "bursts": lambda t, n: tarry.delays.array(tarry.delays.bursts(horizon=t, length=n, slow=3 * n, fast=0).values),
    "heavy": lambda t, n: tarry.delays.array(tarry.delays.pareto(horizon=t, shape=0.9, scale=2.0, rng=n).values),
}


QUICK = ("heavy", 80)  # delays that no bound likes, and rounds enough for a rate that is off by a constant factor


def _waits(method, name, horizon):
    """Delays of this kind, if the method's bound speaks of them."""
    if method.waits is hard.prompt:
        return hard.prompt(horizon)
    return WAITS["fixed" if method.waits is hard.lagged else name](horizon, 5)


@pytest.mark.parametrize(("waits", "horizon"), slow_but([*((name, 200) for name in WAITS), QUICK], {QUICK}))
@pytest.mark.parametrize("name", BOUNDED)
def test_the_bound_holds_whatever_the_pattern(name, waits, horizon):
    method = PROMISES[name]
    for seed, (kind, pattern) in enumerate(hard.PATTERNS.items()):
        if kind == "still" and kind not in method.patterns:
            continue
        game = method.granted(method.stage(pattern(horizon, 6, seed), _waits(method, waits, horizon)))
        record = _mean(game, method, 4 if _is_drawn(method) else 1)
        noise = 3 * record.regret.std() / np.sqrt(len(record.regret))
        assert record.regret.mean() - noise <= method.bound(game, record) * (1 + 1e-9)


def _check_slopes(method):
    late = method.late or method.patterns
    for slope_in, patterns, sizes in (
        (slope_in_horizon, method.patterns, method.horizons),
        (slope_in_delay, late, method.lengths),
    ):
        slopes = [slope_in(method, pattern) for pattern in patterns if sizes]
        assert all(slope.excess <= 0.1 for slope in slopes), slopes
        assert all(slope.is_attained for slope in slopes[:1]), slopes


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOPED)
def test_slopes_are_as_stated(name):
    """Nowhere steeper by a tenth, and attained on the first pattern."""
    _check_slopes(PROMISES[name])


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", COMPILED)
def test_slopes_of_long_games_are_as_stated(name):
    _check_slopes(METHODS[name])


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.3, 0.45, 0.55, 0.7, 0.9])
@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_wrong_orders_are_noticed(power, size):
    """OGD's √T is neither smaller by more than a tenth nor larger, and an order is not attained by being far above."""
    method = METHODS["OGD.fixed"]._replace(rate=lambda horizon, length: size * horizon**power)
    if size == 1.0 and abs(power - 0.5) < 0.1:
        _check_slopes(method)
    else:
        with pytest.raises(AssertionError):
            _check_slopes(method)


FAR = {"DWFTBL, level", "DWFTBL.unlimited", "ONS, late", "Skipping, TsallisFTRL"}


def test_these_bounds_are_far_from_any_game():
    """DW-FTBL's constants, 6 and 3GD for smoothing, are a proof's; the same theorem at a constant radius is near.

    Skipping adds a bound on what is given up to that of TsallisFTRL, which is near where nothing is. The Newton step's
    for delays is near where nothing is late: 3√2·τ counts every pair of rounds that could be out together.
    """
    assert set(BOUNDED) - set(TIGHT) == FAR


def test_every_learner_makes_a_promise_or_says_why_not():
    """A learner whose docstring does not say that it states no regret stands in the table of methods."""
    exported = {n for n in tarry.learners.__all__ if hasattr(getattr(tarry.learners, n), "feedback")}
    silent = {n for n in exported if "states no regret" in getattr(tarry.learners, n).__doc__}
    listed = {type(_learner(method)).__name__ for method in METHODS.values()}
    assert exported - silent <= listed <= exported
    assert {"Idle", "Ridge"} <= silent


def _learner(method):
    return method.make(method.sized(method.least_dimension, hard.batched(8, 4)))


def _plays(method, dimension, waits, weights, rows=None, cut=None):
    """Plays of the verbs alone, feedback in the order of arrival, the state copied after round ``cut``."""
    game = method.sized(dimension, tarry.delays.array(waits))
    learner = method.make(game)
    rows = np.array([game.losses.row(t) for t in range(1, waits.size + 1)]) if rows is None else rows
    state, play, found = allocate(learner, waits.size), np.zeros(dimension), []
    with np.errstate(over="ignore"):
        for t in range(1, waits.size + 1):
            predict(learner, state, KeyedDirections(KEY), t, play)
            found.append(play.copy())
            enter(learner, state, t - 1, t)
            for s in np.flatnonzero((np.arange(waits.size) + waits == t - 1) & (weights > 0)) + 1:
                told = rows[s - 1]
                if learner.feedback == "value":
                    told = points_of(learner, KeyedDirections(KEY), s, found[s - 1]) @ told
                absorb(learner, state, KeyedDirections(KEY), s - 1, s, weights[s - 1], told)
            advance(learner, state, t, int(np.sum(np.arange(t) + waits[:t] >= t)))
            if t == cut:
                state = copy.deepcopy(state)
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("size", ["least", "1000"])
@pytest.mark.parametrize("name", METHODS)
def test_small_and_large(name, size):
    """Out of order, resumed, and with rounds of weight zero: in one dimension (or two actions) and in a thousand.

    In a hundred where a round costs more than O(k): k + 1 values, a matrix, two nested searches.
    """
    method = METHODS[name]
    large = 100 if name.startswith(("Differences", "ONS", "TsallisFTRL")) else 1000
    dimension, rounds = (method.least_dimension, 40) if size == "least" else (large, 12)
    rng = np.random.default_rng(3)
    waits = np.minimum(rng.integers(0, 7, rounds), rounds - 1 - np.arange(rounds))
    weights = rng.exponential(size=rounds) * (rng.uniform(size=rounds) < 0.7)
    whole = _plays(method, dimension, waits, weights)
    assert np.all(np.isfinite(whole))
    assert np.array_equal(whole, _plays(method, dimension, waits, weights, cut=rounds // 2))
    game = method.sized(dimension, tarry.delays.array(waits))
    other = tarry.losses.Linear(np.where(weights[:, None] > 0, game.losses.rows.values, 0.9), ridge=game.losses.ridge)
    learner = method.make(game)
    first, second = (
        tarry.simulate(
            tarry.WeightedGame(
                game.domain, losses, game.delays, weights, feedback=game.feedback, queries=learner.queries
            ),
            learner,
            keep_rounds=True,
        ).plays()
        for losses in (game.losses, other)
    )
    assert np.array_equal(first, second)


def _types(method, dimension):
    """Of everything that the compiled loop is called with in this dimension, as Numba sees it."""
    game, seen = method.sized(dimension, hard.batched(30, 4)), []
    course = Course.of(game, method.make(game))
    run = course.run._replace(compiled=lambda *arguments: seen.extend(map(typeof, arguments)))
    run.advance(course.buffers, Stop(), 1, 30)
    return seen


@pytest.mark.parametrize("name", METHODS)
def test_another_dimension_has_the_same_types(name):
    """So that it is played by the same code. What is compiled of that, the next test plays."""
    method = METHODS[name]
    assert _types(method, method.least_dimension) == _types(method, 1000)


def test_types_tell_methods_apart():
    assert len({str(_types(METHODS[name], 3)) for name in ("OGD.fixed", "OGD.falling", "DOGD.tuned", "SOLO")}) == 4


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", METHODS)
def test_another_dimension_compiles_nothing(name):
    method = METHODS[name]
    for dimension in (method.least_dimension, 1000):
        game = method.sized(dimension, hard.batched(30, 4))
        tarry.simulate(game, method.make(game), bound=False, threads=1)
        signatures = [len(dispatcher.signatures) for dispatcher in run_rounds.dispatchers]
        if dimension < 1000:
            before = signatures
    assert signatures == before
