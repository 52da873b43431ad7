"""The interval that holds at every time at once: it covers, under all delays, and says where it cannot."""

from __future__ import annotations

import os
import sys
from math import isnan, nan, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import tarry
from studies.numbers import short, write_if_asked
from tarry.game import replay
from tarry.learners import Idle
from tarry.live.books import sample_of
from tarry.live.core import LABELS, LOST, NAIVE, WEIGHTED, WEIGHTS, Slots, book_label
from tarry.theory.intervals import deviation, mean_interval
from tarry.tracking import Player
from tarry.tracking.tally import DRIFT, THRESHOLD

GOLDEN = Path(__file__).parent / "golden"
CAPACITY, LOOKS = 16, 50  # rounds between two looks at the interval for one look


def by_label(rng, y):
    """Positive labels take long: at 2 000 rounds 150 to 299, the others at most 30."""
    n = y.size
    return np.where(y == 1, rng.integers(3 * n // 40, 3 * n // 20, n), rng.integers(0, 3 * n // 200 + 1, n))


FAMILIES = {
    "fixed": lambda rng, y: np.full(y.size, 200),
    "heavy": lambda rng, y: np.minimum(20 * rng.random(y.size) ** (-1 / 1.2), 1e6).astype(np.int64),
    "bursts": lambda rng, y: 249 - np.arange(y.size) % 250,
    "geometric": lambda rng, y: rng.geometric(1 / 100, y.size),
    "by label": by_label,
}


class Books(NamedTuple):
    """One run: at each time Σ of all labels decided, of those heard, the weights of these, Λ and θ; and looks."""

    truth: np.ndarray
    weighted: np.ndarray
    weight: np.ndarray
    drift: np.ndarray
    theta: np.ndarray
    seen: np.ndarray  # how many labels, and their plain sum
    plain: np.ndarray
    looks: list[tuple[float, float, float]]  # the truth, and the ends of the interval for one look
    rounds: np.ndarray


def run(family, seed, rounds=2000, share=0.3, capacity=CAPACITY):
    """Play a join's slots; after the last decision the labels still out come in, in order."""
    rng = np.random.default_rng([seed, 7])
    y = (rng.random(rounds) < share).astype(float)
    due = np.arange(rounds) + FAMILIES[family](rng, y)
    order = np.argsort(due, kind="stable")
    ends = np.searchsorted(due[order], np.arange(rounds), side="right")
    slots, sums = Slots(Player(Idle()), capacity, seed=seed), np.zeros(8)
    cells, told, looks, first = memoryview(sums), [], [], 0
    totals = np.cumsum(y)
    for t in range(rounds + 1):
        if t < rounds:
            slots.open()
        end = ends[t] if t < rounds else rounds
        for i in order[first:end].tolist():
            weight = slots.answer(i + 1)
            if weight:
                book_label(cells, weight, y[i])
        first, truth = end, totals[min(t, rounds - 1)]
        books = (cells[WEIGHTED] + cells[LOST], cells[WEIGHTS], slots.strays[DRIFT], slots.strays[THRESHOLD])
        told.append((truth, *books, cells[LABELS], cells[LABELS] * cells[NAIVE], min(t + 1, rounds)))
        if t % LOOKS == 0 or t == rounds:
            begun, sample = min(t + 1, rounds), sample_of(sums)
            unheard = max(0.0, begun - sample.mass)
            heaviest = slots.strays[THRESHOLD]
            looks.append((truth / begun, *mean_interval(sample, unheard, heaviest, 0.95, 0.0, 1.0)))
    *columns, numbers = np.transpose(told)
    return Books(*columns, looks, numbers)


def needed(path):
    """How much reach each time needs: how far the sum lies outside of what is heard and what the rest may be."""
    unheard = np.maximum(0.0, path.rounds - path.weight)
    return np.maximum(path.weighted - path.truth, path.truth - path.weighted - unheard)


def judge(path, level=0.95):
    """Whether both intervals cover always, and at the end; the control's; the share of reach needed; both widths."""
    short, tiny = needed(path), 1e-9 * path.rounds
    at = np.flatnonzero(short > tiny)  # elsewhere any reach will do
    reach = deviation(path.drift[at], path.theta[at], level)
    last = float(deviation(path.drift[-1], path.theta[-1], level)) / path.rounds[-1]
    looks = [lower <= truth <= upper for truth, lower, upper in path.looks]
    _, lower, upper = path.looks[-1]
    return (
        bool(np.all(short[at] <= reach)),
        at.size == 0,
        max(short[at] / reach, default=0.0),
        looks[-1],
        all(looks),
        2 * last / (upper - lower),
    )


def table(family, runs, **options):
    """Coverage at every time, without Λ, the share of reach that 95 % of runs need; one look; the ratio of widths."""
    sure, bare, share, once, always, ratio = np.transpose([judge(run(family, seed, **options)) for seed in range(runs)])
    return sure.mean(), bare.mean(), np.quantile(share, 0.95), once.mean(), always.mean(), np.median(ratio)


def test_it_covers_at_every_time_and_not_without_its_variance():
    sure, bare, share, _, always, ratio = table("by label", 200, rounds=100, capacity=2)
    assert sure >= 0.95
    assert bare < 0.5, "the control must fail"
    assert always >= 0.93, "the other one covers at every look, too, for it allows for what is awaited"
    assert share > 0.2, "else it would be absurdly wide"
    assert 1.5 < ratio < 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "share"), [*((name, 0.3) for name in FAMILIES), ("fixed", 0.02), ("by label", 0.02)]
)
def test_coverage_of_many_runs(family, share, capsys):
    """Write a line of the table in docs/explanation/estimates.md, for which COVERAGE_RUNS is 1000."""
    runs = int(os.environ.get("COVERAGE_RUNS", "100"))
    found = table(family, runs, share=share)
    with capsys.disabled():
        sys.stdout.write(f"\n| {family} | {share} | " + " | ".join(f"{number:.3f}" for number in found) + " |\n")
    names = ("covers", "bare", "share", "once", "always", "width")
    values = {name: short(float(number)) for name, number in zip(names, found, strict=True)}
    command = f"COVERAGE_RUNS={runs} python -m pytest -m slow tests/live/test_anytime.py"
    write_if_asked(f"anytime {family} {share:.0%}", command, values)
    assert found[0] >= 0.95 - 3 * sqrt(0.95 * 0.05 / runs)
    assert found[1] < 0.5, "the control must fail"


