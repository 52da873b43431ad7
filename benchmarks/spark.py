"""Spark's join in local mode: speed beside one join in process, the size of its state, kill -9, and intervals.

``python -m benchmarks.spark FOLDER OPTIONS`` is the driver that the rows below start, and kill.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tarry
from benchmarks.measure import Figure, Row
from tarry.theory.intervals import Sample, mean_interval

START, PERIOD, WINDOW = 1_767_225_600, 2_592_000, 86_400  # in seconds: a month of decisions that wait for a day
FILES = 20  # of decisions and as many of labels: a micro-batch takes one of each
SHARDS = 4
OPTIONS = {"shards": SHARDS, "window": "1d", "missing": 0, "seed": 7, "memory": 20_000}
DECISIONS = "id string, decided_at timestamp, x double, city string"
LABELS = "id string, labelled_at timestamp, label int"
KILLS = 10
RUNS = 100


def make_log(decisions: int, seed: int = 1, period: int = PERIOD) -> pl.DataFrame:
    """Return decisions with their labels: those of 1 come within hours, those of 0 within a day, or too late."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.uniform(0, period, decisions))
    label = (rng.random(decisions) < 0.3).astype(np.int32)
    delay = rng.exponential(np.where(label == 1, 7_200.0, 43_200.0))
    moments = {"decided_at": at, "labelled_at": at + delay}
    frame = pl.DataFrame(
        {"id": [f"d{i}" for i in range(decisions)], **moments, "label": label, "x": rng.normal(size=decisions)}
    )
    micros = [((pl.col(name) + START) * 1e6).cast(pl.Int64).cast(pl.Datetime("us", "UTC")) for name in moments]
    return frame.with_columns(*micros, city=pl.Series(rng.choice(["Bern", "Basel", "Genf"], decisions)))


def write_log(log: pl.DataFrame, folder: Path) -> None:
    """Write files by time, and a last decision and label whose watermark ends every window."""
    end = pl.lit(START + PERIOD + 30 * WINDOW).mul(1_000_000).cast(pl.Datetime("us", "UTC"))
    last = log.head(1).with_columns(id=pl.lit("last"), decided_at=end, labelled_at=end)
    for name, at, columns in (("decisions", "decided_at", ["x", "city"]), ("labels", "labelled_at", ["label"])):
        (folder / name).mkdir(parents=True)
        place = ((log[at].dt.epoch("us") / 1e6 - START) / PERIOD * FILES).cast(pl.Int64)
        for i in range(FILES + 1):
            part = last.vstack(log.filter(place >= FILES)) if i == FILES else log.filter(place == i)
            part.select("id", at, *columns).write_parquet(folder / name / f"{i:03}.parquet")
            os.utime(folder / name / f"{i:03}.parquet", (START + i, START + i))  # Spark takes the oldest first


def session() -> Any:
    """Return Spark in local mode with two threads."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": SHARDS,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
        "RocksDBStateStoreProvider",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def drive(folder: Path, capacity: int) -> None:
    """Join the files of a folder as a stream, from its checkpoint if there is one; write what came of it."""
    from tarry.adapters.spark import join_in, stream

    spark = session()
    source = lambda name, schema: (  # noqa: E731 - one line for both
        spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / name))
    )
    rows = stream(
        source("decisions", DECISIONS), source("labels", LABELS), watermark="10 minutes", capacity=capacity, **OPTIONS
    )
    writer = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.option("path", str(folder / "rows")).trigger(availableNow=True).start()
    query.awaitTermination()
    told = [json.loads(json.dumps(dict(progress), default=str)) for progress in query.recentProgress]
    found = sorted(map(tuple, spark.read.parquet(str(folder / "rows")).collect()))
    states = spark.read.format("statestore").option("stateVarName", "shard").load(str(folder / "checkpoint")).collect()
    result = {
        "rows": len(found),
        "digest": hashlib.sha256(repr(found).encode()).hexdigest(),
        "sum": sum(row[3] * row[4] for row in found),
        "progress": told,
        "state": sum(len(row.value.data) for row in states),
        "tracked": [join_in(row.value.data).status().tracked for row in states],
    }
    (folder / "result.json").write_text(json.dumps(result))


def start(folder: Path, capacity: int) -> subprocess.Popen[bytes]:
    """Start a driver in a process group of its own, so that it can be killed with Java and Python's workers."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.spark", str(folder), str(capacity)]
    return subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=(folder / "errors.txt").open("ab")
    )


def finish(folder: Path, capacity: int) -> dict[str, Any]:
    """Return what a driver tells that was left alone."""
    if start(folder, capacity).wait():
        raise RuntimeError((folder / "errors.txt").read_text()[-3000:])
    return dict(json.loads((folder / "result.json").read_text()))


def committed(folder: Path) -> int:
    """Return how many micro-batches Spark has committed."""
    return sum(path.name.isdigit() for path in (folder / "checkpoint" / "commits").glob("*"))


def truth_of(log: pl.DataFrame) -> int:
    """Return the sum of the labels that came within their windows."""
    return int(log.filter(pl.col("labelled_at") - pl.col("decided_at") <= pl.duration(seconds=WINDOW))["label"].sum())


@cache
def _whole(decisions: int, capacity: int) -> tuple[dict[str, Any], pl.DataFrame]:
    from pyspark import __version__

    assert __version__
    log = make_log(decisions)
    with tempfile.TemporaryDirectory() as place:
        write_log(log, Path(place))
        return finish(Path(place), capacity), log


