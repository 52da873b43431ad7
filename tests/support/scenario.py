"""Scripts of calls that a client can take up again after its end, and everything that must be the same then.

A client that died does not know whether its last call was committed. It repeats that call: a repeated ``ask`` gives
the same round, a repeated ``tell`` is a DUPLICATE.
"""

from __future__ import annotations

from contextlib import nullcontext
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

import tarry
from tarry import Answer
from tarry.kernel.views import leaves
from tarry.live.core import ANSWERS
from tarry.live.snapshots import _plain_item

PLAYER = tarry.Player(tarry.learners.DWFTRL(tarry.domains.Ball(2), rate=0.1))
LOST = "the first answer was lost"


class Scenario(NamedTuple):
    """``make`` are the arguments of a new session or join; a step of the script is a call's name and its argument."""

    kind: type
    make: dict[str, Any]
    script: list[tuple[str, Any]]


class Client:
    """Plays a script; ``answers`` are those received, ``extra`` counts the calls that turned out to be repeated."""

    def __init__(self, scenario: Scenario, answers: list[Any] | None = None, *, again: bool = False) -> None:
        self.scenario, self.again = scenario, again
        self.answers = [] if answers is None else answers
        self.extra = {Answer.REPEATED: 0, Answer.DUPLICATE: 0}
        self.quietly: Any = nullcontext  # around the client's own questions, which no failure is wanted in

    def open(self, store: str, name: str = "main", **options: Any) -> Any:
        """The session, made or continued."""
        make = dict(self.scenario.make)
        first = [PLAYER] if self.scenario.kind is tarry.Session else [make.pop("capacity")]
        return self.scenario.kind(*first, **make, store=store, name=name, rng=11, durability="process", **options)

    def play(self, session: Any, steps: int | None = None) -> None:
        """Go on with the script, repeating the step whose answer did not come."""
        for call, argument in self.scenario.script[len(self.answers) : steps]:
            again, self.again = self.again, True
            self.answers.append(getattr(self, f"_{call}")(session, argument, again))
            self.again = False

    def _ask(self, session: Any, id: Any, again: bool) -> Any:
        if id is None and again:  # our ids are numbers: the next one, if that round has begun
            rounds = self._status(session).rounds
            id = rounds if rounds > self._asked() else None
        r = session.ask(id)
        return [r.id, r.play.tobytes().hex(), r.tracked, list(r.released), self._once(r.status, r.tracked, again)]

    def _ask_many(self, session: Any, ids: Any, again: bool) -> Any:
        if isinstance(ids, int):
            asked = self._asked()
            done = again and self._status(session).rounds > asked
            r = session.ask_many(ids=range(asked + 1, asked + 1 + ids)) if done else session.ask_many(ids)
        else:
            r = session.ask_many(ids=ids)
        statuses = [self._once(s, t, again) for s, t in zip(r.statuses, r.tracked, strict=True)]
        return [list(r.ids), r.plays.tobytes().hex(), r.tracked.tolist(), list(r.released), statuses]

    def _status(self, session: Any) -> Any:
        with self.quietly():
            return session.status()

    def _asked(self) -> int:
        steps = self.scenario.script[: len(self.answers)]
        return sum({"ask": 1, "ask_many": a}.get(call, 0) for call, a in steps if isinstance(a, int | None))

    def _once(self, status: Answer, tracked: bool, again: bool) -> str:
        """The status the first time, as far as the second tells."""
        if status is Answer.REPEATED and again:
            self.extra[status] += 1
            return "PENDING" if tracked else LOST
        return status.name

    def _told(self, receipts: list[Any], again: bool) -> Any:
        if again and all(r.status is Answer.DUPLICATE for r in receipts):
            self.extra[Answer.DUPLICATE] += len(receipts)
            return LOST
        return [[r.status.name, r.weight.hex()] for r in receipts]

    def _tell(self, session: Any, id: Any, again: bool) -> Any:
        return self._told([session.tell(id, gradient=gradient(id))], again)

    def _tell_many(self, session: Any, ids: Any, again: bool) -> Any:
        r = session.tell_many(ids, gradients=[gradient(id) for id in ids])
        return self._told(
            [tarry.live.Receipt(*pair) for pair in zip(r.statuses, r.weights.tolist(), strict=True)], again
        )

    def _expire(self, session: Any, id: Any, again: bool) -> Any:
        return self._told([session.expire(id)], again)

    def _decide(self, join: Any, id: Any, again: bool) -> Any:
        before = self._status(join).answers["repeated"]
        ticket = join.decide({"of": id, "at": [0.1, None]}, id)
        self.extra[Answer.REPEATED] += again * (self._status(join).answers["repeated"] - before)
        return [ticket.id, ticket.tracked, list(ticket.released)]

    def _decide_many(self, join: Any, ids: Any, again: bool) -> Any:
        before = self._status(join).answers["repeated"]
        tickets = join.decide_many([b"of " + id.encode() for id in ids], ids=ids)
        self.extra[Answer.REPEATED] += again * (self._status(join).answers["repeated"] - before)
        return [[t.id, t.tracked, list(t.released)] for t in tickets]

    def _label(self, join: Any, id: Any, again: bool) -> Any:
        return self._row(join, again, lambda: join.label(id, label(id)))

    def _label_many(self, join: Any, ids: Any, again: bool) -> Any:
        before = self._status(join).answers["duplicate"]
        rows = join.label_many(ids, [label(id) for id in ids])
        extra = self._status(join).answers["duplicate"] - before
        self.extra[Answer.DUPLICATE] += again * extra
        return LOST if again and extra else [_plain(one.row) for one in rows if one.row is not None]

    def _resize(self, join: Any, changes: Any, again: bool) -> Any:
        """Who lost a slot is told once."""
        was, wanted = join._tracker.configuration, changes.items()
        released = join.resize(**changes)
        return LOST if again and all(getattr(was, name) == value for name, value in wanted) else released

    def _gather(self, join: Any, step: Any, again: bool) -> Any:
        """A label gathered twice counts twice, unless it has a key."""
        id, number = step
        return self._row(join, again, lambda: join.label(id, label(id) * number, key=f"label {number}"))

    def _finish(self, join: Any, id: Any, again: bool) -> Any:
        return self._row(join, again, lambda: join.finish(id, missing=0.0))

    def _decide_at(self, join: Any, step: Any, _: bool) -> Any:
        id, moment = step
        ticket = join.decide({"of": id, "at": [0.1, None]}, id, at=moment)
        return [ticket.id, ticket.tracked, list(ticket.released)]

    def _decide_typed(self, join: Any, step: Any, _: bool) -> Any:
        id, moment = step
        features = (date(2026, 1, 31), Decimal("1.10"), float("nan"), np.float32(0.1), {1: b"raw"})
        return join.decide(features, id, at=moment).tracked

    def _label_at(self, join: Any, step: Any, _: bool) -> Any:
        id, moment = step
        return _whole(join.label(id, label(id), at=moment))

    def _advance(self, join: Any, moment: Any, _: bool) -> Any:
        return [_whole(row) for row in join.advance(moment)]

    def _rows(self, join: Any, after: Any, _: bool) -> Any:
        return [_whole(row) for row in join.rows(after)]

    def _ack(self, join: Any, number: Any, _: bool) -> Any:
        return join.ack(number)

    def _row(self, join: Any, again: bool, call: Any) -> Any:
        before = self._status(join).answers["duplicate"]
        row = call()
        if again and self._status(join).answers["duplicate"] > before:
            self.extra[Answer.DUPLICATE] += 1
            return LOST
        return _plain(row)


