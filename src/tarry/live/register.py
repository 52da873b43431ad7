"""What makes shards one join: where an id belongs, who has which part of the capacity, and the record of the whole."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from math import sqrt
from typing import TYPE_CHECKING, Any, TypeVar, cast
from zlib import crc32

from tarry.checks import as_int
from tarry.errors import StoreError
from tarry.live.buffers import STATE, make_head
from tarry.live.configuration import SHARD, SHARDS, Configuration, encode, parse
from tarry.live.copies import Copy
from tarry.live.stores import Change, Store, is_postgres

if TYPE_CHECKING:
    from tarry.live.stores.postgres import Postgres

T = TypeVar("T")
MOST = 4096  # shards: each has state and a place in the store of its own


def shard_of(id: Hashable, shards: int) -> int:
    """Return the shard of an id: the same in every process, and for every version.

    >>> shard_of("order-7", 16), shard_of(7, 16), shard_of(b"7", 16)
    (12, 14, 0)
    """
    kind = b"b" if isinstance(id, bytes) else b"i" if isinstance(id, int) else b"s"
    data = id if isinstance(id, bytes) else str(id).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8, person=kind).digest(), "little") % shards


def shares(capacity: int, loads: Sequence[float]) -> list[int]:
    """Return a capacity divided by loads, to the nearest whole numbers that sum to it, none below 1.

    >>> shares(10, [1.0, 1.0, 1.0]), shares(10, [8.0, 1.0, 0.0])
    ([4, 3, 3], [7, 2, 1])
    """
    total, spare = sum(loads), capacity - len(loads)
    exact = [spare * load / total if total > 0 else spare / len(loads) for load in loads]
    parts = [int(part) for part in exact]
    most_left = sorted(range(len(loads)), key=lambda k: parts[k] - exact[k])
    for k in most_left[: spare - sum(parts)]:
        parts[k] += 1
    return [part + 1 for part in parts]


def shares_by_load(capacity: int, decisions: Sequence[float], backlogs: Sequence[float]) -> list[int]:
    """Return a capacity divided so that sums over shards vary least: Σ p_k (B_k/C_k − 1)⁺, of decisions and backlogs.

    That is at C_k ∝ √(p_k B_k), but for shards that need no more than C_k = B_k. What nobody needs goes by backlogs.

    >>> shares_by_load(100, [0.1, 0.9], [900.0, 100.0]), shares_by_load(100, [0.5, 0.5], [900.0, 100.0])
    ([50, 50], [75, 25])
    >>> shares_by_load(100, [0.1, 0.9], [900.0, 10.0]), shares_by_load(1000, [0.1, 0.9], [450.0, 50.0])
    ([89, 11], [899, 101])
    """
    loads = [sqrt(p * b) for p, b in zip(decisions, backlogs, strict=True)]
    exact, short = list(backlogs), {k for k, load in enumerate(loads) if load > 0}
    while short:
        left = capacity - sum(exact[k] for k in range(len(exact)) if k not in short)
        each = left / sum(loads[k] for k in short)
        full = {k for k in short if each * loads[k] >= backlogs[k]}
        if not full:
            exact = [each * loads[k] if k in short else b for k, b in enumerate(backlogs)]
            break
        short -= full
    return shares(capacity, exact)


class Register:
    """The record of a join with shards: its configuration, in a store if there is one, and a lock."""

    def __init__(self, configuration: Configuration, place: Store | None) -> None:
        self.configuration, self._lock = configuration, threading.Lock()
        self.place = cast("Postgres | None", place)  # no other store has shards

    @contextmanager
    def making(self) -> Iterator[list[str]]:
        """Let nobody else make shards of this name before :meth:`create`; yield the names that are taken."""
        if self.place is None:
            yield []
        else:
            with self.place.making():
                yield self.place.names()

    def create(self) -> bool:
        """Store the record; False if there is one already."""
        return self.place is None or self.place.create(*self._text(self.configuration), _head(1))

    def change(self, work: Callable[[Configuration], tuple[Configuration, T]]) -> T:
        """Let a function change the configuration, while no other process does so; return what else it returns."""
        with self._lock:
            if self.place is None:
                self.configuration, result = work(self.configuration)
                return result
            place = self.place
            try:
                with place.held() as before:
                    found = place.configuration()
                    assert found is not None  # its head was found
                    _, stored = parse(found, place.where, self.configuration.player)
                    wanted, result = work(stored)
                    if wanted != stored:
                        place.commit(_head(before.version + 1)._replace(configuration=self._text(wanted)))
                self.configuration = wanted
                return result
            except place.errors as error:
                raise StoreError(place.explain(error)) from error

    def read(self) -> Configuration:
        """Return the configuration as it is now: another process may have changed it."""
        return self.change(lambda was: (was, was))

    def keep(self) -> None:
        """Raise StoreError if the lock under which a change is made has been lost."""
        if self.place is not None:
            self.place.keep()

    def copies(self, of_shards: Callable[[], list[Copy]]) -> list[Copy]:
        """Return the record as an export has it, and copies of the shards, while no process changes capacities."""
        return self.change(lambda was: (was, [Copy(self._text(was)[0], 0, {}, {}, {}), *of_shards()]))

    def _text(self, configuration: Configuration) -> tuple[str, int]:
        text = encode(configuration)
        return text, crc32(text.encode())

    def close(self) -> None:
        """Let go of the store."""
        if self.place is not None:
            self.place.close()


def _head(version: int) -> Change:
    """Return what a transaction on a record writes beside the configuration: a head, and no bytes of state."""
    return Change(make_head(version, 0, int.from_bytes(os.urandom(4), "little"), 0), {STATE: []}, {})


def checked_count(shards: Any, whole: Configuration, store: Any) -> int:
    """Return how many shards a join has; raise ValueError where it cannot have them."""
    count = as_int(shards, SHARDS, 1)
    if count > MOST:
        raise ValueError(f"shards must be at most {MOST}, got {count}: a few for each core of the database are enough")
    if not (store == "memory:" or (isinstance(store, str) and is_postgres(store))):
        raise ValueError(
            f"shards need a lock each, and a SQLite file, or a store of one's own, has one, got shards={count}: "
            "use a postgresql:// store, or leave shards out"
        )
    if whole.information != "non-clairvoyant":
        raise ValueError(
            f"delays count decisions, of which each shard has its own, so a join with shards is non-clairvoyant, got "
            f"information={whole.information!r}: leave it out"
        )
    check_capacity(whole.capacity, count)
    return count


def check_capacity(capacity: int | None, shards: int) -> None:
    if capacity is not None and as_int(capacity, "capacity", 1) < shards:
        raise ValueError(f"capacity must be at least one slot for each of {shards} shards, got {capacity}")


def part_of(whole: Configuration, k: int) -> Configuration:
    """Return the configuration of a shard that is new."""
    count = whole.options[SHARDS]
    options = {name: value for name, value in whole.options.items() if name != SHARDS} | {SHARD: f"{k}/{count}"}
    capacity = divided(whole.capacity, [1.0] * count)[k]
    return whole._replace(capacity=capacity, memory=-(-whole.memory // count), options=options)


def divided(capacity: int | None, loads: Sequence[float]) -> Sequence[int | None]:
    return [None] * len(loads) if capacity is None else shares(capacity, loads)


def seed_of(seed: int, k: int) -> int:
    """Return a seed for a shard: with a common one, shards would make the same draws in the same rounds."""
    return int.from_bytes(blake2b(f"{seed}/{k}".encode(), digest_size=8).digest(), "little")
