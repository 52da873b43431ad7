"""The table of calls: all that a join or session can be asked, whoever asks, with the fields of questions and answers.

The service, its OpenAPI description, the client and the command line have no list of their own. A verb is a line of
:data:`CALLS`; a field of a question or an answer is a line of its named tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import date, timedelta
from functools import cache, partial
from math import isfinite
from operator import attrgetter
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from tarry.errors import ArgumentError
from tarry.learners.base import VALUE
from tarry.live import batches
from tarry.live.batches import Receipt, Receipts, Rounds
from tarry.live.codec import Form, Schema, Unfit, load, read_id, read_json, read_number, written
from tarry.live.configuration import JOIN, SESSION, plain_member
from tarry.live.encoding import as_id, plain_id
from tarry.live.label_join import Ticket
from tarry.live.labels import UNSAID, as_json, check_label, plain_label
from tarry.live.outbox import Row, row_numbers
from tarry.live.rules import Outcome
from tarry.live.session import Round, Takes, as_numbers
from tarry.live.session import rounds_of as one_by_one
from tarry.live.status import ALL, PER_SIZE, Estimate, Status, Waiting
from tarry.live.values import encoded
from tarry.outcomes import Answer
from tarry.times import PER_SECOND, as_length, as_moment

READ, WRITE, ADMIN = SCOPES = ("read", "write", "admin")  # each allows what those before it allow
MOST_ROWS = 10_000  # of one call, or of one page
MOST_ENTRIES = 10_000  # of a play
PAGE = 1000  # rows of a page, unless it is said


# Values of fields, as JSON has them and as callers give them.


def _finite(value: Any) -> Any:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float) and not isfinite(number):
        raise Unfit("must be a finite number", value)
    return number


def _seconds(at: Any) -> Any:
    if isinstance(at, (date, timedelta, np.datetime64)):
        return as_moment(at, "at") / PER_SECOND
    return None if batches.is_missing(at) else _finite(at)


def _length(window: Any) -> Any:
    return window if isinstance(window, str) else as_length(window, "window") / PER_SECOND


def _read_moment(plain: Any) -> Any:
    try:
        return plain if type(plain) is str else read_number(plain)
    except Unfit:
        raise Unfit("must be a moment or a length", plain, "give seconds, 30d, or a date as in 2026-01-31") from None


def _entries(plain: Any) -> Any:
    if type(plain) is not list:
        raise Unfit("must be a list of numbers", plain)
    if len(plain) > MOST_ENTRIES:
        raise Unfit(f"has {len(plain)} entries", remedy=f"at most {MOST_ENTRIES:,} are read")
    for entry in plain:
        read_number(entry)
    return plain


def _number_or_entries(plain: Any) -> Any:
    return _entries(plain) if type(plain) is list else read_number(plain)


def _within(least: int, most: int) -> Form:
    def read(plain: Any) -> int:
        if type(plain) is not int or not least <= plain <= most:
            raise Unfit(f"must be a whole number from {least} to {most}", plain)
        return plain

    return Form(read, _finite, {"type": "integer", "minimum": least, "maximum": most})


_NUMBER: Schema = {"type": "number"}
_MOMENT: Schema = {"anyOf": [{"type": "string"}, _NUMBER]}
_SOME: Schema = {"type": "array", "items": _NUMBER, "maxItems": MOST_ENTRIES}
Id = Annotated[Hashable, Form(read_id, lambda id: plain_id(as_id(id)), {"$ref": "#/components/schemas/Id"})]
Features = Annotated[Any, Form(read_json, lambda value: encoded(value, "features"), {})]
Label = Annotated[Any, Form(read_json, lambda value: value, {})]  # encoded where its decision is known
Number = Annotated[Any, Form(read_number, _finite, _NUMBER)]
Numbers = Annotated[Any, Form(_entries, lambda value: as_numbers(value, "feedback", is_table=False).tolist(), _SOME)]
NumberOrNumbers = Annotated[
    Any, Form(_number_or_entries, lambda value: np.asarray(value, float).tolist(), {"anyOf": [_NUMBER, _SOME]})
]
Moment = Annotated[Any, Form(_read_moment, _seconds, _MOMENT)]
Length = Annotated[Any, Form(_read_moment, _length, _MOMENT)]
Member = Annotated[Any, Form(read_json, lambda one: one if isinstance(one, str | dict) else plain_member(one), {})]
Plain = Annotated[
    Any, Form(read_json, lambda label: as_json(plain_label(label), "the label of a decision without one"), {})
]
Place = Annotated[int, _within(0, 1 << 62)]
Limit = Annotated[int, _within(0, MOST_ROWS)]
_Seed = Annotated[int, _within(0, (1 << 64) - 1)]
Memory = Annotated[int, _within(1, 1 << 40)]
Shards = Annotated[int, _within(1, 1024)]
# Fields of several questions.
When = Annotated[Moment | None, "Seconds since 1970, or a date as in 2026-01-31T12:00 (default: now)."]
Size = Annotated[Number | None, "What it counts for, for VarOpt (default: 1)."]
Information = Annotated[str, "clairvoyant, semi-clairvoyant or non-clairvoyant."]
Backlog = Annotated[Place | None, "Without preemption: a guess of the backlog."]
Seed = Annotated[_Seed | None, "Of every draw, for replays (default: a random one)."]


# Questions.


class NewJoin(NamedTuple):
    """A join that is wanted; where the same one is there, it is found."""

    capacity: Annotated[int | None, "Decisions that may wait at once (null: no limit)."]
    labels: Annotated[str, "Several labels for a decision: first, last, sum or all."] = "first"
    window: Annotated[Length | None, "How long a decision waits for its label: 30d, 36h, or seconds."] = None
    missing: Annotated[Plain, "The label of decisions that got none in their window."] = UNSAID
    release: Annotated[str | None, "Rows come out at the end of their window (window, the default) or at arrival."] = (
        None
    )
    outbox: Annotated[bool, "Keep rows until ack: rows hands them out again."] = False
    information: Information = "non-clairvoyant"
    preemption: Annotated[bool, "Whether a tracked decision may be dropped again."] = True
    scheduler: Annotated[Member | None, "Who is tracked: a name or a member (default: as recommended)."] = None
    backlog: Backlog = None
    seed: Seed = None
    memory: Annotated[Memory, "Decisions whose fates are remembered."] = 1_000_000
    shards: Annotated[Shards, "Parts with a lock each, in PostgreSQL; decisions need ids."] = 1


class NewSession(NamedTuple):
    """A session that is wanted; where the same one is there, it is found."""

    capacity: Annotated[int | None, "Slots, C (null: no limit)."] = None
    player: Annotated[Member, "As in a sweep: a ready one, or a learner and a scheduler."] = "recommended"
    domain: Annotated[Member | None, "Where plays lie, as in a sweep, unless the player says."] = None
    information: Information = "non-clairvoyant"
    preemption: Annotated[bool, "Whether a tracked round may be dropped again."] = True
    backlog: Backlog = None
    gradient_bound: Annotated[Number | None, "Largest norm of a gradient, G."] = None
    value_bound: Annotated[Number | None, "Largest |loss|, M, for bandit feedback."] = None
    strong_convexity: Annotated[Number | None, "λ, for strongly convex losses."] = None
    seed: Seed = None
    memory: Annotated[Memory, "Rounds whose fates are remembered."] = 1_000_000


class Decision(NamedTuple):
    """A decision whose label will come."""

    features: Annotated[Features, "Kept while it is tracked, and given back with the label."] = None
    id: Annotated[Id | None, "Its id (default: a number)."] = None
    delay: Annotated[int | None, "In the clairvoyant model: when the label will come."] = None
    size: Size = None
    at: Annotated[Moment | None, "With windows: when it was made (default: now)."] = None


class LabelOf(NamedTuple):
    """A label that has come."""

    id: Annotated[Id, "The decision's id."]
    label: Annotated[Label, "Any JSON value; the estimate counts numbers."]
    key: Annotated[Id | None, "Where labels gather: a name under which this one counts once."] = None
    at: Annotated[Moment | None, "With windows: when it came to be (default: now)."] = None


class Finish(NamedTuple):
    """A decision whose window ends now."""

    id: Annotated[Id, "The decision's id."]
    missing: Annotated[Label, "Its label if it got none (default: 0 of a sum, [] of all)."] = UNSAID


class OneId(NamedTuple):
    """A decision or round."""

    id: Annotated[Id, "Its id."]


class Ask(NamedTuple):
    """A round to begin."""

    id: Annotated[Id | None, "Its id (default: a number)."] = None
    delay: Annotated[int | None, "In the clairvoyant model: when feedback will come."] = None
    size: Size = None


class Tell(NamedTuple):
    """The feedback of a round: its gradient, or its value, or several values."""

    id: Annotated[Id, "The round's id."]
    gradient: Annotated[Numbers | None, "In a session that learns from gradients."] = None
    value: Annotated[NumberOrNumbers | None, "In a session that learns from values."] = None


class Now(NamedTuple):
    """A moment."""

    now: When = None


class Advance(NamedTuple):
    """A moment, and how many rows may come out at once."""

    now: When = None
    limit: Annotated[Limit | None, "At most so many rows; ask again for those that are left."] = None


class Page(NamedTuple):
    """What comes after a place, and at most so many."""

    after: Annotated[Place, "The number of the last one you have."] = 0
    limit: Annotated[Limit, "At most so many."] = PAGE


class RowsAfter(NamedTuple):
    """Rows of the outbox."""

    after: Annotated[Place | list[Place] | None, "The number of the last row you have; of shards, several."] = None
    limit: Annotated[Limit | None, "At most so many."] = None


class Ack(NamedTuple):
    """The number of the last row that is yours now."""

    number: Annotated[Place | list[Place], "Rows up to this number are yours now; of shards, several."]


class Level(NamedTuple):
    """How an estimate is made."""

    level: Annotated[Number, "Confidence of the intervals."] = 0.95
    low: Annotated[Number, "The smallest that any label may be."] = 0.0
    high: Annotated[Number, "The largest that any label may be."] = 1.0
    among: Annotated[str, "Decisions it is about: all, or those labelled by now."] = ALL
    per: Annotated[str, "With sizes: low and high bound labels for each unit of size, or per decision."] = PER_SIZE


class Last(NamedTuple):
    """How many of the last rounds are wanted."""

    last: Annotated[Limit, "Also the fates of so many of the last rounds."] = 0


class Payloads(NamedTuple):
    """What an export has of payloads, and of which tracked rounds."""

    payloads: Annotated[bool, "Payloads as they are instead of sizes."] = False
    after: Annotated[Place, "Tracked rounds after this one."] = 0
    limit: Annotated[Place | None, "At most so many."] = None


class Resize(NamedTuple):
    """What is to change of a join while decisions wait."""

    capacity: Annotated[int | None, "Decisions that may wait at once (null: no limit)."] = UNSAID
    memory: Annotated[int, "Decisions whose fates are remembered, from now on."] = UNSAID
    window: Annotated[Length, "How long decisions wait from now on."] = UNSAID


class Nothing(NamedTuple):
    """Nothing further."""


# Answers that are no tuples of the library's own.


class FateOf(NamedTuple):
    """What has become of a decision or round."""

    id: Hashable
    fate: Answer


class ReceiptOf(NamedTuple):
    """What became of a call, and the weight the feedback was given."""

    id: Hashable
    status: Answer
    weight: float


class Points(NamedTuple):
    """Where to evaluate the loss of a round, a point a row."""

    id: Hashable
    points: np.ndarray


class RowList(NamedTuple):
    """Rows of the outbox, and the ``after`` of the next page, if there may be one."""

    rows: list[Row]
    next: list[int] | None


class Advanced(NamedTuple):
    """Rows that have come out; where there may be ``more``, ask again."""

    rows: list[Row]
    more: bool


class IdList(NamedTuple):
    """Ids of decisions whose windows have ended: the first ones, if there are more."""

    ids: list[Hashable]
    more: bool


class Released(NamedTuple):
    """Ids that have lost their slots and need no label any more."""

    released: list[Hashable]


class Left(NamedTuple):
    """How many rows of the outbox are left."""

    acknowledged: int | list[int]
    left: int


class Tracked(NamedTuple):
    """Tracked rounds, oldest first, and the ``after`` of the next page, if there is one."""

    tracked: list[Waiting]
    next: int | None


class Journal(NamedTuple):
    """What calls have done, oldest first, and the ``after`` of the next page, if there is one."""

    entries: list[dict[str, Any]]
    next: int | None


class Ledger(NamedTuple):
    """Rounds by fate and their sum; under ``last`` the newest ones, where they were asked for."""

    rounds: int
    fates: dict[str, int]
    sum: int
    last: list[dict[str, Any]] | None = None


class Export(NamedTuple):
    """Configuration, status and tracked rounds; over HTTP each round is a line of its own."""

    version: str
    configuration: dict[str, Any]
    is_numbered: bool | None
    status: dict[str, Any]
    tracked: list[dict[str, Any]]
    next: int | None = None


# The table.


class Many(NamedTuple):
    """How a verb takes several rows at once: a call with one is the same as a batch of one.

    ``spread`` makes rows of the arguments of ``method``, and ``collect`` what that returns of the answers to them.
    """

    key: str  # of the rows in a body
    answers: str  # of their answers
    method: str  # of LabelJoin or Session
    make: Callable[[Any, list[Any]], Iterable[Any]]
    spread: Callable[..., list[Any]]
    collect: Callable[[Any, list[Any]], Any] = lambda _, answers: answers
    has_bare_ids: bool = False  # a row is an id; what stands beside the list is of all rows


class Call(NamedTuple):
    """A verb: who has it, what it needs, what is asked and answered, and how the library's method is called.

    ``make`` gives the answer to what is asked; ``ask`` makes of the method's arguments what is asked, and ``give`` of
    the answer what the method returns. The same call again has the same answer where it ``is_repeatable``. Of answers
    in pages ``following`` is the question for the next one, None after the last.
    """

    verb: str
    kinds: tuple[str, ...]
    scope: str
    asks: Any
    answers: Any
    about: str
    make: Callable[[Any, Any], Any]
    give: Callable[[Any], Any] = lambda answer: answer
    many: Many | None = None
    is_look: bool = False
    is_repeatable: Callable[[Any], bool] = lambda asked: False
    ask: Callable[..., Any] | None = None
    needs_body: bool = False  # though it only looks
    following: Callable[[Any, Any], Any] | None = None

    @property
    def method(self) -> Literal["GET", "POST"]:
        """How it is asked over HTTP."""
        return "GET" if self.is_look and not self.needs_body else "POST"


def calls_of(kind: str) -> dict[str, Call]:
    """Return the calls that a join or session takes, by their verbs."""
    return _BY_KIND[kind]


def make(opened: Any, call: Call, asked: Any) -> Any:
    """Return the answer of an open join or session: of one row, or of a list of them a list."""
    if isinstance(asked, list):
        assert call.many is not None
        return list(call.many.make(opened, asked))
    return call.make(opened, asked)


def load_asked(call: Call, plain: Any) -> Any:
    """Return what a JSON value asks: a row, or a list of them where it has several under their key."""
    many = call.many
    if many is None or type(plain) is not dict or many.key not in plain:
        return load(call.asks, plain)
    rows, shared = plain[many.key], {name: value for name, value in plain.items() if name != many.key}
    if type(rows) is list and len(rows) > MOST_ROWS:
        raise TooMany(many.key, f"has {len(rows):,} rows", remedy=f"at most {MOST_ROWS:,} are taken at once")
    if not many.has_bare_ids and shared:
        raise ArgumentError(min(shared), f"is not known here, beside {many.key}", remedy="say it in each row")
    if many.has_bare_ids:
        if "id" in shared:
            raise ArgumentError("id", f"is not known here, beside {many.key}", remedy="put it into the list")
        load(call.asks, {**shared, "id": ""})  # without any id, no row would say what is wrong beside them
        rows = [{**shared, "id": id} for id in rows] if type(rows) is list else rows
    asked: list[Any] = load(list[call.asks], rows, place=many.key)  # type: ignore[name-defined]
    return asked


def written_asked(call: Call, asked: Any) -> dict[str, Any]:
    """Return the same as JSON."""
    many = call.many
    if many is None or not isinstance(asked, list):
        return written(asked)
    rows = [written(row) for row in asked]
    if not many.has_bare_ids:
        return {many.key: rows}
    shared = {name: value for name, value in rows[0].items() if name != "id"} if rows else {}
    return {many.key: [row["id"] for row in rows], **shared}


class TooMany(ArgumentError):
    """More rows than one call takes."""


def _plural(name: str) -> str:
    return name if name == "at" else f"{name}s"


def _columns(rows: Sequence[Any], *names: str) -> dict[str, Any]:
    """Return fields of all rows by the names that batches have for them; None where no row has one."""
    columns = {_plural(name): [getattr(row, name) for row in rows] for name in names}
    return {name: None if all(value is None for value in values) else values for name, values in columns.items()}


def _spread(asks: Any, names: list[Any], **columns: Any) -> list[Any]:
    """Return a row for each name, from a value for all of them or one each."""
    listed = {word: _listed(values, len(names), _plural(word)) for word, values in columns.items()}
    return [
        asks(id=id, **dict(zip(listed, row, strict=True)))
        for id, *row in zip(names, *(listed.values() or ()), strict=True)
    ]


def _listed(values: Any, count: int, what: str) -> list[Any]:
    if values is None:
        return [None] * count
    if what == "at" and (isinstance(values, str) or not hasattr(values, "__iter__")):
        return [values] * count
    listed = batches.as_list(values, "moments" if what == "at" else what)
    if len(listed) != count:
        word, rest = ("moments", ": give one for all, or one each") if what == "at" else (what, ": give one each")
        raise ValueError(f"there are {count} {'events' if what == 'at' else 'rounds'} and {len(listed)} {word}{rest}")
    return listed


def _decide_many(join: Any, rows: list[Any]) -> list[Ticket]:
    # Without any id decisions are numbered; with some, the join refuses those that have none.
    given: list[Ticket] = join.decide_many(
        [row.features for row in rows], **_columns(rows, "id", "delay", "size", "at")
    )
    return given


def _spread_decisions(
    _: Any, features: Any, *, ids: Any = None, delays: Any = None, sizes: Any = None, at: Any = None
) -> list[Decision]:
    listed, names = batches.decisions_of(features, ids)
    return _spread(Decision, names, features=listed, delay=delays, size=sizes, at=at)


def _label_many(join: Any, rows: list[LabelOf]) -> list[Outcome]:
    ids, labels = [row.id for row in rows], [row.label for row in rows]
    outcomes: list[Outcome] = join.label_many(ids, labels, **_columns(rows, "key", "at"))
    return outcomes


def _spread_labels(_: Any, ids: Any, labels: Any = None, *, keys: Any = None, at: Any = None) -> list[LabelOf]:
    names, values, marks, at = batches.labels_of(ids, labels, keys, at)
    rows: list[LabelOf] = _spread(LabelOf, names, label=values, key=marks, at=at)
    return [_as_sent("label", row, row.label) for row in rows]


def _as_sent(name: str, row: Any, label: Any) -> Any:
    """Return a row with its label as JSON has it; JSON has no such numbers as the library refuses."""
    check_label(row.id, label)
    return row._replace(**{name: encoded(plain_label(label), f"the label of {row.id!r}")})


def _finish_many(join: Any, rows: list[Finish]) -> list[Outcome]:
    outcomes: list[Outcome] = join.finish_many([row.id for row in rows], rows[0].missing if rows else UNSAID)
    return outcomes


def _ask_finish(id: Any, missing: Any = UNSAID) -> Finish:
    asked = Finish(as_id(id), missing)
    return asked if missing is UNSAID else _as_sent("missing", asked, missing)


def _spread_finish(_: Any, ids: Any, missing: Any = UNSAID) -> list[Finish]:
    return [_ask_finish(id, missing) for id in batches.as_ids(ids)]


def _expire_many(opened: Any, rows: list[OneId]) -> list[ReceiptOf]:
    return _lines_of(opened.expire_many([row.id for row in rows]))


def _lines_of(receipts: Receipts) -> list[ReceiptOf]:
    return [ReceiptOf(*row) for row in zip(receipts.ids, receipts.statuses, receipts.weights.tolist(), strict=True)]


def _receipts(_: Any, lines: list[ReceiptOf]) -> Receipts:
    return batches.receipts_of([line.id for line in lines], lines)


def _fates(opened: Any, rows: list[OneId]) -> list[FateOf]:
    ids = [row.id for row in rows]
    return [FateOf(*pair) for pair in zip(ids, opened.fates(ids), strict=True)]


def _spread_ids(_: Any, ids: Any) -> list[OneId]:
    return [OneId(id) for id in batches.as_ids(ids)]


def _ask_many(session: Any, rows: list[Ask]) -> list[Round]:
    known = _columns(rows, "id", "delay", "size")
    return one_by_one(session.ask_many(len(rows) if known["ids"] is None else None, **known))


def _spread_asks(_: Any, rounds: Any = None, *, ids: Any = None, delays: Any = None, sizes: Any = None) -> list[Ask]:
    return _spread(Ask, batches.as_names(rounds, ids), delay=delays, size=sizes)


def _rounds(session: Any, rounds: list[Round]) -> Rounds:
    width = session.takes.dimension
    nowhere = np.full(width, np.nan)
    return Rounds(
        ids=[round.id for round in rounds],
        plays=np.reshape([nowhere if round.play is None else round.play for round in rounds], (len(rounds), width)),
        tracked=np.array([round.tracked for round in rounds], bool),
        released=[id for round in rounds for id in round.released],
        statuses=[round.status for round in rounds],
        released_by=[round.released for round in rounds],
    )


def _tell_many(session: Any, rows: list[Tell]) -> list[ReceiptOf]:
    known = _columns(rows, "gradient", "value")
    if not rows:  # nothing is of the kind that the session takes
        known = {f"{session.takes.feedback}s": []}
    return _lines_of(session.tell_many([row.id for row in rows], **known))


def _ask_tell(session: Any, id: Any, *unnamed: Any, gradient: Any = None, value: Any = None) -> Tell:
    return _told(session, id, session.takes.one(unnamed, gradient, value))


def _spread_tells(session: Any, ids: Any, *unnamed: Any, gradients: Any = None, values: Any = None) -> list[Tell]:
    names, table = session.takes.many(ids, unnamed, gradients, values)
    return [_told(session, id, feedback) for id, feedback in zip(names, table, strict=True)]


def _told(session: Any, id: Any, feedback: np.ndarray) -> Tell:
    takes = session.takes
    if not np.isfinite(feedback).all():  # JSON has no such number
        raise ValueError(f"{takes.feedback} must be finite and below 1e100, got {feedback}: nothing was changed")
    is_single = takes.feedback == VALUE and takes.size == 1
    return Tell(id, **{takes.feedback: float(feedback[0]) if is_single else feedback})


def _page(opened: Any, page: Page) -> Tracked:
    waiting = [waiting for waiting in opened.tracked() if waiting.round > page.after]
    shown = waiting[: page.limit]
    return Tracked(shown, shown[-1].round if shown and len(waiting) > len(shown) else None)


def _journal(opened: Any, page: Page) -> Journal:
    """Return whole entries, as many as come to the limit, and one at least."""
    entries: list[dict[str, Any]] = []
    for change in opened.journal(page.after):
        if len(entries) >= max(1, page.limit) and change["entry"] != entries[-1]["entry"]:
            return Journal(entries, entries[-1]["entry"])
        entries.append(change)
    return Journal(entries, None)


def _export(opened: Any, asked: Payloads) -> Export:
    export = Export(**opened.export(**asked._asdict()))
    is_part = asked.limit is not None and len(export.tracked) == asked.limit
    return export._replace(next=export.tracked[-1]["round"] if is_part and export.tracked else None)


def _due(ids: list[Hashable]) -> IdList:
    return IdList(ids[:MOST_ROWS], len(ids) > MOST_ROWS)


def _advance(join: Any, asked: Advance) -> Advanced:
    rows = join.advance(asked.now, asked.limit)
    return Advanced(rows, len(rows) == asked.limit)


def _rows(join: Any, asked: RowsAfter) -> RowList:
    rows, shards = join.rows(asked.after, asked.limit), len(join.lanes)
    if not rows or len(rows) != asked.limit:
        return RowList(rows, None)
    # A shard has the numbers that leave its place as a rest, and each counts for itself.
    last = {number % shards: number for number in row_numbers(asked.after, "after")}
    last |= {row.number % shards: row.number for row in rows}
    return RowList(rows, sorted(last.values()))


def _next_page(asked: Any, answer: Any) -> Any:
    return None if answer.next is None else asked._replace(after=answer.next)


def _ids_given(asked: Any) -> bool:
    """Return whether every row has an id: a number would be the next one."""
    return all(row.id is not None for row in (asked if isinstance(asked, list) else [asked]))


def _first(make: Callable[[Any, list[Any]], Any]) -> Callable[[Any, Any], Any]:
    """Return what answers one row as the only one of a batch."""
    return lambda opened, asked: make(opened, [asked])[0]


_BOTH = (JOIN, SESSION)
_receipt = lambda line: Receipt(line.status, line.weight)  # noqa: E731
_bare = partial(Many, "ids", has_bare_ids=True)

# fmt: off
CALLS: tuple[Call, ...] = (
    Call(
        "decide", (JOIN,), WRITE, Decision, Ticket,
        "Register a decision; whether it is tracked is known at once. An id decided before gives its ticket again.",
        lambda join, row: join.decide(row.features, row.id, delay=row.delay, size=row.size, at=row.at),
        many=Many("decisions", "tickets", "decide_many", _decide_many, _spread_decisions),
        is_repeatable=_ids_given,
    ),
    Call(
        "label", (JOIN,), WRITE, LabelOf, Outcome,
        "Hand over a label; the row with its weight comes out where one is due.",
        _first(_label_many), attrgetter("row"),
        many=Many("labels", "outcomes", "label_many", _label_many, _spread_labels),
        ask=lambda _, id, label, **rest: _as_sent("label", LabelOf(as_id(id), label, **rest), label),
    ),
    Call(
        "finish", (JOIN,), WRITE, Finish, Outcome,
        "End the windows of decisions now: their rows come out, with the labels gathered.",
        _first(_finish_many), attrgetter("row"),
        many=_bare("outcomes", "finish_many", _finish_many, _spread_finish),
        ask=lambda _, id, missing=UNSAID: _ask_finish(id, missing),
    ),
    Call(
        "due", (JOIN,), READ, Now, IdList, "Tell the decisions whose windows have ended; advance ends them.",
        lambda join, asked: _due(join.due(asked.now)), attrgetter("ids"), is_look=True,
    ),
    Call(
        "advance", (JOIN,), WRITE, Advance, Advanced,
        "Let the rows of decisions come out whose windows have ended, with the missing label where none came.",
        _advance, attrgetter("rows"),
        following=lambda asked, answer: asked if answer.more else None,
    ),
    Call(
        "rows", (JOIN,), READ, RowsAfter, RowList,
        "Give the rows of the outbox by number: those given out and not acknowledged.",
        _rows, attrgetter("rows"), is_look=True,
        ask=lambda _, after=None, limit=None: RowsAfter(row_numbers(after, "after") or None, limit),
        following=_next_page,
    ),
    Call(
        "ack", (JOIN,), WRITE, Ack, Left,
        "Let go of all rows of the outbox up to a number, or several where there are shards.",
        lambda join, asked: Left(asked.number, join.ack(asked.number)), attrgetter("left"),
        is_repeatable=lambda _: True, ask=lambda _, number: Ack(row_numbers(number, "number")),
    ),
    Call(
        "estimate", (JOIN,), READ, Level, Estimate,
        "Tell the mean label of all decisions with intervals that allow for what is awaited, and that of those seen.",
        lambda join, asked: join.estimate(**asked._asdict()), is_look=True,
    ),
    Call(
        "resize", (JOIN,), ADMIN, Resize, Released,
        "Change the capacity, memory or window while decisions wait; tell the ids that have lost their slots.",
        lambda join, asked: Released(join.resize(**asked._asdict())), attrgetter("released"),
    ),
    Call(
        "rebalance", (JOIN,), ADMIN, Nothing, Released,
        "Divide the capacity of a join in shards among them by their loads; tell the ids that lost slots.",
        lambda join, _: Released(join.rebalance()), attrgetter("released"),
    ),
    Call(
        "ask", (SESSION,), WRITE, Ask, Round,
        "Begin a round and tell what to play; an id asked before gives its round again.",
        lambda session, row: session.ask(row.id, delay=row.delay, size=row.size),
        many=Many("rounds", "rounds", "ask_many", _ask_many, _spread_asks, _rounds), is_repeatable=_ids_given,
    ),
    Call(
        "tell", (SESSION,), WRITE, Tell, ReceiptOf, "Hand over the feedback of a round; its status and weight.",
        lambda session, row: ReceiptOf(row.id, *session.tell(row.id, gradient=row.gradient, value=row.value)), _receipt,
        many=Many("feedback", "receipts", "tell_many", _tell_many, _spread_tells, _receipts), ask=_ask_tell,
    ),
    Call(
        "takes", (SESSION,), READ, Nothing, Takes, "Tell what the session takes: gradients or values, and how many.",
        lambda session, _: session.takes, is_look=True,
    ),
    Call(
        "points", (SESSION,), READ, OneId, Points,
        "Tell where to evaluate the loss of a tracked or recent round; tell takes as many values.",
        lambda session, row: Points(row.id, session.points(row.id)), attrgetter("points"), is_look=True,
        needs_body=True,
    ),
    Call(
        "fate", _BOTH, READ, OneId, FateOf, "Tell what has become of these ids.", _first(_fates), attrgetter("fate"),
        many=_bare("fates", "fates", _fates, _spread_ids, lambda _, lines: [line.fate for line in lines]),
        is_look=True, needs_body=True,
    ),
    Call(
        "expire", _BOTH, WRITE, OneId, ReceiptOf,
        "No outcome will come for these; on tracked ones that biases (see docs/live.md).",
        _first(_expire_many), _receipt, many=_bare("receipts", "expire_many", _expire_many, _spread_ids, _receipts),
    ),
    Call(
        "status", _BOTH, READ, Nothing, Status,
        "Tell rounds, pending, tracked, fates, answers, the health of the weights, and warnings.",
        lambda opened, _: opened.status(), is_look=True,
    ),
    Call(
        "ledger", _BOTH, READ, Last, Ledger, "Tell rounds by fate and their sum, which is the number of rounds.",
        lambda opened, asked: Ledger(**opened.ledger(asked.last)),
        lambda ledger: {name: part for name, part in ledger._asdict().items() if part is not None}, is_look=True,
    ),
    Call(
        "tracked", _BOTH, READ, Page, Tracked,
        "Tell who waits, and what it would weigh if it were answered now, oldest first.",
        _page, attrgetter("tracked"), is_look=True, ask=lambda _: Page(), following=_next_page,
    ),
    Call(
        "journal", _BOTH, READ, Page, Journal,
        "Tell what the stored calls have done: who got a slot when, who lost it, and the weight of each label.",
        _journal, attrgetter("entries"), is_look=True, ask=lambda _, after=0: Page(after), following=_next_page,
    ),
    Call(
        "export", _BOTH, READ, Payloads, Export, "Give configuration, status and the tracked rounds with their ids.",
        _export, lambda export: {name: part for name, part in export._asdict().items() if name != "next"}, is_look=True,
        following=_next_page,
    ),
)
# fmt: on
"""Every verb, in the order in which help and OpenAPI show them."""

_BY_KIND = {kind: {call.verb: call for call in CALLS if kind in call.kinds} for kind in _BOTH}


@cache
def methods_of(kind: str) -> dict[str, tuple[Call, bool]]:
    """Return the methods that ask these calls by name, and whether each takes several rows."""
    one = {verb: (call, False) for verb, call in _BY_KIND[kind].items()}
    many = {call.many.method: (call, True) for call in _BY_KIND[kind].values() if call.many is not None}
    return one | many
