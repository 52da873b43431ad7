"""Windows: decisions wait so long and no longer, and rows come out when a window ends, or at arrival."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry.live import Row
from tarry.outcomes import Answer

STORES = ["memory:", "sqlite:///{}/a.db"]
DAY = 86400


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    return request.param.format(tmp_path)


def a_join(store="memory:", capacity=8, window="30d", **rules):
    return tarry.LabelJoin(capacity, window=window, store=store, rng=1, **rules)


def test_rows_come_out_at_the_end_of_their_windows(store):
    join = a_join(store, missing=0)
    for i, id in enumerate("abc"):
        join.decide({"name": id}, id, at=i * DAY)
    assert join.label("a", 1, at=5 * DAY) is None
    assert join.label("c", 7, at=2 * DAY) is None
    assert join.due(29.9 * DAY) == [] == join.advance(29.9 * DAY)
    assert join.due(31 * DAY) == ["a", "b"]
    found = join.advance(31 * DAY)
    assert found == [Row({"name": "a"}, 1, 1.0, "a", number=1), Row({"name": "b"}, 0, 1.0, "b", number=2)]
    assert join.advance(31 * DAY) == []
    assert join.due(31 * DAY) == []
    assert [row.label for row in join.advance(100 * DAY)] == [7]
    assert join.status().fates["used"] == 3


def test_at_arrival_a_label_gives_its_row_and_no_label_the_missing_one(store):
    join = a_join(store, missing=0, release="arrival")
    for id in "ab":
        join.decide(id, id, at=0)
    assert join.label("a", 1, at=DAY) == Row("a", 1, 1.0, "a", number=1)
    assert join.advance(30 * DAY) == [Row("b", 0, 1.0, "b", number=2)]


def test_a_label_after_the_window_has_an_answer_of_its_own(store):
    join = a_join(store, missing=0, release="arrival")
    for id in "abcd":
        join.decide(None, id, at=0)
    join.label("a", 1, at=1)

    def answers(ids, at):
        return [one.answer for one in join.label_many(ids, [1] * len(ids), at=at)]

    assert answers(["b"], 30 * DAY) == [Answer.USED]  # the last moment of the window
    assert answers(["c"], 30 * DAY + 1e-6) == [Answer.OUTSIDE]  # it still waits, and will have no label
    assert [row.label for row in join.advance(30 * DAY)] == [0, 0]
    assert answers(["a", "b", "c", "d", "e"], 31 * DAY) == [
        *(Answer.DUPLICATE, Answer.DUPLICATE, Answer.OUTSIDE, Answer.OUTSIDE, Answer.UNKNOWN)
    ]
    assert join.status().answers["outside"] == 3
    assert join.fate("c") == Answer.USED


def test_windows_survive_and_are_shared(tmp_path):
    store = f"sqlite:///{tmp_path}/a.db"
    first = a_join(store, missing=0)
    first.decide({"n": 1}, "a", at="2026-01-01")
    second = tarry.LabelJoin.open(store)
    second.decide({"n": 2}, "b", at=datetime(2026, 1, 2, tzinfo=UTC))
    second.label("a", 1, at="2026-01-30T12:00")
    first.close()
    assert second.due("2026-01-31") == ["a"]
    assert tarry.LabelJoin.open(store).advance(np.datetime64("2026-02-01")) == [
        Row({"n": 1}, 1, 1.0, "a", number=1),
        Row({"n": 2}, 0, 1.0, "b", number=2),
    ]
    assert second.due("2027-01-01") == []
    with pytest.raises(ValueError, match=r"another value of window \(2592000.0, not 60.0\)"):
        a_join(store, window=60, missing=0)
    assert a_join(store, window=timedelta(days=30), missing=0).status().rounds == 2


@pytest.mark.parametrize(("rule", "expected", "nothing"), [("sum", 6, 0), ("all", [1, 5], []), ("last", 5, None)])
def test_labels_gather_until_the_window_ends(store, rule, expected, nothing):
    join = a_join(store, labels=rule)
    for id in "ab":
        join.decide(None, id, at=0)
    for at, label in ((1, 1), (2, 5), (31 * DAY, 100)):
        join.label("a", label, at=at)
    assert [row.label for row in join.advance(30 * DAY)] == [expected, nothing]


def test_of_a_first_label_only_one_counts(store):
    join = a_join(store)
    join.decide(None, "a", at=0)
    told = [join.label_many(["a"], [label], at=at)[0].answer for at, label in ((2, 5), (1, 7))]
    assert told == [Answer.PENDING, Answer.DUPLICATE]
    assert [row.label for row in join.advance(30 * DAY)] == [5]


def test_a_window_can_be_ended_before_its_time(store):
    join = a_join(store, missing=0)
    for id in "ab":
        join.decide(None, id, at=0)
    assert join.finish("a").label == 0
    assert join.finish("b", missing=9).label == 9
    assert join.label_many(["a"], [1], at=1)[0].answer is Answer.DUPLICATE


def test_now_is_the_moment_unless_one_is_said():
    join = a_join(window=60)
    join.decide(None, "a")
    assert join.due() == [] == join.advance()
    assert join.due(datetime.now(UTC) + timedelta(seconds=61)) == ["a"]


def test_batches_have_one_moment_or_one_each(store):
    join = a_join(store, missing=0)
    join.decide_many([1, 2], ids=["a", "b"], at=[0, DAY])
    join.decide_many(pl.DataFrame({"id": ["c", "d"], "x": [3, 4]}), at=2 * DAY)
    join.label_many(pl.DataFrame({"id": ["b", "c"], "label": [1, 1], "at": [3.0 * DAY, 40.0 * DAY]}))
    assert [(row.id, row.label) for row in join.advance(50 * DAY)] == [("a", 0), ("b", 1), ("c", 0), ("d", 0)]


@pytest.mark.parametrize("shards", [1, 4])
def test_a_log_played_by_hand_has_its_moments_in_every_call(shards):
    join = a_join(capacity=64, shards=shards)
    with pytest.raises(ValueError, match="must be"):
        join.decide(None, "a", at=DAY, size="large")  # says nothing about the calls to come
    join.decide_many([None] * 8, ids=range(8), at=DAY)
    for call in (
        lambda: join.label(1, 1),
        lambda: join.label_many([1, 2], [1, 1]),
        lambda: join.label_many([1, 2], [1, 1], at=[DAY, None]),
        lambda: join.decide(None, 9),
        lambda: join.decide_many([1], ids=[9]),
        join.advance,
        join.due,
    ):
        with pytest.raises(ValueError, match=r"decisions of this process had at=…, and this call says no (at|now)"):
            call()
    join.label(1, 1, at=2 * DAY)
    assert sorted(row.label or 0 for row in join.advance(40 * DAY)) == [0] * 7 + [1]
    live = a_join(shards=shards)
    live.decide(None, 1)
    live.label(1, 1, at=datetime.now(UTC))  # a report of a moment that has passed
    assert [row.label for row in live.advance(datetime.now(UTC) + timedelta(days=31))] == [1]


def test_live_calls_may_follow_a_log():
    join = a_join(missing=0)
    log = {"made": [0.0, DAY], "come": [None, None], "y": [None, None]}
    assert list(join.stream(log, decided_at="made", labelled_at="come", label="y")) == []
    join.decide()
    join.label(3, 1)
    assert [row.label for row in join.advance()] == [0, 0]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: tarry.LabelJoin(2, missing=0), "missing is about windows, got 0: give a window"),
        (lambda: tarry.LabelJoin(2, release="window"), "release is about windows"),
        (lambda: a_join(release="now"), "release must be one of 'arrival', 'window'"),
        (lambda: a_join(labels="sum", release="arrival"), "gathers labels until the window ends"),
        (lambda: a_join(labels="sum", missing="none"), "adds labels up"),
        (lambda: a_join(window="soon"), "window must be a positive length of time"),
        (lambda: tarry.LabelJoin(2).decide(at=3), "this join has no window"),
        (lambda: tarry.LabelJoin(2).advance(), "this join has no window"),
        (lambda: a_join().decide(at="yesterday"), "at must be a moment"),
        (lambda: a_join().decide_many([1, 2], at=[1]), "there are 2 events and 1 moments"),
    ],
)
def test_what_is_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()


EVENTS = st.lists(st.tuples(st.integers(0, 40), st.none() | st.integers(0, 25)), min_size=1, max_size=40)


@given(EVENTS, st.sampled_from(["arrival", "window"]), st.integers(1, 6), st.integers(0, 2))
def test_a_stream_is_what_a_clock_by_hand_makes_of_it(events, release, capacity, seed):
    """Every moment is played on its own, decisions first, then labels, then the windows that end there."""
    window = 10
    events = sorted(events, key=lambda event: event[0])
    frame = {
        "decided": [start for start, _ in events],
        "came": [None if wait is None else start + wait for start, wait in events],
        "y": [None if wait is None else i + 1 for i, (_, wait) in enumerate(events)],
        "id": [f"d{i}" for i in range(len(events))],
    }
    rules = {"window": window, "missing": 0, "release": release, "rng": seed}
    names = {"decided_at": "decided", "labelled_at": "came", "label": "y", "at_end": "deliver"}
    found = list(tarry.LabelJoin(capacity, **rules).stream(frame, **names))
    join, expected = tarry.LabelJoin(capacity, **rules), []
    for now in range(100):
        for i, start in enumerate(frame["decided"]):
            if start == now:
                join.decide({}, frame["id"][i], at=now)
        for i in np.argsort(np.array(frame["decided"]), kind="stable"):
            if frame["came"][i] == now:
                expected.append(join.label(frame["id"][i], frame["y"][i], at=now))
        expected += join.advance(now)
    assert found == [row for row in expected if row is not None]
    assert join.status().tracked == 0
    assert sum(row.weight for row in found) == pytest.approx(len(events))


def test_without_an_end_only_windows_that_have_ended_come_out():
    frame = {"decided": [0, 5, 20], "came": [3, 30, None], "y": [1, 1, None]}
    names = {"decided_at": "decided", "labelled_at": "came", "label": "y"}
    dropped = tarry.LabelJoin(8, window=10, missing=0).stream(frame, **names)
    assert [(row.id, row.label) for row in dropped] == [(1, 1), (2, 0)]
    delivered = tarry.LabelJoin(8, window=10, missing=0).stream(frame, **names, at_end="deliver")
    assert [(row.id, row.label) for row in delivered] == [(1, 1), (2, 0), (3, 0)]


def test_without_a_limit_the_ends_of_windows_grow_with_the_slots(store):
    join = a_join(store, capacity=None, missing=0)
    join.decide_many(list(range(300)), at=[float(i % 7) for i in range(300)])
    found = join.advance(30 * DAY + 10)
    assert [row.features % 7 for row in found] == sorted(i % 7 for i in range(300))


def test_with_its_window_a_believed_rate_is_that_of_settled_decisions():
    """Quick outcomes are positive: at arrival the naive mean of what has come is far from the rate, .3 in truth."""
    draw = np.random.default_rng(3)
    means = {"arrival": [], "window": []}
    for seed in range(40):
        y = draw.random(400) < 0.3
        wait = np.where(y, draw.integers(1, 20, 400), 99)
        for release, found in means.items():
            join = tarry.LabelJoin(16, window=100, missing=0, release=release, rng=seed)
            rows = []
            for t in range(200):
                join.decide(None, t, at=t)
                for s in np.flatnonzero(np.arange(t + 1) + wait[: t + 1] == t):
                    if y[s]:
                        rows.append(join.label(int(s), 1, at=t))
                rows += join.advance(t)
            rows = [row for row in rows if row is not None]
            found.append(sum(row.weight * row.label for row in rows) / sum(row.weight for row in rows))
    assert abs(np.mean(means["window"]) - 0.3) < 0.04
    assert np.mean(means["arrival"]) > 0.4  # the control


def test_an_estimate_covers_the_settled_decisions():
    """Two hundred runs in which quick outcomes are positive, looked at three times each."""
    draw, covered = np.random.default_rng(5), 0
    for seed in range(200):
        y, join = draw.random(160) < 0.2, tarry.LabelJoin(6, window=40, missing=0, rng=seed)
        came = np.arange(160) + draw.integers(1, 8, 160)
        for t in range(160):
            join.decide(None, t, at=t)
            join.label_many([int(s) for s in np.flatnonzero(y & (came == t))], [1] * int(np.sum(y & (came == t))), at=t)
            join.advance(t)
            if t in (79, 119, 159):
                found, truth = join.estimate(), y[: t + 1 - 40].mean()
                assert found.is_settled
                covered += found.low <= truth <= found.high
    assert covered >= 0.93 * 600


def test_estimates_are_about_settled_decisions():
    join = tarry.LabelJoin(None, window=40, missing=0)
    join.decide_many([None] * 100, at=0)
    join.advance(40)
    join.label_many([ticket.id for ticket in join.decide_many([None] * 100, at=41)], [1] * 100, at=42)
    found = join.estimate()
    assert (found.mean, found.low) == (0.0, 0.0)
    assert found.high < 0.1  # half of all labels so far are 1


def test_windows_that_nobody_ends_are_told():
    join = a_join(missing=0)
    join.decide(at=0)
    join.decide(at=31 * DAY)
    assert any("windows of 1 decisions have ended" in said for said in join.status().warnings)
    join.advance(31 * DAY)
    assert not any("windows" in said for said in join.status().warnings)


def test_a_missing_label_is_a_json_value(tmp_path):
    for store in ("memory:", f"sqlite:///{tmp_path / 'a.db'}"):
        with pytest.raises(ValueError, match=r"the label of .* must be a JSON value, got Decimal\('1'\)"):
            tarry.LabelJoin(4, window=1, missing=Decimal(1), store=store)
        with tarry.LabelJoin(4, window=1, missing=np.float32(0.5), store=store) as join:
            join.decide(id="a", at=0)
            assert join.advance(2)[0].label == 0.5


def test_a_label_in_time_that_is_reported_late_is_outside():
    """Its row is out; whoever advances less far has time to report."""
    for until, is_outside, label in (("2026-01-12", True, 0), ("2026-01-10", False, 1)):
        join = tarry.LabelJoin(capacity=3, window="10d", missing=0)
        join.decide({}, id="x", at="2026-01-01")
        join.decide({}, id="y", at="2026-01-12")
        rows = join.advance(until)
        (told,) = join.label_many(["x"], [1], at="2026-01-05")
        rows += join.advance("2026-01-13")
        assert (told.answer.name == "OUTSIDE") == is_outside
        assert [row.label for row in rows] == [label]


def test_tables_name_the_decisions_that_numbers_are_about():
    join = tarry.LabelJoin(capacity=3, window="10d", missing=0)
    for i in range(4):
        join.decide({}, id=i, at=f"2026-01-{1 + 5 * i:02d}")
    assert any(warning.endswith("call advance() (tarry join advance)") for warning in join.status().warnings)
    join.advance("2026-01-16")
    shown, found = join.estimate().rows(), join.estimate()
    assert shown["is settled"] == "yes"
    assert shown["mean (settled decisions)"] == f"{found.mean:.6g}"
    assert shown["sum (settled decisions)"] == f"{found.sum:.6g}"
    assert shown["sum high (all decisions)"] == f"{found.sum_high:.6g}"
    assert shown["outstanding (all decisions)"] == f"{found.outstanding:.6g}"
    assert "estimate mean (settled decisions)" in join.status().rows()
    assert not any("awaited" in warning for warning in join.status().warnings)
    plain = tarry.LabelJoin(capacity=3)
    plain.decide({})
    shown = plain.estimate().rows()
    assert shown["is settled"] == "no: all numbers are about all decisions"
    assert shown["low"] == "0"


def test_sizes_of_decisions_that_wait_are_no_part_of_the_settled_mean():
    join = tarry.LabelJoin(None, window=100, missing=0.5, rng=1)
    join.decide_many([None] * 500, sizes=[1.0] * 500, at=0)
    join.advance(200)
    join.decide_many([None] * 500, sizes=[100.0] * 500, at=201)
    found = join.estimate()
    assert found.is_settled
    assert (found.mean, found.sum) == (0.5, 250.0)
    assert np.isnan([found.low, found.high]).all()
    assert "no interval" in found.caveat
    assert found.anytime_low <= 0.5 <= found.anytime_high
