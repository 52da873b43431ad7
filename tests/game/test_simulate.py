"""simulate: books that add up, seeds, threads, generated inputs, limits and interruption."""

from __future__ import annotations

import _thread
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from casework import sets_before_admission
from scipy import stats

import tarry
from tarry.errors import ArgumentError
from tarry.game import run
from tarry.game.hindsight import Stopped
from tarry.game.simulate import in_threads
from tarry.kernel.wheel import LONGEST_LINE

RNG = np.random.default_rng(2)
DOMAIN = tarry.domains.Ball(3)
LEARNER = tarry.learners.DWFTRL(DOMAIN, rate=0.1)


def _game(horizon=200, capacity=4, **options):
    return tarry.Game(
        DOMAIN,
        tarry.losses.Linear(np.random.default_rng(horizon).normal(size=(horizon, 3))),
        tarry.delays.geometric(horizon=horizon, mean=20, rng=1),
        capacity=capacity,
        **options,
    )


def test_the_ledger_sums_to_the_horizon():
    record = tarry.simulate(_game(), tarry.Player(LEARNER), seeds=4)
    assert record.ledger.drop("seed").sum_horizontal().to_list() == [200] * 4
    assert record.fates[:, 5].tolist() == [0] * 4
    np.testing.assert_allclose(record.weights.mean, 1.0, rtol=1e-12)
    assert record.curve.columns == ["seed", "t", "regret", "bound"]
    assert record.curve["t"].max() == 200
    assert np.all(record.occupancy.peak <= 4)


def test_weight_moments_are_those_of_the_rounds():
    record = tarry.simulate(_game(), tarry.Player(LEARNER), seeds=[5], keep_rounds=True)
    weights = record.rounds()["weight"].to_numpy()
    np.testing.assert_allclose(record.weights.second_moment, np.mean(weights**2))
    np.testing.assert_allclose(record.weights.max, weights.max())
    np.testing.assert_allclose(record.weights.effective_sample_size, weights.sum() ** 2 / np.sum(weights**2))
    np.testing.assert_allclose(record.observed, np.mean(weights > 0))


@pytest.mark.parametrize(
    "scheduler",
    [tarry.schedulers.VarOpt(), tarry.schedulers.Pareto(safety=1.0), tarry.schedulers.Reservoir()],
    ids=lambda s: type(s).__name__,
)
def test_keeping_rounds_changes_nothing(scheduler):
    """With a log every arrival is played out, without one only those somebody hears."""
    player = tarry.Player(LEARNER, scheduler)
    kept = tarry.simulate(_game(), player, seeds=3, keep_rounds=True)
    plain = tarry.simulate(_game(), player, seeds=3)
    assert np.array_equal(kept.regret_at, plain.regret_at)
    assert np.array_equal(kept.fates, plain.fates)


def test_threads_change_nothing():
    one = tarry.simulate(_game(), tarry.Player(LEARNER), seeds=6, threads=1)
    two = tarry.simulate(_game(), tarry.Player(LEARNER), seeds=6, threads=2)
    assert np.array_equal(one.regret, two.regret)
    alone = tarry.simulate(_game(), tarry.Player(LEARNER), seeds=[4])
    assert alone.regret[0] == one.regret[4]


def test_generated_inputs_equal_listed_ones():
    horizon = 300
    rows = tarry.losses.drifting(3, rng=4)
    delays = tarry.delays.pareto(horizon=horizon, shape=1.1, scale=5.0, rng=9)
    listed = np.array([tarry.losses.Linear(rows).gradient(np.zeros(3), t) for t in range(1, horizon + 1)])
    records = [
        tarry.simulate(tarry.Game(DOMAIN, losses, d, capacity=4), tarry.Player(LEARNER), keep_rounds=True)
        for losses, d in (
            (tarry.losses.Linear(rows), delays),
            (tarry.losses.Linear(listed), tarry.delays.array(delays.values)),
        )
    ]
    assert np.array_equal(records[0].plays(), records[1].plays())
    np.testing.assert_allclose(records[0].regret, records[1].regret, rtol=1e-12)