def test_the_join_says_what_the_books_come_to():
    """Through the calls, against the same path of the slots."""
    rng, n = np.random.default_rng([3, 7]), 300
    path = run("by label", 3, rounds=n, capacity=8)
    y = (rng.random(n) < 0.3).astype(float)
    due, join = np.arange(n) + by_label(rng, y), tarry.LabelJoin(8, rng=3)
    for t in range(n + 400):
        if t < n:
            join.decide()
        for i in np.flatnonzero(due == t):
            join.label(int(i) + 1, y[i])
        if t >= n:
            continue
        found, k = join.estimate(0.9), t + 1
        off, unheard = float(deviation(path.drift[t], path.theta[t], 0.9)), k - path.weight[t]
        low = max(path.weighted[t] - off, path.plain[t])
        high = min(path.weighted[t] + unheard + off, path.plain[t] + k - path.seen[t])
        assert (found.sum_low, found.sum_high) == pytest.approx((low, high), rel=1e-9, abs=1e-9)
        assert (found.anytime_low, found.anytime_high) == pytest.approx((low / k, high / k), rel=1e-9, abs=1e-9)
        assert found.caveat == ""
    assert y.sum() < join.estimate(0.5).sum_high < join.estimate().sum_high < n


def test_without_a_limit_nothing_strays():
    join = tarry.LabelJoin(None, rng=1)
    for i in range(200):
        join.decide(id=i)
    for i in range(150):
        join.label(i, i % 2)
    found = join.estimate()
    assert (found.sum_low, found.sum_high) == (75, 125)
    join.expire(150)  # its label is never known
    for i in range(151, 200):
        join.label(i, None)  # nor are these numbers
    assert join.estimate()[7:12] == (0.375, 0.625, 75, 125, "")


