"""Connections to a server: plain, and to be awaited."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from tarry.checks import as_choice
from tarry.client.remote import RemoteJoin, RemoteSession, Request, body_of
from tarry.errors import Mismatch, Missing, NotAllowed, StoreError, TarryError, Uncertain
from tarry.live.calls import NewJoin, NewSession
from tarry.live.codec import load, written
from tarry.live.labels import RULES
from tarry.live.session import Takes
from tarry.live.stores import MAIN
from tarry.tracking import as_player

if TYPE_CHECKING:
    import httpx

TOKEN = "TARRY_TOKEN"
TIMEOUT = 30.0  # seconds for an answer
PATIENCE = 10.0  # seconds during which a call is made again
_UNKNOWN = "whether this call was made is unknown: the same call again is recognised by its id"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0  # seconds between two attempts


class _Connection:
    """Joins and sessions of a server by name."""

    send: Callable[[Request], Any]

    def make(self, room: str, name: str, wanted: NewJoin | NewSession) -> Any:
        """Make a join or session as the table has it; return what the server says of it."""
        return self.send(Request("POST", _path(room, name), body_of(written(wanted)), lambda told: told))

    def join(self, capacity: int | None, *, name: str = MAIN, rng: int | None = None, **rules: Any) -> Any:
        """Make a join, or find the same one; arguments are those of :class:`tarry.LabelJoin`, without ``store``."""
        as_choice(rules.get("labels", "first"), "labels", RULES)
        body = body_of(written(NewJoin(capacity, seed=rng, **rules)))
        return self.send(Request("POST", _path("joins", name), body, lambda _: RemoteJoin(self, name)))

    def session(
        self, player: Any, *, capacity: int | None, name: str = MAIN, rng: int | None = None, **rules: Any
    ) -> Any:
        """Make a session, or find the same one; arguments are those of :class:`tarry.Session`, without ``store``."""
        wanted = NewSession(capacity, as_player(player), seed=rng, **rules)
        return self.send(
            Request(
                "POST",
                _path("sessions", name),
                body_of(written(wanted)),
                lambda told: self._session(name, told["takes"]),
            )
        )

    def open_join(self, name: str = MAIN) -> Any:
        """Return a join that is there; raise Missing if there is none."""
        return self.send(Request("GET", f"{_path('joins', name)}/ledger", None, lambda _: RemoteJoin(self, name)))

    def open_session(self, name: str = MAIN) -> Any:
        """Return a session that is there; raise Missing if there is none."""
        path = f"{_path('sessions', name)}/takes"
        return self.send(Request("GET", path, None, partial(self._session, name)))

    def _session(self, name: str, takes: dict[str, Any]) -> RemoteSession:
        return RemoteSession(self, name, load(Takes, takes, is_strict=False))

    def names(self, kind: str = "joins") -> Any:
        """Return the names of all joins, or of all sessions, oldest first."""
        path = f"/v1/{as_choice(kind, 'kind', ('joins', 'sessions'))}?status=false&limit=200"
        return self.send(Request("GET", path, None, partial(_names, path, [])))


def _path(room: str, name: str) -> str:
    return f"/v1/{room}/{quote(name, safe='')}"


def _names(path: str, before: list[str], told: dict[str, Any]) -> list[str] | Request:
    names = [*before, *(item["name"] for item in told["items"])]
    if told["next"] is None:
        return names
    return Request("GET", f"{path}&after={quote(told['next'], safe='')}", None, partial(_names, path, names))


class Connection(_Connection):
    """A server's joins and sessions, with plain methods; safe to share between threads."""

    def __init__(self, client: httpx.Client, patience: float = 0.0) -> None:
        self._client, self._patience = client, patience

    def send(self, request: Request) -> Any:
        """Make a request, again while that does no harm, and return what its answer says."""
        import httpx

        attempts = _Attempts(request, self._patience)
        while True:
            try:
                answer = self._client.request(request.method, request.path, content=request.body)
            except httpx.HTTPError as error:
                pause = attempts.failed(error)
            else:
                wait = attempts.refused(answer)
                if wait is None:
                    found = _read(request, answer)
                    if not isinstance(found, Request):
                        return found
                    request, attempts = found, _Attempts(found, self._patience)
                    continue
                pause = wait
            time.sleep(pause)

    def close(self) -> None:
        """Close all connections to the server."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncConnection(_Connection):
    """A server's joins and sessions, with methods to be awaited."""

    def __init__(self, client: httpx.AsyncClient, patience: float = 0.0) -> None:
        self._client, self._patience = client, patience

    async def send(self, request: Request) -> Any:
        """Make a request, again while that does no harm, and return what its answer says."""
        import httpx

        attempts = _Attempts(request, self._patience)
        while True:
            try:
                answer = await self._client.request(request.method, request.path, content=request.body)
            except httpx.HTTPError as error:
                pause = attempts.failed(error)
            else:
                wait = attempts.refused(answer)
                if wait is None:
                    found = _read(request, answer)
                    if not isinstance(found, Request):
                        return found
                    request, attempts = found, _Attempts(found, self._patience)
                    continue
                pause = wait
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Close all connections to the server."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _Attempts:
    """When a call is made again: where it was not made, or where a second time has the same answer as the first."""

    def __init__(self, request: Request, patience: float) -> None:
        self._request, self._until, self._pause = request, time.monotonic() + patience, _FIRST_PAUSE

    def failed(self, error: Exception) -> float:
        """Return how long to wait after a request without an answer; raise StoreError where that is the end of it."""
        import httpx

        was_sent = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        pause = self._next(was_made=was_sent)
        if pause is None:
            raise _unreachable(error, was_sent=was_sent) from error
        return pause

    def refused(self, answer: httpx.Response) -> float | None:
        """Return how long to wait after this answer, or None where it is to be read."""
        wait = answer.headers.get("retry-after", "")
        if answer.status_code not in (429, 503) or not wait.isdigit():
            return None
        return self._next(float(wait), was_made=b'"is_stored":"unknown"' in answer.content)

    def _next(self, least: float = 0.0, *, was_made: bool) -> float | None:
        # Callers that were sent away together must not come again together.
        pause = max(least, self._pause) * (1.0 + random.random() / 2.0)
        if (was_made and not self._request.is_repeatable) or time.monotonic() + pause > self._until:
            return None
        self._pause = min(2.0 * self._pause, _LONGEST_PAUSE)
        return pause


