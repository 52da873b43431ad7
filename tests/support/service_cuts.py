"""The service when connections are cut and its store goes away: callers go on, nothing acknowledged is lost.

The load is that of ``service_kills``, with fewer connections. One proxy stands between callers and server, another
between server and PostgreSQL; each cuts connections at random bytes. Then PostgreSQL is stopped, in order and as by a
crash, and started again. ``python tests/support/service_cuts.py 200 20`` makes 200 cuts of each kind and 20 restarts.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from cutting import Proxy
from outbox_kills import STEPS
from postgres import Server
from service_kills import load
from serving import Served

TO_SERVER, TO_STORE = 6_000.0, 60_000.0  # bytes of a connection in one direction before it is cut, on average
LOAD = {"connections": 8, "batch": 10}  # requests that get through between two cuts
LIFE = 1.0  # seconds between two restarts on average


def cut_often(
    server: Server, schema: str, cuts: int, scratch: Path, *, workers: int = 4, steps: int = STEPS
) -> dict[str, int]:
    """Cut connections that often, of callers and of the store; return what was counted."""
    place = server.url(schema)
    to_store = Proxy(server.port, 0.0, seed=1)
    served = Served(scratch, place.replace(f":{server.port}/", f":{to_store.port}/"), workers=workers)
    to_server = Proxy(served.port, TO_SERVER, seed=2)
    try:
        with load(served, f"http://127.0.0.1:{to_server.port}", **LOAD, steps=steps) as counts:
            to_store.mean = TO_STORE
            until = time.monotonic() + 600
            while min(to_server.cuts, to_store.cuts) < cuts:
                assert time.monotonic() < until, (to_server.cuts, to_store.cuts)
                time.sleep(0.05)
            counts |= {"cuts of callers": to_server.cuts, "cuts of the store": to_store.cuts}
            to_server.mean = to_store.mean = 0.0
        return counts
    finally:
        served.stop()
        to_server.close()
        to_store.close()


def restart_often(
    server: Server, schema: str, restarts: int, scratch: Path, *, workers: int = 4, steps: int = STEPS
) -> dict[str, int]:
    """Stop and start PostgreSQL that often, every second time as by a crash; return what was counted."""
    draw = np.random.default_rng(3)
    served = Served(scratch, server.url(schema), workers=workers)
    try:
        with load(served, **LOAD, steps=steps) as counts:
            counts |= {"restarts": 0, "answers that it is away": 0}
            while counts["restarts"] < restarts:
                time.sleep(min(draw.exponential(LIFE), 3 * LIFE))
                server.stop((signal.SIGINT, signal.SIGQUIT)[counts["restarts"] % 2])
                status, said = served.call("GET", "/readyz")
                assert status == 503, said
                assert "cannot be reached" in said["detail"]
                counts["answers that it is away"] += 1
                server.start(server.port)
                counts["restarts"] += 1
                served.wait()
        return counts
    finally:
        served.stop()


def main(cuts: int, restarts: int) -> None:
    """Cut and restart that often, and tell how long it took."""
    server = Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for what, often, times in (("cut", cut_often, cuts), ("restarted", restart_often, restarts)):
                begun, scratch = time.monotonic(), Path(folder) / what
                scratch.mkdir()
                told = ", ".join(f"{count} {word}" for word, count in often(server, what, times, scratch).items())
                sys.stdout.write(f"{what}: {told}, none lost, none twice; {time.monotonic() - begun:.0f} s\n")
                sys.stdout.flush()
    finally:
        server.remove()


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3] or (200, 20)))
