"""Run under a preloaded ``faults.c``: a join is made and used, and the k-th write fails, for every k.

After each, on a healthy disk, the store opens with every call that was acknowledged, and at most the one that was not.
Prints how many there were. ``python faulty.py LIBRARY FOLDER KIND FIRST STEP``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

import tarry
from tarry.errors import StoreError

KINDS = {"kill": 0, "EIO": errno.EIO, "ENOSPC": errno.ENOSPC}
CALLS = 25
ENOUGH = 400


def use(store: str, heard: Path) -> None:
    """Decide and label, noting each answer outside of the armed folder."""
    with heard.open("a", buffering=1) as log:
        for attempt in range(2):  # a service that is told of a fault tries once more
            try:
                join = tarry.LabelJoin(4, rng=1, store=store)
                break
            except StoreError:
                if attempt:
                    return
        log.write("made\n")
        for i in range(CALLS):
            try:
                join.decide({"i": i, "long": "x" * 500}, id=f"d{i}")
            except StoreError:
                continue
            log.write(f"d{i}\n")
        with suppress(StoreError):
            join.close()


def main(library: str, folder: str, kind: str, first: int, step: int) -> None:
    """Break one write after the other until none is left to break."""
    faults, scratch = ctypes.CDLL(library), Path(folder)
    use(f"sqlite:///{scratch / 'warm.db'}", scratch / "warm.log")
    for k in range(first, ENOUGH, step):
        place, heard = scratch / f"disk{k}", scratch / f"heard{k}"
        place.mkdir()
        store = f"sqlite:///{place / 'a.db'}"
        child = os.fork()
        if not child:
            faults.faults_arm(ctypes.c_long(k), KINDS[kind], str(place).encode())
            use(store, heard)
            os._exit(42 if faults.faults_seen() < k else 0)
        _, status = os.waitpid(child, 0)
        told = heard.read_text().split()
        check(store, told, k)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 42:
            break
    sys.stdout.write(f"{k}\n")


def check(store: str, told: list[str], k: int) -> None:
    """What was acknowledged is there; what was not is there whole or not at all."""
    with tarry.LabelJoin(4, rng=1, store=store) as join:
        fates = {id: join.fate(id) for id in told if id != "made"}
        assert tarry.Answer.UNKNOWN not in fates.values(), (k, fates)
        status = join.status()
        assert len(fates) <= status.rounds <= len(fates) + 1, (k, status.rounds, told)
        assert sum(status.fates.values()) == status.rounds
        join.decide({"i": -1}, id="after")
        assert join.status().rounds == status.rounds + 1


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
