"""Joins and sessions of a server, with the methods of those in this process.

What a method returns is what ``send`` of its connection makes of the request: the answer, or something to be awaited.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any, NamedTuple, Never, Self
from urllib.parse import quote

import numpy as np

from tarry.checks import as_int
from tarry.client.wire import (
    MOST_ROWS,
    answer_of,
    arguments,
    ask_line,
    column_of,
    decision_line,
    export_of,
    label_line,
    length_of,
    moment_of,
    moments_of,
    outcomes_of,
    plain,
    plain_ids,
    receipt_of,
    receipts_of,
    round_of,
    rounds_of,
    row_of,
    rows_of,
    status_of,
    tell_line,
    ticket_of,
    tuple_of,
    waiting_of,
)
from tarry.live import Estimate, batches
from tarry.live.encoding import id_of
from tarry.live.labels import UNSAID, check_label, plain_label
from tarry.live.outbox import row_numbers
from tarry.live.session import Takes


class Call(NamedTuple):
    """A request, what to make of its answer, and whether the same request again has the same answer."""

    method: str
    path: str
    body: Any
    read: Callable[[Any], Any]
    is_repeatable: bool = True


class Remote:
    """What joins and sessions elsewhere have in common."""

    _room: str

    def __init__(self, connection: Any, name: str) -> None:
        self._send, self.name = connection.send, name
        self._path = f"/v1/{self._room}/{quote(name, safe='')}"

    def _post(self, verb: str, body: Any, read: Callable[[Any], Any], *, again: bool = False) -> Any:
        return self._send(Call("POST", f"{self._path}/{verb}", body, read, again))

    def _get(self, verb: str, read: Callable[[Any], Any], **query: Any) -> Any:
        listed = [(key, one) for key, value in query.items() for one in (value if isinstance(value, list) else [value])]
        asked = "&".join(f"{key}={quote(str(value))}" for key, value in listed if value is not None)
        return self._send(Call("GET", f"{self._path}/{verb}{'?' * bool(asked)}{asked}", None, read))

    def expire(self, id: Hashable) -> Any:
        """Say that no outcome will come."""
        return self._post("expire", {"ids": [plain(id)]}, lambda told: receipt_of(told["receipts"][0]))

    def expire_many(self, ids: Any) -> Any:
        """Say so of several rounds in one transaction."""
        return self._post("expire", {"ids": plain_ids(ids)}, receipts_of)

    def fate(self, id: Hashable) -> Any:
        """Return what became of a round."""
        return self._post("fate", {"ids": [plain(id)]}, lambda told: answer_of(told["fates"][0]["fate"]), again=True)

    def fates(self, ids: Any) -> Any:
        """Return so of several rounds, as one look finds them."""
        sent = {"ids": plain_ids(ids)}
        return self._post("fate", sent, lambda told: [answer_of(one["fate"]) for one in told["fates"]], again=True)

    def status(self) -> Any:
        """Return rounds, pending, tracked, fates, answers, the health of the weights, and a certificate."""
        return self._get("status", status_of)

    def ledger(self, last: int = 0) -> Any:
        """Return rounds by fate and their sum, and the last ones if asked for."""
        return self._get("ledger", lambda told: told, last=last or None)

    def export(self, *, payloads: bool = False) -> Any:
        """Return configuration, status and tracked rounds as plain values."""
        return self._get("export", export_of, payloads=str(bool(payloads)).lower())

    def tracked(self) -> Any:
        """Return the tracked rounds, oldest first."""
        return self._get("tracked", lambda told: [waiting_of(one) for one in told["tracked"]])

    @property
    def is_numbered(self) -> Any:
        """Whether rounds go by their numbers (True) or by the caller's ids (False); None before the first."""
        return self._get("status", lambda told: told["is_numbered"])

    @property
    def capacity(self) -> Any:
        """How many rounds may be tracked at once; None for no limit."""
        return self._get("status", lambda told: told["capacity"])

    def delete(self) -> Any:
        """Remove it from the store, for good."""
        return self._send(Call("DELETE", self._path, None, lambda _: None, False))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def close(self) -> None:
        """Do nothing: the connection is closed by whoever made it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RemoteJoin(Remote):
    """A :class:`tarry.LabelJoin` of a server: the same methods, and from an async connection, to be awaited."""

    _room = "joins"

    def decide(
        self,
        features: Any = None,
        id: Hashable = None,
        *,
        delay: int | None = None,
        size: float | None = None,
        at: Any = None,
    ) -> Any:
        """Register a decision; whether it is tracked is known at once."""
        return self._post("decide", decision_line(features, id, delay, size, at), ticket_of, again=id is not None)

    def decide_many(
        self,
        features: Any,
        *,
        ids: Iterable[Any] | None = None,
        delays: Iterable[Any] | None = None,
        sizes: Iterable[Any] | None = None,
        at: Any = None,
    ) -> Any:
        """Register several decisions in one transaction; ``features`` is a frame or a list."""
        rows, names = batches.decisions_of(features, ids)
        listed = [column_of(given, len(rows), what) for given, what in ((delays, "delays"), (sizes, "sizes"))]
        columns = zip(rows, names, *listed, moments_of(at, len(rows)), strict=True)
        body = {"decisions": [decision_line(*row) for row in columns]}
        again = all(id is not None for id in names)  # a number would be the next one
        return self._post("decide", body, lambda told: [ticket_of(one) for one in told["tickets"]], again=again)

    def label(self, id: Hashable, label: Any, *, key: Hashable = None, at: Any = None) -> Any:
        """Return the decision's row with its weight, or None if it is not tracked (any more)."""
        return self._post("label", label_line(id, label, key, moment_of(at)), lambda told: row_of(told["row"]))

    def label_many(
        self, ids: Any, labels: Iterable[Any] | None = None, *, keys: Iterable[Any] | None = None, at: Any = None
    ) -> Any:
        """Return what several labels, in one transaction, have made of their decisions."""
        names, values, marks, at = batches.labels_of(ids, labels, keys, at)
        columns = zip(names, values, marks, moments_of(at, len(names)), strict=True)
        body = {"labels": [label_line(*row) for row in columns]}
        return self._post("label", body, outcomes_of)

    def finish(self, id: Hashable, missing: Any = UNSAID) -> Any:
        """End the window of a decision now; return its row, with the labels gathered."""
        return self._finish([id], missing, lambda told: row_of(told["outcomes"][0]["row"]))

    def finish_many(self, ids: Any, missing: Any = UNSAID) -> Any:
        """End the windows of several decisions in one transaction."""
        return self._finish(ids, missing, outcomes_of)

    def _finish(self, ids: Any, missing: Any, read: Callable[[Any], Any]) -> Any:
        names = batches.as_ids(ids)
        for id in names if missing is not UNSAID else ():
            check_label(id, missing)
        missing = plain_label(missing)
        return self._post("finish", {"ids": plain_ids(names)} | arguments(missing=missing), read)

    def due(self, now: Any = None) -> Any:
        """Return the ids of tracked decisions whose windows have ended."""
        return self._get("due", lambda told: [id_of(id) for id in told["ids"]], now=moment_of(now))

    def advance(self, now: Any = None) -> Any:
        """Return the rows of all tracked decisions whose windows have ended by a moment."""
        return self._post("advance", {"now": moment_of(now)}, rows_of)

    def rows(self, after: int | Iterable[int] | None = None, limit: int | None = None) -> Any:
        """Return the rows given out and not acknowledged; at most 10,000 at once."""
        most = MOST_ROWS if limit is None else as_int(limit, "limit")
        return self._get("rows", rows_of, after=row_numbers(after, "after"), limit=most)

    def ack(self, number: int | Iterable[int]) -> Any:
        """Let go of all rows up to a number, or to several where there are shards; return how many are left."""
        return self._post("ack", {"number": row_numbers(number, "number")}, lambda told: told["left"], again=True)

    def resize(self, *, capacity: int | None = UNSAID, memory: int = UNSAID, window: Any = UNSAID) -> Any:
        """Change the capacity, memory or window while decisions wait; return the ids that lost slots."""
        body = arguments(capacity=capacity, memory=memory, window=window if window is UNSAID else length_of(window))
        return self._post("resize", body, lambda told: [id_of(id) for id in told["released"]])

    def rebalance(self) -> Any:
        """Divide the capacity among shards by their loads; return the ids that lost slots."""
        return self._post("rebalance", {}, lambda told: [id_of(id) for id in told["released"]])

    def estimate(self, level: float = 0.95, *, low: float = 0.0, high: float = 1.0, among: str = "all") -> Any:
        """Return the mean label of all decisions so far, with confidence intervals, and the naive mean beside it."""
        return self._get(
            "estimate", lambda told: tuple_of(Estimate, told), level=level, low=low, high=high, among=among
        )


