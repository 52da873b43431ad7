"""A log gone through in the order of time; windows with several labels."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

import tarry
from tarry import Answer
from tarry.live import Row

LOG = {
    "at": [5, 1, 3, 9],
    "seen": [6, 20, 3, None],
    "label": ["b", "a", "c", None],
    "age": [50, 10, 30, 90],
}
NAMES = {"decided_at": "at", "labelled_at": "seen", "label": "label"}


def stream(frame, capacity=8, **options):
    join = tarry.LabelJoin(capacity, rng=1)
    return list(join.stream(frame, **NAMES, **options)), join


def test_the_order_of_time_and_labels_after_the_end():
    rows, join = stream(LOG)
    assert rows == [Row({"age": 30}, "c", 1.0, 2, number=1), Row({"age": 50}, "b", 1.0, 3, number=2)]
    assert join.status().rounds == 4
    assert join.status().tracked == 2
    delivered, join = stream(LOG, at_end="deliver")
    assert delivered == [*rows, Row({"age": 10}, "a", 1.0, 1, number=3)]
    assert join.status().tracked == 1  # the one that is never labelled


def test_a_column_of_any_name_has_the_ids():
    clicks = {"click": ["a", "b", "c", "d"]}
    (first, second), _ = stream(LOG | clicks, id="click")
    assert (first.id, first.features, second.id) == ("c", {"age": 30}, "a")
    assert stream(LOG | {"id": clicks["click"]}, id="id")[0] == [first, second] == stream(LOG | {"id": [*"abcd"]})[0]
    for frame, said in (
        (LOG, "the frame has no column 'click'"),
        (LOG | clicks | {"id": [1, 2, 3, 4]}, "the log has a column 'id' beside 'click': rename it"),
        (LOG | {"click": [1, 2, 1, 3]}, "rows 0 and 2 have the same id 1"),
    ):
        with pytest.raises(ValueError, match=said):
            stream(frame, id="click")


def test_a_label_comes_after_all_decisions_up_to_its_time():
    frame = {"at": [1, 2, 3], "seen": [2, 9, 9], "label": [1, 2, 3]}
    join = tarry.LabelJoin(8, rng=1)
    counts = [join.status().rounds for _ in join.stream(frame, **NAMES, at_end="deliver")]
    assert counts == [2, 3, 3]


class Pandas:
    """Looks like a pandas frame: columns by name, of objects, and NaN where nothing is."""

    columns = ("at", "seen", "label", "age")

    def __getitem__(self, name):
        return np.array([float("nan") if value is None else value for value in LOG[name]], dtype=object)


@pytest.mark.parametrize("frame", [LOG, pl.DataFrame(LOG), Pandas()], ids=["dict", "polars", "like pandas"])
@pytest.mark.parametrize("at_end", ["drop", "deliver"])
def test_frames_of_every_kind(frame, at_end):
    assert stream(frame, at_end=at_end)[0] == stream(LOG, at_end=at_end)[0]


def test_pandas_itself():
    pd = pytest.importorskip("pandas")
    start = datetime(2024, 1, 1)
    times = {name: [None if d is None else start + timedelta(days=d) for d in LOG[name]] for name in ("at", "seen")}
    rows, join = stream(pd.DataFrame(LOG | times), at_end="deliver")
    assert [row.label for row in rows] == ["c", "b", "a"]
    assert join.status().tracked == 1


@pytest.mark.parametrize("label", [["b", None, "c", None], ["b", "a", "c", None]], ids=["a label missing", "all there"])
def test_empty_cells_are_the_same_in_every_frame(label):
    """Polars' null, pandas' NaN and pandas' NA."""
    pd, log = pytest.importorskip("pandas"), LOG | {"label": label}
    nullable = {name: pd.array(log[name], dtype="Int64") for name in ("at", "seen")}
    frames = [log, pl.DataFrame(log), pd.DataFrame(log), pd.DataFrame(log | nullable | {"label": pd.array(label)})]
    if label[1] is None:
        for frame in frames:
            with pytest.raises(ValueError, match="row 1 has no label"):
                stream(frame)
    else:
        assert all(stream(frame, at_end="deliver")[0] == stream(LOG, at_end="deliver")[0] for frame in frames)


def test_features_that_cannot_be_stored_are_told_before_the_first_decision(tmp_path):
    with tarry.LabelJoin(4, rng=1, store=f"sqlite:///{tmp_path / 'a.db'}") as join:
        with pytest.raises(ValueError, match=r"row 2: a durable store takes JSON values, .* got \{3\} as features"):
            join.stream(LOG | {"age": [1.0, 2.0, {3}, 3.0]}, **NAMES)
        assert join.status().rounds == 0


