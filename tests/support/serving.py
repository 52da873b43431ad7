"""Servers for the tests: real processes on loopback, with a token, stopped by whoever started them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tarry.service.tokens import add_token


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Served:
    """A server in a process of its own."""

    scheme = "http"
    context: Any = None  # of TLS

    def __init__(self, folder: Path, store: str = "", **settings: Any) -> None:
        self.folder, self.tokens = folder, folder / "tokens.toml"
        self.store = store or f"sqlite:///{folder}/served.db"
        self.settings = settings
        self.token = add_token(self.tokens, "test", "admin")
        self.port = free_port()
        self.url = f"{self.scheme}://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        flags = {"store": self.store, "port": self.port, "tokens": self.tokens, "drain": 5, **self.settings}
        listed = [word for name, value in flags.items() for word in _flag(name.replace("_", "-"), value)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TARRY_")}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tarry", "serve", *listed], stdout=log, stderr=log, env=environment
            )
        self.wait()

    def wait(self) -> None:
        """Wait until it answers."""
        for _ in range(1200):
            try:
                if self.call("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                assert self.process.poll() is None, self.log()
            time.sleep(0.05)
        raise AssertionError(f"the server did not start: {self.log()}")

    def log(self) -> str:
        """What it wrote."""
        return (self.folder / "log").read_text()

    def call(
        self, method: str, path: str, body: Any = None, *, token: str | None = "", **headers: str
    ) -> tuple[int, Any]:
        """The status and the answer of a request."""
        known = {} if token is None else {"authorization": f"Bearer {token or self.token}"}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with urlopen(
                Request(self.url + path, data, known | named, method=method), timeout=60, context=self.context
            ) as found:
                status, text = found.status, found.read()
        except HTTPError as error:
            status, text = error.code, error.read()
        try:
            return status, json.loads(text) if text else None
        except ValueError:
            return status, text

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop it, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(60)


def _flag(name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    if isinstance(value, list):
        return [word for one in value for word in (f"--{name}", str(one))]
    return [f"--{name}", str(value)]
