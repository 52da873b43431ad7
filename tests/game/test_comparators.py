"""What regret is measured against: found once for equal games, given, or nothing."""

from __future__ import annotations

import logging
import threading
import warnings

import numpy as np
import pytest

import tarry
from tarry import losses as kinds
from tarry.delays import fixed
from tarry.domains import Ball, Box
from tarry.errors import ArgumentError
from tarry.game import hindsight
from tarry.kernel.kept import ENTRY_BYTES, Kept
from tarry.learners import OGD, SOLO
from tarry.losses.supervised import curve

T, K = 30, 2
RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(T, K)), RNG.normal(size=T)
PATH = np.stack([np.cos(np.arange(T)), np.sin(np.arange(T))], axis=1) / 2
KINDS = {
    "Absolute": lambda: kinds.Absolute(X, Y),
    "Logistic": lambda: kinds.Logistic(X, Y > 0),
    "Linear, keyed rows": lambda: kinds.Linear(kinds.drifting(K, rng=3)),
}


def game(losses, domain=None, **rules):
    return tarry.Game(Ball(K) if domain is None else domain, losses, fixed(T, delay=3), **rules)


@pytest.fixture
def solved(monkeypatch):
    """The losses that were solved for, in order."""
    monkeypatch.setattr(hindsight, "_shared", Kept(hindsight.KEPT_BYTES))
    seen, real = [], hindsight.comparator

    def counting(domain, losses, *rest):
        seen.append(losses)
        return real(domain, losses, *rest)

    monkeypatch.setattr(hindsight, "comparator", counting)
    return seen


@pytest.mark.parametrize("name", KINDS)
def test_players_capacities_and_calls_share_one_search(solved, name):
    found = []
    for capacity in (1, 4, None):
        for player in (SOLO(Ball(K)), OGD(Ball(K), 0.1)):
            record = tarry.simulate(game(KINDS[name](), capacity=capacity), player, 2, threads=1)
            found.append(record.comparators[0])
    assert len(solved) == 1
    assert all(np.array_equal(one.point, found[0].point) and one.gap == found[0].gap for one in found)


def test_other_games_are_solved_anew(solved):
    made = [
        game(kinds.Absolute(X, Y)),
        game(kinds.Absolute(X, Y + 1e-9)),
        game(kinds.Absolute(X, Y, ridge=0.1)),
        game(kinds.Quantile(X, Y)),
        game(kinds.Absolute(X, Y), Ball(K, radius=1.1)),
        game(kinds.Absolute(X, Y), Box([-1.0, -1.0], 1.0)),
        tarry.Game(Ball(K), kinds.Linear(kinds.drifting(K, rng=3)), fixed(T, delay=1)),
        tarry.Game(Ball(K), kinds.Linear(kinds.drifting(K, rng=3)), fixed(T + 1, delay=1)),
        tarry.Game(Ball(K), kinds.Linear(kinds.drifting(K, rng=4)), fixed(T, delay=1)),
    ]
    for one in made * 2:
        hindsight.compare(one, np.array([one.horizon]))
    assert len(solved) == len(made)


def test_functions_may_change_and_are_solved_for_each_game(solved):
    target = [0.5]

    def value(x, t):
        return 0.5 * float((x[0] - target[0]) ** 2 + x[1] ** 2)

    def gradient(x, t):
        return np.array([x[0] - target[0], x[1]])

    for where in (0.5, -0.25):
        target[0] = where
        made = game(kinds.Callables(value, gradient, dimension=K, horizon=T))
        record = tarry.simulate(made, OGD(Ball(K), 0.1), threads=1)
        np.testing.assert_allclose(record.comparators[0].point, [where, 0.0], atol=1e-6)
    assert len(solved) == 2


def test_a_verb_that_is_registered_anew_makes_other_losses(solved):
    class Bowl(kinds.Quadratic, init=False):
        """A loss of one's own, whose verbs are then written again."""

        def isotropic(self):
            return None

    made = Bowl.make(*kinds.Quadratic(X))
    first = hindsight.compare(game(made), np.array([T])).losses[-1]

    @kinds.base.value.on(Bowl)
    def _value(loss, row, x):
        return loss.curvature * ((x[0] - row[0]) ** 2 + (x[1] - row[1]) ** 2)

    @kinds.base.gradient.on(Bowl)
    def _gradient(loss, row, x, out):
        for i in range(x.size):
            out[i] = 2.0 * loss.curvature * (x[i] - row[i])

    assert hindsight.compare(game(made), np.array([T])).losses[-1] == pytest.approx(2 * first, rel=1e-9)


def test_threads_that_ask_at_one_moment_solve_once(solved):
    gate, games = threading.Barrier(6), [game(kinds.Absolute(X, Y), capacity=c) for c in range(1, 7)]

    def ask(one):
        gate.wait()
        hindsight.compare(one, np.array([T]))

    threads = [threading.Thread(target=ask, args=(one,)) for one in games]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(solved) == 1


