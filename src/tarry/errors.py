"""Errors of our own: each message is a sentence with what is wrong, the value and the way out.

Bad arguments raise ``ValueError`` (or ``TypeError``), as everywhere in Python; an interrupt raises
``KeyboardInterrupt``, here :class:`Interrupted`.
"""

from __future__ import annotations

from typing import Any


class TarryError(Exception):
    """Base of the errors that are about states; those about arguments are ValueErrors first."""


class ArgumentError(ValueError):
    """Say what is wrong with an argument: ``{name} {problem}, got {value}: {remedy}``.

    The fields are kept apart, so that a command line can name its option instead of the argument.
    ``value=...`` (the default) means that no value is shown.

    >>> print(ArgumentError("capacity", "must be at least 1", 0, "give None for no limit"))
    capacity must be at least 1, got 0: give None for no limit
    """

    def __init__(self, name: str, problem: str, value: Any = ..., remedy: str = "") -> None:
        super().__init__(name, problem, value, remedy)  # all four, so that copies and pickles have them
        self.name, self.problem, self.value, self.remedy = name, problem, value, remedy

    def sentence(self, name: str) -> str:
        """Return the message with the argument called ``name``."""
        got = "" if self.value is ... else f", got {self.value!r}"
        return f"{name} {self.problem}{got}" + (f": {self.remedy}" if self.remedy else "")

    def __str__(self) -> str:
        return self.sentence(self.name)


class MemberError(TarryError, ValueError):
    """A member does what no member may: it leaves an array, names no slot, returns no number, or does not compile."""


class NotGranted(TarryError, ValueError):
    """A member needs preemption, delays or acknowledgements that the game withholds."""


class Interrupted(KeyboardInterrupt):
    """A simulation was interrupted; ``record`` holds the seeds that were finished, or None."""

    def __init__(self, message: str, record: Any = None) -> None:
        super().__init__(message)
        self.record = record


class TooLarge(TarryError, MemoryError):
    """A run would need more memory than is sensible on this machine."""


class BrokenInvariant(TarryError, RuntimeError):
    """A quantity that must hold on every path does not: a defect, or corrupted state."""


class StoreError(TarryError, OSError):
    """A store is missing, foreign, damaged, full or out of reach; nothing was changed, unless it says otherwise."""


class Uncertain(StoreError):
    """Whether a call was stored is unknown, for the connection was lost before the answer came."""


class Missing(StoreError):
    """A store is not there yet, or holds nothing of this name and kind."""


class Mismatch(TarryError, ValueError):
    """A store holds something of this name that was made with other arguments."""


class NotAllowed(TarryError, PermissionError):
    """A server refuses a token: it has none of this hash, or one without this scope."""
