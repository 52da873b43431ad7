"""What may be a label: anything but a number that is not finite; where labels are added up, a number."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from math import inf, nan

import numpy as np
import pytest

import tarry
from tarry.live import Row

STORES = ["memory:", "sqlite:///{}/a.db"]
ENDLESS = [nan, inf, -inf, np.float64(nan), np.float32(inf)]
HOLDING = [
    *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), complex(nan, 0), np.complex64(complex(0, inf))),
    *(np.array(nan), np.array([1.0, inf]), np.array([None, nan], object), np.datetime64("NaT")),
    *(np.array(["NaT"], "M8"), [nan], (1, [inf]), {"stars": nan}, {"stars": [1.0, (nan,)]}),
]
NO_NUMBERS = ["x", [1], {"a": 1}, None, b"1", 1j, np.ones(2), 10**400, -1e100]


def make(store, tmp_path, **options):
    join = tarry.LabelJoin(4, rng=1, store=store.format(tmp_path), **options)
    join.decide({"n": 1}, id="a")
    return join


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("labels", ["first", "last", "sum", "all"])
def test_numbers_that_are_not_finite_change_nothing(store, labels, tmp_path):
    join = make(store, tmp_path, labels=labels)
    before = repr(join.export(payloads=True))
    for bad in ENDLESS:
        with pytest.raises(ValueError, match=rf"the label of 'a' is {float(bad)}, which is not finite"):
            join.label("a", bad)
        with pytest.raises(ValueError, match="not finite"):
            join.label_many(["a", "b"], [1, bad])
    assert repr(join.export(payloads=True)) == before
    join.close()


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("labels", ["first", "last", "sum", "all"])
@pytest.mark.parametrize("bad", HOLDING, ids=repr)
def test_nor_may_they_hide(bad, labels, store, tmp_path):
    join = make(store, tmp_path, labels=labels)
    before = repr(join.export(payloads=True))
    calls = [lambda: join.label("a", bad), lambda: join.label_many(["a"], [bad])]
    for call in calls if labels == "first" else [*calls, lambda: join.finish("a", missing=bad)]:
        with pytest.raises(ValueError, match=r"is not finite|a durable store takes JSON values"):
            call()
    assert repr(join.export(payloads=True)) == before
    join.close()


def test_empty_cells_of_pandas_are_no_labels():
    pd = pytest.importorskip("pandas")
    for bad in (pd.NA, pd.NaT):
        with pytest.raises(ValueError, match="is not finite"):
            make("memory:", None).label("a", bad)


def test_what_stands_for_no_label_must_add_up_too():
    join = make("memory:", None, labels="sum")
    for bad in ("abc", 10**400, [1]):
        with pytest.raises(ValueError, match="adds labels up"):
            join.finish("a", missing=bad)
    assert join.finish("a", missing=np.longdouble(1.5)) == Row({"n": 1}, 1.5, 1.0, "a", number=1)
    join.decide(id="b")
    assert join.finish("b").label == 0


@pytest.mark.parametrize("given", [["sum"], None, 3, "mean"])
def test_rules_that_are_none(given):
    with pytest.raises(ValueError, match="labels must be one of 'first', 'last', 'sum', 'all', got"):
        tarry.LabelJoin(4, labels=given)


def test_a_list_may_contain_itself():
    ring = [1]
    ring.append(ring)
    assert make("memory:", None).label("a", ring).label is ring


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("bad", NO_NUMBERS, ids=lambda bad: type(bad).__name__)
def test_what_cannot_be_added_up_is_refused_when_it_comes(store, bad, tmp_path):
    join = make(store, tmp_path, labels="sum")
    join.label("a", 20.0)
    with pytest.raises(ValueError, match=r"this join adds labels up, .* and that of 'a' is .*: nothing was changed"):
        join.label("a", bad)
    with pytest.raises(ValueError, match="adds labels up"):
        join.label_many(["a", "a"], [1, bad])
    join.label("a", -5)
    assert join.finish("a") == Row({"n": 1}, 15.0, 1.0, "a", number=1)
    join.close()


@pytest.mark.parametrize("store", STORES)
def test_numbers_of_numpy_add_up_alike_in_every_store(store, tmp_path):
    join = make(store, tmp_path, labels="sum")
    for label in (np.float32(0.1), True, np.int8(100), np.array(100), np.True_, np.longdouble(2)):
        join.label("a", label)
    assert join.finish("a").label == float(np.float32(0.1)) + 1 + 200 + 1 + 2
    join.close()


@pytest.mark.parametrize("label", ["late", None, True, 3, 2.5, [1, 2], {"stars": 5}, b"raw", np.float32(0.5)])
def test_the_first_label_is_handed_back_as_it_is(label, tmp_path):
    join = make("sqlite:///{}/a.db", tmp_path)
    assert join.label("a", label).label is label
    join.close()


@pytest.mark.parametrize(
    ("value", "where", "way_out"),
    [
        ({"x": {1, 2}}, r"got \{1, 2\} as .* at \['x'\]", "convert it to texts, numbers"),
        (np.array([{}]), r"got array\(\[\{\}\], dtype=object\) as", "convert it, for example with .tolist"),
        ({"x": [1, object()]}, r"got <object.* as .* at \['x'\]\[1\]", "convert it to texts"),
    ],
)
def test_what_cannot_be_stored_is_named(value, where, way_out, tmp_path):
    join = make("sqlite:///{}/a.db", tmp_path, labels="all")
    for call, what in ((join.label, "the label of 'a'"), (lambda id, x: join.decide(x, "b"), "features")):
        with pytest.raises(ValueError, match=where) as caught:
            call("a", value)
        assert way_out in str(caught.value)
        assert f"as {what}" in str(caught.value)
    ring = []
    ring.append(ring)
    with pytest.raises(ValueError, match="nothing may contain itself"):
        join.decide(ring, "b")
    assert join.status().rounds == 1
    join.close()


def test_labels_that_json_does_not_have_are_kept(tmp_path):
    join = make("sqlite:///{}/a.db", tmp_path, labels="all")
    labels = [(1, 2), Decimal("0.10"), date(2026, 1, 31), b"raw", {"$": 1}]
    join.decide({"at": (1, 2), 3: "three"}, id="b")
    for label in labels:
        join.label("b", label)
    join.close()
    with tarry.LabelJoin.open(f"sqlite:///{tmp_path}/a.db") as join:
        assert join.finish("b") == Row({"at": (1, 2), 3: "three"}, labels, 1.0, "b", number=1)
