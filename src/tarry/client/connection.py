"""Connections to a server: plain, and to be awaited."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from tarry.checks import as_choice
from tarry.client.remote import Call, RemoteJoin, RemoteSession
from tarry.client.wire import length_of, python_number
from tarry.errors import Mismatch, Missing, NotAllowed, StoreError, TarryError
from tarry.live.configuration import plain_member
from tarry.live.labels import RULES
from tarry.live.stores import MAIN
from tarry.live.values import text_of
from tarry.tracking import as_player

if TYPE_CHECKING:
    import httpx

TOKEN = "TARRY_TOKEN"
PATIENCE = 30.0  # seconds for an answer


class _Connection:
    """Joins and sessions of a server by name."""

    send: Callable[[Call], Any]

    def join(self, capacity: int | None, *, name: str = MAIN, rng: int | None = None, **rules: Any) -> Any:
        """Make a join, or find the same one; arguments are those of :class:`tarry.LabelJoin`, without ``store``."""
        as_choice(rules.get("labels", "first"), "labels", RULES)
        scheduler = rules.pop("scheduler", None)
        if scheduler is not None:
            rules["scheduler"] = scheduler if isinstance(scheduler, str) else plain_member(scheduler)
        if rules.get("window") is not None:
            rules["window"] = length_of(rules["window"])
        body = {"capacity": python_number(capacity), "seed": rng} | {
            key: python_number(value) for key, value in rules.items()
        }
        path = f"/v1/joins/{quote(name, safe='')}"
        return self.send(Call("POST", path, body, lambda _: RemoteJoin(self, name)))

    def session(
        self, player: Any, *, capacity: int | None, name: str = MAIN, rng: int | None = None, **rules: Any
    ) -> Any:
        """Make a session, or find the same one; arguments are those of :class:`tarry.Session`, without ``store``."""
        body = {"player": plain_member(as_player(player)), "capacity": python_number(capacity), "seed": rng}
        path = f"/v1/sessions/{quote(name, safe='')}"
        return self.send(Call("POST", path, body | rules, lambda _: RemoteSession(self, name)))

    def open_join(self, name: str = MAIN) -> Any:
        """Return a join that is there; raise Missing if there is none."""
        return self.send(
            Call("GET", f"/v1/joins/{quote(name, safe='')}/ledger", None, lambda _: RemoteJoin(self, name))
        )

    def open_session(self, name: str = MAIN) -> Any:
        """Return a session that is there; raise Missing if there is none."""
        path = f"/v1/sessions/{quote(name, safe='')}/ledger"
        return self.send(Call("GET", path, None, lambda _: RemoteSession(self, name)))

    def names(self, kind: str = "joins", limit: int = 200, after: int = 0) -> Any:
        """Return the names of joins, or of sessions, oldest first."""
        path = f"/v1/{as_choice(kind, 'kind', ('joins', 'sessions'))}?status=false&limit={limit}&after={after}"
        return self.send(Call("GET", path, None, lambda told: [one["name"] for one in told["items"]]))


class Connection(_Connection):
    """A server's joins and sessions, with plain methods; safe to share between threads."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def send(self, call: Call) -> Any:
        """Make a request and return what its answer says."""
        import httpx

        try:
            answer = self._client.request(call.method, call.path, content=_text(call.body))
        except httpx.HTTPError as error:
            raise _unreachable(error) from error
        return _read(call, answer)

    def close(self) -> None:
        """Close all connections to the server."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncConnection(_Connection):
    """A server's joins and sessions, with methods to be awaited."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def send(self, call: Call) -> Any:
        """Make a request and return what its answer says."""
        import httpx

        try:
            answer = await self._client.request(call.method, call.path, content=_text(call.body))
        except httpx.HTTPError as error:
            raise _unreachable(error) from error
        return _read(call, answer)

    async def close(self) -> None:
        """Close all connections to the server."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def connect(url: str, *, token: str | None = None, timeout: float = PATIENCE) -> Connection:
    """Return the joins and sessions of a server; the token is that of the variable TARRY_TOKEN unless given."""
    import httpx

    return Connection(httpx.Client(transport=httpx.HTTPTransport(retries=2), **_options(url, token, timeout)))


def connect_async(url: str, *, token: str | None = None, timeout: float = PATIENCE) -> AsyncConnection:
    """Return the same with methods to be awaited."""
    import httpx

    transport = httpx.AsyncHTTPTransport(retries=2)
    return AsyncConnection(httpx.AsyncClient(transport=transport, **_options(url, token, timeout)))


def _options(url: str, token: str | None, timeout: float) -> dict[str, Any]:
    given = token or os.environ.get(TOKEN)
    if not given:
        raise ValueError(f"a server wants a token: give token=…, or set {TOKEN}")
    headers = {"authorization": f"Bearer {given}", "content-type": "application/json"}
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": timeout}


def _unreachable(error: Exception) -> StoreError:
    said = "whether this call was made is unknown: the same call again is recognised by its id"
    return StoreError(f"the server did not answer ({type(error).__name__}: {error}); {said}")


def _text(body: Any) -> bytes | None:
    return None if body is None else text_of(body, "a request").encode()


_ERRORS: dict[int, Callable[[str], Exception]] = {401: NotAllowed, 403: NotAllowed, 404: Missing, 409: Mismatch}


def _read(call: Call, answer: Any) -> Any:
    """Return what an answer says; raise the error that a problem tells of, as this process would have."""
    if answer.status_code < 400:
        is_lines = answer.headers.get("content-type", "").startswith("application/x-ndjson")
        return call.read(answer.text if is_lines else answer.json() if answer.content else None)
    try:
        problem = answer.json()
        detail = problem["detail"]
    except (ValueError, KeyError, TypeError):
        raise TarryError(f"the server answered {answer.status_code} without a word: is this a tarry serve?") from None
    if answer.status_code in _ERRORS:
        raise _ERRORS[answer.status_code](detail)
    if answer.status_code >= 500 or answer.status_code in (408, 429):
        raise StoreError(detail)
    raise ValueError(detail)
