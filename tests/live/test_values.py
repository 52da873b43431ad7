"""Features as people have them come back from a durable store with their values and their types."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from math import inf, nan
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry.live.encoding import pack, unpack
from tarry.live.values import DEEPEST

BERLIN = ZoneInfo("Europe/Berlin")
VALUES = [
    *(None, True, 3, -1.5, "é", nan, inf, -inf, b"raw", (), (1, (2,)), [[]], {}),
    *({"$": 1}, {"$": ["tuple", 1]}, {"$": 1, "b": 2}, {1: "int", "1": "text"}, {None: 0}, {(1, date(2026, 1, 1)): 2}),
    *(datetime(2026, 1, 31, 12, 0, 0, 5), datetime(2026, 1, 31, tzinfo=UTC)),
    datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN),  # the second of two half past two
    datetime(2026, 3, 29, 2, 30, tzinfo=BERLIN),  # a time that clocks skip
    *(date(2026, 1, 31), time(1, 2, 3, tzinfo=timezone(timedelta(hours=-3))), timedelta(-1, 3, 4)),
    *(Decimal("1.10"), Decimal("NaN"), Decimal("1E+999"), UUID(int=7)),
    *(np.float32(0.1), np.float64(0.1), np.float64(nan), np.int8(3), np.uint64(1 << 63), np.bool_(True), np.str_("é")),
    *(
        np.bytes_(b"a"),
        np.datetime64("2026-01-31"),
        np.datetime64("NaT", "ns"),
        np.timedelta64(3, "h"),
        np.complex64(1j),
    ),
    *(np.arange(6.0).reshape(2, 3), np.array([], np.float32), np.array(3), np.array(["a", "bc"]), np.arange(9)[::-2]),
]


def kept(value):
    """A payload as another process reads it."""
    return unpack(pack(value))


def are_same(one, other):
    """Whether two values are equal, of one type, and so are their parts; NaN is equal to itself here."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and are_same([*one.items()], [*other.items()])
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(are_same, one, other))
    if isinstance(one, (np.generic, np.ndarray)):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, (datetime, time)) and (one.tzinfo, one.fold) != (other.tzinfo, other.fold):
        return False
    return one is other or one == other or (one != one and str(one) == str(other))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:40])
def test_values_come_back_as_they_were(value):
    for whole in (value, [value], {"x": value}, {"a": [{"b": (value,)}]}):
        assert are_same(kept(whole), whole)


def test_the_comparison_tells_values_apart():
    for i, one in enumerate(VALUES):
        assert not any(are_same(one, other) for other in VALUES[:i])


PARTS = st.recursive(
    st.sampled_from(VALUES) | st.floats() | st.integers() | st.text() | st.datetimes() | st.decimals(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.just("$") | st.integers() | st.dates(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(PARTS)
def test_whatever_is_made_of_them(value):
    assert are_same(kept(value), value)


def test_pandas():
    pd = pytest.importorskip("pandas")
    moments = [pd.Timestamp("2026-01-01 00:00:00.123456789"), pd.Timestamp("2026-01-01", tz="UTC")]
    moments += [pd.Timestamp("2026-10-25 00:30", tz="UTC").tz_convert("Europe/Berlin"), pd.Timedelta(3, "ns")]
    for value in (*moments, pd.Timestamp("2026-01-01").as_unit("s"), pd.NaT, pd.NA):
        again = kept({"x": value})["x"]
        assert type(again) is type(value)
        assert again is value or (again == value and getattr(again, "unit", 0) == getattr(value, "unit", 0))
        assert str(getattr(again, "tzinfo", None)) == str(getattr(value, "tzinfo", None))
    for value in (pd.Period("2026-01"), pd.Series([1])):
        with pytest.raises(ValueError, match=r"a durable store takes .* got .* as features at \['x'\]: convert it"):
            pack({"x": value})


def test_without_pandas_its_values_are_told(monkeypatch):
    pd = pytest.importorskip("pandas")
    payload = pack(pd.NaT)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(tarry.errors.StoreError, match="pandas, which is not installed here"):
        unpack(payload)


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_frames_with_gaps(store, new_store):
    """Rows of polars and pandas, with everything missing once, and through another process."""
    columns = {
        "x": [1.5, None, nan],
        "n": [1, None, 3],
        "day": [date(2026, 1, 31), None, date(1999, 1, 1)],
        "at": [datetime(2026, 1, 31, 12), None, datetime(2026, 1, 31, 13)],
        "cost": [Decimal("1.10"), None, Decimal("2.00")],
        "tags": [["a"], None, []],
        "who": [{"age": 3}, None, {"age": None}],
    }
    frame = pl.DataFrame(columns)
    pd = pytest.importorskip("pandas")
    given = [*frame.rows(named=True), *frame.rows(), *pd.DataFrame(columns).to_dict("records")]
    url = new_store(store)
    with tarry.LabelJoin(50, rng=1, store=url) as join:
        join.decide_many(frame)
        join.decide_many(frame.rows())
        join.decide_many(pd.DataFrame(columns))
    with tarry.LabelJoin.open(url) as join:
        rows = [join.label(i, 1).features for i in range(1, 10)]
    assert are_same(rows[:6], given[:6])
    assert all(str(one) == str(two) for one, two in zip(rows[6:], given[6:], strict=True))


def test_a_class_that_extends_another_comes_back_as_that():
    class Colour(IntEnum):
        RED = 1

    class Text(str):
        pass

    assert are_same(kept([Colour.RED, Text("a")]), [1, "a"])


class Elsewhere(timezone.__base__):
    def utcoffset(self, _):
        return timedelta(0)

    def __repr__(self):
        return "Elsewhere()"


@pytest.mark.parametrize(
    "bad",
    [
        {1, 2},
        object(),
        np.array([{}]),
        np.ma.array([1], mask=True),
        np.zeros(1, [("a", int)]),
        datetime(2026, 1, 1, tzinfo=Elsewhere()),
        1j,
    ],
)
def test_what_is_not_kept_is_told(bad):
    with pytest.raises(
        ValueError, match=r"a durable store takes .*, got .* as features at \['x'\]: .* must be|convert"
    ):
        pack({"x": bad})


@pytest.mark.parametrize("nest", [lambda x: [x], lambda x: (x,), lambda x: {"a": x}, lambda x: {1: x}])
def test_what_may_be_written_can_be_read(nest, tmp_path):
    """At the deepest, and by a process with Python's own limits, whatever those of its writer are."""
    value = 1
    for _ in range(DEEPEST):
        value = nest(value)
    assert kept(value) == value
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        for _ in range(1 if nest(1) != [1] else 5000):
            value = nest(value)
        with pytest.raises(ValueError, match=f"at most {DEEPEST} levels of nesting"):
            pack(value)
    finally:
        sys.setrecursionlimit(before)
