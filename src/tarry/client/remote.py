"""Joins and sessions of a server, with the methods of those in this process, from the table of calls.

What a method returns is what ``send`` of its connection makes of the request: the answer, or something to be awaited.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, NamedTuple, Self
from urllib.parse import quote

from tarry.live import LabelJoin, Session
from tarry.live.calls import Call, Export, calls_of, methods_of, written_asked
from tarry.live.codec import load, written
from tarry.live.session import Takes
from tarry.live.values import LARGEST_TEXT, to_json


class Request(NamedTuple):
    """A request, what to make of its answer (another request: ask on), and whether the same again has the same."""

    method: str
    path: str
    body: bytes | None
    read: Callable[[Any], Any]
    is_repeatable: bool = True


def body_of(plain: Any) -> bytes:
    """Return a body as it is sent."""
    text = to_json(plain)
    if len(text) > LARGEST_TEXT:
        raise ValueError(f"a request has at most {LARGEST_TEXT} bytes, this has {len(text)}: make several calls")
    return text.encode()


class Remote:
    """What joins and sessions elsewhere have in common."""

    _room: str
    _kind: str

    def __init__(self, connection: Any, name: str) -> None:
        self._send, self.name = connection.send, name
        self._path = f"/v1/{self._room}/{quote(name, safe='')}"

    def perform(self, call: Call, asked: Any, give: Callable[[Any], Any] = lambda answer: answer) -> Any:
        """Make a call of the table; return its answer, or what ``give`` makes of that."""
        return self._send(self._request(call, asked, give, []))

    def _request(self, call: Call, asked: Any, give: Callable[[Any], Any], before: list[Any]) -> Request:
        """Return the request for a call; of pages the one for the first, whose answer asks for the next."""
        path, body = f"{self._path}/{call.verb}", None
        if call.method == "POST":
            body = body_of(written_asked(call, asked))
        elif query := _query(written(asked)):
            path = f"{path}?{query}"
        return Request(call.method, path, body, partial(self._read, call, asked, give, before), _again(call, asked))

    def _read(self, call: Call, asked: Any, give: Callable[[Any], Any], before: list[Any], plain: Any) -> Any:
        if isinstance(plain, str):  # lines
            first, *tracked = (json.loads(line) for line in plain.splitlines())
            return give(Export(**first, tracked=tracked))
        if isinstance(asked, list):
            assert call.many is not None
            return give(load(list[call.answers], plain[call.many.answers], is_strict=False))  # type: ignore[name-defined]
        answer = load(call.answers, plain, is_strict=False)
        if call.following is None or asked.limit != call.asks._field_defaults["limit"]:
            return give(answer)
        rows, following = [*before, *call.give(answer)], call.following(asked, answer)
        if following is not None:
            return self._request(call, following, give, rows)
        return give(answer._replace(**{answer._fields[0]: rows}))

    @property
    def is_numbered(self) -> Any:
        """Whether rounds go by their numbers (True) or by the caller's ids (False); None before the first."""
        return self._fact("is_numbered")

    @property
    def capacity(self) -> Any:
        """How many rounds may be tracked at once; None for no limit."""
        return self._fact("capacity")

    def _fact(self, name: str) -> Any:
        call = calls_of(self._kind)["status"]
        return self.perform(call, call.asks(), lambda status: getattr(status, name))

    def delete(self) -> Any:
        """Remove it from the store, for good."""
        return self._send(Request("DELETE", self._path, None, lambda _: None, False))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def close(self) -> None:
        """Do nothing: the connection is closed by whoever made it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _again(call: Call, asked: Any) -> bool:
    return call.is_look or call.is_repeatable(asked)


def _query(plain: dict[str, Any]) -> str:
    listed = [(name, part) for name, value in plain.items() for part in (value if isinstance(value, list) else [value])]
    return "&".join(f"{name}={quote(part if isinstance(part, str) else json.dumps(part))}" for name, part in listed)


def _with_methods(kind: type, own: Any) -> None:
    """Give a class the methods of the library's own that ask a call, with their signatures and help."""
    for name, (call, is_many) in methods_of(own._kind).items():
        if name != "takes":
            setattr(kind, name, _method(getattr(own, name), call, is_many))


def _method(own: Any, call: Call, is_many: bool) -> Any:
    takes = signature(own)

    def method(self: Any, *args: Any, **named: Any) -> Any:
        takes.bind(self, *args, **named)  # refuses what the library's method does not take
        if is_many:
            many = call.many
            assert many is not None
            return self.perform(call, many.spread(self, *args, **named), partial(many.collect, self))
        ask = partial(call.ask, self) if call.ask is not None else call.asks
        return self.perform(call, ask(*args, **named), call.give)

    method.__name__, method.__doc__, method.__signature__ = own.__name__, own.__doc__, takes  # type: ignore[attr-defined]
    return method


class RemoteJoin(Remote):
    """A :class:`tarry.LabelJoin` of a server: the same methods, and from an async connection, to be awaited."""

    _room, _kind = "joins", LabelJoin._kind


class RemoteSession(Remote):
    """A :class:`tarry.Session` of a server: the same methods, and from an async connection, to be awaited."""

    _room, _kind = "sessions", Session._kind

    def __init__(self, connection: Any, name: str, takes: Takes) -> None:
        super().__init__(connection, name)
        self.takes = takes


_with_methods(RemoteJoin, LabelJoin)
_with_methods(RemoteSession, Session)
