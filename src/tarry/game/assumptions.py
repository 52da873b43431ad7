"""What members assume and a game does not have, one sentence each.

A learner, a rate or a scheduler, yours too, may have a method ``doubts(facts)`` that yields sentences: what is assumed,
what the game has, the way out. They change nothing; ``simulate`` asks once and puts them into ``record.warnings``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from tarry.learners.base import rules_of


@dataclass(frozen=True)
class Facts:
    """What is known of a game under a scheduler; passes over all rounds are made by the game, once.

    ``is_immediate``: nothing is late, as for the base of a reduction. ``is_estimated``: gradients are estimates, as
    for the base of a learner from values.
    """

    game: Any
    scheduler: Any
    is_immediate: bool = False
    is_estimated: bool = False

    @property
    def domain(self) -> Any:
        """The set of plays."""
        return self.game.domain

    @property
    def losses(self) -> Any:
        """The losses of all rounds."""
        return self.game.losses

    @property
    def gradient_bound(self) -> float | None:
        """A bound on the gradients that the learner is given, None where none is known."""
        if self.is_estimated or not isfinite(self.game.gradient_bound):
            return None
        return float(self.game.gradient_bound)

    @property
    def max_delay(self) -> int:
        """The longest delay of feedback that is heard; 0 where it is not known."""
        if self.is_immediate:
            return 0
        return int(min(self.game.max_delay, self.scheduler.max_wait))

    @property
    def strong_convexity(self) -> float | None:
        """The strong convexity of every loss, None where it is not stated."""
        known = float(self.losses.strong_convexity)
        return None if getattr(self.losses, "has_stated_constants", False) and known == 0 else known

    @property
    def is_curved(self) -> bool:
        """Whether losses are known not to be linear."""
        return bool(getattr(self.losses, "is_curved", False))

    @property
    def corner_range(self) -> tuple[float, float] | None:
        """The least and the largest loss of an arm, None where they are not known."""
        found: tuple[float, float] | None = self.game.corner_range
        return found

    def for_base(self, wrapper: Any) -> Facts:
        """Return what the base of a wrapper meets."""
        return replace(
            self,
            is_immediate=self.is_immediate or wrapper.makes_immediate,
            is_estimated=self.is_estimated or wrapper.feedback != wrapper.base.feedback,
        )


def assumption_warnings(learner: Any, facts: Facts) -> tuple[str, ...]:
    """Return the sentences of a learner, of its rates, of what it wraps, and of the scheduler, each once."""
    found = _asked(facts.scheduler, facts)
    while learner is not None:
        # A wrapper's rate is its base's, which meets other facts and is asked there.
        rates = [] if learner.base is not None else rules_of(learner)
        for member in (learner, *rates):
            found += _asked(member, facts)
        base = learner.base
        facts = facts if base is None else facts.for_base(learner)
        learner = base
    return tuple(dict.fromkeys(found))


def _asked(member: Any, facts: Facts) -> list[str]:
    return list(member.doubts(facts)) if hasattr(member, "doubts") else []
