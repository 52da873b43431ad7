"""Connections to PostgreSQL that the sessions and joins of a process share, each for as long as a transaction takes.

A server that has hundreds of joins open would else hold a connection for each, and databases allow about a hundred.
"""

from __future__ import annotations

import os
from threading import BoundedSemaphore, Condition, Lock
from typing import Any
from weakref import WeakSet, WeakValueDictionary, finalize

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from tarry.errors import StoreError
from tarry.live.stores import PATIENCE

Connection = psycopg.Connection[Any]
MOST = 16  # connections of a process to one database
# A host that is gone without a word is noticed; what the address says of these goes first.
_OPTIONS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
# A process that has stopped in the middle of a call must not keep the others waiting for ever.
_SETTINGS = (
    "SELECT set_config('client_min_messages', 'warning', false), set_config('synchronous_commit', %s, false), "
    "set_config('lock_timeout', %s, false), set_config('idle_in_transaction_session_timeout', %s, false)"
)


class Pool:
    """Connections to one address that wait for their next transaction, at most so many together with those at work."""

    def __init__(self, url: str, commit_mode: str) -> None:
        self.process = os.getpid()
        self._url, self._commit_mode = url, commit_mode
        self.resting = BoundedSemaphore(MOST // 2)  # for whoever holds a connection while it waits for others
        self._idle: list[Connection] = []
        self._lent: WeakSet[Connection] = WeakSet()  # a call that was cut short may never give its own back
        self._coming, self._users, self._change = 0, 0, Condition()
        finalize(self, _close_all, self._idle, self.process)  # where its users were never closed

    def join(self) -> None:
        """Count one who will take connections."""
        with self._change:
            self._users += 1

    def leave(self) -> None:
        """Count one less; after the last, nothing stays open."""
        with self._change:
            self._users -= 1
            while self._idle and not self._users:
                self._idle.pop().close()

    def take(self) -> Connection:
        """Return a connection, new if none waits; wait where all are at work."""
        with self._change:
            if not self._change.wait_for(self._has_room, PATIENCE):
                problem = f"all {MOST} connections of this process have been at work for {PATIENCE:.0f} seconds"
                raise StoreError(f"{problem}; nothing was changed: call again")
            self._coming += 1
        found = None
        try:
            found = self._waiting() or self._connect()
            return found
        finally:
            with self._change:
                self._coming -= 1
                if found is not None:
                    self._lent.add(found)
                else:
                    self._change.notify()

    def _has_room(self) -> bool:
        if len(self._lent) + self._coming >= MOST:
            self._lent = WeakSet(one for one in self._lent if not one.closed)
        return len(self._lent) + self._coming < MOST

    def _waiting(self) -> Connection | None:
        """Return a connection that waits, unless its other end has gone."""
        while True:
            with self._change:
                found = self._idle.pop() if self._idle else None
            if found is None or _is_alive(found):
                return found
            found.close()

    def give(self, connection: Connection) -> None:
        """Take a connection back; one that is broken, or in the middle of something, is closed."""
        is_whole = not connection.closed and connection.info.transaction_status is TransactionStatus.IDLE
        with self._change:
            self._lent.discard(connection)
            is_kept = is_whole and self._users > 0
            if is_kept:
                self._idle.append(connection)
            self._change.notify()
        if not is_kept:
            connection.close()

    def _connect(self) -> Connection:
        made = psycopg.connect(**_OPTIONS | conninfo_to_dict(self._url), autocommit=True)
        try:
            made.execute(_SETTINGS, (self._commit_mode, f"{1000 * PATIENCE:.0f}", f"{500 * PATIENCE:.0f}"))
        except BaseException:
            made.close()
            raise
        return made


def _close_all(connections: list[Connection], process: int) -> None:
    if process == os.getpid():  # a parent's own are not closed here
        for one in connections:
            one.close()


def _is_alive(connection: Connection) -> bool:
    """Return whether the server has not ended a connection that was waiting, as far as the system knows."""
    try:
        for _ in range(2):  # its last words, and then the end
            connection.pgconn.consume_input()
    except psycopg.Error:
        return False
    return not connection.closed


_pools: WeakValueDictionary[tuple[str, str, int], Pool] = WeakValueDictionary()
_making = Lock()


def _renew_lock() -> None:
    global _making
    _making = Lock()  # whoever held the old one is not there after a fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def pool_of(url: str, commit_mode: str) -> Pool:
    """Return the connections of this process to an address; a connection does not survive a fork."""
    with _making:
        pool = _pools.get((url, commit_mode, os.getpid()))
        if pool is None:
            pool = _pools[url, commit_mode, os.getpid()] = Pool(url, commit_mode)
        pool.join()
        return pool
