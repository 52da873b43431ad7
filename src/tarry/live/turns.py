"""Whose turn it is: one call at a time, in one process."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, Protocol
from weakref import WeakSet

from tarry.errors import StoreError

new_lock = threading.RLock
_watched: WeakSet[Any] = WeakSet()


def is_running(wanted: Any) -> bool:
    """Whether a frame is among those of the calls under way in this thread."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame is not wanted:
        frame = frame.f_back
    return frame is not None


def watch_forks(holder: Any) -> None:
    """Give this object a new ``lock`` in every process forked from here.

    A thread that held the old one is not there to let go of it. What that thread left half done is found as after an
    interrupt: its frame is on nobody's stack.
    """
    _watched.add(holder)


def _renew_locks() -> None:
    for holder in list(_watched):
        holder.lock = new_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


class Read(Protocol):
    """What can be read: a vault."""

    store: Any

    def begin_to_read(self, frame: Any) -> None:
        """Begin, for the call of this frame."""

    def end_reading(self) -> None:
        """End."""


class Reading:
    """The block of one look. No generator: its own frame is on no stack while the block runs, and is told from none."""

    def __init__(self, vault: Read) -> None:
        self._vault = vault

    def __enter__(self) -> None:
        self._vault.begin_to_read(sys._getframe(1))

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._vault.end_reading()
        if isinstance(error, self._vault.store.errors):
            raise StoreError(self._vault.store.explain(error)) from error
