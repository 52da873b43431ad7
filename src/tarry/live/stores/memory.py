"""No store: the session lives and dies with its process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tarry.live.items import ItemRow
from tarry.live.stores.base import Chunk, Head

_NEVER_CHANGES = Head(1, 0)


class Memory:
    """Answers like a store and writes nothing."""

    is_durable = False
    errors: tuple[type[Exception], ...] = ()

    def names(self) -> list[str]:
        return []

    def configuration(self) -> str | None:
        return None

    def create(self, configuration: str, slots: int, chunks: Mapping[int, Any]) -> bool:
        return True

    def begin(self) -> Head:
        return _NEVER_CHANGES

    def look(self) -> Head:
        return _NEVER_CHANGES

    def leave(self) -> None:
        pass

    def changed(self, region: int, since: int, only: range | None = None) -> Iterable[Chunk]:
        return ()

    def item(self, t: int) -> ItemRow | None:
        return None

    def commit(self, head: Head, chunks: Mapping[int, Any], items: Mapping[int, Any]) -> None:
        pass

    def size(self) -> int:
        return 0

    def close(self) -> None:
        pass

    def explain(self, error: Exception) -> str:
        return str(error)