def gradient(id: Any) -> list[float]:
    """Some gradient of a round, the same each time."""
    return np.random.default_rng(list(str(id).encode())).normal(size=2).tolist()


def label(id: Any) -> float:
    """Some label of a decision, the same each time."""
    return gradient(id)[0]


def _plain(row: Any) -> Any:
    if row is None:
        return None
    features = row.features.decode() if isinstance(row.features, bytes) else row.features
    return [features, row.label, row.weight.hex()]


def _whole(row: Any) -> Any:
    if row is None:
        return None
    parts = row.features if isinstance(row.features, tuple) else [row.features]
    features = [f"{type(part).__name__} {part}" for part in parts]  # the same in every version of NumPy
    return [row.id, features, row.label, row.weight.hex(), row.relative.hex(), row.number]


def everything(session: Any) -> dict[str, Any]:
    """All that a store holds of a session, but how often it was written; as a new process finds it."""
    tracker = session._tracker

    def read() -> Any:
        rows = {t: str(_plain_item(t, item)) for t, item in sorted(tracker.items.items())}
        return rows, {id: tracker.find(id) for id in (*"abcdefghij", *range(1, 10))}

    rows, places = session._turns.look(read)
    status, slots = session.status(), tracker.slots
    return {
        "state": b"".join(a.tobytes() for a in leaves(slots.state)).hex(),
        "sums": slots.sums.tobytes().hex(),
        "counts": slots.counts[:ANSWERS].tolist(),
        "answers": {Answer[n.upper()]: k for n, k in status.answers.items()},
        "fates": tracker.fates.words.tobytes().hex(),
        "ids": tracker.ids.hashes.tobytes().hex() if tracker.ids is not None else "",
        "places": places,
        "tracked": sorted(tracker.tracked),
        "rows": rows,
        "slots": slots.size,
        "ledger": status.fates,
        "books": repr((status.rounds, status.pending, status.tracked, status.weights, status.balance)),
    }


