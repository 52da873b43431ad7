"""Spark: two streams, decisions and late labels, joined with a state that the capacity bounds.

An id's checksum names its shard; a shard is a join in memory, kept between micro-batches as bytes in Spark's state.
``step`` is all that a shard does, and knows nothing of Spark: :func:`stream` calls it for each micro-batch and shard,
:func:`batch` once for each shard. Events wait in the state as long as earlier ones may come, by the delay of the
watermark, and are taken in the order of time: rows and weights follow from the events alone, however they were cut into
micro-batches. Events that come later than that are dropped, and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from math import inf
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from tarry.checks import as_int
from tarry.live import LabelJoin
from tarry.live.labels import UNSAID
from tarry.live.outbox import Row
from tarry.live.sharded import shares
from tarry.live.windows import window_options
from tarry.outcomes import Answer
from tarry.times import AT_END_OF_WINDOW, END, PER_SECOND, Micros, as_length, as_moment, as_release

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MEMORY = 100_000  # ids that are remembered, over all shards
_COLUMNS = ("id", "decided_at", "labelled_at", "label", "weight", "relative", "shard")  # of a row, beside its features
_DELAY = "spark.watermarkDelayMs"  # what Spark notes with a column that has a watermark
# Text that gives the same microseconds back; without a zone, where a timestamp has none.
_JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}
_LENGTH = Struct("<I")
_MOMENTS = "decided_at long, labelled_at long"
_OUTPUT = f"shard int, id string, {_MOMENTS}, features string, label {{}}, weight double, relative double, late long"


class Rules(NamedTuple):
    """What the joins of all shards have in common; ``capacity`` and ``memory`` are divided among them.

    ``lateness`` is by how much a decision and a label may come after a later one of its kind, in microseconds.
    """

    capacity: int
    shards: int
    window: Any = None  # in microseconds
    missing: Any = None
    release: str | None = None
    seed: int = 0
    memory: int = MEMORY
    lateness: tuple[int, int] | None = None

    def share(self, shard: int) -> int:
        """Return the capacity of a shard; those of all add up to the whole."""
        return shares(self.capacity, [1.0] * self.shards)[shard]

    def fresh(self, shard: int) -> LabelJoin:
        """Return the join of a shard before its first decision; its randomness is keyed by seed and shard."""
        options: dict[str, Any] = {}
        if self.window is not None:
            options = {"window": self.window / PER_SECOND, "missing": self.missing, "release": self.release}
        rng = np.random.SeedSequence((self.seed, shard))
        return LabelJoin(self.share(shard), rng=rng, memory=max(1, self.memory // self.shards), **options)


class Event(NamedTuple):
    """A decision with its features as text, or a label."""

    at: int
    is_label: bool
    id: str
    value: Any

    def place(self) -> tuple[int, bool, str, str]:
        """Return the place among events: by time, decisions first, then by id and value; only equal ones share it."""
        return *self[:3], json.dumps(self.value)


class Joined(NamedTuple):
    """A row of a shard; moments in microseconds, ``labelled_at`` None where no label came."""

    id: str
    decided_at: int
    labelled_at: int | None
    features: str | None
    label: Any
    weight: float
    relative: float


class Step(NamedTuple):
    """Rows, the state, the moment from which another step can give more (None: never), and events that were dropped.

    These came too late: an earlier step had taken all events up to their moment, or a later one.
    """

    rows: list[Joined]
    state: bytes
    wake: int | None
    late: list[Event]


def shard_of(id: Any, shards: int) -> int:
    """Return the shard of an id: the CRC-32 of its text in UTF-8, modulo the shards."""
    return crc32(str(id).encode()) % shards


def step(rules: Rules, shard: int, state: bytes | None, events: Iterable[Event], until: float) -> Step:
    """Take the events of a shard up to a moment, and end windows up to it; later events wait in the state.

    The moment is ``until``, or later where the events themselves show, by the rules' ``lateness``, that none earlier
    than another moment are to come: Spark's watermark lags by a micro-batch, and that need not wait in the state.
    Events at or before the moment of an earlier step are dropped; rows are those of all others, in any cut. Where
    ``until`` is infinite, nothing is late for the next step.

    >>> rules = Rules(capacity=8, shards=1, window=10, missing=0)
    >>> first = step(rules, 0, None, [Event(2, True, "a", 1.0), Event(1, False, "a", "{}")], until=5)
    >>> first.rows, first.wake
    ([], 11)
    >>> step(rules, 0, first.state, [], until=11).rows
    [Joined(id='a', decided_at=1, labelled_at=2, features='{}', label=1.0, weight=1.0, relative=1.0)]
    """
    turn = _Turn(rules, shard, state)
    came = list(events)
    late = [event for event in came if event.at <= turn.done]
    waiting = sorted([*turn.waiting, *(event for event in came if event.at > turn.done)], key=Event.place)
    until = max(until, turn.passed(waiting))
    ready = sum(event.at <= until for event in waiting)
    for event in waiting[:ready]:
        turn.take(event)
    if rules.window is not None:
        turn.end_windows(until)
    if until < inf:
        turn.done = max(turn.done, until)
    return turn.result(waiting[ready:], late)


class _Turn:
    """A shard at work: its join, the moments of labels that the join holds until windows end, and its rows."""

    def __init__(self, rules: Rules, shard: int, state: bytes | None) -> None:
        self._lateness = rules.lateness
        self._window = None if rules.window is None else as_length(rules.window / PER_SECOND, "window")  # as the join's
        self._latest = [-inf, -inf]  # moments of decisions and of labels
        self.done = -inf  # all events up to here were taken
        self._holds_labels = rules.window is not None and rules.release in (None, AT_END_OF_WINDOW)
        self._labelled: dict[str, int] = {}
        self.waiting: list[Event] = []
        self._rows: list[Joined] = []
        if state is None:
            self._join = rules.fresh(shard)
        else:
            self._join, rest = _apart(state)
            self._labelled, self._latest, self.done, waiting = json.loads(rest)
            self.waiting = [Event(*event) for event in waiting]
        self._due = self._next_due()  # the end of a window, or a moment before all ends

    def _next_due(self) -> float:
        due = self._join._next_end()
        return inf if due is None else due

    def passed(self, events: list[Event]) -> float:
        """Return the moment up to which all events have come, as far as those that have come show it."""
        for event in events if self._lateness else ():
            self._latest[event.is_label] = max(self._latest[event.is_label], event.at)
        return min(last - late for last, late in zip(self._latest, self._lateness or (0, 0), strict=True))

    def take(self, event: Event) -> None:
        """Make a decision or give a label; windows that ended before it end first."""
        at, is_label, id, value = event
        if self._window is not None and self._due < at:
            self.end_windows(at - 1)  # a label may come in the last moment of its window
        moment = None if self._window is None else Micros(at)
        if not is_label:
            ticket = self._join.decide([at, value], id, at=moment)
            for released in ticket.released:
                self._labelled.pop(str(released), None)
            if ticket.tracked and self._window is not None:
                self._due = min(self._due, at + self._window)
            return
        if self._holds_labels and id not in self._labelled and self._join.fate(id) is Answer.PENDING:
            self._labelled[id] = at
        row = self._join.label(id, value, at=moment)
        if row is not None:
            self._give(row, at)

    def end_windows(self, moment: float) -> None:
        """Give the rows of windows that have ended by a moment, all of them where it is infinite."""
        while self._due <= moment and self._due < inf:
            for row in self._join.advance(Micros(self._due if moment == inf else moment)):
                self._give(row, self._labelled.pop(str(row.id), None))
            self._due = self._next_due()

    def _give(self, row: Row, labelled_at: int | None) -> None:
        decided_at, features = row.features
        self._rows.append(Joined(str(row.id), decided_at, labelled_at, features, row.label, row.weight, row.relative))

    def result(self, waiting: list[Event], late: list[Event]) -> Step:
        """Return the rows, and the state with the events that wait."""
        join = self._join.to_bytes()
        rest = json.dumps([self._labelled, self._latest, self.done, waiting]).encode()
        wake = min([self._due, *(event.at for event in waiting[:1])])
        return Step(self._rows, _LENGTH.pack(len(join)) + join + rest, None if wake == inf else int(wake), late)


def _apart(state: bytes) -> tuple[LabelJoin, bytes]:
    middle = _LENGTH.size + _LENGTH.unpack_from(state)[0]
    return LabelJoin.from_bytes(state[_LENGTH.size : middle]), state[middle:]


def join_in(state: bytes) -> LabelJoin:
    """Return a copy of the join in the state of a shard, for its status."""
    return _apart(state)[0]


def stream(
    decisions: DataFrame,
    labels: DataFrame,
    *,
    capacity: int,
    shards: int,
    watermark: str | None = None,
    window: Any = None,
    missing: Any = None,
    release: str | None = None,
    seed: int = 0,
    memory: int = MEMORY,
) -> DataFrame:
    """Return the rows of two streaming frames as a stream: each label that is used, with features and weight.

    ``decisions`` has id, decided_at (a timestamp) and features; ``labels`` has id, labelled_at and label. Rows have id,
    decided_at, labelled_at, label, weight, relative, shard and the features. ``watermark`` is how late events may come,
    such as ``"10 minutes"``; leave it out where both frames have one. A ``window`` needs it. Without one, events are
    taken as they come, ordered within a micro-batch, and a label that overtakes its decision is lost.
    ``window``, ``missing`` and ``release`` are those of :class:`tarry.LabelJoin`; of several labels the first counts.
    """
    rules = _rules(decisions, labels, Rules(capacity, shards, window, missing, release, seed, memory))
    if not (decisions.isStreaming and labels.isStreaming):
        name = "labels" if decisions.isStreaming else "decisions"
        raise ValueError(f"{name} is no stream: read it with spark.readStream, or call batch")
    timed = [_DELAY in frame.schema[at].metadata for frame, at in ((decisions, "decided_at"), (labels, "labelled_at"))]
    is_timed = watermark is not None or all(timed)
    if not is_timed and (rules.window is not None or any(timed)):
        raise ValueError("both streams need a watermark where one has it, or a window: give watermark='10 minutes'")
    if watermark is not None and any(timed):
        raise ValueError(f"a stream has a watermark already, so leave watermark={watermark!r} out, or withWatermark")
    events, delays = _union(decisions, labels, rules, watermark)
    if is_timed:
        rules = rules._replace(lateness=(delays[0] * 1000, delays[1] * 1000))
    kind, mode = _OUTPUT.format(_kept_as(labels)), "EventTime" if is_timed else "None"
    joined = events.groupBy("shard").transformWithStateInPandas(_processor(rules), kind, "Append", mode)
    return _typed(joined, decisions, labels)


def batch(
    decisions: DataFrame,
    labels: DataFrame,
    *,
    capacity: int,
    shards: int,
    until: Any = None,
    window: Any = None,
    missing: Any = None,
    release: str | None = None,
    seed: int = 0,
    memory: int = MEMORY,
) -> DataFrame:
    """Return the rows that :func:`stream` gives for the same events once its watermark has reached ``until``.

    ``until`` is a moment (seconds, a datetime, a text in ISO 8601); left out, all events are taken and all windows end.
    """
    rules = _rules(decisions, labels, Rules(capacity, shards, window, missing, release, seed, memory))
    last = inf if until is None else as_moment(until, "until")

    def join_shard(key: tuple[Any, ...], frame: Any) -> Any:
        return _frame_of(key[0], step(rules, key[0], None, _events_of(frame), last))

    events = _union(decisions, labels, rules, None)[0]
    joined = events.groupBy("shard").applyInPandas(join_shard, _OUTPUT.format(_kept_as(labels)))
    return _typed(joined, decisions, labels)


def _rules(decisions: DataFrame, labels: DataFrame, given: Rules) -> Rules:
    """Return the rules of a join of two frames; raise ValueError about frames or arguments that make none."""
    from pyspark.sql.types import IntegralType, StringType, TimestampType

    for name, frame, at in (("decisions", decisions, "decided_at"), ("labels", labels, "labelled_at")):
        for column in ("id", at, "label") if frame is labels else ("id", at):
            if column not in frame.columns:
                raise ValueError(f"{name} has no column {column!r}, only {frame.columns}: rename one with select")
        if not isinstance(frame.schema["id"].dataType, (StringType, IntegralType)):
            raise ValueError(f"the ids of {name} must be texts or whole numbers: cast the column id to string")
        if not isinstance(frame.schema[at].dataType, TimestampType):
            raise ValueError(f"{at} must be a timestamp, got {frame.schema[at].dataType.simpleString()}: cast it")
    capacity, shards, window, missing, release, seed, memory, _ = given
    if missing is not None and _kept_as(labels) == "double":
        missing = float(missing)  # as labels are
    window_options("first", window, UNSAID if missing is None else missing, release)  # which refuses what is wrong
    if window is not None:
        window, release = as_length(window, "window"), as_release(release)
    if as_int(capacity, "capacity", 1) < as_int(shards, "shards", 1):
        raise ValueError(f"capacity must be at least 1 for each of {shards} shards, got {capacity}")
    return Rules(capacity, shards, window, missing, release, as_int(seed, "seed"), as_int(memory, "memory", 1))


def _kept_as(labels: DataFrame) -> str:
    """Return the type in which labels are kept; raise ValueError about labels that are neither texts nor numbers."""
    from pyspark.sql.types import BooleanType, NumericType, StringType

    kind = labels.schema["label"].dataType
    if not isinstance(kind, (BooleanType, NumericType, StringType)):
        raise ValueError(f"a label must be a number, a truth value or a text, got the type {kind.simpleString()}")
    return "string" if isinstance(kind, StringType) else "double"


def _union(decisions: DataFrame, labels: DataFrame, rules: Rules, watermark: str | None) -> tuple[DataFrame, list[int]]:
    """Return both frames as events, and the delays of their watermarks in milliseconds, 0 where there is none."""
    from pyspark.sql import functions as fn

    names, kind = _features(decisions), _kept_as(labels)
    label, nothing = fn.col("label").cast(kind), fn.lit(None).cast("string")
    known = label.isNotNull() if kind == "string" else label.isNotNull() & (fn.abs(label) < inf)  # NaN is above it
    features = fn.to_json(fn.struct(*(fn.col(f"`{name}`") for name in names)), _JSON) if names else nothing

    def events_of(frame: DataFrame, kept: Any, at: str, *values: Any) -> DataFrame:
        # Before the watermark is noted: a moment that is far ahead would make all others late.
        kept &= fn.col("id").isNotNull() & fn.col(at).isNotNull() & fn.unix_micros(at).between(1 - END, END - 1)
        if frame.isStreaming:
            frame = frame.observe(f"tarry_{at}", fn.count_if(~kept).alias("left_out"))
        found = frame.where(kept).select(fn.col(at).alias("at"), fn.col("id").cast("string").alias("id"), *values)
        return found if watermark is None else found.withWatermark("at", watermark)

    nobody = nothing.cast(kind)
    found = [
        events_of(decisions, fn.lit(True), "decided_at", features.alias("features"), nobody.alias("label")),
        events_of(labels, known, "labelled_at", nothing.alias("features"), label.alias("label")),
    ]
    delays = [int(event.schema["at"].metadata.get(_DELAY, 0)) for event in found]
    events = found[0].union(found[1])
    shard = (fn.crc32(fn.col("id").cast("binary")) % rules.shards).cast("int")
    is_label, moment = fn.col("label").isNotNull(), fn.unix_micros("at")
    return events.select(shard.alias("shard"), "*", is_label.alias("is_label"), moment.alias("moment")), delays


def _features(decisions: DataFrame) -> list[str]:
    """Return the names of the features; raise ValueError about those that a row has for something else."""
    names = [name for name in decisions.columns if name not in ("id", "decided_at")]
    for name in {*names} & {*_COLUMNS}:
        raise ValueError(f"a row has its own column {name!r}: rename the feature of this name")
    return names


def _typed(joined: DataFrame, decisions: DataFrame, labels: DataFrame) -> DataFrame:
    """Return the rows of the shards with the types that came in."""
    from pyspark.sql import functions as fn
    from pyspark.sql.types import StructType

    kept = StructType([decisions.schema[name] for name in _features(decisions)])
    if joined.isStreaming:
        joined = joined.observe("tarry_rows", fn.coalesce(fn.sum("late"), fn.lit(0)).alias("late"))
        joined = joined.where(fn.col("id").isNotNull())
    parsed = joined.withColumn("features", fn.from_json("features", kept, _JSON)) if len(kept) else joined
    return parsed.select(
        fn.col("id").cast(decisions.schema["id"].dataType).alias("id"),
        fn.timestamp_micros("decided_at").alias("decided_at"),
        fn.timestamp_micros("labelled_at").alias("labelled_at"),
        fn.col("label").cast(labels.schema["label"].dataType).alias("label"),
        *("weight", "relative", "shard", *(["features.*"] if len(kept) else [])),
    )


def _events_of(frame: Any) -> Iterator[Event]:
    """Yield the events of a frame of pandas."""
    columns = (frame[name].tolist() for name in ("moment", "is_label", "id", "features", "label"))
    for at, is_label, id, features, label in zip(*columns, strict=True):
        yield Event(at, is_label, id, label if is_label else features)


def _frame_of(shard: int, done: Step) -> Any:
    """Return rows as a frame of pandas, and one without an id that says how many events were late, if any were.

    Numbers with gaps stay whole in a column of objects.
    """
    import pandas as pd

    columns = zip(*done.rows, strict=True) if done.rows else ([] for _ in Joined._fields)
    found = {name: pd.Series(list(values), dtype=object) for name, values in zip(Joined._fields, columns, strict=True)}
    frame = pd.DataFrame(found).assign(shard=shard, late=0)
    if done.late:
        frame.loc[len(frame)] = dict.fromkeys(Joined._fields) | {"shard": shard, "late": len(done.late)}
    return frame


def _processor(rules: Rules) -> Any:
    """Return the stateful processor of Spark: the state of a key is that of a shard."""
    from pyspark.sql.streaming import StatefulProcessor

    is_timed = rules.lateness is not None

    class Shards(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._handle, self._state = handle, handle.getValueState("shard", "data binary")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N803
            events = [event for frame in rows for event in _events_of(frame)]
            return self._take(key[0], events, timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N803
            return self._take(key[0], [], timerValues)

        def _take(self, shard: int, events: list[Event], times: Any) -> Iterator[Any]:
            until = times.getCurrentWatermarkInMs() * 1000 if is_timed else inf  # it passes whole milliseconds
            kept = self._state.get()
            done = step(rules, shard, None if kept is None else kept[0], events, until)
            self._state.update((done.state,))
            if is_timed:
                for timer in list(self._handle.listTimers()):
                    self._handle.deleteTimer(timer)
                if done.wake is not None:
                    # In milliseconds: the first that is not before the moment.
                    self._handle.registerTimer(max(-(-done.wake // 1000), until // 1000 + 1))
            yield _frame_of(shard, done)

    return Shards()
