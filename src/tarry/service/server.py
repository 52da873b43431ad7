"""The program around the application: sockets, TLS, workers, the log, and an orderly end.

Slow headers and half-open connections are the reverse proxy's (docs/service.md).
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from functools import partial
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from tarry.service.app import make_app
from tarry.service.settings import Settings

_MOST_START = 30  # seconds for a worker to come up on a busy machine; one that takes longer is begun anew
_SHARED = "PROMETHEUS_MULTIPROC_DIR"
_IDLE = 4  # connections for each request at once: others than callers hold some


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
    config = uvicorn.Config(
        partial(make_app, settings),
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        loop="uvloop" if sys.platform != "win32" else "auto",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=_LOGGING,
        server_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies) or None,
        limit_concurrency=_IDLE * settings.connections,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=settings.drain,
        timeout_worker_healthcheck=_MOST_START,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )
    listening = config.bind_socket()
    if settings.workers == 1:
        uvicorn.Server(config).run(sockets=[listening])
        return
    with tempfile.TemporaryDirectory(prefix="tarry-metrics-") as folder:
        os.environ.setdefault(_SHARED, folder)
        Workers(config, sockets=[listening]).run()