def check_answers(reference: Client, client: Client) -> None:
    """A client was answered as one that nothing happened to, as far as its answers were not lost."""
    for step, was, now in zip(reference.scenario.script, reference.answers, client.answers, strict=True):
        assert _without_lost(was, now) == now, step


def check_state(expected: dict[str, Any], extra: dict[Answer, int] | None, found: dict[str, Any]) -> None:
    """What is stored is what an uninterrupted run stores, but for the count of calls made twice (None: not known)."""
    for kind, count in expected["answers"].items():
        if extra is None and kind in (Answer.REPEATED, Answer.DUPLICATE):
            assert found["answers"][kind] >= count
        else:
            assert found["answers"][kind] == count + (extra or {}).get(kind, 0)
    for name in expected.keys() - {"answers"}:
        assert found[name] == expected[name], name


def _without_lost(was: Any, now: Any) -> Any:
    if now == LOST:
        return LOST
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        return [_without_lost(a, b) for a, b in zip(was, now, strict=True)]
    return was


def letters(text: str) -> list[str]:
    """One id for each letter."""
    return list(text)


SCENARIOS = {
    "callers' ids": Scenario(
        tarry.Session,
        {"capacity": 2, "memory": 5},
        [
            ("ask", "a"),
            ("ask_many", letters("bc")),
            ("tell", "b"),
            ("ask", "d"),
            ("expire", "c"),
            ("ask_many", letters("efgb")),
            ("tell_many", letters("efg")),
            ("ask", "h"),
            ("tell", "h"),
        ],
    ),
    "our ids": Scenario(
        tarry.Session,
        {"capacity": 3, "memory": 9},
        [
            ("ask", None),
            ("ask_many", 4),
            ("tell", 3),
            ("ask", None),
            ("expire", 2),
            ("ask", None),
            ("tell_many", [7, 6]),
            ("ask", None),
        ],
    ),
    "growing": Scenario(
        tarry.Session,
        {"capacity": None},
        [("ask", "a"), ("ask_many", letters("bcd")), ("tell", "b"), ("ask_many", letters("efghij")), ("tell", "j")],
    ),
    "join": Scenario(
        tarry.LabelJoin,
        {"capacity": 2, "memory": 6},
        [
            ("decide", "a"),
            ("decide_many", letters("bcd")),
            ("label", "d"),
            ("decide", "e"),
            ("expire", "e"),
            ("decide_many", letters("fgh")),
            ("label_many", letters("fgh")),
        ],
    ),
    "changing join": Scenario(
        tarry.LabelJoin,
        {"capacity": 3, "memory": 20},
        [
            ("decide_many", letters("abcd")),
            ("resize", {"capacity": 2}),
            ("decide", "f"),
            ("resize", {"memory": 2}),
            ("label", "f"),
            ("resize", {"capacity": None, "memory": 9}),
            ("decide_many", letters("ghij")),
            ("resize", {"capacity": 1}),
            ("label_many", letters("ghij")),
        ],
    ),
    "gathering join": Scenario(
        tarry.LabelJoin,
        {"capacity": 3, "labels": "sum"},
        [
            ("decide_many", letters("abc")),
            ("gather", ("a", 1)),
            ("gather", ("a", 2)),
            ("finish", "a"),
            ("decide", "d"),
            ("gather", ("d", 1)),
            ("finish", "b"),
        ],
    ),
}


def long_script(steps: int, seed: int) -> Scenario:
    """A session of many mixed calls, for clients that are killed at any moment."""
    rng, script, known = np.random.default_rng(seed), [], 0
    for _ in range(steps):
        call = rng.choice(["ask", "ask", "ask_many", "tell", "tell", "tell_many", "expire"]) if known else "ask"
        if call == "ask":
            script.append(("ask", f"r{known}"))
            known += 1
        elif call == "ask_many":
            script.append(("ask_many", [f"r{known + i}" for i in range(3)]))
            known += 3
        else:
            some = [f"r{known - 1 - i}" for i in rng.permutation(min(known, 8))[:2].tolist()]
            script.append((str(call), some if call == "tell_many" else some[0]))
    return Scenario(tarry.Session, {"capacity": 4, "memory": 100}, script)
