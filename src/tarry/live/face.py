"""What sessions and joins have in common: they can be asked about themselves, and closed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

from tarry.checks import as_whole
from tarry.live.audit import export_of, ledger_of
from tarry.live.status import Status, status_of
from tarry.live.tracker import Tracker
from tarry.results import Answer, html_table


class Face:
    """A thin face on a tracker."""

    _tracker: Tracker

    def fate(self, id: Hashable) -> Answer:
        """What became of a round: a fate, or UNKNOWN, or LATE where it is forgotten."""
        return self._tracker.fate(id)

    def status(self) -> Status:
        """Rounds, pending, tracked, fates, answers, the health of the weights, and a certificate."""
        return status_of(self._tracker)

    def ledger(self, last: int = 0) -> dict[str, Any]:
        """Rounds by fate with their sum; under ``last``, round, id, fate and whether answered, newest first."""
        return ledger_of(self._tracker, as_whole(last, "last"))

    def export(self, *, payloads: bool = False) -> dict[str, Any]:
        """Everything as plain values: configuration, status, and the tracked rounds with their ids.

        Of payloads the size is told, or with ``payloads=True`` what they are.
        """
        return export_of(self._tracker, payloads=payloads)

    @property
    def is_numbered(self) -> bool | None:
        """Whether rounds go by their numbers (True) or by the caller's ids (False); None before the first."""
        with self._tracker.vault.reading():
            return self._tracker.is_numbered

    def close(self) -> None:
        """Let go of the store; what was answered is safe without it."""
        self._tracker.vault.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self.status().rows())
