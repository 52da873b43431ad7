"""Requests to calls, and answers to JSON: one handler for all verbs of the table, and what is beside them."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from pydantic_core import from_json, to_json

from tarry.errors import Missing
from tarry.live import LabelJoin, Session
from tarry.live.base import StoredObject
from tarry.live.calls import (
    ADMIN,
    MOST_ROWS,
    PAGE,
    READ,
    Call,
    NewJoin,
    NewSession,
    TooMany,
    calls_of,
    load_asked,
    make,
)
from tarry.live.codec import dump, fields_of, load
from tarry.service.desk import Desk, Desks
from tarry.service.planner import PlanRequest, plan
from tarry.service.problems import Refusal, as_refusal
from tarry.service.settings import Settings
from tarry.service.wanted import join_of, session_of

JSON, LINES = "application/json", "application/x-ndjson"
# Spelled out: \w has letters of every script to Python, and those of ASCII to readers of the description.
NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.:@ -]{0,127}$"
KINDS: dict[str, type[StoredObject]] = {"joins": LabelJoin, "sessions": Session}
MOST_ANSWER = 16 << 20  # bytes of rows in one answer; those left come with the next
MOST_LISTED = 200
_AT_ONCE = 2  # exports, and plans, of one token
_FEW = 16  # rows that are read before their bytes are counted
_LEAST_COMPRESSED = 1024  # bytes
_PIECE = 64 << 10  # bytes that are handed over at once
_is_name = re.compile(NAME).fullmatch
_ALLOWED = {3: "GET", 4: "POST, DELETE"}


class Listed(NamedTuple):
    """Which of the joins or sessions are listed."""

    limit: int = 50
    after: str | None = None
    status: bool = True


class Answer(NamedTuple):
    """What is sent: a status and a body, or parts of one."""

    status: int
    body: bytes | AsyncIterator[bytes]
    media: str = JSON


class Api:
    """The application beneath ``/v1``."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.desks: Desks  # opened when the server starts
        self._busy: Counter[tuple[str, str]] = Counter()  # exports and plans under way, by token
        self._planning = asyncio.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            answer = await self._answer(scope, receive)
        except Exception as error:
            refused = as_refusal(error)
            body = refused.body(scope["tarry"].id)
            await _send(send, refused.status, body, {"content-type": "application/problem+json", **refused.headers})
            return
        headers = {"content-type": answer.media}
        if isinstance(answer.body, bytes):
            await _send(send, answer.status, *_compressed(scope, answer.body, headers))
        else:
            await _send_parts(send, answer.body, headers)

    async def _answer(self, scope: Any, receive: Any) -> Answer:
        parts, method, token = scope["path"].split("/"), scope["method"], scope["tarry"].token
        room = parts[2] if len(parts) > 2 else ""
        if room == "plan" and len(parts) == 3:
            return await self._plan(scope, receive)
        if room not in KINDS or not 3 <= len(parts) <= 5 or not all(parts[3:]):
            raise Refusal(404, "there is nothing at this address: see /openapi.json")
        kind, name = KINDS[room], parts[3] if len(parts) > 3 else None
        if name is not None and not _is_name(name):
            shown = f"a name has 1 to 128 of A-Z, a-z, 0-9, _ . : @ - and blanks, got {name[:80]!r}"
            raise Refusal(422, shown, name="name")
        if len(parts) == 5:
            call = calls_of(kind._kind).get(parts[4])
            if call is None:
                raise Refusal(404, f"there is no call {parts[4][:80]!r}: see /openapi.json")
            scope["route"] = f"/v1/{room}/{{name}}/{call.verb}"
            _check_method(method, call.method)
            permit(token, call.scope, name)
            return await self._call(scope, receive, kind, parts[3], call)
        scope["route"] = f"/v1/{room}" if name is None else f"/v1/{room}/{{name}}"
        _check_method(method, _ALLOWED[len(parts)])
        if name is None:
            return await self._list(scope, kind)
        permit(token, ADMIN, name)
        if method == "DELETE":
            await self.desks.delete(kind, name)
            return Answer(204, b"")
        return await self._make(scope, receive, kind, name)

    async def _call(self, scope: Any, receive: Any, kind: type[StoredObject], name: str, call: Call) -> Answer:
        """Make a call of the table."""
        if call.method == "GET":
            asked = load(call.asks, _query(scope, call.asks))
        else:
            try:
                asked = load_asked(call, await self._json(receive))
            except TooMany as error:
                raise Refusal(413, str(error), name=error.name, remedy=error.remedy) from None
        if call.verb == "export":
            return Answer(200, await self._lines(scope, kind, name, call, asked), LINES)
        work = partial(_within, call, asked) if call.following else partial(make, call=call, asked=asked)
        answer = await self.desks.using(kind, name, partial(_ask, work, _id_of(asked), call.is_look))
        many = call.many
        return _json(dump(answer) if many is None or not isinstance(asked, list) else {many.answers: dump(answer)})

    async def _make(self, scope: Any, receive: Any, kind: type[StoredObject], name: str) -> Answer:
        """Make a join or session, or find that the same one is there."""
        plain = await self._json(receive)
        told: dict[str, Any] = {}
        # In a thread: without preemption a scheduler takes a second or more to choose for a large capacity.
        if kind is LabelJoin:
            wanted: Any = load(NewJoin, plain)
            scheduler, rules = await asyncio.to_thread(join_of, wanted)
            work: Any = partial(LabelJoin, scheduler=scheduler, rng=wanted.seed, **rules)
        else:
            wanted = load(NewSession, plain)
            chosen, rules = await asyncio.to_thread(session_of, wanted)
            work, scheduler = partial(Session, chosen.player, rng=wanted.seed, **rules), chosen.scheduler
            told = {"learner": type(chosen.learner).__name__, "reason": chosen.reason, "is_proved": chosen.is_proved}
        is_new = await self.desks.make(kind, name, work)
        status = await self.desks.using(kind, name, partial(_ask, lambda opened: opened.status(), None, True))
        known = {"name": name, "made": is_new, "scheduler": type(scheduler).__name__, "capacity": status.capacity}
        if kind is Session:
            told["takes"] = dump((await self.desks.find(kind, name)).opened.takes)
        return _json({**known, "rounds": status.rounds, **told}, 201 if is_new else 200)

    async def _list(self, scope: Any, kind: type[StoredObject]) -> Answer:
        """List names, oldest first, with a status each; only those are opened that are shown."""
        asked, token = load(Listed, _query(scope, Listed)), scope["tarry"].token
        if not token.reaches(READ):
            permit(token, READ, None)
        if not 1 <= asked.limit <= MOST_LISTED:
            raise Refusal(422, f"limit must be a number from 1 to {MOST_LISTED}, got {asked.limit}", name="limit")

        def listed() -> list[str]:
            names = (name for name in self.desks.names(kind._kind, asked.after) if token.allows(READ, name))
            return [*islice(names, asked.limit + 1)]

        names = await asyncio.to_thread(listed)
        items: list[dict[str, Any]] = []
        for name in names[: asked.limit]:
            with suppress(Missing):  # deleted since the names were read
                told = await self.status(kind, name) if asked.status else {"status": None}
                items.append({"name": name, "kind": kind._kind, **told})
        return _json({"items": items, "next": names[asked.limit - 1] if len(names) > asked.limit else None})

    async def status(self, kind: type[StoredObject], name: str) -> dict[str, Any]:
        """Return the status of an object among others; where it cannot be told, why: the others are told all the same.

        Raise Missing where it was deleted.
        """
        try:
            work = partial(_ask, lambda opened: opened.status(), None, True)
            return {"status": dump(await self.desks.using(kind, name, work))}
        except Missing:
            raise
        except Exception as error:
            return {"status": None, "problem": as_refusal(error).detail}

    async def _plan(self, scope: Any, receive: Any) -> Answer:
        """Plan the slots for a log: bounded work in a thread, one at a time."""
        scope["route"] = "/v1/plan"
        _check_method(scope["method"], "POST")
        if not scope["tarry"].token.reaches(READ):
            permit(scope["tarry"].token, READ, None)
        with self._counted(scope, "plans"):
            asked = load(PlanRequest, await self._json(receive))
            async with self._planning:
                return _json(dump(await asyncio.to_thread(plan, asked)))

    async def _lines(
        self, scope: Any, kind: type[StoredObject], name: str, call: Call, asked: Any
    ) -> AsyncIterator[bytes]:
        """Return an export as lines of JSON; the tracked rounds come in pages, each as a look finds them."""
        assert call.following is not None
        following, most = call.following, asked.limit
        asked = asked._replace(limit=_FEW if asked.payloads else PAGE)

        def page() -> Any:
            return self.desks.using(kind, name, partial(_ask, partial(make, call=call, asked=asked), None, True))

        with self._counted(scope, "exports"):
            first = await page()

        async def lines() -> AsyncIterator[bytes]:
            nonlocal asked
            found, left = first, most
            with self._counted(scope, "exports"):
                yield to_json({name: part for name, part in dump(first).items() if name not in ("tracked", "next")})
                while True:
                    yield b"".join(b"\n" + to_json(row) for row in dump(found.tracked[:left]))
                    left = None if left is None else left - len(found.tracked)
                    asked = following(asked, found)
                    if asked is None or (left is not None and left <= 0):
                        yield b"\n"
                        return
                    found = await page()

        return lines()

    @contextmanager
    def _counted(self, scope: Any, what: str) -> Iterator[None]:
        """Count what a token has under way; refuse more than a few at once, which others would wait for."""
        key = (scope["tarry"].token.name, what)
        if self._busy[key] >= _AT_ONCE:
            detail = f"the token {key[0]!r} has {_AT_ONCE} {what} under way already: come again"
            raise Refusal(429, detail, {"retry-after": "5"})
        self._busy[key] += 1
        try:
            yield
        finally:
            self._busy[key] -= 1
            if not self._busy[key]:
                del self._busy[key]

    async def _json(self, receive: Any) -> Any:
        """Return the value of a body; NaN is none of JSON's."""
        try:
            async with asyncio.timeout(self._settings.patience):
                text = await _body_of(receive)
        except TimeoutError:
            raise Refusal(408, "the body did not come in time: send it again", {"connection": "close"}) from None
        try:
            return from_json(text, allow_inf_nan=False)
        except ValueError as error:
            raise Refusal(400, f"the body is not JSON: {error}") from None