def connect(url: str, *, token: str | None = None, timeout: float = TIMEOUT, patience: float = PATIENCE) -> Connection:
    """Return the joins and sessions of a server; the token is that of the variable TARRY_TOKEN unless given.

    An answer is waited for ``timeout`` seconds. While the server or its store is away, calls are made again for
    ``patience`` seconds: those that were not made, and those that give the same answer again.
    """
    import httpx

    return Connection(httpx.Client(**_options(url, token, timeout)), patience)


def connect_async(
    url: str, *, token: str | None = None, timeout: float = TIMEOUT, patience: float = PATIENCE
) -> AsyncConnection:
    """Return the same with methods to be awaited."""
    import httpx

    return AsyncConnection(httpx.AsyncClient(**_options(url, token, timeout)), patience)


def _options(url: str, token: str | None, timeout: float) -> dict[str, Any]:
    text = token or os.environ.get(TOKEN)
    if not text:
        raise ValueError(f"a server wants a token: give token=…, or set {TOKEN}")
    headers = {"authorization": f"Bearer {text}", "content-type": "application/json"}
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": timeout}


def _unreachable(error: Exception, *, was_sent: bool) -> StoreError:
    problem = f"the server did not answer ({type(error).__name__}: {error})"
    if not was_sent:
        return StoreError(f"{problem}; nothing was changed: is it running there?")
    return Uncertain(f"{problem}; {_UNKNOWN}")


_ERRORS: dict[int, Callable[[str], Exception]] = {401: NotAllowed, 403: NotAllowed, 404: Missing, 409: Mismatch}


def _read(request: Request, answer: Any) -> Any:
    """Return what an answer says; raise the error that a problem tells of, as this process would have."""
    if answer.status_code < 400:
        is_lines = answer.headers.get("content-type", "").startswith("application/x-ndjson")
        return request.read(answer.text if is_lines else answer.json() if answer.content else None)
    try:
        problem = answer.json()
        detail = problem["detail"]
    except (ValueError, KeyError, TypeError):
        problem = f"the server answered {answer.status_code} without a word"
        if answer.status_code >= 500 and answer.status_code != 503:  # a proxy's, say, while the server has gone on
            raise Uncertain(f"{problem}; {_UNKNOWN}") from None
        raise TarryError(f"{problem}: is this a tarry serve?") from None
    if answer.status_code in _ERRORS:
        raise _ERRORS[answer.status_code](detail)
    if answer.status_code >= 500 or answer.status_code in (408, 429):
        raise (Uncertain if problem.get("is_stored") == "unknown" else StoreError)(detail)
    raise ValueError(detail)
