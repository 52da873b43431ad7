"""Many rounds in one call: arrays and frames in, arrays out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tarry.checks import as_int
from tarry.live.encoding import as_id, plain_id
from tarry.live.values import brief
from tarry.outcomes import Answer

if TYPE_CHECKING:
    import polars as pl


MOST_AT_ONCE = 10**8  # beyond it their answers would fill the memory


class Rounds(NamedTuple):
    """The answers to ``ask_many``: one entry per round; ``plays`` has shape (rounds, dimension), NaN where LATE."""

    ids: list[Hashable]
    plays: np.ndarray
    tracked: np.ndarray
    released: list[Hashable]
    statuses: list[Answer]
    released_by: list[tuple[Hashable, ...]]  # the same as ``released``, round by round


class Receipt(NamedTuple):
    """What became of a call: a status and the weight the feedback was given."""

    status: Answer
    weight: float


class Receipts(NamedTuple):
    """The answers to ``tell_many`` or ``expire_many``: one entry per id."""

    ids: list[Hashable]
    statuses: list[Answer]
    weights: np.ndarray

    def to_polars(self) -> pl.DataFrame:
        """Return columns id, status and weight; ids of several kinds become texts, those of bytes in base64."""
        import polars as pl

        names, ids = [status.name.lower() for status in self.statuses], self.ids
        if len({type(id) for id in ids}) > 1 or any(isinstance(id, int) and abs(id) >= 1 << 63 for id in ids):
            ids = [plain_id(id)["bytes"] if isinstance(id, bytes) else str(id) for id in ids]
        return pl.DataFrame({"id": ids, "status": names, "weight": self.weights})


def receipts_of(ids: list[Hashable], told: list[Any]) -> Receipts:
    """Return receipts as columns, one entry for each id."""
    return Receipts(ids, [one.status for one in told], np.array([one.weight for one in told]))


def is_frame(value: Any) -> bool:
    """Return whether this is a frame with named columns (polars, pandas, or a dict of columns)."""
    if type(value).__name__ == "LazyFrame":
        raise ValueError("this frame is lazy, its rows are not there yet: call .collect() on it first")
    return isinstance(value, dict) or hasattr(value, "columns")


def names_of(frame: Any) -> list[Any]:
    """Return the names of a frame's columns; raise ValueError if two are the same."""
    names = list(frame if isinstance(frame, dict) else frame.columns)
    if len(set(names)) < len(names):
        again = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"the frame has several columns called {again!r}: rename or drop all but one")
    return names


def column(frame: Any, name: str) -> list[Any]:
    """Return a column of a frame as a list; raise ValueError naming the columns there are."""
    names = names_of(frame)
    if name not in names:
        raise ValueError(f"the frame has no column {name!r}, only {names}")
    values = frame[name]
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ValueError(f"the column {name!r} must be a list of values, got {values!r}")
    return as_list(values, f"the column {name!r}")


def records(frame: Any, without: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return a frame's rows as dictionaries."""
    columns = {name: column(frame, name) for name in names_of(frame)}
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"the columns must be equally long, got {sizes}")
    kept = {name: values for name, values in columns.items() if name not in set(without)}
    count = next(iter(sizes.values()), 0)
    return [{name: values[i] for name, values in kept.items()} for i in range(count)]


def as_list(values: Any, what: str) -> list[Any]:
    """Return the plain Python values of an array, a series or any iterable but a text."""
    if hasattr(values, "to_list"):
        return list(values.to_list())
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "M":
            values = values.astype("datetime64[us]")  # of nanoseconds Python would make whole numbers
        values = values.tolist()  # one value where there is no dimension
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ValueError(f"{what} must be several, got the single {brief(values)}: put it in a list")
    return list(values)


def check_alone(what: str, **others: Any) -> None:
    """Refuse arguments beside a frame that has a column for the same."""
    for name, given in others.items():
        if given is not None:
            raise ValueError(f"the frame has a column {what!r} already, so leave {name} out, or give lists instead")


def as_ids(values: Any) -> list[Hashable]:
    """Return ids, from a list or a frame's column id; each is checked before anything is begun."""
    return [as_id(id) for id in as_list(column(values, "id") if is_frame(values) else values, "ids")]


def decisions_of(features: Any, ids: Any) -> tuple[list[Any], list[Any]]:
    """Return the features of several decisions and their ids, from lists or a frame with a column id."""
    if is_frame(features):
        if "id" in names_of(features):
            check_alone("id", ids=ids)
            ids = column(features, "id")
        features = records(features, without=("id",))
    rows = as_list(features, "decisions")
    names = as_names(None, ids) if ids is not None else [None] * len(rows)
    if len(names) != len(rows):
        raise ValueError(f"there are {len(rows)} decisions and {len(names)} ids: give one each")
    return rows, names


def labels_of(ids: Any, labels: Any, keys: Any, at: Any) -> tuple[list[Hashable], list[Any], list[Any], Any]:
    """Return the ids, labels and keys of several labels, and their moments, from lists or a frame with columns."""
    if is_frame(ids):
        check_alone("label", labels=labels, keys=keys, at=at)
        known = names_of(ids)
        keys, at = (column(ids, name) if name in known else None for name in ("key", "at"))
        ids, labels = column(ids, "id"), column(ids, "label")
    names, values = as_ids(ids), as_list([] if labels is None else labels, "labels")
    if len(names) != len(values):
        raise ValueError(f"there are {len(names)} ids and {len(values)} labels: give one each")
    given = [None] * len(names) if keys is None else as_list(keys, "keys")
    marks = [None if is_missing(key) else as_id(key) for key in given]
    if len(names) != len(marks):
        raise ValueError(f"there are {len(names)} ids and {len(marks)} keys: give one each")
    return names, values, marks, at


def is_missing(value: Any) -> bool:
    """Return whether a cell is empty: None, what is not equal to itself (NaN, NaT), or pandas' NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # of several values
        return False


def as_names(count: int | None, ids: Any) -> list[Any]:
    """Return a name for each of several rounds: the ids given, or None for so many."""
    if (count is None) == (ids is None):
        raise ValueError("say how many rounds, or give their ids: one of the two")
    if ids is not None:
        return as_list(column(ids, "id") if is_frame(ids) else ids, "ids")
    if hasattr(count, "__iter__"):
        raise ValueError(f"the number of rounds must be a whole number, got {brief(count)}: give ids as ids=…")
    rounds = as_int(count, "the number of rounds")
    if rounds > MOST_AT_ONCE:
        raise ValueError(f"at most {MOST_AT_ONCE} rounds can begin in one call, got {rounds}: make several calls")
    return [None] * rounds