def test_equal_to_calls_one_by_one():
    rng = np.random.default_rng(2)
    at, labels = np.arange(300), rng.random(300)
    seen = at + rng.integers(0, 60, 300)
    rows, _ = stream({"at": at, "seen": seen, "label": labels}, 5, at_end="deliver")
    join, expected = tarry.LabelJoin(5, rng=1), []
    for t in range(360):
        if t < 300:
            join.decide({})
        expected += [join.label(int(i) + 1, labels[i]) for i in np.flatnonzero(seen == t)]
    assert rows == [row for row in expected if row is not None]
    assert 20 < len(rows) < 300


@pytest.mark.parametrize(
    ("frame", "options", "sentence"),
    [
        (LOG, {"at_end": "keep"}, "at_end must be one of 'drop', 'deliver', got 'keep'"),
        ({"at": [1], "label": [1]}, {}, r"the frame has no column 'seen', only \['at', 'label'\]"),
        ({"at": [1, 7], "seen": [1, 5], "label": [1, 1]}, {}, "row 1 is labelled at 5, before it was decided at 7"),
        (LOG | {"at": [5, None, 3, 9]}, {}, "row 1 has no time in 'at': every decision needs one"),
        (LOG | {"at": [5, float("nan"), 3, 9]}, {}, "row 1 has no time in 'at'"),
        (LOG | {"at": [5, "soon", 3, 9]}, {}, "row 1 has 'soon' in 'at', which is no time: give numbers, or dates"),
        (LOG | {"at": [5, True, 3, 9]}, {}, "row 1 has True in 'at', which is no time"),
        (
            LOG | {"seen": [6, datetime(2024, 1, 1), 3, None]},
            {},
            "row 1 has 2024-01-01 00:00:00 in 'seen', row 0 has 5 in 'at', and dates cannot be compared with numbers",
        ),
        (
            LOG | {"label": ["b", "a", "c", "d"]},
            {},
            "row 3 has the label 'd' and no time in 'seen', so it would not count: give the time, empty the label",
        ),
        (LOG | {"label": ["a", None, "b", None]}, {}, "row 1 has no label: leave 'seen' empty where no label came"),
        (LOG | {"label": [1.0, 2.0, float("nan"), 3.0]}, {}, "row 2 has no label: leave 'seen' empty"),
        (LOG | {"seen": [6]}, {}, "the columns must be equally long, got {'at': 4, 'seen': 1, 'label': 4, 'age': 4}"),
        (LOG | {"label": ["a"]}, {}, "the columns must be equally long"),
        (LOG | {"age": [1, 2]}, {}, "the columns must be equally long"),
        (LOG | {"id": ["w", "x", "w", "z"]}, {}, "rows 0 and 2 have the same id 'w': each decision needs its own"),
        ([1, 2], {}, "a log must be a frame or a dict of columns, got a list"),
        (
            LOG | {"label": [1, 2, float("inf"), 4]},
            {},
            "row 2 has the label inf, which is not finite: leave 'seen' empty",
        ),
    ],
)
def test_refusals(frame, options, sentence):
    join = tarry.LabelJoin(4, rng=1)
    with pytest.raises(ValueError, match=sentence):
        join.stream(frame, **NAMES, **options)
    assert join.status().rounds == 0


def test_rows_that_are_never_labelled_may_have_any_label():
    rows, _ = stream(LOG | {"label": [1.0, 2.0, 3.0, float("nan")]}, at_end="deliver")
    assert [row.label for row in rows] == [3.0, 1.0, 2.0]


@pytest.mark.parametrize(("rule", "expected"), [("last", 3), ("sum", 6), ("all", [1, 2, 3])])
@pytest.mark.parametrize("store", ["memory:", "sqlite:///{}/a.db"])
def test_several_labels_gather_until_the_window_ends(rule, expected, store, tmp_path):
    join = tarry.LabelJoin(4, labels=rule, rng=1, store=store.format(tmp_path))
    for i in "ab":
        join.decide({"name": i}, id=i)
    assert [join.label("a", label) for label in (1, 2, 3)] == [None] * 3
    assert join.fate("a") is Answer.PENDING
    assert join.finish("a") == Row({"name": "a"}, expected, 1.0, "a", number=1)
    assert join.finish("b", missing=0) == Row({"name": "b"}, 0, 1.0, "b", number=2)
    assert join.finish("a") is None
    assert join.label("a", 9) is None
    assert join.status().answers["duplicate"] == 2
    assert join.estimate().labels == (2 if rule != "all" else 1)  # a list is no number
    join.close()


