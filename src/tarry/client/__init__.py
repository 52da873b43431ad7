"""Joins and sessions of a ``tarry serve`` elsewhere, with the methods of those in this process.

``connect`` gives them with plain methods, ``connect_async`` with methods to be awaited; both share their lines.
"""

from tarry.client.connection import AsyncConnection, Connection, connect, connect_async
from tarry.client.remote import RemoteJoin, RemoteSession

__all__ = ["AsyncConnection", "Connection", "RemoteJoin", "RemoteSession", "connect", "connect_async"]
