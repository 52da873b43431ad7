"""What stands before every request: an id, a token, limits, headers, and the time it took."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from itertools import count
from typing import Any, NamedTuple

from tarry.service.metrics import Metrics
from tarry.service.problems import COME_AGAIN, MEDIA, Refusal, as_refusal
from tarry.service.settings import Settings
from tarry.service.tokens import Token, Tokens

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_logger = logging.getLogger("tarry.service.access")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
# Pages that need no token, and show nothing of what is kept: the console asks for one.
_OPEN = re.compile(r"/(healthz|readyz|(v1/)?openapi\.json|docs|favicon\.ico|console(/.*)?)?")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_NO_STORE = (b"cache-control", b"no-store")
_HSTS = (b"strict-transport-security", b"max-age=31536000")
_BURST = 2.0  # seconds' worth of requests that may come at once
_MOST_HELD = 64 << 20  # bytes of bodies that are being read or answered; as values they take many times as much


class State(NamedTuple):
    """What is known of a request before it is read."""

    id: str
    token: Token


_NOBODY = Token("nobody", b"", "read", frozenset())


class Guard:
    """Middleware around the whole application, without a task or a copy of its own."""

    def __init__(self, api: Any, pages: Any, settings: Settings, tokens: Tokens, metrics: Metrics) -> None:
        self._api, self._pages, self._settings, self._tokens, self._metrics = api, pages, settings, tokens, metrics
        self._allowances: dict[str, tuple[float, float]] = {}
        self._mark, self._numbers = secrets.token_hex(4), count()  # of requests that come without an id
        self.is_draining, self._held, self._open = False, 0, 0  # bytes of bodies, and requests
        self._extra = [*_HEADERS, *([_HSTS] if settings.certificate is not None else [])]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._pages(scope, receive, send)
            return
        began = time.perf_counter()
        given = dict(scope["headers"])  # of a header that comes twice, the last
        asked = given.get(b"x-request-id", b"")
        id = asked.decode() if _ID.fullmatch(asked) else f"{self._mark}{next(self._numbers):08x}"
        status, has_begun, path, taken = 500, False, scope["path"], [0]
        is_api = path.startswith("/v1/") and path != "/v1/openapi.json"

        async def sent(message: Message) -> None:
            nonlocal status, has_begun
            if message["type"] == "http.response.start":
                status, has_begun = message["status"], True
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", id.encode()), *self._extra]
                if is_api:
                    message["headers"].append(_NO_STORE)
            if message.get("more_body"):
                async with asyncio.timeout(self._settings.patience):  # for whoever does not read
                    await send(message)
            else:
                await send(message)

        self._open += 1
        try:
            scope["tarry"] = State(id, self._admitted(scope, path, given))
            await (self._api if is_api else self._pages)(scope, self._limited(receive, taken), sent)
        except asyncio.CancelledError:  # the time for calls under way is over, but their writing goes on
            if has_begun:
                raise
            late = {"retry-after": "2", "connection": "close"}
            said = "this server has ended before it could answer, and whether this call is stored is unknown"
            await self._refuse(Refusal(503, said, late, is_stored="unknown"), id, sent)
        except TimeoutError:
            _logger.info("an answer was not read in time", extra={"facts": {"request_id": id}})
            raise
        except Exception as error:
            refused = as_refusal(error)
            if not has_begun:
                await self._refuse(refused, id, sent)
        finally:
            self._open -= 1
            self._held -= taken[0]
            took = time.perf_counter() - began
            self._metrics.observe(_route(scope), scope["method"], status, took)
            if self._settings.access_log:
                _log(scope, id, status, took)

    def _admitted(self, scope: Message, path: str, given: dict[bytes, bytes]) -> Token:
        """Return the token of a request; raise Refusal where it may not come in."""
        if self.is_draining:
            raise Refusal(503, "this server is ending: come again", {"retry-after": "2", "connection": "close"})
        if scope["http_version"] == "1.1" and sum(name == b"host" for name, _ in scope["headers"]) != 1:
            raise Refusal(400, "a request of HTTP/1.1 has one header Host: see RFC 9112", {"connection": "close"})
        if _OPEN.fullmatch(path):
            return _NOBODY
        length = given.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 18 or int(length) > self._settings.max_body:
            raise self._too_large()
        if given.get(b"content-encoding", b"identity") != b"identity":
            raise Refusal(415, "bodies are read as they are: send this one without an encoding")
        kind, _, text = given.get(b"authorization", b"").partition(b" ")
        token = self._tokens.find(text.strip().decode("latin-1")) if kind.lower() == b"bearer" else None
        if token is None:
            way = "send the header Authorization: Bearer TOKEN with a token of tarry token"
            raise Refusal(401, f"there is no token, or it is not known: {way}", {"www-authenticate": "Bearer"})
        if self._settings.rate:
            self._spend(token)
        if self._open > self._settings.connections:
            detail = f"{self._open - 1} requests are being answered already: come again"
            raise Refusal(503, detail, COME_AGAIN)
        return token

    def _too_large(self) -> Refusal:
        limit = f"a body has at most {self._settings.max_body} bytes: make several requests"
        return Refusal(413, limit, {"connection": "close"})  # what is still to come is not read

    def _spend(self, token: Token) -> None:
        """Take one request from the allowance of a token, which fills up with time; raise Refusal if it is empty."""
        rate, now = self._settings.rate, time.monotonic()
        most = max(1.0, _BURST * rate)
        left, last = self._allowances.get(token.name, (most, now))
        left = min(most, left + (now - last) * rate)
        if left < 1.0:
            wait = {"retry-after": str(max(1, round((1.0 - left) / rate)))}
            raise Refusal(429, f"the token {token.name!r} has {rate:g} requests a second: come again later", wait)
        self._allowances[token.name] = (left - 1.0, now)

    def _limited(self, receive: Receive, taken: list[int]) -> Receive:
        """Return the same with a limit on all bytes together, of this request (``taken``) and of all that are here."""

        async def received() -> Message:
            message = await receive()
            size = len(message.get("body", b""))
            taken[0] += size
            self._held += size
            if taken[0] > self._settings.max_body:
                raise self._too_large()
            if self._held > max(_MOST_HELD, self._settings.max_body):
                later = {"retry-after": "1", "connection": "close"}
                raise Refusal(503, "the bodies of other requests fill the memory there is for them: come again", later)
            return message

        return received

    async def _refuse(self, refused: Refusal, id: str, send: Send) -> None:
        body = refused.body(id)
        headers = {"content-type": MEDIA, "content-length": str(len(body)), **refused.headers}
        listed = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": refused.status, "headers": listed})
        await send({"type": "http.response.body", "body": body})


def _route(scope: Message) -> str:
    """Return the address of a request without the name in it; that of pages is one of few."""
    route = scope.get("route")
    return route if isinstance(route, str) else getattr(route, "path", None) or "other"


def _log(scope: Message, id: str, status: int, took: float) -> None:
    """Write one line about a request; its query and headers may hold secrets, and stay out."""
    token = scope["tarry"].token.name if "tarry" in scope else None
    facts = {"method": scope["method"], "path": scope["path"], "status": status, "seconds": round(took, 6)}
    _logger.info("request", extra={"facts": facts | {"request_id": id, "token": token}})
