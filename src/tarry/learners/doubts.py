"""Doubts: what a member assumes and the game does not have, one sentence each.

A learner, a rule or a scheduler, yours too, may have a method ``doubts(facts)`` that yields sentences: what is assumed,
what the game has, the way out. They change nothing; ``simulate`` asks once and puts them into ``record.warnings``.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from math import isfinite
from typing import Any

CLOSE = 1e-5  # relative: sentences show six digits, and who copies them is not doubted again


class Facts:
    """What is known of a game, found out when first asked for."""

    def __init__(self, game: Any, scheduler: Any) -> None:
        self.domain, self.losses, self.scheduler = game.domain, game.losses, scheduler
        self._delays, self._estimated = game.delays, False

    @cached_property
    def steepest(self) -> float:
        """No loss has a longer gradient on the domain; infinite where that is not known."""
        return float(self.losses.gradient_bound(self.domain))

    @property
    def gradient_bound(self) -> float | None:
        """No gradient that the learner is given is longer; None where that is not known."""
        return None if self._estimated or not isfinite(self.steepest) else self.steepest

    @cached_property
    def max_delay(self) -> int:
        """Feedback that is heard is never later; 0 for the base of a reduction, and where it is not known."""
        late = int(getattr(self._delays, "max_delay", 0))
        return int(min(late, self.scheduler.max_wait))

    @property
    def strong_convexity(self) -> float | None:
        """Of every loss; None where nobody states it."""
        known = float(self.losses.strong_convexity)
        return None if getattr(self.losses, "has_stated_constants", False) and known == 0 else known

    @property
    def is_curved(self) -> bool:
        """Whether losses are known not to be linear."""
        return bool(getattr(self.losses, "is_curved", False))

    @cached_property
    def corner_range(self) -> tuple[float, float] | None:
        """The least and the largest loss of an arm, None where it is not known."""
        return self.losses.corner_range() if hasattr(self.losses, "corner_range") else None

    def inside(self, wrapper: Any) -> Facts:
        """What the base of a wrapper meets: nothing late in a reduction, estimates of gradients where values come."""
        facts = copy(self)
        if getattr(wrapper, "makes_immediate", False):
            facts.max_delay = 0
        if wrapper.feedback != getattr(wrapper.base, "feedback", wrapper.feedback):
            facts._estimated = True
        return facts


def doubts_of(learner: Any, facts: Facts) -> tuple[str, ...]:
    """The doubts of a learner, of its rules, of what it wraps, and of the scheduler, each once."""
    found = [*_asked(facts.scheduler, facts)]
    while learner is not None:
        own = getattr(learner, "_fields", ())
        rules = [getattr(learner, name) for name in ("rate", "smoothing") if name in own]
        for member in (learner, *rules):
            found += _asked(member, facts)
        base = getattr(learner, "base", None)
        facts = facts if base is None else facts.inside(learner)
        learner = base
    return tuple(dict.fromkeys(found))


def _asked(member: Any, facts: Facts) -> list[str]:
    return list(member.doubts(facts)) if hasattr(member, "doubts") else []


def flatter(member: Any, facts: Facts, instead: str) -> Iterator[str]:
    """The doubt of a member with a ``strong_convexity`` that the losses do not have."""
    assumed, known = member.strong_convexity, facts.strong_convexity
    if known is not None and assumed > known * (1 + CLOSE):
        has = f"have {known:g}: give strong_convexity={known:g}, or use" if known > 0 else "have none: use"
        yield (
            f"{type(member).__name__} assumes losses of strong convexity {assumed:g}, these "
            f"({type(facts.losses).__name__}) {has} {instead}"
        )


def outside_unit(name: str, facts: Facts) -> Iterator[str]:
    """The doubt of a learner over arms whose losses should lie in [0, 1]."""
    if facts.corner_range is None:
        return
    least, largest = facts.corner_range
    if least < -CLOSE or largest > 1 + CLOSE:
        yield (
            f"{name} assumes losses in [0, 1], these lie in [{least:g}, {largest:g}]: shift and scale them, "
            "(losses − least)/(largest − least)"
        )
