"""Is this file ours, and does it lie where SQLite's locks hold?"""

from __future__ import annotations

from pathlib import Path

from tarry.errors import StoreError

_MAGIC = b"SQLite format 3\x00"
_NETWORKED = ("nfs", "cifs", "smb", "afs", "9p", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "fuse.sshfs", "davfs")
MOUNTS = Path("/proc/mounts")


def check_file(path: Path, application: int, version: int, *, must_exist: bool) -> None:
    """Refuse what is not ours, before anything is opened for writing."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder: give the path of a file in it")
    if not path.exists():
        if must_exist:
            raise StoreError(f"there is no file {path}: make a session first")
        if not path.parent.exists():
            raise StoreError(f"there is no folder {path.parent} to put {path.name} in: make it first")
        return
    with path.open("rb") as file:
        start = file.read(100)
    if not start:
        return
    if not start.startswith(_MAGIC):
        raise StoreError(f"{path} is not a SQLite file; it was left as it is: give another path")
    # The header's user version and application id, both big-endian.
    found, written = int.from_bytes(start[68:72], "big"), int.from_bytes(start[60:64], "big")
    if len(start) < 100 or found != application:
        raise StoreError(f"{path} is a database of some other program; it was left as it is: give another path")
    if written != version:
        raise StoreError(f"{path} is in format {written}, this version of Tarry reads {version}; it was left as it is")


def network_file_system(path: Path) -> str:
    """The kind of network file system a path lies on, or nothing."""
    try:
        mounts = MOUNTS.read_text().splitlines()
    except OSError:
        return ""  # no such list on this system: nothing is known
    folder = str(path.resolve().parent)
    best, kind = "", ""
    for line in mounts:
        _, place, name, *_ = line.split(" ")
        inside = folder == place or folder.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(best):
            best, kind = place, name
    return kind if kind.startswith(_NETWORKED) else ""
