"""A proxy on loopback that cuts connections after a random number of bytes, in either direction."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

import numpy as np

_RESET = struct.pack("ii", 1, 0)  # close with a reset, and throw away what is on its way


class Proxy:
    """Pass bytes on to a port; while ``mean`` is not 0, cut each connection after about so many bytes one way.

    Half of the cuts are resets, the others orderly ends. What was received up to the cut has been passed on, so a
    message is cut wherever the number of bytes falls.
    """

    def __init__(self, port: int, mean: float, seed: int = 0) -> None:
        self._target, self.mean, self.cuts = port, mean, 0
        self._draw, self._lock = np.random.default_rng(seed), threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port = int(self._listening.getsockname()[1])
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return  # closed
            try:
                far = socket.create_connection(("127.0.0.1", self._target), timeout=5)
            except OSError:  # nobody is there: the caller is told as it would be without a proxy
                near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                near.close()
                continue
            far.settimeout(None)
            for one in (near, far):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open |= {near, far}
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with self._lock:
            left, is_reset = int(self._draw.exponential(self.mean or 1.0)), self._draw.random() < 0.5
        try:
            while data := source.recv(1 << 16):
                if self.mean and len(data) >= left:
                    target.sendall(data[:left])
                    with self._lock:
                        self.cuts += 1
                    if is_reset:
                        for one in (source, target):
                            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    break
                left -= len(data)
                target.sendall(data)
        except OSError:
            pass  # the other direction was cut, or an end has gone
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # which wakes the thread of the other direction
            one.close()
            self._open.discard(one)

    def close(self) -> None:
        """Take no more connections and end those there are."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
