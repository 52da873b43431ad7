"""Hints: guesses of what has not arrived yet, for optimistic learners.

    "none"     0
    "recent"   (σ_{t+1} + 1) · what arrived last, weighted: every missing round, and the one to come, is like it

A wrong hint costs, and a right one takes delays' cost away.
"""

from __future__ import annotations

from typing import Any

from tarry.kernel import step

HINTS = ("none", "recent")
NO_HINT = 0


def as_hint(name: str) -> int:
    """The number of a hint, or a sentence naming them."""
    if name not in HINTS:
        raise ValueError(f"hint must be one of {', '.join(map(repr, HINTS))}, got {name!r}")
    return HINTS.index(name)


class Hinted:
    """The Python face of a learner with a ``hint`` (mixin)."""

    __slots__ = ()

    hint: int

    @property
    def needs_acknowledgements(self) -> bool:
        return self.hint != NO_HINT


@step
def guess_missing(hint: int, last: Any, pending: int, out: Any) -> None:
    """Write the hint for the next round, given what arrived last."""
    for i in range(out.size):
        out[i] = (pending + 1) * last[i] if hint != NO_HINT else 0.0
