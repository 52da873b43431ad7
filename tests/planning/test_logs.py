"""Logs: columns found by name, time stamps in any order, missing outcomes by choice."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

import tarry
from tarry.planning import plan, plan_log, read_log
from tarry.planning.columns import read_columns

START = datetime(2024, 3, 4)
QUICK = {"schedulers": ["VarOpt"], "seeds": 2, "precision": 1.0}


def busy_month(days=7, missing=False):
    """A log like a shop's: busy by day and on weekdays, log-normal delays of some hours."""
    rng = np.random.default_rng(5)
    hours = np.arange(24 * days)
    rate = 8 * (0.25 + np.maximum(0, np.sin((hours % 24 - 6) / 24 * 2 * np.pi))) * np.where(hours // 24 % 7 < 5, 1, 0.6)
    times = [h * 3600 + rng.uniform(0, 3600, n) for h, n in zip(hours, rng.poisson(rate), strict=True)]
    decided = [START + timedelta(seconds=int(s)) for s in np.sort(np.concatenate(times))]
    waits = rng.lognormal(np.log(4 * 3600), 1.0, len(decided))
    feedback = [at + timedelta(seconds=int(w)) for at, w in zip(decided, waits, strict=True)]
    if missing:
        feedback = [None if i % 10 == 0 else at for i, at in enumerate(feedback)]
    return pl.DataFrame({"id": range(len(decided)), "created_at": decided, "label_at": feedback})


@pytest.fixture
def log(tmp_path):
    def write(frame, name="log.csv"):
        path = tmp_path / name
        {"csv": frame.write_csv, "parquet": frame.write_parquet}[name.rpartition(".")[2]](path)
        return path

    return write


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_delays_are_those_of_the_columns(log, name):
    frame = busy_month()
    read = read_log(log(frame, name))
    expected = tarry.delays.trace(frame["created_at"], frame["label_at"])
    assert (read.decided, read.feedback) == ("created_at", "label_at")
    assert np.array_equal(read.delays.values, expected.values)
    assert read.rows == frame.height
    assert read.missing == 0
    span = (frame["created_at"].max() - frame["created_at"].min()) / timedelta(days=1)
    assert read.per_day == pytest.approx(frame.height / span)
    # To the last decision at most: by Little's law, rate × wait is then what waits on average.
    waits = (frame["label_at"].clip(upper_bound=frame["created_at"].max()) - frame["created_at"]).mean()
    assert read.mean_delay_days == pytest.approx(waits / timedelta(days=1))


def test_rows_in_any_order(log):
    frame = busy_month().unique("created_at", maintain_order=True)  # ties are taken as they stand
    shuffled = frame.sample(fraction=1, shuffle=True, seed=3)
    assert np.array_equal(read_log(log(shuffled)).delays.values, read_log(log(frame, "b.csv")).delays.values)


def test_a_plan_is_that_of_the_delays(log):
    path = log(busy_month(days=3))
    read = read_log(path)
    made = plan_log(path, target=0.4, **QUICK)
    again = plan(read.delays, **read.known, target=0.4, **QUICK)
    assert made.to_dict() == again.to_dict()
    assert "decisions a day" in made.backlog.little
    assert made.backlog.mean_backlog == pytest.approx(read.delays.backlog().mean())


@pytest.mark.parametrize("zone", ["", "Z", "+02:00"])
def test_time_stamps_as_text(tmp_path, zone):
    path = tmp_path / "log.csv"
    rows = [f"2024-03-0{day}T10:00:00{zone},2024-03-0{day + 1}T11:00:00{zone}" for day in range(1, 5)]
    path.write_text("\n".join(["start,end", *rows, f"2024-03-05T10:00:00{zone},"]))
    assert read_log(path, missing="end").delays.values.tolist() == [1, 1, 1, 1, 0]
    assert read_log(path, missing="end").delays.truncated == 1
    assert read_log(path, window="1d", release="arrival").delays.values.tolist() == [1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (["timestamp", "outcome", "decided_at", "feedback_at"], ("decided_at", "feedback_at")),
        (["Start Time", "End-Time"], ("Start Time", "End-Time")),
        (["x", "Timestamp", "converted_at"], ("Timestamp", "converted_at")),
        (["label", "label_at", "time"], ("time", "label_at")),
        (["time", "outcome", "Label", "paid_at"], ("time", "paid_at")),  # 0 or 1, and no times
    ],
)
def test_columns_are_found_by_name(log, columns, found):
    frame = pl.DataFrame({name: [1.0, 2.0, 3.0] for name in columns})
    read = read_log(log(frame))
    assert (read.decided, read.feedback) == found
    assert read.per_day is None
    assert read.mean_delay_days is None


