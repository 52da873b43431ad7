"""A plug-in for pytest: the tests of joins and sessions, made over HTTP instead of in this process.

``pytest -p over_http --over async tests/live/test_windows.py`` starts a server and puts clients of it in the place of
``tarry.LabelJoin`` and ``tarry.Session``. A store's address and name become a name on the server. Tests that look into
an object of this process, or hand over what JSON does not have, are left out, by name and with the reason.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from serving import Served

import tarry
from tarry.client import AsyncConnection

_numbers = count(1)
_LONG = "makes many thousands of calls, one after the other"
_SHOWN = "is about an object of this process: how it is shown, and what it says when it is closed"
# By a part of the test's name: what cannot be said over HTTP, or not in a moment.
LEFT_OUT = {
    "test_weighted_sums_are_unbiased": _LONG,
    "test_an_estimate_covers": _LONG,
    "test_with_its_window_a_believed_rate": _LONG,
    "test_views": _SHOWN,
    "test_what_was_closed": _SHOWN,
    "test_stores_that_are_not": "is about addresses of stores, which a client does not choose",
    "test_live_calls_may_follow_a_log": "replays a log, event by event, beside its store",
    "test_a_stream_is": "replays a log, event by event, beside its store",
    "test_without_an_end_only": "replays a log, event by event, beside its store",
    "test_a_list_may_contain_itself": "keeps an object as it is, and JSON has no list within itself",
    "test_the_first_label_is_handed_back": "gets the very object back, not one that is equal",
    "is_refused_when_it_comes[complex": "hands over a complex number, which is refused before it is sent",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--over", default="sync", choices=("sync", "async"))
    parser.addoption("--over-store", default="")
    parser.addoption("--over-workers", default="1")


def pytest_configure(config: pytest.Config) -> None:
    folder = Path(tempfile.mkdtemp(prefix="tarry-over-"))
    config._served = served = Served(  # type: ignore[attr-defined]
        folder,
        config.getoption("over_store"),
        durability="process",
        workers=int(config.getoption("over_workers")),
    )
    if config.getoption("over") == "sync":
        connection: Any = tarry.connect(served.url, token=served.token)
    else:
        connection = Blocking(served)
    tarry.LabelJoin = _kind(connection, "join", tarry.LabelJoin)  # type: ignore[misc, assignment]
    tarry.Session = _kind(connection, "session", tarry.Session)  # type: ignore[misc, assignment]


def pytest_unconfigure(config: pytest.Config) -> None:
    config._served.stop()  # type: ignore[attr-defined]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = {item for item in items if any(part in item.nodeid for part in LEFT_OUT)}
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


def _name(store: Any, name: str) -> str:
    if store == "memory:":
        return f"m{next(_numbers)}"
    return sha256(f"{store} {name}".encode()).hexdigest()[:20]


def _kind(connection: Any, word: str, own: Any) -> Any:
    """What is called and opened like a class of the library."""

    class Kind:
        __doc__ = own.__doc__

        def __new__(
            cls, *given: Any, store: Any = "memory:", name: str = "main", durability: str = "", **rules: Any
        ) -> Any:
            if word == "join" and not given:
                given = (rules.pop("capacity"),)
            rng = rules.pop("rng", None)
            return getattr(connection, word)(*given, name=_name(store, name), rng=rng, **rules)

        @staticmethod
        def open(store: Any, *, name: str = "main", durability: str = "") -> Any:
            return getattr(connection, f"open_{word}")(_name(store, name))

    return Kind


class Blocking:
    """An async connection, each of whose calls is waited for."""

    def __init__(self, served: Served) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._inner = self._wait(self._connect(served))

    async def _connect(self, served: Served) -> AsyncConnection:
        return tarry.connect_async(served.url, token=served.token)

    def _wait(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(120)

    def __getattr__(self, name: str) -> Any:
        return self._waiting(getattr(self._inner, name), _Waited)

    def _waiting(self, method: Any, wrap: Any = None) -> Any:
        def call(*given: Any, **rules: Any) -> Any:
            found = method(*given, **rules)
            answer = self._wait(found) if asyncio.iscoroutine(found) else found
            return wrap(self, answer) if wrap is not None else answer

        return call


class _Waited:
    """A remote object whose calls are waited for."""

    def __init__(self, blocking: Blocking, inner: Any) -> None:
        self._blocking, self._inner = blocking, inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if asyncio.iscoroutine(found):  # of a property
            return self._blocking._wait(found)
        return self._blocking._waiting(found)

    def __enter__(self) -> _Waited:
        return self

    def __exit__(self, *_: object) -> None:
        pass
