"""Two columns of time stamps, and others beside them, read out of a CSV or Parquet file as people have them.

Numbers, dates in ISO 8601, and dates with the day and the month in either order. Where no day of a log is above the
12th the order cannot be told, and is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tarry.times import ROLES, find_times

if TYPE_CHECKING:
    import polars as pl

PARQUET = (".parquet", ".pq")
SAMPLE = 1000  # rows of a Parquet file that are measured
SEPARATORS = ",;\t|"  # of those that a header has equally often the first
NOTHING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "NaT", "\\N"]
# Two numbers and a year, perhaps a time, perhaps of twelve hours.
_DAY = r"^\s*(?<one>\d{1,2})[/.\-](?<two>\d{1,2})[/.\-](?<year>\d{4})"
_TIME = r"(?:[ T,]+(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2}(?:\.\d+)?))?\s*(?<half>[AaPp])?[Mm]?)?\s*$"
_YEAR_FIRST = r"^\s*\d{4}\D"
_CODE, _LONG = r"^\s*[+-]?0\d+\s*$", r"^[+-]?\d{16,}$"  # 0012 is a name; many digits do not fit into a float


class Columns(NamedTuple):
    """The columns of a log, and the names of the two that hold times."""

    frame: pl.DataFrame
    decided: str
    feedback: str


def row_bytes(path: Path, rows: int) -> float:
    """Return what a row of a log takes on average: in a text file as it stands there, else in memory."""
    import polars as pl

    if path.suffix.lower() not in PARQUET:
        return path.stat().st_size / rows
    sample = pl.scan_parquet(path).head(SAMPLE).collect()
    return sample.estimated_size() / sample.height


def read_columns(
    path: Path,
    decided: str | None = None,
    feedback: str | None = None,
    day_first: bool | None = None,
    *,
    also: Sequence[str] | None = (),
    roles: tuple[str, str] = ROLES,
    label: str | None = None,
) -> Columns:
    """Read the columns of these names, or of usual ones; ``day_first`` says how 9/1/2024 is meant.

    ``also`` are columns to read beside them, None for all: as numbers where all of one are, else as texts; those with
    leading zeros are names, and so are whole numbers beyond 64 bits. ``roles`` are what messages call the two, and
    ``label`` a column of labels, which is not taken for one of times.
    Raise ValueError where there is no such file or column, or the order of day and month is not known.
    """
    import polars as pl

    if not path.is_file():
        raise ValueError(f"there is no file {path}: give a CSV or Parquet file with two columns of time stamps")
    try:
        match path.suffix.lower():
            case ".csv" | ".tsv" | ".txt":
                separator = _separator(path)
                lazy = pl.scan_csv(path, separator=separator, infer_schema=False, null_values=NOTHING)
            case other if other in PARQUET:
                separator, lazy = "", pl.scan_parquet(path)
            case other:
                raise ValueError(f"{path} ends in {other!r}: give a file that ends in .csv, .tsv or .parquet")
        names = lazy.collect_schema().names()
        start, end = find_times(names, decided, feedback, roles, label)
        others = names if also is None else also
        gone = next((name for name in others if name not in names), None)
        if gone is not None:
            raise ValueError(f"there is no column {gone!r}: the log has {', '.join(map(repr, names))}")
        frame = lazy.select(*dict.fromkeys([start, end, *others])).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    blank = pl.col(pl.String).str.strip_chars()
    frame = frame.with_columns(pl.when(blank != "").then(pl.col(pl.String)))  # cells of spaces are empty
    if separator:
        frame = frame.head(frame.height - _blank_lines(path, separator))
    texts = {name: frame[name] for name in frame.columns if frame[name].dtype == pl.String}
    codes = {n for n, text in texts.items() if n not in (start, end) and text.str.contains(_CODE).any()}
    read = {name: None if name in codes else _numbers(text, separator) for name, text in texts.items()}
    words = {name: text for name, text in texts.items() if read[name] is None}
    # What else the log holds may be any text, and has to be a date only where it cannot be meant otherwise.
    dates = {n: text for n, text in words.items() if n in (start, end) or text.str.contains(_YEAR_FIRST).all()}
    numbers = [column for column in read.values() if column is not None]
    return Columns(frame.with_columns(*numbers, *_dates(dates, day_first)), start, end)


def _separator(path: Path) -> str:
    """Return what stands between the columns of a text file, by its header."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        header = file.readline()
    return max(SEPARATORS, key=header.count)