def test_games_may_depend_on_the_seed():
    def make(seed):
        return tarry.Game(
            DOMAIN,
            tarry.losses.Linear(np.random.default_rng(seed).normal(size=(50, 3))),
            tarry.delays.fixed(horizon=50, delay=3),
            capacity=2,
        )

    def player(game):
        return tarry.Player(tarry.learners.DWFTRL(game.domain, rate=1.0 / np.sqrt(game.horizon)))

    together = tarry.simulate(None, player, seeds=3, games=make)
    for seed in range(3):
        alone = tarry.simulate(make(seed), player(make(seed)), seeds=[seed])
        assert together.regret[seed] == alone.regret[0]
    with pytest.raises(ValueError, match="one horizon"):
        tarry.simulate(None, LEARNER, seeds=2, games=lambda seed: _game(50 + seed))
    with pytest.raises(ValueError, match="one capacity, got 1 and 2"):
        tarry.simulate(None, LEARNER, seeds=2, games=lambda seed: _game(capacity=1 + seed))
    with pytest.raises(ValueError, match="one feedback, got 'gradient' and 'example'"):
        tarry.simulate(None, _taker, seeds=2, games=lambda seed: _supervised(["gradient", "example"][seed]))


def _supervised(feedback):
    losses = tarry.losses.LeastSquares(np.ones((20, 3)), np.ones(20))
    return tarry.Game(DOMAIN, losses, tarry.delays.fixed(horizon=20, delay=2), feedback=feedback)


def _taker(game):
    return LEARNER if game.feedback == "gradient" else tarry.learners.Ridge(DOMAIN, 1.0)


def test_warnings_are_those_of_all_games():
    def make(seed):
        rows = np.full((20, 3), float(seed))
        return tarry.Game(DOMAIN, tarry.losses.Linear(rows), tarry.delays.fixed(horizon=20, delay=2))

    learner = tarry.learners.Adaptive(DOMAIN, gradient_bound=1.0)  # which those of seed 0 keep to
    (warning,) = tarry.simulate(None, learner, seeds=3, games=make).assumption_warnings
    assert tarry.simulate(make(1), learner).assumption_warnings == (warning,)  # that of seed 2 has other numbers