def test_a_gathered_label_that_cannot_be_stored_changes_nothing(tmp_path):
    with tarry.LabelJoin(4, labels="all", rng=1, store=f"sqlite:///{tmp_path / 'a.db'}") as join:
        join.decide(id="a")
        join.label("a", 1)
        with pytest.raises(
            ValueError, match=r"a durable store takes JSON values, .* got <object .* as the label of 'a': convert it"
        ):
            join.label("a", object())
        assert join.finish("a") == Row(None, [1], 1.0, "a", number=1)


def test_rules_are_checked():
    with pytest.raises(ValueError, match="labels must be one of 'first', 'last', 'sum', 'all', got 'mean'"):
        tarry.LabelJoin(4, labels="mean")
    join = tarry.LabelJoin(4)
    with pytest.raises(ValueError, match=r"ends a decision with its first label: call label\(id, …\)"):
        join.finish(join.decide().id)


def test_a_log_with_ids():
    rows, join = stream(LOG | {"id": ["w", "x", "y", "z"]}, at_end="deliver")
    assert [row[:3] for row in rows] == [row[:3] for row in stream(LOG, at_end="deliver")[0]]
    assert [row.id for row in rows] == ["y", "w", "x"]
    assert [join.fate(id) for id in "wxyz"] == [Answer.USED] * 3 + [Answer.PENDING]
    with pytest.raises(TypeError, match="an id must be"):
        stream(LOG | {"id": ["w", "x", "y", 1.5]})


@pytest.mark.parametrize("labels", ["last", "sum", "all"])
def test_a_log_cannot_end_windows(labels):
    join = tarry.LabelJoin(4, labels=labels)
    with pytest.raises(ValueError, match="a log does not say when that is: stream with a window or labels='first'"):
        join.stream(LOG, **NAMES)
    assert join.status().rounds == 0


def test_a_label_counts_to_the_last_moment_of_its_window_also_at_the_end_of_the_log():
    log = {"at": [0.0, 30.0], "seen": [30.0, None], "label": [1.0, None]}
    for at_end in ("drop", "deliver"):
        (row, *_) = tarry.LabelJoin(9, window=30, missing=0.0).stream(
            log, decided_at="at", labelled_at="seen", label="label", at_end=at_end
        )
        assert row.label == 1.0


def test_moments_of_nanoseconds():
    at = np.array(["2026-01-01", "2026-01-02"], "datetime64[ns]")
    join = tarry.LabelJoin(9, window="1d", missing=0)
    join.decide_many([1, 2], at=at)
    assert join.due("2026-01-02") == [1]


def test_a_label_without_a_time_is_refused_unless_it_is_the_missing_one():
    log = {"decided_at": [0, 1, 2], "labelled_at": [5, None, 6], "label": [1, 1, 0]}
    join = tarry.LabelJoin(10, window=10, missing=0)
    with pytest.raises(ValueError, match="row 1 has the label 1 and no time in 'labelled_at', so it would count as 0"):
        join.stream(log)
    assert join.status().rounds == 0
    assert [row.label for row in join.stream(log | {"label": [1, 0, 0]}, at_end="deliver")] == [1, 0, 0]


@pytest.mark.parametrize("as_frame", [dict, pl.DataFrame], ids=["dict", "polars"])
def test_columns_are_found_by_usual_names(as_frame):
    frame = as_frame({"Created At": [0, 1], "paid_at": [1, 2], "label": [1, 0], "age": [30, 40]})
    join = tarry.LabelJoin(10, rng=1)
    assert [row.features for row in join.stream(frame, at_end="deliver")] == [{"age": 30}, {"age": 40}]
    with pytest.raises(ValueError, match=r"time of the decision; .* name it \(decided_at=, --decided\)"):
        join.stream({"age": [1], "paid_at": [2], "label": [1]})


def test_stamps_without_a_zone_among_zoned_ones_are_refused():
    zoned = ["2026-01-31T10:00Z", "2026-01-31T11:00+02:00", "2026-01-31T12:00Z"]
    join = tarry.LabelJoin(10, rng=1)
    for stamps in (["2026-01-31T12:00", *zoned[1:]], [*zoned[:2], datetime(2026, 1, 31)]):
        with pytest.raises(ValueError, match=r"row \d has .* in 'at', row \d has .* each with its zone"):
            join.stream({"at": stamps, "seen": [None] * 3, "label": [None] * 3}, **NAMES)
    # By moments, not by their texts: the second is an hour before the first.
    seen = ["2026-02-01T00:00Z"] * 3
    rows = list(join.stream({"at": zoned, "seen": seen, "label": [1, 2, 3]}, **NAMES, at_end="deliver"))
    assert {row.label: row.id for row in rows} == {2: 1, 1: 2, 3: 3}