def test_other_checkpoints_take_a_pass_and_no_search(solved):
    few, many = (tarry.simulate(game(KINDS["Absolute"]()), SOLO(Ball(K)), checkpoints=n) for n in (1, 50))
    assert len(solved) == 1
    assert few.regret == pytest.approx(many.regret, rel=1e-12)
    assert few.comparators[0].losses.size == 1 < many.comparators[0].losses.size


def test_the_oldest_are_forgotten(solved, monkeypatch):
    size = ENTRY_BYTES + 8 * (K + 1 + 1)
    monkeypatch.setattr(hindsight._shared, "most", 2 * size)
    for shift in (0.0, 1.0, 2.0, 0.0):
        hindsight.compare(game(kinds.Absolute(X, Y + shift)), np.array([T]))
    assert len(solved) == 4
    assert len(list(hindsight._shared)) == 2


def test_comparators_with_many_checkpoints_are_kept_by_their_bytes(solved, monkeypatch):
    monkeypatch.setattr(hindsight._shared, "most", 10 * ENTRY_BYTES)
    few, many = np.array([T]), np.arange(1, T + 1)
    played = [game(kinds.Absolute(X, Y + shift)) for shift in range(4)]
    for one in played:
        hindsight.compare(one, few)
    assert len(list(hindsight._shared)) == 4
    for one in played:
        hindsight.compare(one, np.repeat(many, 8))
    assert len(list(hindsight._shared)) < 4
    assert hindsight._shared._bytes <= hindsight._shared.most
    assert len(solved) == 4, "what a game has found it keeps itself"


def test_cells_of_a_sweep_share_one_search_for_each_seed(solved, tmp_path):
    from tarry.experiments import Folder, load_sweep, run_sweep
    from tarry.experiments.engines import Threads

    (tmp_path / "drift.toml").write_text(
        """
seeds = 3
[axes]
capacity = [1, 2, "unlimited"]
horizon = [30]
dimension = [2]
[games.drift]
domain = "Ball"
losses = { type = "Distance", targets = "Drawn.drifting_targets" }
delays = { type = "geometric", mean = 3 }
[players.a]
learner = "SOLO"
[players.b]
learner = { type = "OGD", rate = 0.1 }
"""
    )
    sweep = load_sweep(tmp_path / "drift.toml")
    done = run_sweep(sweep, Folder(tmp_path / "out"), Threads(2))
    assert (done.finished, done.failed) == (6, {})
    assert len(solved) == 3


# Given


@pytest.mark.parametrize("name", KINDS)
def test_an_action_or_a_path_that_is_given(solved, name):
    made, player = game(KINDS[name]()), OGD(Ball(K), 0.1)
    losses, action = made.losses, np.array([0.3, -0.4])
    fixed_action = tarry.simulate(made, player, 2, comparator=action)
    moving = tarry.simulate(made, player, 2, comparator=PATH, keep_rounds=True)
    assert not solved
    spent = sum(losses.value(action, t) for t in range(1, T + 1))
    np.testing.assert_allclose(fixed_action.regret, fixed_action.loss - spent, rtol=1e-12)
    assert np.isnan(fixed_action.comparators[0].gap)
    assert fixed_action.warnings == ()
    np.testing.assert_allclose(moving.regret, moving.regret_against(PATH).regret, rtol=1e-12)
    assert moving.regret_at.shape == moving.loss_at.shape


def test_a_comparator_of_another_record_is_not_searched_for_again(solved):
    rows = RNG.normal(size=(T, K))
    first = tarry.simulate(game(kinds.Linear(rows)), SOLO(Ball(K)))
    known = first.comparators[0]
    again = tarry.simulate(game(kinds.Linear(rows), capacity=2), SOLO(Ball(K)), comparator=known, checkpoints=3)
    assert len(solved) == 1
    assert again.comparators[0].gap == known.gap
    np.testing.assert_array_equal(again.comparators[0].point, known.point)
    assert again.regret[0] == pytest.approx(again.loss[0] - known.losses[-1], rel=1e-12)
    with pytest.raises(ArgumentError, match=r"comparator lost .* where it was found, and loses .* give its point"):
        tarry.simulate(game(kinds.Linear(rows + 1.0)), SOLO(Ball(K)), comparator=known)


