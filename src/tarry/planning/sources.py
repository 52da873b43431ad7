"""Plans from a log, or from a model of delays and a rate of decisions.

A log is a CSV or Parquet file with a column of decisions and one of feedback.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tarry import delays as laws
from tarry.checks import as_choice, as_int, as_positive
from tarry.delays.base import Delays, array
from tarry.delays.trace import Times, Trace, as_times, trace
from tarry.errors import ArgumentError
from tarry.planning.columns import PARQUET, read_columns, row_bytes
from tarry.planning.plan import Plan, plan
from tarry.times import AT_ARRIVAL, SECONDS, as_length, as_release, check_unit, read_length, without_unit

REFUSE, DROP, END = MISSING = ("refuse", "drop", "end")  # what an empty feedback time may mean without a window
DAY = np.timedelta64(1, "D")

NAMES = ("fixed", "uniform", "geometric", "pareto", "lognormal", "bursts", "queue")
MODELS: dict[str, Callable[..., Delays]] = {name: getattr(laws, name) for name in NAMES}
WHOLE = {"window", "delay", "low", "high", "length", "slow", "fast", "servers"}  # these count decisions or servers


class Log(NamedTuple):
    """A log as read: its delays, the columns they came from, and what time stamps tell beyond delays.

    ``per_day`` and ``mean_delay_days``, the mean wait up to the last decision, are None where the columns hold numbers
    instead of dates. ``windows`` is how many windows lie between the first decision and the last, None without a
    window; ``row_bytes`` what a row takes on average, all columns of the log counted.
    """

    delays: Trace
    decided: str
    feedback: str
    rows: int
    missing: int
    per_day: float | None
    mean_delay_days: float | None
    windows: float | None = None
    row_bytes: float | None = None

    @property
    def known(self) -> dict[str, Any]:
        """What a plan is told beside the delays."""
        return {name: getattr(self, name) for name in ("per_day", "mean_delay_days", "windows", "row_bytes")}


def read_log(
    path: str | Path,
    *,
    decided: str | None = None,
    feedback: str | None = None,
    missing: Any = REFUSE,
    window: Any = None,
    release: str | None = None,
    day_first: bool | None = None,
) -> Log:
    """Read two columns of time stamps, by the names given or by usual ones (``times.DECIDED``, ``FEEDBACK``).

    Rows need not be in order. ``missing`` says what an empty feedback time means: ``"refuse"`` the file, ``"drop"``
    the row, ``"end"``: it waits to the end of the log. ``window`` and ``release`` are those of
    :class:`tarry.LabelJoin`: a decision is settled when its window has ended, with ``release="arrival"`` when its label
    comes. There ``missing`` may be any label. Where columns hold numbers a window is one in their unit.
    ``day_first`` tells 9/1/2024 from 1/9/2024 where no day of the log does.
    """
    at_arrival = _release(window, release) == AT_ARRIVAL
    if window is None:
        as_choice(missing, "missing", MISSING)
    frame, start, end = read_columns(Path(path), decided, feedback, day_first)
    rows, empty = frame.height, int(frame[end].null_count())
    if empty and window is None and missing == REFUSE:
        raise ValueError(
            f"{path} has no {end!r} in {empty:,} of {rows:,} rows: say what that means with missing= (--missing), "
            "drop or end, or give a window (--window 30d), after which a decision is settled"
        )
    kept = np.arange(rows)  # where rows stand in the file, for messages
    if window is None and missing == DROP:
        kept = np.flatnonzero(frame[end].is_not_null().to_numpy())
        frame = frame.drop_nulls(end)
    if frame.height == 0:
        raise ValueError(f"{path} has no row with a feedback time: a plan needs at least one")
    never = "refuse" if window is None and missing != END else "end"
    try:
        delays = trace(frame[start], frame[end], sort=True, never=never)
        made, came = as_times(frame[start], "decided_at"), as_times(frame[end], "feedback_at")
        windows = None
        if window is not None:  # of times that are known to make sense
            length = _length(made, window)
            windows = float((made.values.max() - made.values.min()) / length)
            came = _settled(made, came, length, at_arrival)
            delays = trace(made.values, came.values, sort=True)
    except ArgumentError:
        raise
    except ValueError as error:
        said = in_file(str(error), path, kept)
        raise ValueError(f"{said} (with {start!r} as decided_at and {end!r} as feedback_at)") from error
    return Log(delays, start, end, rows, empty, *_pace(made, came), windows, row_bytes(Path(path), rows))


def in_file(sentence: str, path: Any, kept: Any = None) -> str:
    """Return a sentence that names the file, its rows numbered from 1, with a CSV's header and left out rows.

    >>> in_file("row 0 has no label", "log.csv")
    'row 2 of log.csv has no label'
    >>> in_file("rows 3 and 4 have the same id 'row 3'", "log.csv")
    "rows 5 and 6 of log.csv have the same id 'row 3'"
    >>> in_file("there is nothing to read", "log.csv")
    'log.csv: there is nothing to read'
    """
    first = 1 if Path(path).suffix.lower() in PARQUET else 2
    known = (lambda i: i) if kept is None else kept.__getitem__

    def shown(found: re.Match[str]) -> str:
        numbers = [str(known(int(number)) + first) for number in found.groups() if number]
        return f"{'rows' if len(numbers) > 1 else 'row'} {' and '.join(numbers)} of {path}"

    # Not inside quotes, which hold ids.
    told, rows = re.subn(r"(?<!['\"])\brows? (\d+)(?: and (\d+))?", shown, sentence)
    return told if rows else f"{path}: {sentence}"


READING = ("decided", "feedback", "missing", "window", "release", "day_first")  # options of read_log


def plan_log(path: str | Path, **options: Any) -> Plan:
    """Plan from a log; ``options`` are those of :func:`read_log` and of :func:`tarry.planning.plan`."""
    log = read_log(path, **{name: options.pop(name) for name in READING if name in options})
    return plan(log.delays, **{**log.known, **options})


def _release(window: Any, release: str | None) -> str | None:
    """Return when slots are given back under a window, None without one."""
    if window is not None:
        return as_release(release)
    if release is not None:
        raise ArgumentError("release", "is about windows", release, "give a window too, such as 30d, or leave it")
    return None


def _length(decided: Times, window: Any) -> Any:
    """Return a window as a length in the kind of the column of decisions."""
    length: Any = without_unit(window)
    if decided.values.dtype.kind == "M":
        check_unit(window)
        length = np.timedelta64(as_length(window, "window"), "us")
    elif length is None:
        raise ArgumentError("window", "must be a number in the unit of the columns, which hold no dates", window)
    else:
        as_positive(length, "window")
    return length


def _settled(decided: Times, feedback: Times, length: Any, at_arrival: bool) -> Times:
    """Return when decisions are settled: their windows have ended or, at arrival, feedback came before that."""
    ended = decided.values + length
    if at_arrival:
        ended = np.where(feedback.missing | (feedback.values > ended), ended, feedback.values)
    return Times(ended, np.zeros(ended.size, np.bool_), decided.kind)


def _pace(decided: Times, feedback: Times) -> tuple[float | None, float | None]:
    """Return the decisions a day, and in days how long one waits on average, to the last decision at most."""
    start, last = decided.values, decided.values.max()
    if start.dtype.kind != "M" or last == start.min():
        return None, None
    waits = np.full(start.size, last) - start
    known = ~feedback.missing
    waits[known] = np.minimum(feedback.values[known], last) - start[known]
    return start.size / float((last - start.min()) / DAY), float(np.mean(waits / DAY))


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
    window: Any = None,
    release: str | None = None,
    rng: Any = 0,
    **options: Any,
) -> Plan:
    """Plan from a model of delays: ``kind`` and ``parameters`` as in :func:`model_delays`, ``options`` of ``plan``.

    ``window`` and ``release`` are those of :func:`read_log`; a window is a number of decisions or a length of time.
    """
    rate = None if per_day is None else as_positive(per_day, "per_day")
    at_arrival = _release(window, release) == AT_ARRIVAL
    made = model_delays(kind, horizon=horizon, per_day=rate, rng=rng, **(parameters or {}))
    if window is not None:
        longest = as_int(_rounds("window", window, rate), "window", 1)
        made = array(np.minimum(made.values, longest) if at_arrival else np.full(made.horizon, longest))
        options["windows"] = horizon / longest
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
