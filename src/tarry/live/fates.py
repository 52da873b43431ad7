"""What became of the last rounds, three bits each, 21 to a word."""

from __future__ import annotations

import numpy as np

from tarry.live.regions import CHUNK, Region
from tarry.results import Fate

_PER_WORD = 21
_WORDS = CHUNK // 8
# An even code is a fate without an answer yet; the code above it is the same fate, answered.
UNTRACKED, SATURATED, PREEMPTED, USED, EXPIRED = 0, 2, 4, 6, 7
# A tracked round is known from the tracking set. If it leaves unanswered it was preempted: that stands there from
# the start, so preempting writes nothing.
PENDING = PREEMPTED
# Ready-made for each place in a word: what to keep of it, and a code put there.
_KEEP = tuple(~(7 << 3 * r) & (1 << 64) - 1 for r in range(_PER_WORD))
_PUT = tuple(tuple(code << 3 * r for r in range(_PER_WORD)) for code in range(8))
_ANSWERED = (False, True, False, True, False, True, True, True)
_FATES = (
    *(Fate.UNTRACKED, Fate.UNTRACKED),
    *(Fate.SATURATED, Fate.SATURATED),
    *(Fate.PREEMPTED, Fate.PREEMPTED),
    *(Fate.USED, Fate.EXPIRED),
)


class Fates(Region):
    """The fates of the last ``memory`` rounds and whether each was answered; a round's place is (t − 1) mod memory."""

    def __init__(self, memory: int) -> None:
        super().__init__(8 * -(-memory // _PER_WORD))
        self._memory = memory
        self._words = memoryview(self.buffer.view(np.uint64))  # type: ignore[arg-type]

    def chunks(self, rounds: int) -> int:
        """Every round writes its word when it begins."""
        return -(-rounds // (_PER_WORD * _WORDS))

    def write(self, t: int, code: int) -> None:
        """Note what became of round t."""
        i, r = divmod((t - 1) % self._memory, _PER_WORD)
        words = self._words
        words[i] = words[i] & _KEEP[r] | _PUT[code][r]
        self.dirty.add(i // _WORDS)

    def read(self, t: int) -> int:
        """The code of round t, which is not tracked."""
        place = (t - 1) % self._memory
        return self._words[place // _PER_WORD] >> place % _PER_WORD * 3 & 7

    def fate(self, t: int) -> Fate:
        """The fate of round t, which is not tracked."""
        return _FATES[self.read(t)]

    def was_tracked(self, t: int) -> bool:
        """Whether round t held a slot at first, whatever became of it."""
        return self.read(t) >= PREEMPTED

    def was_answered(self, t: int) -> bool:
        """Whether feedback, or its end, has come for round t."""
        return _ANSWERED[self.read(t)]
