"""Warn of what members assume and a game does not have.

A learner, a rate or a scheduler, yours too, may have a method ``doubts(facts)`` that yields sentences: what is assumed,
what the game has, the way out. Sentences change nothing; ``simulate`` puts them into ``record.warnings``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from math import isfinite
from typing import Any

from tarry.learners.base import rules_of


@dataclass(frozen=True)
class Facts:
    """What is known of a game under a scheduler; passes over all rounds are made by the game, once."""

    game: Any
    scheduler: Any
    is_immediate: bool = False  # nothing is late, as for the base of a reduction
    is_estimated: bool = False  # gradients are estimates, as for the base of a learner from values

    @property
    def losses(self) -> Any:
        """The losses of all rounds."""
        return self.game.losses

    @property
    def gradient_bound(self) -> float | None:
        """A bound on the gradients that the learner is given, None where none is known."""
        # In this order: the bound may take a pass over all rounds.
        is_known = not self.is_estimated and isfinite(self.game.gradient_bound)
        return float(self.game.gradient_bound) if is_known else None

    @property
    def max_delay(self) -> int:
        """The longest delay of feedback that is heard; 0 where it is not known."""
        return 0 if self.is_immediate else int(min(self.game.max_delay, self.scheduler.max_wait))

    @property
    def strong_convexity(self) -> float | None:
        """The strong convexity of every loss, None where it is not stated."""
        known = float(self.losses.strong_convexity)
        # Losses made of functions have the constants that the user stated, and 0 is what nothing stated looks like.
        return None if getattr(self.losses, "has_stated_constants", False) and known == 0 else known

    @property
    def is_curved(self) -> bool:
        """Whether losses are known not to be linear."""
        return bool(getattr(self.losses, "is_curved", False))

    @property
    def corner_range(self) -> tuple[float, float] | None:
        """The least and the largest loss of an arm, None where they are not known."""
        return self.game.corner_range  # type: ignore[no-any-return]

    def for_base(self, wrapper: Any) -> Facts:
        """Return what the base of a wrapper meets."""
        return replace(
            self,
            is_immediate=self.is_immediate or wrapper.makes_immediate,
            is_estimated=self.is_estimated or wrapper.feedback != wrapper.base.feedback,
        )


def assumption_warnings(learner: Any, facts: Facts) -> tuple[str, ...]:
    """Return the sentences of a learner, of its rates, of what it wraps, and of the scheduler, each once."""
    asked = [(facts.scheduler, facts)]
    while learner.base is not None:
        # A wrapper's rate is its base's, which meets other facts and is asked there.
        asked.append((learner, facts))
        learner, facts = learner.base, facts.for_base(learner)
    asked += [(member, facts) for member in (learner, *rules_of(learner))]
    found = (member.doubts(met) for member, met in asked if hasattr(member, "doubts"))
    return tuple(dict.fromkeys(chain.from_iterable(found)))
