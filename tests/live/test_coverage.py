"""Looked at in the middle of a stream, where quick labels differ from slow ones, the interval covers the truth."""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
import pytest
from scipy import stats

import tarry
from studies.numbers import write_if_asked
from tarry.game import replay
from tarry.live.books import sample_of
from tarry.live.core import LABELS, book_label
from tarry.theory.intervals import mean_interval
from tarry.tracking.tally import THRESHOLD

RUNS, ROUNDS, CAPACITY, LEVEL, ENOUGH = 200, 200, 10, 0.95, 0.93
WINDOW = 20.0
COMMAND = "python -m pytest tests/live/test_coverage.py"  # of docs/explanation/estimates.md
LOOKS = (ROUNDS // 4, ROUNDS // 2, 3 * ROUNDS // 4)  # decisions made so far
# Positive labels come at once and others never; the other way round, and in the end; and some of both come late.
STREAMS = {
    "quick and rare": (0.08, lambda rng, y: np.where(y == 1, rng.integers(0, 5, y.size), ROUNDS)),
    "quick and many": (0.5, lambda rng, y: np.where(y == 1, rng.integers(0, 5, y.size), ROUNDS)),
    "slow": (0.3, lambda rng, y: np.where(y == 1, rng.integers(30, 60, y.size), rng.integers(0, 5, y.size))),
}


@cache
def looks(stream):
    """Of every run and look: the mean of all decisions so far, the sums of labels, θ, and the join's estimate."""
    rate, delays = STREAMS[stream]
    told = []
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 11])
        y = (rng.random(ROUNDS) < rate).astype(float)
        due = np.arange(ROUNDS) + delays(rng, y)
        join = tarry.LabelJoin(CAPACITY, rng=seed)
        for t in range(LOOKS[-1]):
            join.decide()
            for i in np.flatnonzero(due == t).tolist():
                join.label(i + 1, y[i])
            if t + 1 in LOOKS:
                slots = join._tracker.slots
                told.append((t + 1, y[: t + 1].mean(), np.array(slots.sums), slots.strays[THRESHOLD], join.estimate()))
    return told


def coverage(stream, interval):
    """The share of runs in which interval(decisions, sums, θ, estimate) covers the truth, at each look."""
    covered = {look: [] for look in LOOKS}
    for look, truth, *books in looks(stream):
        low, high = interval(look, *books)
        covered[look].append(low <= truth <= high)
    return [np.mean(covered[look]) for look in LOOKS]


def ours(look, sums, theta, found):
    return found.low, found.high


def students(look, sums, theta, found):
    """As it was: about the labels that have come, of no width where they are all equal."""
    sample = sample_of(sums)
    n = sample.effective
    reach = stats.t(n - 1).ppf((1 + LEVEL) / 2) * sample.error * sqrt(n / (n - 1)) if sums[LABELS] > 1 else np.nan
    return found.mean - reach, found.mean + reach


def without_the_awaited(look, sums, theta, found):
    """The planted error: Wilson's interval for the labels that have come."""
    return mean_interval(sample_of(sums), 0.0, theta, LEVEL, 0.0, 1.0)


def rounded(shares):
    return {name: [round(100 * float(share), 3) for share in listed] for name, listed in shares.items()}


@pytest.mark.parametrize("stream", STREAMS)
def test_the_interval_covers_the_mean_of_all_decisions_so_far(stream):
    found = {name: coverage(stream, interval) for name, interval in (("covers", ours), ("student", students))}
    found["outstanding"] = [np.mean([e.outstanding for look, *_, e in looks(stream) if look == at]) for at in LOOKS]
    write_if_asked(f"coverage {stream}", COMMAND, rounded(found))
    assert min(found["covers"]) >= ENOUGH
    for wrong in (students, without_the_awaited):
        assert coverage(stream, wrong)[0] < 0.5, "the control must fail"
    for *_, found in looks(stream):
        assert found.high - found.low >= found.outstanding
        if not found.labels:
            continue
        assert max(found.low, found.anytime_low) <= found.mean <= min(found.high, found.anytime_high)