class RemoteSession(Remote):
    """A :class:`tarry.Session` of a server: the same methods, and from an async connection, to be awaited."""

    _room = "sessions"

    def __init__(self, connection: Any, name: str, takes: Takes) -> None:
        super().__init__(connection, name)
        self.takes = takes

    def ask(self, id: Hashable = None, *, delay: int | None = None, size: float | None = None) -> Any:
        """Begin a round and return its play; an id asked before returns its round again."""
        return self._post("ask", ask_line(id, delay, size), round_of, again=id is not None)

    def ask_many(
        self,
        rounds: int | None = None,
        *,
        ids: Iterable[Any] | None = None,
        delays: Iterable[Any] | None = None,
        sizes: Iterable[Any] | None = None,
    ) -> Any:
        """Begin several rounds, one after the other, in one transaction: this many, or one for each id."""
        names = batches.as_names(rounds, ids)
        columns = ((delays, "delays"), (sizes, "sizes"))
        listed = [column_of(given, len(names), what) for given, what in columns]
        body = {"rounds": [ask_line(*row) for row in zip(names, *listed, strict=True)]}
        again = all(id is not None for id in names)
        return self._post("ask", body, partial(rounds_of, self.takes.dimension), again=again)

    def tell(self, id: Hashable, *unnamed: Never, gradient: Any = None, value: Any = None) -> Any:
        """Hand over the feedback of a round; its status and weight."""
        told = self.takes.one(unnamed, gradient, value)
        return self._post("tell", tell_line(self.takes, id, told), receipt_of)

    def tell_many(self, ids: Any, *unnamed: Never, gradients: Any = None, values: Any = None) -> Any:
        """Hand over feedback in one transaction; ``ids`` may be a frame with id, and gradient (lists) or value."""
        names, table = self.takes.many(ids, unnamed, gradients, values)
        rows = [tell_line(self.takes, id, told) for id, told in zip(names, table, strict=True)]
        return self._post("tell", {"feedback": rows}, receipts_of)

    def points(self, id: Hashable) -> Any:
        """Return where to evaluate the loss of a tracked or recent round, a point a row."""
        return self._post("points", {"id": plain(id)}, lambda told: np.array(told["points"]), again=True)


def remote_session(connection: Any, name: str, told: dict[str, Any]) -> RemoteSession:
    """Return a session of a server from what it says of itself."""
    return RemoteSession(connection, name, Takes(**told["takes"]))