def _speed(quick: bool) -> Figure:
    decisions, capacity = (100_000, 400) if quick else (1_000_000, 2_000)
    result, log = _whole(decisions, capacity)
    batches = [one for one in result["progress"] if one["numInputRows"]]
    later = batches[1:-1]  # the first one starts Python and compiles
    events = sum(one["numInputRows"] for one in later)
    seconds = sum(one["durationMs"]["triggerExecution"] for one in later) / 1000
    join = tarry.LabelJoin(capacity, window="1d", missing=0, rng=7, memory=20_000)
    names = {"decided_at": "decided_at", "labelled_at": "labelled_at", "label": "label"}
    began = time.perf_counter()
    given = sum(1 for _ in join.stream(log, **names, at_end="deliver"))
    alone = 2 * len(log) / (time.perf_counter() - began)
    detail = (
        f"{2 * decisions:,} events, {capacity} slots in {SHARDS} shards: {events / seconds:,.0f} events/s in Spark "
        f"(local[2], {seconds / len(later):.1f} s a micro-batch), {alone:,.0f} in one join in process; "
        f"{result['rows']} and {given} rows; Σwy {result['sum']:,.0f} of {truth_of(log):,}"
    )
    told = {"spark": events / seconds, "alone": alone, "rows": result["rows"], "sum": result["sum"]}
    return Figure(alone / (events / seconds), detail, told | {"truth": truth_of(log)})


def _state(quick: bool) -> Figure:
    decisions, capacity = (100_000, 400) if quick else (1_000_000, 2_000)
    result, _ = _whole(decisions, capacity)
    kept = [one["stateOperators"][0] for one in result["progress"] if one["numInputRows"]]
    written = [one["customMetrics"]["rocksdbTotalBytesWritten"] for one in kept][2:-1]
    shown = {
        "numRowsTotal": max(one["numRowsTotal"] for one in kept),
        "memoryUsedBytes": max(one["memoryUsedBytes"] for one in kept),
        "rocksdbTotalBytesWritten a micro-batch": f"{min(written):,} to {max(written):,}",
        "bytes at the end": f"{result['state']:,}",
    }
    told = {"least": min(written), "most": max(written), "values": shown["numRowsTotal"]}
    told["megabytes"] = shown["memoryUsedBytes"] / 1e6
    return Figure(max(written) / min(written), ", ".join(f"{name} {value}" for name, value in shown.items()), told)


def _kills(quick: bool) -> Figure:
    decisions, capacity, kills = (20_000, 200, 2) if quick else (100_000, 400, KILLS)
    log, draw = make_log(decisions), random.Random(1)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        whole, broken = Path(one), Path(two)
        for folder in (whole, broken):
            write_log(log, folder)
        expected, moments = finish(whole, capacity), []
        for kill in range(kills):
            process, wanted = start(broken, capacity), committed(broken) + 1 + (FILES - kills) // kills
            while committed(broken) < wanted and process.poll() is None:
                time.sleep(0.05)
            time.sleep(draw.uniform(0, 2))
            if process.poll() is not None:
                raise RuntimeError(f"the driver ended before kill {kill + 1}: {process.returncode}")
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            moments.append(committed(broken))
        result = finish(broken, capacity)
    same = result["digest"] == expected["digest"]
    detail = f"{kills} × kill -9 after {moments} micro-batches: {result['rows']} rows, {expected['rows']} without"
    return Figure(0.0 if same else 1.0, f"{detail}, {'all equal' if same else 'NOT EQUAL'}", {"rows": result["rows"]})


def sample_of(weight: np.ndarray, label: np.ndarray) -> Sample:
    """Return rows as the sums that intervals are made of."""
    squares = float((weight**2).sum())
    centre = float((weight**2 * label).sum()) / squares
    spread = float((weight**2 * (label - centre) ** 2).sum())
    return Sample(float(weight.sum()), float((weight * label).sum()), squares, centre, spread)


def _coverage(quick: bool) -> Figure:
    from tarry.adapters.spark import batch

    runs, count = (10, 2_000) if quick else (RUNS, 2_000)
    spark, covered, raw_covered = session(), 0, 0
    log = make_log(count, seed=3, period=2 * WINDOW)  # some 400 wait at a time
    with tempfile.TemporaryDirectory() as place:
        log.select("id", "decided_at").write_parquet(f"{place}/decisions.parquet")
        log.select("id", "labelled_at", "label").write_parquet(f"{place}/labels.parquet")
        frames = [spark.read.parquet(f"{place}/{name}.parquet").cache() for name in ("decisions", "labels")]
        truth = int(log["label"].sum())
        for seed in range(runs):
            rows = batch(*frames, capacity=40, shards=SHARDS, seed=seed).select("weight", "label").collect()
            weight, label = (np.array([row[i] for row in rows], float) for i in range(2))
            for weights, is_raw in ((weight, False), (np.ones_like(weight), True)):
                low, high = mean_interval(sample_of(weights, label), 0.0, 0.0, 0.95, 0.0, 1.0)
                inside = count * low <= truth <= count * high
                covered, raw_covered = covered + (inside and not is_raw), raw_covered + (inside and is_raw)
    spark.stop()
    detail = f"of {runs} runs of {count} decisions in 40 slots, {covered} intervals hold the sum of all labels"
    told = {"covered": covered, "unweighted": raw_covered}
    return Figure(covered / runs, f"{detail}; without weights {raw_covered} do", told)


ROWS = [
    Row("spark events a second: one join in process over Spark", float("inf"), _speed, is_long=True),
    Row("spark state, largest micro-batch over smallest", 1.25, _state, is_long=True),
    Row("spark rows after kill -9, differing", 0.0, _kills, is_long=True),
    Row("spark intervals that hold", 0.93, _coverage, at_least=True, is_long=True),
]

if __name__ == "__main__":
    drive(Path(sys.argv[1]), int(sys.argv[2]))
