"""Spark's join: what a shard does, without Spark; and where Spark and Java are installed, stream and batch."""

import datetime as dt
import math
import os
import random
import sys
import zlib
from decimal import Decimal
from itertools import permutations

import polars as pl
import pytest
from system import skip_without, skip_without_spark

from tarry.adapters.spark import Event, Rules, join_in, shard_of, step

SECOND = 1_000_000


def make_log(count=400, seed=1, quick=3.0, slow=40.0):
    """Return (id, decided_at, labelled_at, label) by time: labels that are 1 come sooner."""
    draw = random.Random(seed)
    rows = []
    for i in range(count):
        label = float(draw.random() < 0.3)
        delay = draw.expovariate(1 / (quick if label else slow))
        rows.append((f"d{i}", i * SECOND, round((i + delay) * SECOND), label))
    return rows


def events_of(log, shard=0, shards=1):
    mine = [row for row in log if shard_of(row[0], shards) == shard]
    decisions = [Event(at, False, id, f'{{"i":"{id}"}}') for id, at, _, _ in mine]
    return decisions + [Event(later, True, id, label) for id, _, later, label in mine]


def facts(rows):
    return [(row.id, row.label, row.weight, row.relative) for row in rows]


@pytest.mark.parametrize(("window", "release"), [(None, None), (20 * SECOND, None), (20 * SECOND, "arrival")])
def test_a_shard_is_a_join_over_its_log_in_the_order_of_time(window, release):
    rules = Rules(12, 3, window, 0.5, release, seed=4) if window else Rules(12, 3, seed=4)
    log = make_log()
    for shard in range(3):
        mine = [row for row in log if zlib.crc32(row[0].encode()) % 3 == shard]
        frame = pl.DataFrame(mine, schema=["id", "decided_at", "labelled_at", "label"], orient="row")
        frame = frame.with_columns(pl.col("decided_at", "labelled_at") / SECOND)
        whole = rules.fresh(shard).stream(
            frame, decided_at="decided_at", labelled_at="labelled_at", label="label", at_end="deliver"
        )
        rows = step(rules, shard, None, events_of(log, shard, 3), math.inf).rows
        assert facts(rows) == [(row.id, row.label, row.weight, row.relative) for row in whole]
        decided = {id: (at, later) for id, at, later, _ in log}
        for row in rows:
            at, later = decided[row.id]
            assert row.decided_at == at
            assert row.labelled_at == (later if window is None or later <= at + window else None)
            assert row.features == f'{{"i":"{row.id}"}}'


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("window", [None, 15 * SECOND])
def test_rows_do_not_depend_on_how_events_are_cut_and_shuffled(seed, window):
    late = 8 * SECOND  # by so much an event may come after another that is later
    rules = Rules(5, 1, window, 0.0 if window else None, lateness=(late, late) if seed % 2 else None)
    log, draw = make_log(), random.Random(seed)
    expected = step(rules, 0, None, events_of(log), math.inf).rows
    arriving = sorted(events_of(log), key=lambda event: event.at + draw.randrange(late))
    rows, state, seen = [], None, -late
    while arriving:
        cut = draw.randrange(1, 60)
        batch, arriving = arriving[:cut], arriving[cut:]
        done = step(rules, 0, state, batch, seen - late)
        seen = max(seen, *(event.at for event in batch))
        state = done.state
        rows += done.rows
    rows += step(rules, 0, state, [], math.inf).rows
    assert rows == expected
    assert len(rows) < len(log)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("window", [None, 15 * SECOND])
def test_rows_are_those_of_the_events_that_were_not_late_in_any_cut(seed, window):
    late = 3 * SECOND
    rules = Rules(5, 1, window, 0.0 if window else None, lateness=(late, late))
    draw = random.Random(seed)
    arriving = sorted(events_of(make_log(200)), key=lambda event: event.at + draw.randrange(10 * late))
    rows, state, taken, dropped, latest = [], None, [], 0, [-math.inf, -math.inf]
    while arriving:
        cut = draw.randrange(1, 30)
        batch, arriving = arriving[:cut], arriving[cut:]
        passed = min(latest) - late  # by what came in earlier batches
        taken += (kept := [event for event in batch if event.at > passed])
        dropped += len(batch) - len(kept)
        latest = [max([latest[i], *(event.at for event in batch if event.is_label == i)]) for i in (0, 1)]
        done = step(rules, 0, state, batch, -math.inf)
        assert sorted(done.late) == sorted(event for event in batch if event.at <= passed)
        state = done.state
        rows += done.rows
    rows += step(rules, 0, state, [], math.inf).rows
    assert dropped > 5
    assert rows == step(rules, 0, None, taken, math.inf).rows


