"""A log as a case: decisions with features, labels that came late or never, and which of them are settled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tarry.checks import as_choice
from tarry.delays import trace
from tarry.delays.trace import Trace
from tarry.errors import ArgumentError
from tarry.live.logs import without_time
from tarry.planning.sources import DROP, MISSING, REFUSE
from tarry.times import AT_ARRIVAL, AT_END_OF_WINDOW, PER_SECOND, as_length, as_stamps, check_unit

Vector = NDArray[np.float64]
VALUES = 20  # of a text that get a column of their own; rarer ones share one
DISTINCT = 0.9  # of a column of texts: so many different ones name rows, and tell a model nothing
DECIDED, LABELLED, LABEL, ROW = "decided_at", "labelled_at", "label", "row"


@dataclass(frozen=True)
class CaseLog:
    """Decisions in the order of time: moments in seconds, labels (NaN where none came) and features, a row each.

    With a ``window`` a decision without a label by its end has the label ``missing``. ``names`` are the columns that
    features were made of, ``left_out`` those that are none: they name their rows, or hold lists.
    """

    decided: Vector
    labelled: Vector
    labels: Vector
    features: Vector
    window: float | None = None
    missing: float = 0.0
    names: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return int(self.decided.size)

    @property
    def releases(self) -> tuple[str, ...]:
        """When rows may come out: as labels arrive, and with a window at its end."""
        return (AT_ARRIVAL,) if self.window is None else (AT_ARRIVAL, AT_END_OF_WINDOW)

    @cached_property
    def is_binary(self) -> bool:
        """Whether every label is 0 or 1."""
        return bool(np.isin(self.truth[self.settled], (0.0, 1.0)).all())

    @cached_property
    def settled(self) -> NDArray[np.bool_]:
        """Which decisions have a label that nothing in the log can change: the ones that are scored."""
        if self.window is None:
            return np.isfinite(self.labelled)
        # Not those labelled in the last window alone: they are the quick ones.
        return np.asarray(self.decided + self.window <= self.end)

    @cached_property
    def end(self) -> float:
        """The last moment in the log."""
        return float(np.nanmax(np.append(self.labelled, self.decided[-1])))

    @cached_property
    def truth(self) -> Vector:
        """Return the label of each decision by the rules of the window; NaN where the log does not say."""
        if self.window is None:
            return self.labels
        is_inside = self.labelled <= self.decided + self.window
        return np.where(is_inside, self.labels, np.where(self.settled, self.missing, np.nan))

    def released(self, release: str) -> Vector:
        """Return when each decision gives its row, if it is tracked until then; NaN for never."""
        if self.window is None:
            return self.labelled
        ends = self.decided + self.window
        return ends if release == AT_END_OF_WINDOW else np.fmin(self.labelled, ends)

    def delays(self, release: str) -> Trace:
        """Return how many decisions come while each one waits."""
        return trace(self.decided, self.released(release), never="end")

    def mean_backlog(self, release: str) -> float:
        """Return how many decisions wait on average."""
        return float(self.delays(release).values.mean())

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """The log as a join streams it; the features of a row are its number."""
        come = [None if np.isnan(moment) else moment for moment in self.labelled.tolist()]
        labels = [None if moment is None else label for moment, label in zip(come, self.labels.tolist(), strict=True)]
        rows = list(range(self.size))
        return {DECIDED: self.decided.tolist(), LABELLED: come, LABEL: labels, ROW: rows}

    def tail(self, start: int) -> CaseLog:
        """Return the log without its first decisions."""
        names = ("decided", "labelled", "labels", "features")
        return replace(self, **{name: getattr(self, name)[start:] for name in names}) if start else self


def case_log(
    frame: pl.DataFrame,
    *,
    decided: str,
    labelled: str,
    label: str,
    features: Sequence[str] | None = None,
    id: str | None = None,
    window: Any = None,
    missing: Any = None,
) -> CaseLog:
    """Make a case of a frame; ``features`` are its columns of features.

    Unsaid they are all others but ``id``, a column "id", and those that name their rows. Moments are dates or
    numbers of seconds. Numbers are standardised, gaps are 0 beside a column that marks them, and each frequent value of
    a text has a column of its own. ``missing`` is, with a ``window``, the label of decisions without one (0);
    otherwise what an empty label time means, as in a plan: "refuse" the log, "drop" the row, "end": it waits to the
    end. Raise ValueError for a log that makes no sense.
    """
    for name in (decided, labelled, label, *(features or ()), *(() if id is None else (id,))):
        if name in (features or ()) and name in frame.columns and _is_nested(frame[name]):
            raise ValueError(f"the column {name!r} holds {frame[name].dtype}: features are numbers, dates or texts")
        if name not in frame.columns:
            raise ValueError(f"there is no column {name!r}: the log has {', '.join(map(repr, frame.columns))}")
    instead = _missing_label(frame[labelled], window, missing)
    outcomes = _numbers(frame[label], label)
    # Before rows are dropped: one with a label is none of those that a plan may leave out.
    has_time = frame[labelled].is_not_null().to_numpy()
    untimed = ~has_time & np.isfinite(outcomes) & (outcomes != instead)
    if untimed.any():
        row = int(np.argmax(untimed))
        raise without_time(row, f"{outcomes[row]:g}", labelled, None if window is None else f"{instead:g}")
    if window is None and missing == DROP:
        frame, outcomes = frame.filter(has_time), outcomes[has_time]
    (starts, ends), _ = as_stamps({name: frame[name].to_list() for name in (decided, labelled)})
    start, end = _seconds(pl.Series(decided, starts)), _seconds(pl.Series(labelled, ends))
    if np.isnan(start).any():
        raise ValueError(f"{decided!r} is empty in row {int(np.argmax(np.isnan(start)))}: every decision needs a time")
    if frame.height < 2:
        raise ValueError(f"the log has {frame.height} rows: a case needs more")
    no_label = np.isfinite(end) & ~np.isfinite(outcomes)
    if no_label.any():
        row = int(np.argmax(no_label))
        raise ValueError(f"row {row} has a time in {labelled!r} and no number in {label!r}: empty both, or neither")
    early = end < start
    if early.any():
        row = int(np.argmax(early))
        raise ValueError(f"row {row} is labelled before it was decided: {frame[labelled][row]}, {frame[decided][row]}")
    order = np.argsort(start, kind="stable")
    if frame[decided].dtype.is_temporal():
        check_unit(window)
    length = None if window is None else as_length(window, "window") / PER_SECOND
    names, left_out = _feature_names(frame, (decided, labelled, label), features, id)
    outcomes = np.where(np.isfinite(end), outcomes, np.nan)
    rows = features_of([frame[name] for name in names], frame.height)
    made = CaseLog(start[order], end[order], outcomes[order], rows[order], length, instead, names, left_out)
    if not made.settled.any():
        raise ValueError("no decision is settled within the log: give a shorter window, or a longer log")
    settled = made.truth[made.settled]
    if settled.min() == settled.max():
        raise ValueError(
            f"every settled decision has the label {settled[0]:g}: there is nothing to tell apart; where decisions "
            "without a label have another one, give a window after which they do (--window 30d --missing 0)"
        )
    return made


def _missing_label(labelled: pl.Series, window: Any, missing: Any) -> float:
    """Return the label of decisions whose window ends without one, NaN without windows; refuse what is not said."""
    if window is None:
        meant = REFUSE if missing is None else as_choice(missing, "missing", MISSING)
        if meant == REFUSE and (empty := labelled.null_count()):
            raise ValueError(
                f"the log has no {labelled.name!r} in {empty:,} of {labelled.len():,} rows: give a window (--window "
                "30d), after which these have the label missing (--missing 0), or say what that means with missing= "
                "(--missing): drop, they are left out, or end, they wait for a label to the end of the log"
            )
        return np.nan
    try:
        instead = 0.0 if missing is None else float(missing)
    except (TypeError, ValueError):
        instead = np.nan
    if not np.isfinite(instead):
        raise ArgumentError(
            "missing", "must be a finite number beside a window, the label of decisions without one", missing
        )
    return instead


def _feature_names(
    frame: pl.DataFrame, known: tuple[str, str, str], features: Sequence[str] | None, id: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that are features, and those left out: they name their rows, or hold no plain values."""
    if features is not None:
        late = next((name for name in features if name in known[1:]), None)
        if late is not None:
            raise ArgumentError("features", f"must be known when a decision is made, and {late!r} is known later")
        return tuple(dict.fromkeys(features)), ()
    others = [name for name in frame.columns if name not in (*known, "id", id)]
    in_time = frame.sort(known[0])
    left_out = tuple(name for name in others if _is_nested(in_time[name]) or _names_rows(in_time[name]))
    return tuple(name for name in others if name not in left_out), left_out


