"""Doubling: restart the player whenever what it guessed is outgrown.

Before each round's prediction the epoch's *label* is computed from the round and the global backlog σ_t;
when it changes, the learner, its local round index, the scheduler and the tracking set start afresh (draws
stay keyed by the global round), and members that ask for it are told the new *magnitude*:

    over      label of round t                                        magnitude
    backlog   smallest j with σ_t ≤ 2^j − 1                           2^j
    total     smallest m with Σ_{s≤t} (1 + σ_s) ≤ 4^m                 4^m
    pair      smallest (h, w) with t ≤ 2^h and Σ_{s≤t} σ_s ≤ 2^w      2^h + 2^w

Labels never fall. ``backlog`` is the paper's appendix; ``pair`` the two-dimensional trick it cites,
which can cost a logarithm; ``total`` needs one number only and is this project's own.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tarry.checks import as_choice
from tarry.errors import ArgumentError
from tarry.kernel import Parameters, register_methods, verb_with_default

LABEL, START, TOTAL = range(3)  # of an epoch's memory
KINDS = ("backlog", "total", "pair")
_PAIR = 64  # a label of two exponents is h·64 + w: neither passes 63 in 64-bit rounds


@verb_with_default
def enters_epoch(epochs: Any, memory: np.ndarray, t: int, pending: float) -> bool:
    """Return whether round t is the first of an epoch."""
    return False


@verb_with_default
def magnitude(epochs: Any, memory: np.ndarray) -> float:
    """Return what the epoch's label stands for."""
    return 1.0


def fresh_epochs() -> np.ndarray:
    """Return the memory before the first round: no label, nothing counted."""
    return np.array([-1.0, 0.0, 0.0])


class Single(Parameters):
    """One epoch: nothing is ever restarted."""

    needs_acknowledgements = False
    takes_held_weight = False
    needs_preemption = False
    over = ""


class Doubling(Parameters, init=False):
    """Restart over ``"total"`` (default), ``"backlog"`` or ``"pair"``.

    For backlog only: ``first`` is the first label, which spares restarts at backlogs that are sure to come.

    >>> Doubling("backlog")
    Doubling('backlog', first=0)
    """

    kind: int
    first: int

    needs_acknowledgements = True  # they count the backlog
    needs_preemption = True  # a restart empties the tracking set

    def __new__(cls, over: str = "total", *, first: int = 0) -> Self:
        kind = KINDS.index(as_choice(over, "over", KINDS))
        if first != int(first) or first < 0 or (first and over != "backlog"):
            raise ArgumentError("first", "must be a whole number, and is for over='backlog' only", first)
        return cls.make(kind, int(first))

    @property
    def takes_held_weight(self) -> bool:
        """Whether the held weight will do for the backlog: its sums are unbiased, its peak is not."""
        return self.over != "backlog"

    @property
    def over(self) -> str:
        """What is guessed; over ``"backlog"`` the magnitude is a guess of the largest backlog, plus one."""
        return KINDS[self.kind]

    def __repr__(self) -> str:
        first = f", first={self.first}" if self.over == "backlog" else ""
        return f"Doubling({self.over!r}{first})"

    def enters_epoch(self, memory: np.ndarray, t: int, pending: float) -> bool:
        old: Any = np.int64(memory[LABEL])
        label: Any = old
        if self.kind == 0:
            label = max(old, self.first)
            while pending > (1 << label) - 1:
                label += 1
        elif self.kind == 1:
            memory[TOTAL] += 1.0 + pending
            label = max(old, 0)
            while memory[TOTAL] > 4.0**label:
                label += 1
        else:
            memory[TOTAL] += pending
            high = max(old, 0) // _PAIR
            wide = max(old, 0) % _PAIR
            while t > 1 << high:
                high += 1
            while memory[TOTAL] > 2.0**wide:
                wide += 1
            label = high * _PAIR + wide
        if label == old:
            return False
        memory[LABEL] = label
        memory[START] = t
        return True

    def magnitude(self, memory: np.ndarray) -> Any:
        label = np.int64(memory[LABEL])
        if self.kind == 0:
            return 2.0**label
        if self.kind == 1:
            return 4.0**label
        return 2.0 ** (label // _PAIR) + 2.0 ** (label % _PAIR)


register_methods(Doubling, (enters_epoch, magnitude))
