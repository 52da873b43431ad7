"""Connections to SQLite files after a fork."""

from __future__ import annotations

import os
import sqlite3
from typing import Any
from weakref import WeakSet

from tarry.errors import StoreError

open_stores: WeakSet[Any] = WeakSet()  # of this process, or of one that it was forked from


def let_go_of_parents() -> None:
    """After a fork, close what the parent had open.

    Locks are not inherited, but SQLite believes it has them for as long as a connection of the parent's is open here,
    and takes none of its own: others would then remove the log beneath us. Closing takes nothing from the parent.
    """
    parents = [store for store in open_stores if store.process != os.getpid()]
    for store in parents:
        if _is_busy(store.database):
            raise StoreError(
                f"this process was forked while another thread was busy with {store.path}: fork before that, or spawn"
            )
        store.database.close()
    for store in parents:
        open_stores.discard(store)


def _is_busy(database: sqlite3.Connection) -> bool:
    try:
        return database.in_transaction
    except sqlite3.ProgrammingError:
        return False  # closed already
