"""The outbox: rows stay until they are acknowledged, in order, also for a process that comes after a crash."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry

STORES = ["memory:", "sqlite:///{}/a.db"]


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    return request.param.format(tmp_path)


def test_rows_are_handed_out_until_they_are_acknowledged(store):
    join = tarry.LabelJoin(8, outbox=True, store=store, rng=1)
    for id in "abc":
        join.decide({"name": id}, id)
    given = [join.label(id, label) for id, label in (("b", 1), ("a", 0.5), ("c", "yes"))]
    assert [row.number for row in given] == [1, 2, 3]
    assert join.rows() == given == join.rows(after=0)
    assert join.rows(after=1, limit=1) == given[1:2]
    assert join.ack(2) == 1
    assert join.rows() == given[2:]
    assert join.ack(1) == 1  # acknowledged already
    assert join.ack(3) == 0
    assert join.rows() == []


def test_another_process_finds_them(tmp_path):
    store = f"sqlite:///{tmp_path}/a.db"
    with tarry.LabelJoin(2, outbox=True, window=10, missing=0, store=store, rng=1) as join:
        join.decide_many([{"n": i} for i in range(9)], at=0)
        given = join.advance(10)
    with tarry.LabelJoin.open(store) as join:
        assert join.rows() == given
        assert sum(row.weight for row in given) == pytest.approx(9)
        join.ack(1)
    with tarry.LabelJoin.open(store) as join:
        assert join.rows() == given[1:]
        assert join.export()["status"]["fates"]["used"] == 2


def test_what_is_refused(store):
    join = tarry.LabelJoin(8, outbox=True, store=store)
    join.decide(id="a")
    join.label("a", 1)
    for call, match in (
        (lambda: join.rows(after=2), "give a number from 0 to 1"),
        (lambda: join.ack(2), "row 2 was not given out yet, only 1 were"),
        (lambda: join.rows(after=-1), "after must be a whole number"),
        (lambda: join.ack("x"), "number must be a whole number"),
        (lambda: tarry.LabelJoin(2).rows(), r"make it with outbox=True \(--outbox\)"),
        (lambda: tarry.LabelJoin(2).ack(1), r"make it with outbox=True \(--outbox\)"),
    ):
        with pytest.raises(ValueError, match=match):
            call()
    join.ack(1)
    with pytest.raises(ValueError, match="rows up to 1 were acknowledged and are gone"):
        join.rows(after=0)


def test_a_label_that_cannot_be_stored_is_refused_before_its_decision_ends(tmp_path):
    join = tarry.LabelJoin(8, outbox=True, store=f"sqlite:///{tmp_path}/a.db")
    join.decide(id="a")
    with pytest.raises(ValueError, match="the label of 'a'"):
        join.label("a", object())
    assert join.label("a", np.float64(2.0)).label == 2.0


@given(st.lists(st.sampled_from(["decide", "label", "read", "ack", "forget"]), max_size=60), st.integers(0, 3))
def test_a_reader_who_stores_the_number_with_its_work_gets_every_row_once(calls, seed):
    """``forget`` is a crash of the reader between what it does and its acknowledgement."""
    join, draw = tarry.LabelJoin(3, outbox=True, rng=seed), np.random.default_rng(seed)
    decided, given, done, last = 0, [], [], 0
    for call in calls:
        if call == "decide":
            join.decide()
            decided += 1
        elif call == "label" and decided:
            row = join.label(int(draw.integers(1, decided + 1)), 1)
            given += [] if row is None else [row]
        elif call == "read":
            for row in join.rows(after=last, limit=2):
                done.append(row)
                last = row.number  # in the reader's own transaction, with what it does
        elif call == "ack":
            join.ack(last)
    done += join.rows(after=last)
    assert done == given
    assert [row.number for row in done] == list(range(1, len(given) + 1))


def test_relative_weights_are_weights_over_their_running_mean():
    join = tarry.LabelJoin(2, rng=1)
    rows = []
    for t in range(50):
        join.decide()
        row = join.label(t - 3, 1) if t > 3 else None
        rows += [] if row is None else [row]
    weights = [row.weight for row in rows]
    means = np.cumsum(weights) / np.arange(1, len(weights) + 1)
    np.testing.assert_allclose([row.relative for row in rows], weights / means)
    assert len(rows) > 5
    assert max(weights) > 1.5