def test_what_spark_passes_over_is_late_and_what_it_has_not_passed_is_not():
    rules = Rules(8, 1, 100, 0.0)
    done = step(rules, 0, None, [], until=50)
    done = step(rules, 0, done.state, [Event(50, False, "a", None), Event(51, False, "b", None)], until=40)
    assert [event.id for event in done.late] == ["a"]
    assert step(rules, 0, done.state, [Event(50, False, "c", None)], until=60).late == [Event(50, False, "c", None)]
    done = step(Rules(8, 1), 0, None, [Event(9, False, "a", None)], math.inf)  # without a watermark nothing is late
    assert [row.id for row in step(Rules(8, 1), 0, done.state, [Event(9, True, "a", 1.0)], math.inf).rows] == ["a"]


def test_a_step_says_when_another_can_give_more():
    rules = Rules(4, 1, 10 * SECOND, 0)
    first = step(rules, 0, None, [Event(SECOND, False, "a", None), Event(5 * SECOND, False, "b", None)], 2 * SECOND)
    assert first.wake == 5 * SECOND  # b waits for the watermark
    second = step(rules, 0, first.state, [], 5 * SECOND)
    assert second.wake == 11 * SECOND  # the window of a
    assert step(rules, 0, second.state, [], 11 * SECOND - 1).rows == []
    third = step(rules, 0, second.state, [], 11 * SECOND)
    assert [row.id for row in third.rows] == ["a"]
    assert step(rules, 0, third.state, [], 15 * SECOND).wake is None


def test_a_label_in_the_last_moment_of_its_window_counts_and_the_next_does_not():
    rules = Rules(4, 1, 10 * SECOND, 0)
    for later, label, labelled_at in ((10 * SECOND, 1.0, 10 * SECOND), (10 * SECOND + 1, 0, None)):
        (row,) = step(rules, 0, None, [Event(later, True, "a", 1.0), Event(0, False, "a", None)], math.inf).rows
        assert (row.label, row.labelled_at) == (label, labelled_at)


def test_microseconds_count_up_to_the_year_9999():
    draw = random.Random(1)
    end = 253_402_300_800 * SECOND
    moments = [end - 1, 1 - end, *(draw.randrange(9 * 10**15, end) for _ in range(100))]
    for at in moments:
        rules = Rules(4, 1, draw.choice([draw.randrange(1, 10**9), draw.randrange(10**17, 10**18)]), 0.0)
        window = round(rules.window / SECOND * SECOND)  # which the join keeps as seconds
        events = [Event(at, False, "a", None), Event(at + window, True, "a", 1.0)]
        first = step(rules, 0, None, events, at + window - 1)
        assert (first.rows, first.wake) == ([], at + window)
        for rows in (
            step(rules, 0, first.state, [], at + window).rows,
            step(rules, 0, None, events, math.inf).rows,
            step(rules, 0, None, events, at + window).rows,
        ):
            (row,) = rows
            assert (row.decided_at, row.labelled_at, row.label) == (at, at + window, 1.0)
        after = Event(at + window + 1, True, "a", 1.0)
        (row,) = step(rules, 0, None, [events[0], after], math.inf).rows
        assert (row.labelled_at, row.label) == (None, 0.0)


def test_a_label_in_the_moment_of_its_decision_counts():
    for window in (None, SECOND):
        (row,) = step(
            Rules(4, 1, window), 0, None, [Event(5, True, "a", 1.0), Event(5, False, "a", None)], math.inf
        ).rows
        assert (row.id, row.label) == ("a", 1.0)


@pytest.mark.parametrize("is_ahead", [False, True])
def test_events_wait_for_the_slower_stream(is_ahead):
    rules = Rules(5, 1, 15 * SECOND, 0, lateness=(0, 0))
    events = events_of(make_log(100))
    expected = step(rules, 0, None, events, math.inf).rows
    first = step(rules, 0, None, [event for event in events if event.is_label == is_ahead], -math.inf)
    assert first.rows == []
    second = step(rules, 0, first.state, [event for event in events if event.is_label != is_ahead], -math.inf)
    assert second.rows + step(rules, 0, second.state, [], math.inf).rows == expected


def test_decisions_and_labels_that_come_twice_count_once():
    events = events_of(make_log(60))
    rules = Rules(8, 1)
    assert step(rules, 0, None, events * 2, math.inf).rows == step(rules, 0, None, events, math.inf).rows


