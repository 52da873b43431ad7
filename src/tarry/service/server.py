"""The program around the application: sockets, TLS, workers, patience with slow clients, and an orderly end."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from tarry.service.app import make_app
from tarry.service.problems import MEDIA, body_of
from tarry.service.settings import Settings

_MOST_HEADERS = 64 << 10  # bytes
_MOST_QUEUED = 64  # requests of one connection that wait for the answers to those before them
_MOST_START = 30  # seconds for a worker to come up on a busy machine; one that takes longer is begun anew
_SHARED = "PROMETHEUS_MULTIPROC_DIR"
_UNREADABLE = {
    400: "this is no request of HTTP/1.1, or ends in the middle: see RFC 9112",
    408: "the headers did not come in time: send them again",
    431: f"headers have at most {_MOST_HEADERS} bytes: send fewer",
}


class Patient(HttpToolsProtocol):
    """The protocol of a connection: headers must come within some seconds, and fit a limit."""

    _answered: Any = None  # the request that is answered now, where others have come behind it

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        if self._deadline is None and self.cycle is not None and self.cycle.response_complete:
            self._await_headers()  # of the next request on this connection
        self._unread += len(data)
        super().data_received(data)
        if self._deadline is not None and self._unread > _MOST_HEADERS:
            self._refuse(431)

    def on_message_begin(self) -> None:
        if self._deadline is None:  # it follows at once, before the one before it is answered
            self._await_headers()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        if len(self.pipeline) >= _MOST_QUEUED:
            self._refuse(431)
            raise ValueError("too many requests wait on this connection")
        # What came at once may be headers and body, and is rarely worth a closer look.
        if self._unread > _MOST_HEADERS:
            size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            if size > _MOST_HEADERS:
                self._refuse(431)
                raise ValueError("the headers are too large")  # so that nothing more of it is read
        super().on_headers_complete()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return whether to answer a request that is here whole, though no other will follow on its connection."""
        cycle = self.cycle
        is_whole = cycle is not None and not cycle.more_body and not cycle.response_started
        if is_whole and self.transport.get_extra_info("sslcontext") is None:  # TLS has no half that stays open
            cycle.keep_alive = False
            return True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._let_go()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400)

    def _await_headers(self) -> None:
        self._unread = 0
        self._start_waiting()

    def _start_waiting(self) -> None:
        patience = getattr(self.config, "patience", Wanted.patience)
        self._deadline: asyncio.TimerHandle | None = self.loop.call_later(patience, self._give_up)

    def _give_up(self) -> None:
        """Refuse headers that have not come, unless it is this side that does not read them yet."""
        if self.flow.read_paused:
            self._start_waiting()
        else:
            self._refuse(408)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int) -> None:
        """Say what is wrong with a request that cannot be read, if one has begun, and close the connection."""
        if self._owes_another():  # which this would be taken for
            self.transport.abort()
            self._let_go()
            return
        if self._unread and not self.transport.is_closing():
            body = body_of(status, _UNREADABLE[status])
            head = f"content-type: {MEDIA}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head.encode() + body)
        self.transport.close()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def _let_go(self) -> None:
        """Forget requests that wait, and tell the one being answered that nobody hears it; the last one is told."""
        self.pipeline.clear()
        if self._answered is not None:
            self._answered.disconnected = True
            self._answered.message_event.set()

    def _owes_another(self) -> bool:
        """Return whether an earlier request, or one whose answer has begun, is still to be answered."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return False
        return bool(self.pipeline) or cycle.response_started or not cycle.more_body


class Wanted(uvicorn.Config):
    """What uvicorn is told, and how long a request may take to arrive."""

    patience = 30.0


class Workers(Multiprocess):
    """Worker processes; one that dies is begun anew at once."""

    def keep_subprocess_alive(self) -> None:
        """Ask every worker whether it lives, and begin those that do not anew."""
        for process in self.processes:
            process.child_conn.close()  # the worker's own end: while it is open here, a dead worker's pipe has no end
        super().keep_subprocess_alive()


class Lines(logging.Formatter):
    """Log records as lines of JSON, which no text of a request can break out of."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        said: dict[str, Any] = {"time": round(record.created, 3), "level": record.levelname.lower()}
        said |= {"logger": record.name, "message": record.getMessage(), **getattr(record, "facts", {})}
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said, default=str)


_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"lines": {"()": "tarry.service.server.Lines"}},
    "handlers": {"lines": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}},
    "loggers": {name: {"handlers": ["lines"], "level": "INFO", "propagate": False} for name in ("tarry", "uvicorn")},
}


def serve(settings: Settings) -> None:
    """Serve until a signal says otherwise."""
    config = Wanted(
        partial(make_app, settings),
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        http=Patient,
        loop="uvloop" if sys.platform != "win32" else "auto",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=_LOGGING,
        server_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies) or None,
        limit_concurrency=settings.connections,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=settings.drain,
        timeout_worker_healthcheck=_MOST_START,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )
    config.patience = settings.patience
    listening = config.bind_socket()
    if settings.workers == 1:
        uvicorn.Server(config).run(sockets=[listening])
        return
    with tempfile.TemporaryDirectory(prefix="tarry-metrics-") as folder:
        os.environ.setdefault(_SHARED, folder)
        Workers(config, sockets=[listening]).run()
