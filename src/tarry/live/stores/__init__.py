"""Where sessions are kept: ``memory:``, ``sqlite:///file.db``, ``postgresql://…``, or a store of the caller's own."""

from __future__ import annotations

import re
import warnings
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from tarry.errors import StoreError
from tarry.live.stores.base import CLOSED, MAIN, PATIENCE, POWER, PROCESS, TOKEN, Entry, Snapshot, Store

__all__ = ["CLOSED", "MAIN", "PATIENCE", "POWER", "PROCESS", "TOKEN", "Entry", "Snapshot", "Store", "open_store"]
__all__ += ["is_postgres", "stored_names", "without_password"]
MOUNTS = Path("/proc/mounts")
_NETWORKED = ("nfs", "cifs", "smb", "afs", "9p", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "fuse.sshfs", "davfs")
_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")
SHARD_OF = re.compile(r"(.*)#\d+", re.DOTALL)
FORMS = "'memory:', 'sqlite:///file.db' or 'postgresql://user@host/database'"


def open_store(
    url: str | Store, name: str = MAIN, *, durability: str = POWER, must_exist: bool = False
) -> Store | None:
    """Return the place of a session in the database at an address (a store is returned as it is); None in memory."""
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
        return SQLite(path, name, durability=durability, must_exist=must_exist)
    if is_postgres(url):
        from tarry.live.stores.postgres import Postgres

        return Postgres(url, name, durability=durability, must_exist=must_exist)
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


def shard_name(name: str, shard: int) -> str:
    """Return the name under which a shard of a join is stored."""
    return f"{name}#{shard}"


def stored_names(url: str) -> dict[str, str]:
    """Return the names of the sessions and joins in a database, and of what kind each is."""
    store = open_store(url, must_exist=True)
    if store is None:
        return {}
    try:
        return without_shards(store.names())
    except store.errors as error:
        raise StoreError(store.explain(error)) from error
    finally:
        store.close()


def without_shards(names: dict[str, str]) -> dict[str, str]:
    """Return what people have made: shards are told by the name of their join.

    >>> without_shards({"clicks#0": "join", "clicks#1": "join", "a#b": "session"})
    {'clicks': 'join', 'a#b': 'session'}
    """
    wholes = ((found[1] if (found := SHARD_OF.fullmatch(name)) else name, kind) for name, kind in names.items())
    return dict(wholes)


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