def test_progress_counts_rounds():
    seen = []
    tarry.simulate(_game(), LEARNER, seeds=3, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (600, 600)


def test_checkpoints_change_nothing_but_the_curve():
    coarse = tarry.simulate(_game(), LEARNER, checkpoints=1)
    fine = tarry.simulate(_game(), LEARNER, checkpoints=150)
    assert coarse.curve.height == 1
    assert fine.curve.height > 100
    np.testing.assert_allclose(coarse.regret, fine.regret)


@pytest.mark.parametrize("keep", [True, False])
def test_what_would_not_fit_is_refused(monkeypatch, keep):
    monkeypatch.setattr(run, "machine_memory", lambda: 5_000)
    with pytest.raises(tarry.errors.TooLarge, match="more than half of this machine's"):
        tarry.simulate(_game(), LEARNER, keep_rounds=keep)
    tarry.simulate(_game(), LEARNER, keep_rounds=keep, allow_large=True)


def test_a_thread_of_the_callers_plays_itself(monkeypatch):
    """Interrupts reach the main thread alone, so that elsewhere one thread needs no second one to be heard."""
    expected, found = tarry.simulate(_game(), LEARNER, seeds=3, threads=1).regret, []
    monkeypatch.delattr(sys.modules["tarry.game.simulate"], "ThreadPoolExecutor")
    play = threading.Thread(target=lambda: found.append(tarry.simulate(_game(), LEARNER, seeds=3, threads=1).regret))
    play.start()
    play.join()
    assert np.array_equal(found[0], expected)
    with pytest.raises(NameError):
        tarry.simulate(_game(), LEARNER, seeds=3, threads=1)


def test_interrupting_keeps_what_is_finished():
    horizon = 3_000
    slow = tarry.losses.Callables(
        value=lambda x, t: float(x[0]),
        gradient=lambda x, t: np.array([1.0, 0.0, 0.0]),
        dimension=3,
        horizon=horizon,
    )
    game = tarry.Game(DOMAIN, slow, tarry.delays.fixed(horizon=horizon, delay=2), capacity=2)
    done = []

    def progress(rounds, total):
        if rounds >= 2 * horizon and not done:
            done.append(rounds)
            _thread.interrupt_main()

    with pytest.raises(tarry.errors.Interrupted, match="of 40 seeds") as caught:
        tarry.simulate(game, LEARNER, seeds=40, threads=1, progress=progress)
    assert caught.value.record is not None
    assert 1 <= len(caught.value.record.seeds) < 40
    assert isinstance(caught.value, KeyboardInterrupt)


@pytest.mark.jit(only=True)
def test_an_interrupt_is_heard_inside_a_block(monkeypatch):
    """Rounds that turn slow in the middle of a large block do not delay it."""
    monkeypatch.setattr(tarry.losses.drawn, "TABLE_BYTES", 0)  # a short game is compiled as the long one is
    horizon = 10_000_000  # six seconds and more
    game = tarry.Game(
        DOMAIN,
        tarry.losses.Linear(tarry.losses.drifting(3, rng=1)),
        tarry.delays.fixed(horizon=horizon, delay=400_000),
        capacity=None,
    )
    short = tarry.delays.fixed(horizon=LONGEST_LINE, delay=400_000)  # in a wheel too
    tarry.simulate(tarry.Game(DOMAIN, game.losses, short, capacity=None), LEARNER)
    begun = []

    def ring():
        begun.append(time.perf_counter())
        _thread.interrupt_main()

    timer = threading.Timer(1.0, ring)
    timer.start()
    try:
        with pytest.raises(tarry.errors.Interrupted, match="so nothing is kept"):
            tarry.simulate(game, LEARNER, seeds=1)
    finally:
        timer.cancel()  # an interrupt that comes later would end all tests
    assert time.perf_counter() - begun[0] < 5.0  # a second on a quiet machine


def test_a_loss_that_is_not_finite_is_named():
    bad = tarry.losses.Callables(
        value=lambda x, t: float("nan") if t == 7 else 0.0,
        gradient=lambda x, t: np.zeros(3),
        dimension=3,
        horizon=20,
    )
    game = tarry.Game(DOMAIN, bad, tarry.delays.fixed(horizon=20, delay=0), capacity=2)
    with pytest.raises(ValueError, match="round 7"):
        tarry.simulate(game, LEARNER)

    def inf_at_ninety(row, x):
        return np.inf if row[0] == 90 else 0.0

    def flat(row, x, out):
        out[:] = 0.0

    numbered = np.arange(1.0, 201.0)[:, None] * np.ones(3)
    custom = tarry.losses.Custom(numbered, inf_at_ninety, flat, dimension=3)
    game = tarry.Game(DOMAIN, custom, tarry.delays.fixed(horizon=200, delay=0), capacity=2)
    with pytest.raises(ValueError, match="rounds 1 to 200 is not finite"):
        tarry.simulate(game, LEARNER)


def test_occupancy_is_that_of_the_events():
    player = tarry.Player(LEARNER, tarry.schedulers.Pareto(safety=1.0))
    record = tarry.simulate(_game(), player, seeds=[5], keep_rounds=True)
    sizes = np.array([len(tracked) for tracked in sets_before_admission(record)])
    np.testing.assert_allclose(record.occupancy.mean, sizes.mean())
    np.testing.assert_allclose(record.occupancy.full, np.mean(sizes == 4))
    assert record.occupancy.peak[0] == sizes.max()


def test_records_warn_where_numbers_mislead(caplog, monkeypatch):
    monkeypatch.setattr(sys.modules["tarry.game.simulate"], "_said", set())
    record = tarry.simulate(_game(), tarry.Player(LEARNER, tarry.schedulers.Bernoulli(probability=1.0)))
    assert "found no room" in record.warnings[0]
    assert caplog.messages == [f"DWFTRL with Bernoulli: {record.warnings[0]}"]
    tarry.simulate(_game(), tarry.Player(LEARNER, tarry.schedulers.Bernoulli(probability=1.0)), seeds=[7])
    assert len(caplog.messages) == 1, "the same is said once"
    assert tarry.simulate(_game(), LEARNER).warnings == ()


@pytest.mark.parametrize(
    ("scheduler", "capacity", "lost"),
    [
        (tarry.schedulers.Bernoulli(probability=0.02), 1, 0.3),  # few of all rounds, many of those that the coin chose
        (tarry.schedulers.Morris(4.0), 4, 0.0),  # refuses before it tosses: many of the chosen, few of all
    ],
)
def test_what_found_no_room_is_a_share_of_the_chosen(scheduler, capacity, lost):
    record = tarry.simulate(_game(2000, capacity), tarry.Player(LEARNER, scheduler), seeds=8)
    chosen = 1.0 - record.fates[:, 1].sum() / record.fates.sum()
    assert 0.0 < record.refused < 0.01 < record.refused / chosen
    assert any("of chosen rounds found no room" in text for text in record.warnings) == (lost > 0)
    assert record.weights.mean.mean() == pytest.approx(1.0 - lost, abs=0.1)


def test_the_learner_must_play_on_the_games_domain():
    other = tarry.learners.DWFTRL(tarry.domains.Ball(3, radius=5.0), rate=0.1)
    with pytest.raises(ValueError, match="build the learner"):
        tarry.simulate(_game(), other)


def test_a_broken_balance_is_noticed(monkeypatch):
    monkeypatch.setattr("tarry.game.world.held", lambda *_: 1.0)
    with pytest.raises(tarry.errors.BrokenInvariant, match="sum to"):
        tarry.simulate(_game(), LEARNER)


@pytest.mark.parametrize(
    ("player", "changes", "told"),
    [
        (tarry.schedulers.VarOpt(), {}, True),
        (tarry.schedulers.Bernoulli(probability=0.02), {}, True),
        (tarry.schedulers.Bernoulli(probability=0.9), {}, False),  # rounds find no room
        (tarry.schedulers.DropOldest(), {}, False),  # no weights
        (tarry.schedulers.VarOpt(), {"comparator": np.zeros(3)}, False),
        (tarry.schedulers.VarOpt(), {"comparator": None}, False),
        (tarry.schedulers.VarOpt(), {"bound": False}, False),
    ],
)
def test_what_bounds_regret(player, changes, told):
    record = tarry.simulate(_game(), tarry.Player(LEARNER, player), seeds=20, **changes)
    assert record.bounds_regret.tolist() == [told] * 20 or (told is False and not record.bounds_regret.all())
    assert np.isnan(record.summary()["bound"]) == (not told)
    if told:
        assert record.regret.mean() < record.bound.mean()


def test_without_weights_regret_passes_the_bound():
    """The control: a biased scheduler on a game that it never hears the end of."""
    rows = np.zeros((400, 3))
    rows[:, 0] = 1.0
    game = tarry.Game(DOMAIN, tarry.losses.Linear(rows), tarry.delays.fixed(horizon=400, delay=60), capacity=1)
    slow = tarry.learners.DWFTRL(DOMAIN, rate=0.5)
    record = tarry.simulate(game, tarry.Player(slow, tarry.schedulers.DropOldest()))
    assert record.regret[0] > record.bound[0]
    assert not record.bounds_regret.any()


def test_restarts_drop_rounds_and_bound_nothing():
    player = tarry.Player(LEARNER, epochs=tarry.Doubling("total"))
    assert not tarry.simulate(_game(), player, seeds=3).bounds_regret.any()


def test_one_game_or_a_game_for_each_seed_is_told():
    def drawn(seed):
        rows = np.random.default_rng(seed).normal(size=(200, 3))
        return tarry.Game(DOMAIN, tarry.losses.Linear(rows), tarry.delays.fixed(horizon=200, delay=3), capacity=4)

    one, many = tarry.simulate(_game(), LEARNER, seeds=3), tarry.simulate(None, LEARNER, seeds=3, games=drawn)
    assert (one.has_one_game, many.has_one_game) == (True, False)
    assert "of one game" not in repr(many)
    for record, told in ((one, "capacity 4, one game"), (many, "capacity 4, a game for each seed")):
        assert told in record.plot().to_json()


def test_views():
    record = tarry.simulate(_game(), LEARNER, seeds=3)
    assert repr(record).startswith("Record(3 seeds of one game × 200 rounds: regret")
    low, high = stats.ttest_1samp(record.regret, 0.0).confidence_interval(0.95)
    assert record.summary()["half"] == pytest.approx((high - low) / 2)
    assert f"± {(high - low) / 2:.2g} (95 %)" in repr(record)
    assert repr(tarry.simulate(_game(), LEARNER, seeds=1)).startswith("Record(1 seed × 200 rounds: regret")
    assert "±" not in repr(tarry.simulate(_game(), LEARNER, seeds=1))
    assert "<table>" in record._repr_html_()
    assert "<table>" in _game()._repr_html_()
    assert repr(_game()).startswith("Game(200 rounds on Ball of R^3, Linear losses")
    with pytest.raises(ValueError, match="keep_rounds=True"):
        record.plays()
    assert record.plot().to_dict()["layer"]


def test_an_interrupt_while_seeds_are_handed_out_stops_the_others(monkeypatch):
    begun = []

    def submit(pool, function, original=ThreadPoolExecutor.submit):
        if begun:
            raise KeyboardInterrupt
        begun.append(function)
        return original(pool, function)

    def until_stopped(seeds, stop, report):
        for _ in range(500):
            if stop.is_set():
                raise Stopped
            time.sleep(0.01)
        raise AssertionError("nobody said so")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    assert in_threads(until_stopped, [0, 1], 2, lambda remaining: 1) == ([], True)


@pytest.mark.parametrize(
    ("recorded", "sentence"),
    [
        ({"uniforms": [np.nan] * 200}, r"uniforms must lie in \(0, 1\], got nan in round 1"),
        ({"lost": [0] * 199 + [19.7]}, "lost must be 0 or a round up to the one that loses it, got 19.7 in round 200"),
        ({"lost": [0] * 199 + [201]}, "got 201 in round 200"),
        ({"lost": [0] * 200}, "the round recorded as lost in round 5 cannot be lost there"),
        ({"directions": np.ones((200, 3))}, "unit vectors"),
    ],
)
def test_recorded_draws_that_nobody_could_have_drawn_are_refused(recorded, sentence):
    game, learner = _game(), LEARNER
    if "directions" in recorded:
        game, learner = _game(feedback="value"), tarry.learners.DWFTBL(DOMAIN, rate=0.01, smoothing=0.3)
    with pytest.raises(ValueError, match=sentence):
        tarry.simulate(game, learner, draws=tarry.Recorded(**recorded))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"seeds": [-1]}, "from 0 to 2⁶³ - 1, got -1"),
        ({"seeds": [0, 2**64]}, "from 0 to 2⁶³ - 1, got 18446744073709551616"),
        ({"seeds": 10**12}, "results of 1,000,000,000,000 seeds would take about"),
        ({"progress": True}, "progress must be a function"),
        ({"games": 4}, "not both"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_the_first_round(wrong, told):
    with pytest.raises((ValueError, tarry.errors.TooLarge), match=told):
        tarry.simulate(_game(), LEARNER, **wrong)


def test_games_must_be_given_and_callable():
    with pytest.raises(ValueError, match="give a game, or game=None and games="):
        tarry.simulate(None, LEARNER)
    with pytest.raises(ArgumentError, match="games must be a function of the seed"):
        tarry.simulate(None, LEARNER, games=[_game()])


def test_an_interrupt_while_compiling_keeps_nothing(monkeypatch):
    def compile_slowly(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["tarry.game.simulate"], "_crew_on", compile_slowly)
    with pytest.raises(tarry.errors.Interrupted, match="while compiling: nothing is kept") as told:
        tarry.simulate(_game(), LEARNER)
    assert told.value.record is None
