"""Labels that gather under keys: a call that is made again counts once."""

from __future__ import annotations

import pytest

import tarry
from tarry import Answer
from tarry.live import Outcome, Row

STORES = ["memory:", "sqlite:///{}/a.db"]


def make(store, tmp_path, **options):
    join = tarry.LabelJoin(4, rng=1, store=store.format(tmp_path), **options)
    for id in "ab":
        join.decide({"name": id}, id=id)
    return join


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("rule", "expected"), [("sum", 35.0), ("all", [20.0, 20.0, -5.0]), ("last", -5.0)])
def test_a_label_counts_once_under_its_key(store, rule, expected, tmp_path):
    join = make(store, tmp_path, labels=rule)
    for key, label in (("order-1", 20.0), (2, 20.0), ("order-1", 20.0), (b"back", -5.0), (2, 20.0), (b"back", -5.0)):
        assert join.label("a", label, key=key) is None
        if store != "memory:":  # as another process finds it
            join.close()
            join = tarry.LabelJoin.open(store.format(tmp_path))
    assert join.status().answers["duplicate"] == 3
    assert join.export()["tracked"][0]["keys"] == ["order-1", 2, {"bytes": "YmFjaw=="}]
    join.label("b", 1.0, key="order-1")  # a key is a decision's own
    assert join.finish("a") == Row({"name": "a"}, expected, 1.0, "a", number=1)
    assert join.finish("b").label == ([1.0] if rule == "all" else 1.0)
    assert join.label("a", 20.0, key="order-1") is None
    assert join.fate("a") is Answer.USED
    join.close()


def test_without_a_key_a_label_counts_each_time(tmp_path):
    join = make("memory:", tmp_path, labels="sum")
    for _ in range(2):
        join.label("a", 20.0)
    assert join.finish("a").label == 40.0


def test_keys_in_batches_and_frames(tmp_path):
    join = make("memory:", tmp_path, labels="sum")
    for _ in range(2):
        found = join.label_many(["a", "a", "b"], [1, 2, 3], keys=["x", "y", None])
        assert [one.row for one in found] == [None] * 3
        join.label_many({"id": ["a", "b"], "label": [10, 20], "key": ["z", "z"]})
    assert [one.row.label for one in join.finish_many(["a", "b"])] == [13, 26]
    with pytest.raises(ValueError, match="there are 2 ids and 1 keys"):
        join.label_many(["a", "b"], [1, 2], keys=["x"])
    with pytest.raises(TypeError, match=r"must be a string, a whole number or bytes, got 1\.5"):
        join.label("a", 1, key=1.5)


def test_keys_do_no_harm_where_the_first_label_ends_a_decision(tmp_path):
    join = make("memory:", tmp_path)
    assert join.label("a", 1, key="x").label == 1
    assert join.label("a", 1, key="x") is None
    assert join.status().answers["duplicate"] == 1


@pytest.mark.parametrize("store", STORES)
def test_outcomes_tell_what_became_of_each_decision(store, tmp_path):
    join = make(store, tmp_path)
    row = Row({"name": "a"}, 1, 1.0, "a", number=1)
    found = join.label_many(["a", "z", "a"], [1, 2, 3])
    assert found == [
        Outcome("a", Answer.USED, row, Answer.USED),
        Outcome("z", Answer.UNKNOWN, None, Answer.UNKNOWN),
        Outcome("a", Answer.USED, None, Answer.DUPLICATE),
    ]
    join.close()


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("rule", "none"), [("sum", 0), ("all", []), ("last", None)])
def test_what_no_labels_come_to(store, rule, none, tmp_path):
    join = make(store, tmp_path, labels=rule)
    assert [one.answer for one in join.label_many(["a", "a"], [1, 1], keys=["x", "x"])] == [
        Answer.PENDING,
        Answer.DUPLICATE,
    ]
    first, second = (one.row for one in join.finish_many(["a", "b"]))
    assert (first.label, second.label) == ([1] if rule == "all" else 1, none)
    if rule == "sum":
        assert (join.estimate().mean, join.estimate().left_out) == (0.5, 0)
    join.decide(id="c")
    assert join.finish("c", missing=None).label is None  # as said
    join.close()
