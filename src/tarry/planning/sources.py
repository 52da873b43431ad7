"""Plans from a log, or from a model of delays and a rate of decisions.

A log is a CSV or Parquet file with a column of decisions and one of feedback.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tarry import delays as laws
from tarry.checks import as_choice, as_int, as_positive
from tarry.delays.base import Delays
from tarry.delays.trace import Trace, trace
from tarry.errors import ArgumentError
from tarry.planning.plan import Plan, plan
from tarry.times import SECONDS, read_length

if TYPE_CHECKING:
    import polars as pl

# In order of preference; compared in lower case, with anything but letters and digits as an underscore.
DECIDED = (
    *("decided_at", "decision_at", "decision_time", "decided", "decision", "created_at", "created", "requested_at"),
    *("request_time", "started_at", "start_time", "start", "opened_at", "clicked_at", "click_time", "issued_at"),
    *("timestamp", "event_time", "time", "date"),
)
FEEDBACK = (
    *("feedback_at", "feedback_time", "feedback", "label_at", "label_time", "labelled_at", "labeled_at", "outcome_at"),
    *("outcome_time", "outcome", "arrived_at", "arrival_time", "arrived", "converted_at", "conversion_time"),
    *("completed_at", "resolved_at", "closed_at", "finished_at", "finish_time", "ended_at", "end_time", "end", "label"),
)
PARQUET = (".parquet", ".pq")
MISSING = ("refuse", "drop", "end", "window")  # what an empty feedback time may mean
DAY = np.timedelta64(1, "D")

NAMES = ("fixed", "uniform", "geometric", "pareto", "lognormal", "bursts", "queue")
MODELS: dict[str, Callable[..., Delays]] = {name: getattr(laws, name) for name in NAMES}
WHOLE = {"delay", "low", "high", "length", "slow", "fast", "servers"}  # these count decisions or servers


class Log(NamedTuple):
    """A log as read: its delays, the columns they came from, and what time stamps tell beyond delays.

    ``per_day`` and ``mean_delay_days`` are None where the columns hold numbers instead of dates.
    """

    delays: Trace
    decided: str
    feedback: str
    rows: int
    missing: int
    per_day: float | None
    mean_delay_days: float | None


def read_log(
    path: str | Path,
    *,
    decided: str | None = None,
    feedback: str | None = None,
    missing: str = "refuse",
    window: float | None = None,
) -> Log:
    """Read two columns of time stamps, by the names given or by usual ones (``DECIDED``, ``FEEDBACK``).

    Rows need not be in order. ``missing`` says what an empty feedback time means: ``"refuse"`` the file, ``"drop"``
    the row, ``"end"``: it waits to the end of the log, ``"window"``: it is settled ``window`` days after its decision
    (in the column's own unit where that holds numbers).
    """
    as_choice(missing, "missing", MISSING)
    if (missing == "window") != (window is not None):
        problem = "is a length in days, which goes with missing='window' (--missing window) and only with that"
        raise ArgumentError("window", problem, window)
    frame, start, end = _columns(Path(path), decided, feedback)
    rows, empty = frame.height, int(frame[end].null_count())
    if empty and missing == "refuse":
        raise ValueError(
            f"{path} has no {end!r} in {empty:,} of {rows:,} rows: say what that means with missing= (--missing), "
            "drop, end or window"
        )
    kept = np.arange(rows)  # where rows stand in the file, for messages
    if missing == "drop":
        kept = np.flatnonzero(frame[end].is_not_null().to_numpy())
        frame = frame.drop_nulls(end)
    if missing == "window":
        frame = _settle(frame, start, end, as_positive(window, "window"))
    if frame.height == 0:
        raise ValueError(f"{path} has no row with a feedback time: a plan needs at least one")
    try:
        delays = trace(frame[start], frame[end], sort=True, never="end" if missing == "end" else "refuse")
    except ValueError as error:
        # Rows as the file has them: from 1, the header counted, also those left out.
        first = 1 if Path(path).suffix.lower() in PARQUET else 2
        said = re.sub(r"\brow (\d+)", lambda found: f"row {kept[int(found[1])] + first} of the file", str(error))
        raise ValueError(f"{path}, with {start!r} as decided_at and {end!r} as feedback_at: {said}") from error
    return Log(delays, start, end, rows, empty, *_pace(frame[start], frame[end]))


def plan_log(
    path: str | Path,
    *,
    decided: str | None = None,
    feedback: str | None = None,
    missing: str = "refuse",
    window: float | None = None,
    **options: Any,
) -> Plan:
    """Plan from a log; ``options`` are those of :func:`tarry.planning.plan`, the first ones of :func:`read_log`."""
    log = read_log(path, decided=decided, feedback=feedback, missing=missing, window=window)
    known = {"per_day": log.per_day, "mean_delay_days": log.mean_delay_days}
    return plan(log.delays, **{**known, **options})


def scan_table(path: Path) -> pl.LazyFrame:
    """Return a CSV or Parquet file as a lazy frame, with dates read; raise ValueError for any other file."""
    import polars as pl

    if not path.is_file():
        raise ValueError(f"there is no file {path}: give a CSV or Parquet file with two columns of time stamps")
    match path.suffix.lower():
        case ".csv" | ".tsv" | ".txt":
            separator = "\t" if path.suffix.lower() == ".tsv" else ","
            # Feedback may be empty for long stretches, which say nothing about the kind of a column.
            return pl.scan_csv(path, separator=separator, try_parse_dates=True, infer_schema_length=10_000)
        case other if other in PARQUET:
            return pl.scan_parquet(path)
        case other:
            raise ValueError(f"{path} ends in {other!r}: give a file that ends in .csv, .tsv or .parquet")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a table is read into a sentence that names the file."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error


def _columns(path: Path, decided: str | None, feedback: str | None) -> tuple[pl.DataFrame, str, str]:
    with reading(path):
        lazy = scan_table(path)
        names = lazy.collect_schema().names()
        start = find_column(names, decided, DECIDED, "decided")
        end = find_column(names, feedback, FEEDBACK, "feedback", start)
        return lazy.select(start, end).collect(), start, end


def find_column(
    names: list[str], given: str | None, usual: tuple[str, ...], role: str, taken: str | None = None
) -> str:
    """Return the column that was named, or the first with a usual name; raise ValueError where there is none."""
    shown = ", ".join(map(repr, names)) or "none"
    if given is not None:
        if given == taken:
            raise ValueError(f"{given!r} cannot be both columns, of decisions and of feedback: name two")
        if given not in names:
            raise ValueError(f"there is no column {given!r} for {role}: the log has {shown}")
        return given
    plain = {re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"): name for name in reversed(names) if name != taken}
    for candidate in usual:
        if candidate in plain:
            return plain[candidate]
    event = "decision" if role == "decided" else role
    raise ValueError(
        f"no column looks like the time of the {event}; the columns are {shown}: name it ({role}=, --{role})"
    )


def _settle(frame: pl.DataFrame, start: str, end: str, window: float) -> pl.DataFrame:
    import polars as pl

    is_date = frame[start].dtype.is_temporal()
    if is_date and frame[end].dtype == pl.Null:
        frame = frame.with_columns(pl.col(end).cast(frame[start].dtype))
    if is_date != frame[end].dtype.is_temporal():
        raise ValueError(
            f"the columns {start!r} and {end!r} hold {frame[start].dtype} and {frame[end].dtype}: give one"
        )
    length = pl.lit(timedelta(days=window)) if is_date else pl.lit(window)
    decided = pl.col(start).cast(pl.Datetime("us")) if frame[start].dtype == pl.Date else pl.col(start)
    return frame.with_columns(pl.col(end).fill_null(decided + length))


def _pace(decided: Any, feedback: Any) -> tuple[float | None, float | None]:
    """Return the decisions a day, and the mean delay in days of those that got feedback."""
    start, end = decided.to_numpy(), feedback.to_numpy()
    if start.dtype.kind != "M":
        return None, None
    span = float((start.max() - start.min()) / DAY)
    per_day = start.size / span if span > 0 else None
    if end.dtype.kind != "M" or np.isnat(end).all():
        return per_day, None
    return per_day, float(np.nanmean((end - start) / DAY))


def model_delays(kind: str, *, horizon: int, per_day: float | None = None, rng: Any = 0, **parameters: Any) -> Delays:
    """Return the delays of a named model; raise ArgumentError for parameters that are not its own, or missing.

    Parameters are numbers of decisions, or lengths of time such as "3d" or "36h" (d, h, min, s), which need
    ``per_day``, the decisions made in a day.

    >>> model_delays("fixed", horizon=1000, per_day=240, delay="2h").values[:2].tolist()
    [20, 20]
    """
    if kind not in MODELS:
        raise ValueError(f"there is no model {kind!r}: take one of {', '.join(MODELS)}")
    takes = inspect.signature(MODELS[kind]).parameters
    known = {name: one for name, one in takes.items() if name not in ("horizon", "rng")}
    for name in parameters:
        if name not in known:
            raise ArgumentError(name, f"is no parameter of the model {kind!r}", remedy=f"it takes {', '.join(known)}")
    for name, one in known.items():
        if one.default is inspect.Parameter.empty and name not in parameters:
            raise ArgumentError(name, f"is missing: the model {kind!r} takes {', '.join(known)}")
    made = {name: _rounds(name, value, per_day) for name, value in parameters.items()}
    chance = {"rng": rng} if "rng" in takes else {}
    return MODELS[kind](horizon=as_int(horizon, "horizon", 1), **made, **chance)


def plan_model(
    kind: str,
    parameters: dict[str, Any] | None = None,
    *,
    horizon: int = 20_000,
    per_day: float | None = None,
    rng: Any = 0,
    **options: Any,
) -> Plan:
    """Plan from a model of delays: ``kind`` and ``parameters`` as in :func:`model_delays`, ``options`` of ``plan``."""
    rate = None if per_day is None else as_positive(per_day, "per_day")
    made = model_delays(kind, horizon=horizon, per_day=rate, rng=rng, **(parameters or {}))
    return plan(made, per_day=rate, **options)


def _rounds(name: str, value: Any, per_day: float | None) -> Any:
    """Return a parameter as a number; a length of time becomes a number of decisions."""
    if not isinstance(value, str):
        return value
    found = read_length(value)
    if found is None:
        if name == "service":
            return value
        raise ArgumentError(name, "must be a number, or a length of time such as 3d, 36h, 20min", value)
    number, unit = found
    if unit:
        if per_day is None:
            remedy = "say how many decisions a day there are (per_day=, --per-day)"
            raise ArgumentError(name, "is a length of time", value, remedy)
        number *= SECONDS[unit] / SECONDS["d"] * per_day
    return round(number) if name in WHOLE and (unit or number == int(number)) else number