def permit(token: Any, scope: str, name: str | None) -> None:
    """Raise Refusal where a token does not grant a scope for a name, or without one, for everything."""
    if not token.allows(scope, name):
        about = f" for {name!r}" if name is not None else " for everything"
        raise Refusal(403, f"this needs the scope {scope!r}{about}, which the token {token.name!r} does not have")


def _check_method(method: str, allowed: str) -> None:
    if method not in allowed.split(", "):
        raise Refusal(405, f"this address takes {allowed}: see /openapi.json", {"allow": allowed})


async def _ask(work: Callable[[Any], Any], id: Any, is_look: bool, desk: Desk) -> Any:
    return await desk.call(partial(work, desk.opened), id, is_look=is_look)


def _id_of(asked: Any) -> Any:
    """Return the id that a call is about, if it is about a single one."""
    row = asked if not isinstance(asked, list) else asked[0] if len(asked) == 1 else None
    return getattr(row, "id", None)


def _within(call: Call, asked: Any, opened: Any) -> Any:
    """Return an answer in pages: as many rows as are asked for, and no more once they come to many bytes."""
    assert call.following is not None
    most = PAGE if asked.limit is None else asked.limit
    rows: list[Any] = []
    size = 0
    while True:
        asked = asked._replace(limit=min(_FEW, most - len(rows)))
        answer = make(opened, call, asked)
        part = call.give(answer)
        rows += part
        size += sum(len(to_json(dump(row))) for row in part)
        following = call.following(asked, answer)
        if following is None or len(rows) >= most or size > MOST_ANSWER:
            return answer._replace(**{answer._fields[0]: rows})
        asked = following


