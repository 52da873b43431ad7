"""The words for what becomes of a round and of a call.

The fates of the rounds played sum to their number. An answer to a call is a fate, or one of the
words about the call itself.
"""

from __future__ import annotations

from enum import IntEnum


class _Word(IntEnum):
    """A number for arrays that reads as a word."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, form: str) -> str:
        return format(self.name, form)


class Fate(_Word):
    """What became of a round."""

    USED = 0
    UNTRACKED = 1
    SATURATED = 2
    PREEMPTED = 3
    EXPIRED = 4
    PENDING = 5


class Answer(_Word):
    """What a call was answered: the fates, then words about the call itself.

    >>> f"{Answer.LATE}", int(Answer.LATE)
    ('LATE', 8)
    """

    USED = 0
    UNTRACKED = 1
    SATURATED = 2
    PREEMPTED = 3
    EXPIRED = 4
    PENDING = 5
    DUPLICATE = 6
    UNKNOWN = 7
    LATE = 8
    REPEATED = 9


FATES = tuple(fate.name.lower() for fate in Fate)
