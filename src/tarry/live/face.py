"""What sessions and joins have in common: they are opened, asked about themselves, and closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar, Never, Self

from tarry.checks import as_int
from tarry.errors import TarryError
from tarry.live.audit import export_of, ledger_of
from tarry.live.batches import Receipt, Receipts, as_ids, receipts_of
from tarry.live.configuration import JOIN, SESSION
from tarry.live.ids import as_id
from tarry.live.opening import reopen
from tarry.live.status import Status, status_of
from tarry.live.stores import MAIN, POWER
from tarry.live.tracker import Tracker
from tarry.results import Answer, html_table
from tarry.tracking import Player


class Face(ABC):
    """A thin face on a tracker."""

    _kind: ClassVar[str]
    _tracker: Tracker

    @classmethod
    def open(cls, store: str, *, name: str = MAIN, player: Player | None = None, durability: str = POWER) -> Self:
        """Continue what is in a store; ``player`` is needed only if parts of it are not Tarry's own."""
        face = cls.__new__(cls)
        face._take(reopen(cls._kind, store, name=name, player=player, durability=durability))
        return face

    @abstractmethod
    def _take(self, tracker: Tracker) -> None:
        """Begin to be the face of this tracker."""

    def expire(self, id: Hashable) -> Receipt:
        """No outcome will come: the empty acknowledgement of an untracked round.

        On a *tracked* round it frees the slot and nothing is learnt, which biases: a missing outcome that means
        something must be told as a value or a label at the end of its window.
        """
        with self._tracker.vault.lock, self._tracker.vault:
            return self._tracker.answer(id, None)[0]

    def expire_many(self, ids: Any) -> Receipts:
        """As :meth:`expire`, for several rounds (a list of ids, or a frame with a column id) in one transaction."""
        names = as_ids(ids)
        with self._tracker.vault.lock, self._tracker.vault:
            return receipts_of(names, [self._tracker.answer(id, None)[0] for id in names])

    def fate(self, id: Hashable) -> Answer:
        """What became of a round: a fate, or UNKNOWN, or LATE where it is forgotten."""
        id = as_id(id)
        with self._tracker.vault.lock, self._tracker.vault.reading:
            return self._tracker.fate(id)

    def status(self) -> Status:
        """Rounds, pending, tracked, fates, answers, the health of the weights, and a certificate."""
        return status_of(self._tracker)

    def ledger(self, last: int = 0) -> dict[str, Any]:
        """Rounds by fate with their sum; under ``last``, round, id, fate and whether answered, newest first."""
        return ledger_of(self._tracker, as_int(last, "last"))

    def export(self, *, payloads: bool = False) -> dict[str, Any]:
        """Everything as plain values: configuration, status, and the tracked rounds with their ids.

        Of payloads the size is told, or with ``payloads=True`` what they are.
        """
        return export_of(self._tracker, payloads=payloads)

    @property
    def is_numbered(self) -> bool | None:
        """Whether rounds go by their numbers (True) or by the caller's ids (False); None before the first."""
        with self._tracker.vault.lock, self._tracker.vault.reading:
            return self._tracker.is_numbered

    def close(self) -> None:
        """Let go of the store; what was answered is safe without it."""
        self._tracker.vault.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Never:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled, for there would be two of it: keep it in a store, "
            f"and where it is needed open it again, {type(self).__name__}.open('sqlite:///…')"
        )

    def __repr__(self) -> str:
        kind, rounds = type(self).__name__, {SESSION: "rounds", JOIN: "decisions"}[self._kind]
        try:
            s = self.status()
        except TarryError as error:  # closed, or broken
            return f"{kind}({error})"
        return f"{kind}({s.rounds} {rounds}, {s.pending} pending, {s.tracked} tracked of {self._tracker.capacity})"

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self.status().rows())