def _query(scope: Any, asks: Any) -> dict[str, Any]:
    """Return what the query of an address asks, as a body would say it."""
    fields, plain = fields_of(asks), dict[str, Any]()
    for name, text in parse_qsl(
        scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=MOST_ROWS
    ):
        value = _value_of(text, fields[name].form.schema if name in fields else {})
        plain[name] = (
            value if name not in plain else [*(plain[name] if isinstance(plain[name], list) else [plain[name]]), value]
        )
    return plain


def _value_of(text: str, schema: Any) -> Any:
    """Return a value of a query: a text where the field takes one, else JSON; null is no value, but left out."""
    if text == "null" or any(part.get("type") == "string" for part in (schema, *_kinds(schema))):
        return text
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return text


def _kinds(schema: Any) -> Iterator[Any]:
    for part in schema.get("anyOf", ()):
        yield part
        yield from _kinds(part)


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(status, to_json(value))


async def _body_of(receive: Any) -> bytes:
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        return bytes(message.get("body", b""))
    parts = []
    while message["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()
    raise Refusal(400, "the connection ended before the body did", {"connection": "close"})


def _compressed(scope: Any, body: bytes, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """Return a body, compressed where it is long and the caller can read that."""
    if len(body) < _LEAST_COMPRESSED:
        return body, headers
    accepted = dict(scope["headers"]).get(b"accept-encoding", b"")
    headers = headers | {"vary": "accept-encoding"}
    return (gzip.compress(body, 5), headers | {"content-encoding": "gzip"}) if b"gzip" in accepted else (body, headers)


async def _send(send: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    """Send an answer, in pieces that wait for whoever reads it."""
    if status != 204:
        headers["content-length"] = str(len(body))
    listed = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    for start in range(0, len(body) - _PIECE, _PIECE):
        await send({"type": "http.response.body", "body": body[start : start + _PIECE], "more_body": True})
    last = max(0, -(-len(body) // _PIECE) - 1) * _PIECE
    await send({"type": "http.response.body", "body": body[last:]})


async def _send_parts(send: Any, parts: AsyncIterator[bytes], headers: dict[str, str]) -> None:
    listed = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": listed})
    async for part in parts:
        for start in range(0, len(part), _PIECE):
            await send({"type": "http.response.body", "body": part[start : start + _PIECE], "more_body": True})
    await send({"type": "http.response.body", "body": b""})