def test_the_share_that_is_outstanding_is_drawn_too():
    """The planted error is harder to see: widened by the share that is outstanding, as if no chance were in it."""
    rounds, runs, rng = 300, 100, np.random.default_rng(1)
    y = (rng.random(rounds) < 0.5).astype(float)
    waits = tarry.delays.array(np.where(y == 1, 0, rounds))  # only positive labels have come
    record = replay(tarry.schedulers.VarOpt(), waits, capacity=15, seeds=runs, keep_rounds=True)
    covered = []
    for seed in range(runs):
        w = record.heard(seed)[y == 1]
        sums = books(w, np.ones(w.size))
        sample, share = sample_of(sums), np.sum(w) / rounds
        right = mean_interval(sample, rounds - np.sum(w), max(w), LEVEL, 0.0, 1.0)
        low, high = mean_interval(sample, 0.0, max(w), LEVEL, 0.0, 1.0)
        wrong = share * low, share * high + 1 - share
        covered.append([ends[0] <= y.mean() <= ends[1] for ends in (right, wrong)])
    write_if_asked("coverage where the share is drawn", COMMAND, rounded({"ours, widened": np.mean(covered, axis=0)}))
    assert np.mean(covered, axis=0)[0] >= ENOUGH
    assert np.mean(covered, axis=0)[1] < 0.85, "the control must fail"


def books(w, y):
    """The sums of rows of these weights and labels; those of weight 0 were lost."""
    sums = np.zeros(8)
    for weight, label in zip(w[w > 0].tolist(), y[w > 0].tolist(), strict=True):
        book_label(sums, weight, label)
    return sums


@cache
def windows():
    """Of every run and look: the labels of decisions whose windows have ended, those of rows, and the estimate.

    Rows come out at the end of a window of so many minutes. In busy hours decisions come five times as often and more
    labels are positive; more of them are lost, so that rows without weights lean to the quiet hours.
    """
    seen = []
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 12])
        is_busy = np.arange(ROUNDS) // 10 % 2 == 1
        y = (rng.random(ROUNDS) < np.where(is_busy, 0.8, 0.1)).astype(float)
        times = np.cumsum(np.where(is_busy, 1.0, 5.0))
        join = tarry.LabelJoin(capacity=4, window=WINDOW, release="window", rng=seed)
        rows = []
        for t in range(LOOKS[-1]):
            rows += join.advance(times[t])
            join.label(join.decide(at=times[t]).id, y[t], at=times[t])
            if t + 1 in LOOKS:
                ended = times + WINDOW <= times[t]
                seen.append((t + 1, y[ended], np.array([row.label for row in rows]), join.estimate()))
    return seen


def test_with_windows_it_covers_the_mean_of_the_decisions_whose_windows_have_ended():
    covered, naive, off = {look: [] for look in LOOKS}, {look: [] for look in LOOKS}, []
    for look, y, labels, estimate in windows():
        low, high = mean_interval(sample_of(books(np.ones(labels.size), labels)), 0.0, 1.0, LEVEL, 0.0, 1.0)
        covered[look].append(estimate.low <= y.mean() <= estimate.high)
        naive[look].append(low <= y.mean() <= high)
        off.append((estimate.mean - y.mean(), estimate.sum / y.size - y.mean(), labels.mean() - y.mean()))
    shares = {name: [np.mean(by[look]) for look in LOOKS] for name, by in (("covers", covered), ("bare", naive))}
    write_if_asked("coverage with windows", COMMAND, rounded(shares))
    assert min(shares["covers"]) >= ENOUGH
    assert np.mean(naive[LOOKS[-1]]) < 0.8, "the control, rows without weights, must fail"
    bias, error = np.mean(off, axis=0), np.std(off, axis=0) / sqrt(RUNS)  # the looks of a run hang together
    assert np.all(np.abs(bias[:2]) < 3 * error[:2])
    assert bias[2] < -5 * error[2]