def test_losses_alone_search_for_nothing_and_warn_of_nothing(solved, caplog):
    made = game(kinds.Absolute(X, Y))
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING, "tarry"):
        warnings.simplefilter("error")
        record = tarry.simulate(made, OGD(Ball(K), 0.1), 3, comparator=None)
        text, page, told = repr(record), record._repr_html_(), record.summary()
    assert not solved
    assert not caplog.records
    assert (record.comparators, record.warnings) == ([], ())
    assert np.isnan(record.regret).all()
    assert np.isnan(told["regret"])
    np.testing.assert_array_equal(record.loss, tarry.simulate(made, OGD(Ball(K), 0.1), 3).loss)
    assert "regret" not in text
    assert f"loss {record.loss.mean():.4g}" in text
    assert page
    with pytest.raises(ValueError, match="no regret to draw"):
        record.plot()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("bset", r"comparator must be one of 'best', got 'bset'"),
        (np.zeros(3), r"comparator must be 'best', None, an action of shape \(2,\) or a path of shape \(30, 2\), got"),
        (np.full(K, np.nan), "comparator must be finite"),
        (np.array([2.0, 0.0]), "comparator must lie in the domain .* 1 outside"),
        (np.vstack([PATH[:-1], [[0.0, 1.5]]]), "comparator must lie in the domain .*, in round 30 it is 0.5 outside"),
    ],
)
def test_what_is_no_comparator_is_refused_before_play(given, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        tarry.simulate(game(kinds.Absolute(X, Y)), SOLO(Ball(K)), comparator=given)


def test_what_equal_games_share_cannot_be_changed(solved):
    [found] = tarry.simulate(game(KINDS["Absolute"]()), OGD(Ball(K), rate=0.1)).comparators
    for part in (found.point, found.losses):
        with pytest.raises(ValueError, match="read-only"):
            part[:] = 0.0


def test_a_curve_that_is_registered_anew_makes_other_losses(solved, monkeypatch):
    class Mine(kinds.Absolute):
        pass

    tarry.simulate(game(Mine(X, Y)), OGD(Ball(K), rate=0.1))
    monkeypatch.setitem(curve.members, Mine, lambda loss, z, y: ((z - y) ** 2, 2.0 * (z - y)))
    tarry.simulate(game(Mine(X, Y)), OGD(Ball(K), rate=0.1))
    assert len(solved) == 2


def test_a_subclass_with_another_value_has_no_closed_form_of_its_base():
    class Bent(kinds.Linear, init=False):
        """A linear loss and a bowl."""

    @kinds.base.value.on(Bent)
    def _value(loss, row, x):
        return row[0] * x[0] + row[1] * x[1] + 3.0 * (x[0] ** 2 + x[1] ** 2)

    @kinds.base.gradient.on(Bent)
    def _gradient(loss, row, x, out):
        for i in range(x.size):
            out[i] = row[i] + 6.0 * x[i]

    made, rounds = game(Bent(X)), np.array([T])
    found = hindsight.compare(made, rounds)
    np.testing.assert_allclose(found.point, -X.mean(axis=0) / 6.0, atol=1e-6)
    assert hindsight.shape_of(Bent(X)) is None


class Tilted(kinds.Absolute, init=False):
    """Slopes of a quarter and a half, where the base has 1 and knows a plane below itself."""

    def curve(self, z, y):
        return (0.25 * (z - y), 0.25) if z > y else (0.5 * (y - z), -0.5)


class Shallow(kinds.Distance, init=False):
    """Distances along the axes, a fifth of them, where the base has the straight one."""


@kinds.base.value.on(Shallow)
def _value_of_shallow(loss, row, x):
    return 0.2 * abs(x[0] - row[0]) + 0.1 * abs(x[1] - row[1])


@kinds.base.gradient.on(Shallow)
def _gradient_of_shallow(loss, row, x, out):
    out[0], out[1] = 0.2 * np.sign(x[0] - row[0]), 0.1 * np.sign(x[1] - row[1])


@pytest.mark.parametrize("losses", [Tilted(X, X @ [0.4, -0.3] + Y), Shallow(X)], ids=["Tilted", "Shallow"])
def test_a_subclass_with_another_kink_is_not_certified_by_planes_of_its_base(losses):
    found = hindsight.minimise(Box([-1.0, -1.0], [1.0, 1.0]), losses, T)
    rows, axis = losses.rows.values, np.linspace(-1.0, 1.0, 41)
    least = min(sum(kinds.base.value(losses, row, np.array([a, b])) for row in rows) for a in axis for b in axis)
    assert found.value - found.gap <= least + 1e-12
    assert found.value <= least + 1e-12


class Halved(kinds.Listed):
    """Rows of half the length: all that reads them asks for them by ``fetch``."""

    def fetch(self, t, row):
        for i in range(row.size):
            row[i] = 0.5 * self.values[t - 1, i]


def test_a_subclass_of_listed_rows_is_read_by_its_own_fetch():
    player = OGD(Ball(K), 0.1)
    found, expected = (tarry.simulate(game(kinds.Linear(rows)), player) for rows in (Halved(X), X / 2))
    assert found.loss == pytest.approx(expected.loss, rel=1e-12)
    assert found.regret == pytest.approx(expected.regret, rel=1e-12)
