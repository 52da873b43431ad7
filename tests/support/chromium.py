"""A browser for the tests: Debian's Chromium without a window, spoken to through a pipe, with no network to reach."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60.0
# The browser reads commands from descriptor 3 and answers on 4: the launcher puts the pipes there and becomes it.
LAUNCHER = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3); os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def install() -> Path:
    """Debian's browser, installed if it is missing."""
    with Path(tempfile.gettempdir(), "tarry-chromium-install").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # several pytest processes may come here at once
        if _find() is None and os.geteuid() == 0 and shutil.which("apt-get"):
            sys.stderr.write("installing Debian's chromium for the tests\n")
            quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            for step in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", "chromium"]):
                subprocess.run(["apt-get", *step], check=True, env=quiet, stdout=subprocess.DEVNULL)
    found = _find()
    if found is None:
        raise RuntimeError("the tests need Chromium: apt-get install chromium")
    return found


def _find() -> Path | None:
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    return Path(found) if found else None


class Sight(NamedTuple):
    """What came of opening a page: addresses asked for, complaints in the console, and a picture."""

    requests: list[str]
    complaints: list[str]
    picture: bytes


class Browser:
    """Started when made; ``open`` shows a page, ``ask`` evaluates an expression in the page shown last."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tarry-chromium-"))
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={self.folder}",
            "--remote-debugging-pipe",
        ]
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", LAUNCHER, str(commands), str(answers), str(install()), *flags],
                pass_fds=(commands, answers),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        os.close(commands)
        os.close(answers)
        self._buffer, self._count, self._events = b"", 0, []
        self._session: str | None = None

    def open(self, path: Path, *, dark: bool = False, width: int = 1000, height: int = 1400) -> Sight:
        """Show a page in a new tab, and wait until it is there."""
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        self._wait_for("Page.loadEventFired")
        time.sleep(0.3)  # what a page asks for late
        picture = base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])
        told = [event for event in self._events if event.get("sessionId") == self._session]
        requests = [e["params"]["request"]["url"] for e in told if e["method"] == "Network.requestWillBeSent"]
        return Sight(requests, [text for event in told for text in _complaints(event)], picture)

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def print(self) -> bytes:
        """The page as a PDF, on A4."""
        return base64.b64decode(self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and wait for its answer; events in between are kept."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read(method)
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._events.append(answer)

    def _wait_for(self, event: str) -> None:
        while not any(one.get("method") == event for one in self._events):
            self._events.append(self._read(event))

    def _read(self, awaited: str) -> Any:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            piece = os.read(self._answers, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError(f"no answer to {awaited}: {(self.folder / 'log').read_text()[-2000:]}")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def close(self) -> None:
        """End the browser, its children and its folder."""
        for end in (self._commands, self._answers):
            os.close(end)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)  # a session of its own: nobody else is in it
            self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)


def _complaints(event: dict[str, Any]) -> list[str]:
    """Errors and warnings of the console, of the page's scripts, and of what could not be loaded."""
    told = event["params"]
    if event["method"] == "Runtime.exceptionThrown":
        return [str(told["exceptionDetails"].get("text"))]
    if event["method"] == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
        return [str([argument.get("value") for argument in told["args"]])]
    if event["method"] == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
        return [told["entry"]["text"]]
    return [told["errorText"]] if event["method"] == "Network.loadingFailed" else []


if __name__ == "__main__":
    install()