def _blank_lines(path: Path, separator: str) -> int:
    """Return how many lines at the end are empty or hold separators alone, as editors and spreadsheets leave them."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 65_536))
        lines = file.read().decode(errors="replace").splitlines()
    return next((i for i, line in enumerate(reversed(lines)) if line.strip(f" {separator}")), 0)


def _numbers(text: pl.Series, separator: str) -> pl.Series | None:
    """Return a column of texts as numbers, None if some text is none; beside a semicolon 1,5 is a number too."""
    import polars as pl

    if text.null_count() == text.len():
        return text.cast(pl.Null)
    plain = text.str.strip_chars()
    if separator == ";":
        plain = plain.str.replace(",", ".", literal=True)
    for kind in (pl.Int64, pl.Float64):
        numbers = plain.cast(kind, strict=False)
        if numbers.null_count() == text.null_count():
            return numbers if kind == pl.Int64 or not plain.str.contains(_LONG).any() else None
    return None


def _dates(texts: dict[str, pl.Series], day_first: bool | None) -> list[pl.Series]:
    """Return columns of texts as dates; texts that are none are left as they are, for whoever names the row."""
    import polars as pl

    parts = {name: text.str.extract_groups(_DAY + _TIME).struct.unnest() for name, text in texts.items()}
    local = {n: p for n, p in parts.items() if p["year"].null_count() == texts[n].null_count()}
    first = bool(local) and _is_day_first({n: texts[n] for n in local}, [*local.values()], day_first)
    read = [_joined(name, part, first) for name, part in local.items()]
    # Of other texts only those with the year in front are given to Polars, which takes the day for first.
    for name in texts.keys() - local.keys():
        if texts[name].str.contains(_YEAR_FIRST).all():
            try:
                read.append(texts[name].str.to_datetime(time_unit="us"))
            except pl.exceptions.PolarsError:
                continue
    return read


def _is_day_first(texts: dict[str, pl.Series], parts: list[pl.DataFrame], said: bool | None) -> bool:
    """Return whether the day comes first: as some day above the 12th shows, or as it was said."""
    tops = [max(int(part[name].cast(int).max() or 0) for part in parts) for name in ("one", "two")]  # type: ignore[arg-type]
    shown = next(text.drop_nulls()[0] for text in texts.values())
    if min(tops) > 12 or max(tops) > 31 or (said is not None and tops[said] > 12):
        order = "in one order" if said is None else "day first" if said else "month first"
        raise ValueError(
            f"dates such as {shown!r} cannot all be read {order}: their first numbers go up to {tops[0]}, the second "
            f"ones to {tops[1]}; write them as 2024-12-31"
        )
    if max(tops) > 12:
        return tops[0] > 12
    if said is None:
        raise ValueError(
            f"dates such as {shown!r} may be read day first or month first, for no day of this log is above the 12th: "
            "say which with --day-first or --month-first (day_first=True or False), or write them as 2024-12-31"
        )
    return said


def _joined(name: str, part: pl.DataFrame, day_first: bool) -> pl.Series:
    import polars as pl

    names = ("two", "one") if day_first else ("one", "two")
    hour = pl.col("hour").cast(pl.Int64).fill_null(0)
    # Of twelve hours the twelfth is the first.
    clock = (
        pl.when(pl.col("half").is_null())
        .then(hour)
        .otherwise(hour % 12 + pl.when(pl.col("half").str.to_lowercase() == "p").then(12).otherwise(0))
    )
    year, month, day = (pl.col(name).cast(pl.Int64) for name in ("year", *names))
    seconds = pl.col("second").cast(pl.Float64).fill_null(0.0)
    minute = pl.col("minute").cast(pl.Int64).fill_null(0)
    moment = pl.datetime(year, month, day, clock, minute) + pl.duration(
        microseconds=(seconds * 1e6).round().cast(pl.Int64)
    )
    try:
        return part.select(moment.alias(name))[name]
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"the column {name!r} has a date that does not exist: {str(error).splitlines()[0]}") from error
