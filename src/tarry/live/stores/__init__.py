"""Where sessions are kept: ``memory:``, ``sqlite:///file.db``, ``postgresql://…``, or a store of the caller's own.

A store keeps, for each named session, its configuration, the chunks of its regions (see ``live.buffers``) and one row
for each tracked or recent round. Checksums, versions and what to write are worked out in ``live.transactions``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tarry.errors import StoreError
from tarry.live.buffers import Chunk
from tarry.live.encoding import ItemRow

MAIN = "main"
POWER, PROCESS = "power", "process"
CLOSED = "this was closed: open it again"
PATIENCE = 60.0  # seconds to wait for another writer
MOUNTS = Path("/proc/mounts")
_NETWORKED = ("nfs", "cifs", "smb", "afs", "9p", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "fuse.sshfs", "davfs")
_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")
_SHARD = re.compile(r"(.*)#\d+/\d+", re.DOTALL)
OLD = (
    "{} is in format {}, this version of Tarry reads {}; nothing was changed: make a copy of it, for earlier versions "
    "cannot read it afterwards, and run tarry join upgrade --store {}"
)
LATER = "{} is in format {}, this version of Tarry reads {}; it was left as it is: use the version that wrote it"
FORMS = "'memory:', 'sqlite:///file.db' or 'postgresql://user@host/database'"


class Change(NamedTuple):
    """What one transaction writes: the new head, changed chunks by region, and rows by round (None: deleted).

    With a new ``configuration`` and its checksum, the chunks replace all that there were; rows are as ever.
    """

    head: Chunk
    chunks: Mapping[str, list[Chunk]]
    rows: Mapping[int, ItemRow | None]
    configuration: tuple[str, int] | None = None


class Store(Protocol):
    """The place of one session in a database.

    Failures of the database are ``errors``, which ``explain`` turns into sentences; ``where`` names the database in
    sentences. Between ``begin`` and ``commit`` or ``rollback`` lies one transaction. A store is used by one thread at a
    time, and by whichever thread has its turn.
    """

    where: str
    errors: tuple[type[Exception], ...]

    def names(self) -> list[str]:
        """Return the names of the sessions in the database, oldest first."""

    def configuration(self) -> tuple[str, int] | None:
        """Return the session's configuration and its checksum, or None if there is none of this name.

        Within a transaction, those that belong to its head.
        """

    def create(self, configuration: str, checksum: int, change: Change) -> bool:
        """Write a new session, all of it or nothing, making the database if need be; False if it exists."""

    def begin(self, *, writes: bool) -> Chunk:
        """Start a transaction and return the head. One that writes waits for others; readers wait for nobody."""

    def chunks(self, region: str, since: int, numbers: range | None = None) -> Iterable[Chunk]:
        """Return the chunks of a region written after a version, among these numbers, in their order."""

    def row(self, t: int) -> ItemRow | None:
        """Return the row of a round, or None."""

    def commit(self, change: Change) -> None:
        """Write a change and end the transaction; durable when it returns. If it raises, all was written or nothing."""

    def rollback(self) -> None:
        """End a transaction without a trace; do nothing where none is open."""

    def remove(self) -> None:
        """Remove the session with all that belongs to it, in a transaction of its own; do nothing if it is gone."""

    def close(self) -> None:
        """Let go of the database; may be called again."""

    def explain(self, error: Exception) -> str:
        """Return a sentence for one of ``errors``."""


def open_store(
    url: str | Store, name: str = MAIN, *, durability: str = POWER, must_exist: bool = False, upgrade: bool = False
) -> Store | None:
    """Return the place of a session in the database at an address (a store is returned as it is); None in memory.

    A database of an earlier format is refused, or with ``upgrade`` brought to this one.
    """
    if durability not in (POWER, PROCESS):
        raise ValueError(f"durability must be {POWER!r} or {PROCESS!r}, got {durability!r}")
    if not isinstance(name, str) or not name or re.search("[\x00\ud800-\udfff]", name):
        raise ValueError(f"the name of a session or join must be a text that databases can hold, got {name!r}")
    if url == "memory:":
        return None
    if not isinstance(url, str):
        if hasattr(url, "begin"):
            return url
        raise ValueError(f"store must be {FORMS}, got {_shown(url)}")
    if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
        from tarry.live.stores.sqlite import SQLite

        path = url.removeprefix(_SQLITE)
        if path == ":memory:" or "\0" in path:
            raise ValueError(f"{url!r} is no file: write store='memory:', or sqlite:/// with the path of one")
        shared = network_file_system(Path(path))
        if shared:
            problem = f"{path} lies on a network file system ({shared}), where SQLite's locks cannot be trusted"
            warnings.warn(f"{problem}: use a local disk, or a postgresql:// store", stacklevel=2)
        return SQLite(path, name, durability=durability, must_exist=must_exist, upgrade=upgrade)
    if is_postgres(url):
        from tarry.live.stores.postgres import Postgres

        return Postgres(url, name, durability=durability, must_exist=must_exist, upgrade=upgrade)
    raise ValueError(f"store must be {FORMS}, got {_shown(url)}")


def is_postgres(url: str) -> bool:
    """Return whether an address is that of a PostgreSQL database."""
    return url.startswith(_POSTGRES)


def _shown(url: Any) -> str:
    """Return how to show an address that is none, and what may have been meant."""
    if url == _SQLITE:
        return f"{url!r}: the path of a file belongs behind it"
    is_file = isinstance(url, str) and url.endswith((".db", ".sqlite"))
    # A path, or one behind too few strokes.
    is_near = is_file and ("://" not in url or (url.startswith("sqlite://") and not url.startswith(_SQLITE)))
    if isinstance(url, PathLike) or is_near:
        path = fspath(url).removeprefix("sqlite:")
        return f"{url!r}: for this file write '{_SQLITE}{path.removeprefix('//')}'"
    if isinstance(url, str) and url.lower().startswith(("memory:", _SQLITE, *_POSTGRES)):
        return f"{without_password(url)!r}: the part before the colon is written in small letters, with all its strokes"
    return repr(without_password(url))


def without_password(url: str) -> str:
    """Return an address as it may be shown and kept.

    >>> without_password("postgresql://ada:secret@db/main")
    'postgresql://ada@db/main'
    """
    scheme, mark, rest = str(url).partition("://")
    if str(url).startswith(_SQLITE) or not (mark or "password" in scheme):
        return str(url)
    place, _, options = rest.partition("?")  # options may hold one too
    if not mark or "@" in options:  # it cannot be told where the password ends
        return f"{scheme.partition(' ')[0]}{mark}…"
    user, at, host = place.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{host}"


def shard_name(name: str, shard: int, shards: int) -> str:
    """Return the name under which a shard of a join is stored."""
    return f"{name}#{shard}/{shards}"


def stored_names(url: str) -> list[str]:
    """Return the names of the sessions in a database."""
    store = open_store(url, must_exist=True)
    if store is None:
        return []
    try:
        return without_shards(store.names())
    except store.errors as error:
        raise StoreError(store.explain(error)) from error
    finally:
        store.close()


def without_shards(names: list[str]) -> list[str]:
    """Return the names of what people have made: shards belong to their joins.

    >>> without_shards(["clicks#0/2", "clicks#1/2", "clicks", "a#1"])
    ['clicks', 'a#1']
    """
    return [name for name in names if not (found := _SHARD.fullmatch(name)) or found[1] not in names]


def upgrade_store(url: str) -> int:
    """Bring all of a database to this version's format, in one transaction; return the format that it had.

    Earlier versions cannot read it afterwards.
    """
    store: Any = open_store(url, must_exist=True, upgrade=True)
    if not hasattr(store, "was_format"):
        raise ValueError(f"only databases have formats, got {_shown(url)}: give sqlite:/// or postgresql://")
    store.close()
    return int(store.was_format)


def network_file_system(path: Path) -> str:
    """Return the kind of network file system a path lies on, or nothing."""
    try:
        mounts = MOUNTS.read_text().splitlines()
    except OSError:
        return ""  # no such list on this system: nothing is known
    kinds = {}
    for line in mounts:  # a later one hides what is mounted there already
        _, place, kind, *_ = line.split(" ")
        kinds[re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), place)] = kind  # blanks are written \040
    kind = next((kinds[str(folder)] for folder in path.resolve().parents if str(folder) in kinds), "")
    return kind if kind.startswith(_NETWORKED) else ""