def test_events_that_tie_are_taken_in_one_order():
    decisions = [Event(0, False, "a", text) for text in ('{"x":1}', '{"x":2}', None)]
    for labels in ([0.0, 1.0, -0.0], ["no", "yes", "x"]):
        events = [*decisions, *(Event(5, True, "a", label) for label in labels)]
        rows = {repr(step(Rules(4, 1), 0, None, mixed, math.inf).rows) for mixed in permutations(events)}
        assert len(rows) == 1


def test_the_state_is_bounded_by_capacity_and_memory():
    rules = Rules(32, 1, 600 * SECOND, 0, memory=500, lateness=(SECOND, SECOND))
    log, state, sizes = make_log(6000), None, []
    for first in range(0, 6000, 500):
        part = [event for event in events_of(log) if first <= event.at // SECOND < first + 500]
        state = step(rules, 0, state, part, -math.inf).state  # no watermark yet: the events themselves show the time
        sizes.append(len(state))
        assert join_in(state).status().tracked <= 32
    assert max(sizes[2:]) < 1.05 * min(sizes[2:])
    kept = step(rules._replace(capacity=6000, memory=6000), 0, None, events_of(log), 500 * SECOND).state
    assert len(kept) > 5 * sizes[-1]  # what would be kept without a limit


def test_shares_add_up_and_shards_draw_differently():
    rules = Rules(10, 4, seed=3)
    assert [rules.share(shard) for shard in range(4)] == [3, 3, 2, 2]
    events = events_of(make_log(100))
    rows = [step(Rules(8, 4, seed=3), shard, None, events, math.inf).rows for shard in range(4)]
    assert len({tuple(row.id for row in one) for one in rows}) == 4


def test_weighted_sums_are_right_and_raw_ones_are_not():
    log = make_log(300, seed=5)
    truth = sum(label for *_, label in log)
    sums, raw = [], []
    for seed in range(60):
        rules = Rules(30, 3, seed=seed)
        rows = [row for shard in range(3) for row in step(rules, shard, None, events_of(log, shard, 3), math.inf).rows]
        sums.append(sum(row.weight * row.label for row in rows))
        raw.append(len(log) * sum(row.label for row in rows) / len(rows))

    def off(values):
        mean = sum(values) / len(values)
        error = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
        return abs(mean - truth) / error

    assert off(sums) < 4
    assert off(raw) > 20


def skip_unless_spark():
    skip_without_spark()
    skip_without("openjdk-17-jre-headless")


@pytest.fixture(scope="module")
def spark():
    skip_unless_spark()
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.session.timeZone", "Europe/Zurich")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


SPARK = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")  # of PySpark's own
START = 1_700_000_000 * SECOND
OPTIONS = {"capacity": 12, "shards": 3, "window": "20s", "missing": 0, "seed": 4, "memory": 300}


def frames_of(spark, log):
    from pyspark.sql import functions as fn

    decisions = [(id, START + at, int(id[1:]), math.nan if at % 7 else 0.1) for id, at, _, _ in log]
    labels = [(id, START + later, int(label)) for id, _, later, label in log]
    one = spark.createDataFrame(decisions, "id string, at long, i int, x double")
    other = spark.createDataFrame(labels, "id string, at long, label int")
    return (
        one.select("id", fn.timestamp_micros("at").alias("decided_at"), "i", "x"),
        other.select("id", fn.timestamp_micros("at").alias("labelled_at"), "label"),
    )


def listed(frame):
    return sorted((tuple(row.asDict().items()) for row in frame.collect()), key=repr)


@SPARK
def test_stream_batch_and_a_loop_give_the_same_rows(spark, tmp_path):
    from tarry.adapters.spark import batch, stream

    log = make_log(240)
    end = START + 300 * SECOND
    flush = [("d9998", end - START, end - START, 1.0)]
    parts = [[row for row in log if row[1] // (60 * SECOND) == part] for part in range(4)]
    for part in [*parts, flush]:
        for frame, name in zip(frames_of(spark, part), ("decisions", "labels"), strict=True):
            frame.coalesce(1).write.mode("append").parquet(str(tmp_path / name))
    read = lambda name, schema: (  # noqa: E731 - one line for both
        spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / name))
    )
    decisions = read("decisions", "id string, decided_at timestamp, i int, x double")
    labels = read("labels", "id string, labelled_at timestamp, label int")
    joined = stream(decisions, labels, watermark="2 minutes", **OPTIONS)
    query = (
        joined.writeStream.format("parquet")
        .option("path", str(tmp_path / "rows"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    states = [progress["stateOperators"][0] for progress in query.recentProgress]
    assert len(states) >= 4
    assert all(state["numRowsTotal"] <= 3 and state["numRowsDroppedByWatermark"] == 0 for state in states)
    until = (end - 120 * SECOND) / SECOND
    saved = [spark.read.parquet(str(tmp_path / name)) for name in ("decisions", "labels")]
    streamed = listed(spark.read.parquet(str(tmp_path / "rows")))
    assert repr(streamed) == repr(listed(batch(*saved, until=until, **OPTIONS)))  # NaN is not equal to itself
    rules = Rules(12, 3, 20 * SECOND, 0, "window", 4, 300)
    shifted = [(id, START + at, START + later, label) for id, at, later, label in [*log, *flush]]
    looped = {
        row.id: (shard, row.decided_at, row.labelled_at, row.label, row.weight, row.relative)
        for shard in range(3)
        for row in step(rules, shard, None, events_of(shifted, shard, 3), until * SECOND).rows
    }
    micros = lambda moment: None if moment is None else round(moment.timestamp() * SECOND)  # noqa: E731
    assert len(streamed) == len(looped) > 60
    for row in map(dict, streamed):
        told = (micros(row["decided_at"]), micros(row["labelled_at"]), row["label"], row["weight"], row["relative"])
        assert (row["shard"], *told) == looped[row["id"]]
        assert row["i"] == int(row["id"][1:])
    assert any(row[3][1] == 1 for row in streamed)
    state = spark.read.format("statestore").option("stateVarName", "shard").load(str(tmp_path / "checkpoint"))
    assert sum(join_in(row.value.data).capacity for row in state.collect()) == 12


def play(spark, folder, parts, schemas, **options):
    """Return rows and progress of a stream that reads one part of decisions and one of labels in a micro-batch."""
    from tarry.adapters.spark import stream

    for i, part in enumerate(parts):
        for rows, schema, name in zip(part, schemas, ("decisions", "labels"), strict=True):
            spark.createDataFrame(rows, schema).coalesce(1).write.parquet(str(folder / f"part{i}-{name}"))
            (folder / name).mkdir(exist_ok=True)
            (source,) = (folder / f"part{i}-{name}").glob("*.parquet")
            os.utime(source.rename(folder / name / f"{i}.parquet"), (1_700_000_000 + i, 1_700_000_000 + i))
    frames = [
        spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / name))
        for schema, name in zip(schemas, ("decisions", "labels"), strict=True)
    ]
    writer = stream(*frames, **options).writeStream.format("memory").queryName("played")
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    return spark.table("played").collect(), query.recentProgress


def at(seconds):
    return dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds)


@SPARK
def test_what_no_join_can_take_is_left_out_and_counted(spark, tmp_path):
    from pyspark.sql import functions as fn

    from tarry.adapters.spark import batch

    ids = ["a", "b", "c", "d", "e"]
    schemas = "id string, decided_at timestamp", "id string, labelled_at timestamp, label double"
    labels = [*zip(ids, [at(5)] * 5, [1.0, math.inf, -math.inf, math.nan, None], strict=True), ("a", None, 2.0)]
    parts = [([(id, at(0)) for id in [*ids, None]], labels), ([("z", at(500))], [("z", at(500), 0.0)])]
    options = {"capacity": 20, "shards": 2, "window": "100s", "missing": 0}
    rows, progress = play(spark, tmp_path, parts, schemas, watermark="10 seconds", **options)
    assert {row.id: row.label for row in rows} == {"a": 1.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": 0.0}
    told = [one.observedMetrics for one in progress if one.observedMetrics]
    assert sum(one["tarry_decided_at"].left_out for one in told) == 1
    assert sum(one["tarry_labelled_at"].left_out for one in told) == 5
    micros = spark.createDataFrame([("a", 0), ("f", 2**62), ("g", -(2**62))], "id string, at long")
    decisions = micros.select("id", fn.timestamp_micros("at").alias("decided_at"))
    told = micros.select("id", fn.timestamp_micros("at").alias("labelled_at"), fn.lit(1).alias("label"))
    assert [row.id for row in batch(decisions, told, **options).collect()] == ["a"]


@SPARK
def test_late_events_are_dropped_and_counted_in_each_cut(spark, tmp_path):
    schemas = "id string, decided_at timestamp", "id string, labelled_at timestamp, label double"
    pair = lambda id, moment: ([(id, at(moment))], [(id, at(moment + 1), 1.0)])  # noqa: E731
    options = {"capacity": 20, "shards": 1, "window": "100s", "missing": 0, "watermark": "10 seconds"}
    for ahead in ([], [pair("c", 1100)]):
        parts = [pair("a", 0), pair("b", 1000), *ahead, pair("late", 500), pair("in_time", 1091), pair("end", 5000)]
        folder = tmp_path / str(len(parts))
        folder.mkdir()
        rows, progress = play(spark, folder, parts, schemas, **options)
        assert {row.id: row.label for row in rows} == dict.fromkeys(["a", "b", "in_time", *"c"[: len(ahead)]], 1.0)
        by_join = sum(one.observedMetrics["tarry_rows"].late for one in progress if one.observedMetrics)
        by_spark = sum(one["stateOperators"][0]["numRowsDroppedByWatermark"] for one in progress)
        assert by_join + by_spark == 2


@SPARK
def test_features_come_back_with_their_types_and_values(spark):
    from pyspark.sql import Row

    from tarry.adapters.spark import batch

    schema = (
        "id long, decided_at timestamp, a float, b double, c decimal(38,18), d binary, e date, f timestamp, "
        "g timestamp_ntz, h array<double>, j map<string,int>, k struct<x:string,y:boolean>,"
        "l string, m short, `n.o` int"
    )
    moment = dt.datetime(2026, 3, 29, 2, 30, 0, 123456)
    full = (
        *(7, moment, 0.1, -math.inf, Decimal("12345678901234567890.123456789012345678"), b"\x00\xff"),
        *(dt.date(1900, 1, 1), moment, moment, [0.1, None, 1e300], {"ä\n": 1, "": None}, Row(x='"', y=None)),
        *("\\ü\u2028", -5, 3),
    )
    empty = (-(2**62) - 1, moment, *(None for _ in full[2:]))
    decisions = spark.createDataFrame([full, empty], schema)
    labels = decisions.selectExpr("id", "decided_at + interval 1 second labelled_at", "id = 7 as label")
    rows = batch(decisions, labels, capacity=8, shards=2)
    kept = rows.drop("labelled_at", "label", "weight", "relative", "shard").orderBy("id")
    assert kept.collect() == decisions.orderBy("id").collect()
    assert {(row.id, row.label, row.weight) for row in rows.collect()} == {(7, True, 1.0), (empty[0], False, 1.0)}


@SPARK
def test_what_cannot_be_joined_is_refused_with_the_way_out(spark):
    from tarry.adapters.spark import batch, stream

    decisions, labels = frames_of(spark, make_log(5))
    with pytest.raises(ValueError, match="decisions is no stream: read it with"):
        stream(decisions, labels, capacity=4, shards=2)
    with pytest.raises(ValueError, match="capacity must be at least 1 for each of 8 shards, got 4"):
        batch(decisions, labels, capacity=4, shards=8)
    with pytest.raises(ValueError, match="release is about windows"):
        batch(decisions, labels, capacity=4, shards=2, release="window")
    with pytest.raises(ValueError, match="labels has no column 'labelled_at'"):
        batch(decisions, labels.withColumnRenamed("labelled_at", "at"), capacity=4, shards=2)
    with pytest.raises(ValueError, match="its own column 'weight': rename"):
        batch(decisions.withColumnRenamed("x", "weight"), labels, capacity=4, shards=2)
    with pytest.raises(ValueError, match="must be texts or whole numbers: cast"):
        batch(decisions.selectExpr("x as id", "decided_at"), labels, capacity=4, shards=2)
    with pytest.raises(ValueError, match="a label must be a number"):
        batch(decisions, labels.selectExpr("id", "labelled_at", "array(label) as label"), capacity=4, shards=2)
    source = spark.readStream.format("rate").load()
    made = source.selectExpr("value as id", "timestamp as decided_at")
    told = source.selectExpr("value as id", "timestamp as labelled_at", "1 as label")
    with pytest.raises(ValueError, match="both streams need a watermark"):
        stream(made, told, capacity=4, shards=2, window="1d", missing=0)
    with pytest.raises(ValueError, match="has a watermark already"):
        stream(made.withWatermark("decided_at", "1 minute"), told, capacity=4, shards=2, watermark="1 minute")
    assert stream(made, told, capacity=4, shards=2).isStreaming
