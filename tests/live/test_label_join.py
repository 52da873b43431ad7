"""LabelJoin: bounded, weighted, unbiased also when the delay depends on the label."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.live import Row


def _stream(n, seed):
    """Labels whose delay depends on them: positives come late."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.3).astype(float)
    waits = np.where(labels == 1, rng.integers(30, 60, n), rng.integers(0, 10, n))
    return labels, waits


def _run(scheduler, n, seed, capacity=5):
    labels, waits = _stream(n, 1)
    join = tarry.LabelJoin(capacity=capacity, scheduler=scheduler, information="semi-clairvoyant", rng=seed)
    arrivals = {}
    for s, d in enumerate(waits):
        arrivals.setdefault(s + d, []).append(s)
    rows = []
    for t in range(n + 60):
        if t < n:
            assert join.decide({"t": t}).id == t + 1
        rows += [join.label(s + 1, labels[s]) for s in arrivals.get(t, [])]
        assert len(join.tracked()) == join.status().tracked <= capacity
    return labels, [row for row in rows if row is not None], join


def test_rows_carry_their_own_features():
    labels, rows, _ = _run(None, 400, 2)
    assert rows
    for row in rows:
        assert row.label == labels[row.features["t"]]
        assert row.weight >= 1.0


def test_weighted_sums_are_unbiased_and_naive_ones_are_not():
    n, seeds = 300, 40
    truth = _stream(n, 1)[0].sum()
    sums = [sum(r.weight * r.label for r in _run(None, n, s)[1]) for s in range(seeds)]
    error = np.std(sums, ddof=1) / np.sqrt(seeds)
    assert abs(np.mean(sums) - truth) <= 4 * error
    assert abs(np.mean(sums) - 1.5 * truth) > 4 * error  # and the test has the power to see a wrong answer
    naive = _run(tarry.schedulers.DropOldest(), n, 0)[1]
    share = sum(r.label for r in naive) / len(naive)
    assert abs(share - truth / n) > 0.05


def test_weights_sum_to_the_number_of_decisions():
    _, rows, join = _run(None, 400, 3)
    assert sum(row.weight for row in rows) == pytest.approx(400)
    assert join.status().balance == pytest.approx(1.0)


def test_callers_ids_and_expiry():
    join = tarry.LabelJoin(capacity=2, rng=1)
    ticket = join.decide("features", id="order-7")
    assert ticket.tracked
    assert join.decide("again", id="order-7").id == "order-7"
    assert join.label("order-7", 1) == Row("features", 1, 1.0, "order-7", number=1)
    assert join.label("order-7", 1) is None
    join.decide("b", id="order-8")
    assert join.expire("order-8").status is tarry.Answer.EXPIRED
    assert join.status().tracked == 0


def test_several_windows_and_expiries_at_once():
    join = tarry.LabelJoin(8, labels="sum", rng=1)
    join.decide_many([1, 2, 3], ids=["a", "b", "c"])
    join.label_many(["a", "a", "b"], [1, 2, 9])
    with pytest.raises(ValueError, match="the label of 'a' is nan, which is not finite"):
        join.finish_many(["a", "b"], missing=float("nan"))
    assert join.fate("a").name == "PENDING"
    assert [one.row for one in join.finish_many(["a", "c", "a", "nobody"], missing=0)] == [
        Row(1, 3, 1.0, "a", number=1),
        Row(3, 0, 1.0, "c", number=2),
        None,
        None,
    ]
    assert [status.name for status in join.expire_many(["b", "a"]).statuses] == ["EXPIRED", "DUPLICATE"]
    for call in (join.finish_many, join.expire_many):
        with pytest.raises(ValueError, match="ids must be several, got the single 'abc'"):
            call("abc")
