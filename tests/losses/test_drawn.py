"""Drawn rows: the stated distribution, blocks, finishes, and the same row every time."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tarry
from tarry.kernel import Purpose, entry, make_key
from tarry.kernel.kept import ENTRY_BYTES, Kept
from tarry.kernel.keyed import normals
from tarry.losses import Drawn, Linear, Quadratic, blocks, drawn, drifting
from tarry.losses.base import fetch


@entry
def _fill(rows, first, out):
    for i in range(out.shape[0]):
        fetch(rows, first + i, out[i])


def table(rows, count, first=1):
    out = np.zeros((count, rows.width))
    _fill.dispatcher_for(rows)(rows, first, out)
    return out


def test_rows_follow_the_formula():
    rows = Drawn(4, 0.7, 0.3, 3, "none", rng=9)
    key, v, z = make_key(9, Purpose.LOSSES), np.zeros(4), np.zeros(4)
    with np.errstate(over="ignore"):
        normals(key, 0, v)
        for t in (1, 3, 4, 100):
            normals(key, (t - 1) // 3 + 1, z)
            expected = 0.7 * v / np.linalg.norm(v) + 0.3 * z / 2.0
            np.testing.assert_allclose(table(rows, 1, t)[0], expected, rtol=1e-13)


@pytest.mark.parametrize("finish", ["sphere", "ball"])
def test_finishes(finish):
    plain, made = (table(Drawn(3, 0.2, 1.0, 1, f, rng=4), 300) for f in ("none", finish))
    norm = np.linalg.norm(plain, axis=1, keepdims=True)
    expected = plain / norm if finish == "sphere" else plain / np.maximum(norm, 1.0)
    np.testing.assert_allclose(made, expected, rtol=1e-12)
    assert 0 < np.sum(norm > 1) < 300


@pytest.mark.parametrize("make", [blocks, Drawn.block_targets])
def test_blocks_change_every_length_rounds(make):
    rows = table(make(5, length=7, rng=2), 70)
    parts = rows.reshape(10, 7, 5)
    assert np.all(parts == parts[:, :1])
    assert len(np.unique(parts[:, 0], axis=0)) == 10


def test_drifting_has_the_stated_mean():
    n, k = 4000, 10
    rows = drifting(k, rng=3)
    made = table(rows, n)
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1.0, rtol=1e-12)
    rng = np.random.default_rng(0)
    v, z = rows.direction, rng.normal(size=(n, k)) / np.sqrt(k)
    reference = (0.3 * v + z) / np.linalg.norm(0.3 * v + z, axis=1, keepdims=True)
    along, expected = made @ v, reference @ v
    error = np.sqrt(along.var() / n + expected.var() / n)
    assert abs(along.mean() - expected.mean()) <= 4 * error
    assert abs(along.mean() * 1.5 - expected.mean()) > 4 * error


def test_targets_have_the_stated_spread():
    n, k = 4000, 10
    iid = table(Drawn.drifting_targets(k, rng=3), n)
    away = iid - 0.5 * Drawn.drifting_targets(k, rng=3).direction
    # 0.5z has variance 0.25/k in each entry; the ball cuts few.
    assert np.mean(np.sum(away**2, axis=1)) == pytest.approx(0.25, rel=0.05)
    jumps = table(Drawn.block_targets(k, length=1, rng=3), n)
    assert np.mean(np.linalg.norm(jumps, axis=1) > 1 - 1e-9) > 0.3
    assert np.all(np.linalg.norm(jumps, axis=1) <= 1 + 1e-12)


def test_rows_are_endless_and_repeatable():
    loss = Linear(drifting(10, rng=1))
    assert loss.horizon is None
    far = loss.row(10**12)
    assert np.array_equal(far, pickle.loads(pickle.dumps(loss)).row(10**12))
    assert not np.array_equal(far, Linear(drifting(10, rng=2)).row(10**12))
    assert Quadratic(Drawn.block_targets(10, rng=1)).horizon is None


def test_without_noise_every_row_is_the_direction():
    rows = Drawn(4, 0.7, 0.0, rng=3)
    assert np.array_equal(table(rows, 5), np.tile(0.7 * rows.direction, (5, 1)))


def test_largest_norm():
    assert Drawn(3, finish="none", rng=1).largest_norm() == np.inf
    assert Drawn(3, 0.4, 0.0, rng=1).largest_norm() == 0.4
    assert Drawn.block_targets(3, rng=1).largest_norm() == 1.0


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Drawn(0), "dimension must be a whole number of at least 1, got 0"),
        (lambda: blocks(3, length=0), "block must be a whole number of at least 1, got 0"),
        (lambda: Drawn(3, finish="cube"), "finish must be one of 'none', 'sphere', 'ball', got 'cube'"),
        (lambda: Drawn(3, -1.0), "drift must be finite and not negative, got -1.0"),
        (lambda: Drawn(3, 0.0, 0.0, 1, "sphere"), "drift and noise are both 0"),
        (lambda: Linear(drifting(3)).row(0), "t must be a round from 1, got 0"),
    ],
)
def test_errors_are_sentences(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()


@pytest.mark.jit(only=True)
def test_a_table_has_the_rows_that_are_drawn(monkeypatch):
    monkeypatch.setattr(drawn, "_tables", Kept(drawn.KEPT_BYTES))
    for rows in (drifting(5, rng=1), blocks(5, length=7, rng=2)):
        listed = drawn.in_table(Linear(rows), 300).rows
        assert np.array_equal(listed.values, table(rows, 300))
        assert drawn.in_table(Linear(rows), 300).rows.values is listed.values, "it is drawn twice"
        assert drawn.in_table(Linear(rows), 300, is_empty=True).rows.values.shape == (0, 5)
    drawn._tables.most = 2 * (ENTRY_BYTES + 300 * 5 * 8)
    drawn.in_table(Linear(drifting(5, rng=3)), 300)
    assert [rows for rows, _ in drawn._tables] == [blocks(5, length=7, rng=2), drifting(5, rng=3)]


def test_what_is_not_drawn_by_us_or_too_long_is_left_as_it_is(monkeypatch):
    class Mine(Drawn):
        def fetch(self, t, row):
            row[0] = t

    monkeypatch.setattr(drawn, "TABLE_BYTES", 8 * 5 * 100)
    for losses in (Linear(Mine(5, rng=1)), Linear(np.ones((9, 5)))):
        assert drawn.in_table(losses, 9) is losses
    endless = Linear(drifting(5, rng=1))
    assert drawn.table_bytes(endless, 100) == 8 * 5 * 100
    assert drawn.table_bytes(endless, 101) == 0
    assert drawn.in_table(endless, 101) is endless


@pytest.mark.jit(only=True)
@pytest.mark.slow
def test_games_are_the_same_with_and_without_a_table(monkeypatch):
    ball, waits = tarry.domains.Ball(5), tarry.delays.fixed(horizon=500, delay=9)
    player = tarry.Player(tarry.learners.DWFTRL(ball, rate=0.05))
    found = []
    for most in (drawn.TABLE_BYTES, 0):
        monkeypatch.setattr(drawn, "TABLE_BYTES", most)
        monkeypatch.setattr(tarry.game.hindsight, "_shared", Kept(1 << 20))
        game = tarry.Game(ball, Quadratic(Drawn.drifting_targets(5, rng=3)), waits, capacity=4)
        found.append(tarry.simulate(game, player, 3))
    one, two = found
    assert np.array_equal(one.regret_at, two.regret_at)
    assert np.array_equal(one.last_plays, two.last_plays)
