"""Requests and answers as JSON has them, and as the library's own types."""

from __future__ import annotations

import json
from collections.abc import Hashable
from datetime import date, timedelta
from math import nan
from typing import Any, get_type_hints

import numpy as np

from tarry.learners.base import VALUE
from tarry.live import Estimate, Outcome, Receipt, Receipts, Round, Rounds, Row, Status, Ticket, batches
from tarry.live.encoding import as_id, id_of, plain_id
from tarry.live.labels import UNSAID, check_label, plain_label
from tarry.live.session import Takes
from tarry.live.status import Load, Waiting
from tarry.live.values import decoded, text_of
from tarry.outcomes import Answer, Certificate, Weights
from tarry.times import PER_SECOND, as_length, as_moment

MOST_ROWS = 10_000  # rows of one request


def python_number(value: Any) -> Any:
    """Return NumPy's numbers as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def plain(id: Hashable) -> Any:
    """Return an id as JSON has it."""
    return plain_id(as_id(id))


def plain_ids(ids: Any) -> list[Any]:
    """Return ids as JSON has them, from a list or a frame."""
    return [plain_id(id) for id in batches.as_ids(ids)]


def arguments(**given: Any) -> dict[str, Any]:
    """Return the arguments that were given."""
    return {name: python_number(value) for name, value in given.items() if value is not UNSAID}


def length_of(window: Any) -> Any:
    """Return a length of time that JSON has."""
    return window if isinstance(window, str) else as_length(window, "window") / PER_SECOND


def moment_of(at: Any) -> Any:
    """Return a moment that JSON has; dates become seconds."""
    if isinstance(at, (date, timedelta, np.datetime64)):
        return as_moment(at, "at") / PER_SECOND
    return None if batches.is_missing(at) else python_number(at)


def moments_of(at: Any, count: int) -> list[Any]:
    """Return a moment for each of several events, from one for all of them or a list."""
    if isinstance(at, str) or not hasattr(at, "__iter__"):
        return [moment_of(at)] * count
    listed = batches.as_list(at, "moments")
    if len(listed) != count:
        raise ValueError(f"there are {count} events and {len(listed)} moments: give one for all, or one each")
    return [moment_of(one) for one in listed]


def column_of(given: Any, count: int, what: str) -> list[Any]:
    """Return a value for each of several rounds, None where nothing is given."""
    if given is None:
        return [None] * count
    listed = batches.as_list(given, what)
    if len(listed) != count:
        raise ValueError(f"there are {count} rounds and {len(listed)} {what}: give one each")
    return [python_number(one) for one in listed]


def decision_line(features: Any, id: Hashable, delay: Any, size: Any, at: Any) -> dict[str, Any]:
    """Return a decision as it is sent."""
    text_of(features, "features")  # refused here in the library's words
    given = {"features": features, "id": None if id is None else plain(id), "delay": python_number(delay)}
    given |= {"size": python_number(size), "at": moment_of(at)}
    return {name: value for name, value in given.items() if value is not None}


def label_line(id: Hashable, label: Any, key: Hashable, at: Any) -> dict[str, Any]:
    """Return a label as it is sent."""
    check_label(id, label)
    text_of(plain_label(label), f"the label of {id!r}")
    given = {"key": None if key is None else plain(key), "at": at}
    return {"id": plain(id), "label": plain_label(label)} | {
        n: value for n, value in given.items() if value is not None
    }


def ask_line(id: Hashable, delay: Any, size: Any) -> dict[str, Any]:
    """Return a round that is asked for as it is sent."""
    given = {"id": None if id is None else plain(id), "delay": python_number(delay), "size": python_number(size)}
    return {name: value for name, value in given.items() if value is not None}


def tell_line(takes: Takes, id: Hashable, told: np.ndarray) -> dict[str, Any]:
    """Return feedback as it is sent."""
    if not np.isfinite(told).all():  # JSON has no such number
        raise ValueError(f"{takes.feedback} must be finite and below 1e100, got {told}: nothing was changed")
    is_single = takes.feedback == VALUE and takes.size == 1
    return {"id": plain(id), takes.feedback: float(told[0]) if is_single else told.tolist()}


# From JSON to the library's own types.


def answer_of(word: str) -> Answer:
    """Return the answer of a word."""
    return Answer[word.upper()]


def tuple_of(kind: Any, told: dict[str, Any]) -> Any:
    """Return a named tuple; what JSON has no number for was not a number."""
    hints, unknown = get_type_hints(kind), (float, Any) if kind is Weights else (float,)
    given = {name: nan if told[name] is None and hints[name] in unknown else told[name] for name in kind._fields}
    return kind(**given)


def ticket_of(told: dict[str, Any]) -> Ticket:
    """Return a ticket."""
    return Ticket(id_of(told["id"]), told["tracked"], tuple(map(id_of, told["released"])))


def row_of(told: dict[str, Any] | None) -> Row | None:
    """Return a row, if there is one."""
    if told is None:
        return None
    # What JSON does not have (dates, decimals, tuples) came to the server as stores write it.
    kept = {name: decoded(told[name]) for name in ("features", "label")}
    return Row(**told | kept | {"id": id_of(told["id"])})


def rows_of(told: dict[str, Any]) -> list[Row | None]:
    """Return rows."""
    return [row_of(one) for one in told["rows"]]


def outcomes_of(told: dict[str, Any]) -> list[Outcome]:
    """Return outcomes."""
    lines = told["outcomes"]
    return [
        Outcome(id_of(one["id"]), answer_of(one["fate"]), row_of(one["row"]), answer_of(one["answer"])) for one in lines
    ]


def receipt_of(told: dict[str, Any]) -> Receipt:
    """Return a receipt."""
    return Receipt(answer_of(told["status"]), told["weight"])


def receipts_of(told: dict[str, Any]) -> Receipts:
    """Return receipts."""
    lines = told["receipts"]
    statuses = [answer_of(one["status"]) for one in lines]
    return Receipts([id_of(one["id"]) for one in lines], statuses, np.array([one["weight"] for one in lines]))


def round_of(told: dict[str, Any]) -> Round:
    """Return a round."""
    play = None if told["play"] is None else np.array(told["play"])
    if play is not None:
        play.flags.writeable = False
    return Round(
        id_of(told["id"]), play, told["tracked"], tuple(map(id_of, told["released"])), answer_of(told["status"])
    )


def rounds_of(width: int, told: dict[str, Any]) -> Rounds:
    """Return several rounds as columns, with plays of so many entries."""
    rounds = [round_of(one) for one in told["rounds"]]
    nowhere = np.full(width, nan)
    return Rounds(
        ids=[one.id for one in rounds],
        plays=np.reshape([nowhere if one.play is None else one.play for one in rounds], (len(rounds), width)),
        tracked=np.array([one.tracked for one in rounds], bool),
        released=[id for one in rounds for id in one.released],
        statuses=[one.status for one in rounds],
        released_by=[one.released for one in rounds],
    )


def waiting_of(told: dict[str, Any]) -> Waiting:
    """Return a tracked round."""
    return Waiting(told["round"], id_of(told["id"]), told["weight"], told["ends"])


def status_of(told: dict[str, Any]) -> Status:
    """Return a status."""
    parts = {"weights": Weights, "certificate": Certificate, "estimate": Estimate}
    found = {name: None if told[name] is None else tuple_of(kind, told[name]) for name, kind in parts.items()}
    shards = None if told["shards"] is None else tuple(tuple_of(Load, one) for one in told["shards"])
    made: Status = tuple_of(Status, told | found | {"warnings": tuple(told["warnings"]), "shards": shards})
    return made


def export_of(text: str) -> dict[str, Any]:
    """Return an export from its lines."""
    first, *tracked = (json.loads(line) for line in text.splitlines())
    return {**first, "tracked": tracked}