def test_columns_by_choice(log):
    frame = pl.DataFrame({"a": [0, 1, 2, 3], "b": [2, 1, 2, 3], "decided_at": [9, 9, 9, 9], "end": [9, 9, 9, 9]})
    assert read_log(log(frame), decided="a", feedback="b").delays.values.tolist() == [2, 0, 0, 0]


def test_missing_outcomes(log):
    frame = busy_month(missing=True)
    path, empty = log(frame), frame["label_at"].null_count()
    with pytest.raises(ValueError, match=f"no 'label_at' in {empty} of"):
        read_log(path)
    dropped = read_log(path, missing="drop")
    assert dropped.delays.horizon == frame.height - empty
    assert dropped.missing == empty
    waiting = read_log(path, missing="end")
    assert waiting.delays.horizon == frame.height
    assert waiting.delays.truncated == empty


@pytest.mark.parametrize("release", ["arrival", "window"])
def test_windows_settle_every_decision(log, release):
    """At the end of its window, or when its label comes before that: by brute force."""
    frame = busy_month(missing=True)
    rules = {"window": "5h", "release": release, "missing": 0}
    ends = []
    for made, came in frame.select("created_at", "label_at").iter_rows():
        end = made + timedelta(hours=5)
        ends.append(end if came is None or release == "window" else min(came, end))
    expected = [sum(t <= end for t in frame["created_at"]) - s for s, end in enumerate(ends, 1)]
    found = read_log(log(frame), **rules)
    assert found.delays.values.tolist() == expected
    assert found.missing == frame["label_at"].null_count()
    assert found.mean_delay_days <= 5 / 24
    if release == "window":
        again = read_log(log(frame), window=timedelta(hours=5))  # the default, as in a join
        assert again.delays.values.tolist() == expected


def test_a_window_in_the_columns_own_unit(log):
    frame = pl.DataFrame({"time": [0, 1, 2, 3, 4], "end": [None, 1, 2, 3, 4]})
    assert read_log(log(frame), window=2.5, release="arrival").delays.values.tolist() == [2, 0, 0, 0, 0]