def _is_nested(column: pl.Series) -> bool:
    """Return whether a column holds lists, structures, bytes or objects, of which no number is made."""
    return column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary)


def _names_rows(column: pl.Series) -> bool:
    """Return whether a column names its rows: texts nearly all distinct; whole numbers that rise, or called an id."""
    if column.dtype.is_integer() and column.len() > VALUES:
        is_id = column.name.lower().endswith("id") or column.is_sorted()
        return is_id and not column.has_nulls() and column.n_unique() == column.len()
    if column.dtype.is_numeric() or column.dtype == pl.Boolean or column.dtype.is_temporal():
        return False
    texts = column.cast(pl.String).drop_nulls()
    return texts.n_unique() > max(VALUES, DISTINCT * texts.len())


def features_of(columns: Iterable[pl.Series], height: int | None = None) -> Vector:
    """Return numbers for each column of features, standardised, and for each frequent value of a text.

    Without any there is a column of zeros, of so many rows.
    """
    made: list[Vector] = []
    listed = list(columns)
    for column in listed:
        if column.dtype.is_numeric() or column.dtype == pl.Boolean or column.dtype.is_temporal():
            values = _seconds(column) if column.dtype.is_temporal() else column.cast(pl.Float64).to_numpy()
            known = np.isfinite(values)
            if not known.any():
                continue
            spread = float(values[known].std())
            if spread > 0:
                made.append(np.where(known, (values - values[known].mean()) / spread, 0.0))
        else:
            texts = column.cast(pl.String)
            known = texts.is_not_null().to_numpy()
            frequent = texts.drop_nulls().value_counts(sort=True).head(VALUES).to_series().sort()
            made += [(texts == value).fill_null(False).to_numpy().astype(np.float64) for value in frequent]
            made.append((known & ~texts.is_in(frequent.to_list()).fill_null(False).to_numpy()).astype(np.float64))
        if not known.all():
            made.append((~known).astype(np.float64))
    useful = [column for column in made if column.min() < column.max()]
    return np.column_stack(useful) if useful else np.zeros((len(listed[0]) if height is None else height, 1))


def _seconds(column: pl.Series) -> Vector:
    """Return moments, lengths and times of day as seconds, NaN where they are missing."""
    if column.dtype in (pl.Duration, pl.Time):
        column = column.cast(pl.Duration("us"))
        return column.dt.total_microseconds().cast(pl.Float64).to_numpy() / PER_SECOND
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64).to_numpy() / PER_SECOND
    return _numbers(column, column.name)


def _numbers(column: pl.Series, name: str) -> Vector:
    if column.dtype == pl.Null or column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return np.array(column.cast(pl.Float64).fill_null(np.nan).to_numpy())
    raise ValueError(
        f"the column {name!r} holds {column.dtype}, such as {column.drop_nulls()[0]!r}: give numbers or dates"
    )