def test_the_range_is_the_callers():
    join = tarry.LabelJoin(2, rng=1)
    for label in (3, -2, 3, 1):
        join.label(join.decide().id, label)
    found = join.estimate()
    assert isnan(found.anytime_low)
    assert found.caveat.startswith("a label was -2, and none may lie outside of 0 to 1: state the range")
    assert join.estimate(low=-2).caveat.startswith("a label was 3, and none may lie outside of -2 to 1")
    assert join.estimate(low=-2, high=3)[7:12] == (1.25, 1.25, 5, 5, "")
    join.decide()
    assert join.estimate(low=-2, high=3)[9:12] == (3, 8, "")
    assert join.status().rows()["estimate caveat"] == found.caveat
    with pytest.raises(ValueError, match="high must be above low=1, got 1"):
        join.estimate(low=1)
    with pytest.raises(ValueError, match="low must be a finite number, got nan"):
        join.estimate(low=nan)


def test_no_range_is_wider_than_what_labels_may_be():
    join = tarry.LabelJoin(1, rng=1)
    for _ in range(50):
        join.decide()
    assert join.estimate()[7:12] == (0, 1, 0, 50, "")
    assert join.estimate(low=-1, high=3)[7:12] == (-1, 3, -50, 150, "")


@pytest.mark.parametrize("scheduler", [tarry.schedulers.Bernoulli(probability=0.5), tarry.schedulers.DropOldest()])
def test_other_schedulers_have_none(scheduler):
    join = tarry.LabelJoin(4, scheduler=scheduler, rng=1)
    assert join.estimate().caveat == "nothing has been decided yet"
    join.decide()
    assert join.estimate().caveat.startswith("how far sums may stray is known for VarOpt alone")
    assert isnan(join.estimate().sum_high)


@pytest.mark.parametrize("capacity", [5, None])
def test_a_store_keeps_it(tmp_path, capacity):
    url, here = f"sqlite:///{tmp_path / 'a.db'}", tarry.LabelJoin(capacity, rng=4)
    with tarry.LabelJoin(capacity, rng=4, store=url, durability="process") as there:
        for _ in range(150):  # beyond the first room of a set without a limit
            for join in (here, there):
                join.decide()
        for i in range(1, 100):
            for join in (here, there):
                join.label(i, 0.25)
    with tarry.LabelJoin.open(url) as again:
        assert again.estimate()[7:] == here.estimate()[7:]
        assert again.estimate().caveat == ""
        assert again.estimate(low=0.5).caveat.startswith("a label was 0.25")


def test_one_threshold_beyond_the_grid_spoils_no_other():
    found = deviation([10.0, 10.0, 0.0], [8.0, 4e5, 4e5])
    assert found[0] == pytest.approx(float(deviation(10.0, 8.0)))
    assert found[1:].tolist() == [np.inf, 0.0]


@pytest.mark.parametrize("made", ["simulate", "replay"])
def test_records_have_intervals_of_what_was_heard(made):
    rng = np.random.default_rng(1)
    y = (rng.random(600) < 0.3).astype(float)
    waits = tarry.delays.array(by_label(rng, y))
    if made == "replay":
        record = replay(tarry.schedulers.VarOpt(), waits, capacity=16, seeds=5, keep_rounds=True)
    else:
        game = tarry.Game(tarry.domains.Ball(1), tarry.losses.Linear(np.ones((600, 1))), waits, capacity=16)
        record = tarry.simulate(game, tarry.learners.DWFTRL(game.domain, rate=0.1), seeds=5, keep_rounds=True)
    found = np.array([record.sum_interval(y, seed=seed) for seed in range(5)])
    assert np.all((found[:, 0] < y.sum()) & (y.sum() < found[:, 1]))
    assert np.all(found[:, 1] - found[:, 0] < 600)
    secret = np.where(record.heard(4) > 0, y, 0.5) if made == "replay" else y
    assert record.sum_interval(secret, seed=4) == tuple(found[4])  # what was not heard is not looked at
    twice = record.sum_interval(2 * y - 1, low=-1, high=1, seed=4)
    assert twice == pytest.approx(2 * found[4] - 600)
    with pytest.raises(ValueError, match=r"values must lie between low=0 and high=0\.5"):
        record.sum_interval(y, high=0.5)
    with pytest.raises(ValueError, match="values must have 600 entries, one a round"):
        record.sum_interval(y[1:])


def test_records_of_other_schedulers_have_none():
    record = replay(tarry.schedulers.Priority(), tarry.delays.fixed(horizon=9, delay=3), capacity=2, keep_rounds=True)
    with pytest.raises(ValueError, match="known for VarOpt alone: play with it"):
        record.sum_interval(np.zeros(9))