def test_a_log_without_a_single_outcome(log):
    frame = pl.DataFrame({"time": [START, START + timedelta(days=1)], "end": [None, None]})
    path = log(frame, "log.parquet")
    assert read_log(path, window="3d").delays.values.tolist() == [1, 0]
    with pytest.raises(ValueError, match="no row with a feedback time"):
        read_log(path, missing="drop")


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ({"a": [1], "end": [2]}, {}, "no column looks like the time of the decision; the columns are 'a', 'end'"),
        ({"time": [1], "b": [2]}, {}, "no column looks like the time of the feedback; the columns are 'time', 'b'"),
        ({"time": [1], "end": [2]}, {"decided": "at"}, "no column 'at' for decided: the log has 'time', 'end'"),
        ({"time": [2], "end": [1]}, {}, "comes before its decision"),
        ({"time": [1], "end": [2]}, {"missing": "skip"}, "missing must be one of 'refuse'"),
        ({"time": [1], "end": [2]}, {"release": "window"}, "release is about windows, got 'window': give a window"),
        ({"time": [1], "end": [2]}, {"window": 3, "release": "soon"}, "release must be one of 'arrival', 'window'"),
        ({"time": [1], "end": [2]}, {"window": "3d"}, "window must be a number in the unit of the columns"),
        ({"time": [START], "end": [START]}, {"window": 3}, "window needs a unit where the log has dates, got 3"),
        ({"time": [START], "end": [START]}, {"window": "a while"}, "window must be a positive length of time"),
        ({"time": [1], "end": [2]}, {"window": -3}, "window must be positive"),
        ({"time": ["noon"], "end": ["later"]}, {}, r"row 2 of \S+log.csv has 'noon' in 'decided_at', which is no time"),
        ({"time": [1], "end": ["2024-05-01"]}, {}, "dates cannot be compared with numbers"),
    ],
)
def test_refusals(log, columns, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_log(log(pl.DataFrame(columns)), **options)


@pytest.mark.parametrize(("name", "shown"), [("log.csv", 5), ("log.parquet", 4)])
@pytest.mark.parametrize("missing", ["drop", "end"])
def test_rows_are_numbered_as_in_the_file(log, name, shown, missing):
    """From 1, with the header of a CSV file, whatever was dropped before."""
    frame = pl.DataFrame({"time": [1, 2, 3, 9, 5], "end": [2, None, 3, 4, 9]})
    with pytest.raises(ValueError, match=rf"feedback in row {shown} of \S+{name} \(4"):
        read_log(log(frame, name), missing=missing)


def test_one_column_cannot_be_both(log):
    with pytest.raises(ValueError, match="'time' cannot be both columns"):
        read_log(log(pl.DataFrame({"time": [1], "end": [2]})), feedback="time")


def test_names_that_look_like_numbers_stay_names(tmp_path):
    """Leading zeros, and digits that neither 64 bits nor a float hold, come back as they were written."""
    columns = {
        "code": ["007", "42"],
        "hash": [str(2**63), str(2**64 - 1)],
        "count": ["7", "42"],
        "share": ["0.5", "1e3"],
    }
    path = tmp_path / "log.csv"
    pl.DataFrame({"decided_at": ["01", "02"], "label_at": ["2", None], **columns}).write_csv(path)
    frame, *_ = read_columns(path, also=None)
    assert frame.to_dict(as_series=False) == {
        **columns,
        "count": [7, 42],
        "share": [0.5, 1000.0],
        "decided_at": [1, 2],
        "label_at": [2, None],
    }


@pytest.mark.parametrize(
    ("names", "decided", "feedback"),
    [
        (["converted_at", "shown_at"], "shown_at", "converted_at"),
        (["clicked_at", "converted_at"], "clicked_at", "converted_at"),
        (["clicked_at", "Served At"], "Served At", "clicked_at"),
        (["clicked_at", "sent_at", "converted_at"], "sent_at", "converted_at"),
    ],
)
def test_a_click_is_feedback_on_what_was_shown_and_a_decision_before_a_sale(tmp_path, names, decided, feedback):
    path = tmp_path / "log.csv"
    pl.DataFrame({name: [1, 2] for name in names}).write_csv(path)
    assert read_columns(path)[1:] == (decided, feedback)


def test_a_column_of_labels_is_not_one_of_times(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("when,paid_on,label\n1,2,0\n2,3,1\n")
    with pytest.raises(ValueError, match=r"like the time of the label; .* name it \(labelled=, --labelled\)"):
        read_columns(path, "when", roles=("decided", "labelled"), label="label")
    with pytest.raises(ValueError, match="'label' cannot be both columns"):
        read_columns(path, "when", "label", label="label")


def test_refused_files(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        read_log(tmp_path / "log.csv")
    (tmp_path / "log.xlsx").write_text("x")
    with pytest.raises(ValueError, match=r"ends in \.csv"):
        read_log(tmp_path / "log.xlsx")
    (tmp_path / "log.parquet").write_text("not a table")
    with pytest.raises(ValueError, match="cannot be read"):
        read_log(tmp_path / "log.parquet")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match="cannot be read"):
        read_log(tmp_path / "empty.csv")


def written(tmp_path, moments, style, separator=","):
    """A file of decisions with feedback six hours later, dates in this style."""
    path = tmp_path / "log.csv"
    rows = [separator.join(f"{at:{style}}" for at in (made, made + timedelta(hours=6))) for made in moments]
    path.write_text("\n".join([separator.join(("start", "end")), *rows]))
    return path


@pytest.mark.parametrize("style", ["%m/%d/%Y %H:%M", "%m-%d-%Y %H:%M:%S", "%m/%d/%Y %I:%M %p"])
def test_dates_whose_order_cannot_be_told_are_asked_for(tmp_path, style):
    """24 decisions a day answered after six hours: 6 wait. Day first, days would lie months apart."""
    made = [datetime(2024, 9, 1) + timedelta(hours=i) for i in range(24 * 10)]
    path = written(tmp_path, made, style)
    with pytest.raises(ValueError, match=r"day first or month first, .* --day-first or --month-first"):
        read_log(path)
    read = read_log(path, day_first=False)
    assert read.delays.values[:100].tolist() == [6] * 100
    assert read.per_day == pytest.approx(24, rel=0.01)
    assert read.mean_delay_days == pytest.approx(0.25, rel=0.02)
    assert read_log(path, day_first=True).per_day < 1


@pytest.mark.parametrize(("style", "day_first"), [("%m/%d/%Y %H:%M", False), ("%d.%m.%Y %H:%M", True)])
def test_a_day_above_the_twelfth_tells_the_order(tmp_path, style, day_first):
    made = [datetime(2024, 9, 1) + timedelta(hours=i) for i in range(24 * 20)]
    path = written(tmp_path, made, style)
    assert read_log(path).delays.values[:100].tolist() == [6] * 100
    assert read_log(path, day_first=day_first).per_day == read_log(path).per_day
    with pytest.raises(ValueError, match=f"cannot all be read {'month' if day_first else 'day'} first"):
        read_log(path, day_first=not day_first)


def test_dates_of_either_order_in_one_log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("start,end\n13/1/2024,14/1/2024\n1/15/2024,1/16/2024\n")
    with pytest.raises(ValueError, match="cannot all be read in one order: their first numbers go up to 14"):
        read_log(path)
    path.write_text("start,end\n31/2/2024,1/3/2024\n")
    with pytest.raises(ValueError, match="'start' has a date that does not exist"):
        read_log(path)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_separators_are_seen(tmp_path, separator):
    made = [START + timedelta(hours=i) for i in range(50)]
    assert read_log(written(tmp_path, made, "%Y-%m-%d %H:%M", separator)).delays.values[0] == 6


def test_numbers_with_commas_beside_semicolons(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("time;end\n0,5;2,25\n1;NA\n2;2\n3;3\n")
    assert read_log(path, missing="end").delays.values.tolist() == [2, 2, 0, 0]


@pytest.mark.slow
@pytest.mark.jit(only=True)
def test_a_busy_month(log):
    _agrees(read_log(log(busy_month(days=60))).delays)


def _agrees(delays):
    """The planner's figures against games with other seeds."""
    capacity = max(4, delays.max_backlog // 8)
    domain = tarry.domains.Ball(1)
    losses = tarry.losses.Linear(np.ones((delays.horizon, 1)))
    game = tarry.Game(domain, losses, tarry.delays.array(delays.values), capacity=capacity)
    figures = plan(delays, capacities=[capacity], schedulers=["VarOpt"]).figures[0]
    record = tarry.simulate(game, tarry.learners.DWFTRL(domain, rate=0.1), seeds=range(900, 930), bound=False)
    assert figures.seen == pytest.approx(record.observed.mean(), rel=0.1)
    assert figures.second_moment == pytest.approx(record.weights.second_moment.mean(), rel=0.1)


def test_a_window_plans_for_all_decisions_whatever_missing_says(tmp_path):
    path = tmp_path / "log.csv"
    lines = [f"{i},{i + 1 if i % 4 == 0 else ''}" for i in range(400)]
    path.write_text("\n".join(["decided_at,labelled_at", *lines]))
    plans = [read_log(path, window=20, missing=missing) for missing in ("drop", "0")]
    assert [log.delays.horizon for log in plans] == [400, 400]


@pytest.mark.parametrize("end", ["\n\n", "\n,\n", "\n , \n\n", ""])
def test_blank_cells_and_lines_at_the_end_are_nothing(tmp_path, end):
    path = tmp_path / "log.csv"
    path.write_text("decided_at,labelled_at\n2024-01-01,2024-01-02\n2024-01-02, \n2024-01-03,2024-01-05" + end)
    log = read_log(path, missing="end")
    assert (log.rows, log.missing) == (3, 1)


def even_log(folder, days, name="log.csv", note=""):
    made = [START + timedelta(hours=6 * i) for i in range(4 * days)]
    frame = pl.DataFrame({"decided_at": made, "feedback_at": [time + timedelta(days=3) for time in made], "note": note})
    path = folder / name
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


@pytest.mark.parametrize(("days", "is_short"), [(25, True), (41, False), (80, False), (160, False)])
@pytest.mark.parametrize("release", ["window", "arrival"])
def test_with_a_window_a_log_is_short_against_the_window_alone(tmp_path, days, is_short, release):
    """A backlog is full after one window: that of a longer record has no higher peak."""
    made = plan_log(even_log(tmp_path, days), window="20d", release=release, **QUICK)
    assert made.backlog.max_backlog == (80 if release == "window" else 12)
    assert any("1.2 windows long" in warning for warning in made.warnings) == is_short
    assert not any("hardly had time" in warning for warning in made.warnings)


def test_without_a_window_a_log_is_short_against_its_delays(tmp_path):
    made = plan_log(even_log(tmp_path, 10), **QUICK)
    assert any("hardly had time" in warning for warning in made.warnings)


def test_a_plan_says_first_where_all_rows_can_be_kept(tmp_path):
    path = even_log(tmp_path, 30, note="x" * 50)
    made = plan_log(path, **QUICK)
    size = len(path.read_bytes()) / 120  # the header is spread over 120 rows
    assert made.row_bytes == pytest.approx(size)
    assert made.keep_all.startswith(f"12 pending rows ({size:.0f} bytes each, as in this log) are under 1 MB: keep")
    assert repr(made).index("keep them all") < repr(made).index("are enough")
    assert made.to_dict()["keep_all"] == made.keep_all
    # VarOpt gives up decisions that it tracks: where a check was paid for, that is the wrong advice.
    assert (made.choice.scheduler, made.keep_all[-54:]) == (
        "VarOpt",
        "costs a check, add --no-preemption (preemption=False).",
    )
    assert "check" not in replace(made, preemption=False).keep_all
    # Two times of eight bytes and a text of fifty.
    assert plan_log(even_log(tmp_path, 30, "log.parquet", "x" * 50), **QUICK).row_bytes == pytest.approx(66, abs=16)
    delays = read_log(path).delays
    assert "(100 bytes each, assumed)" in plan(delays, **QUICK).keep_all
    large = plan(delays, row_bytes=1e9 / 12 + 1, **QUICK)
    assert (large.keep_all, large.to_dict()["keep_all"]) == ("", None)
    assert "are about 1,000 MB: keep" in plan(delays, row_bytes=1e9 / 12 - 1, **QUICK).keep_all


@pytest.mark.parametrize("wrong", [{"row_bytes": -1}, {"row_bytes": 0}, {"windows": -3}, {"windows": float("nan")}])
def test_sizes_of_rows_and_windows_are_checked(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"^{name} must be "):
        plan(tarry.delays.fixed(50, delay=3), **wrong, **QUICK)
