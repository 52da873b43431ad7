"""Learners as they are where nothing is late: what a base of SOLID, BOLD or interleaving must be.

A base lives in a game without delay. Its clock counts its own feedbacks, nothing of its is out when it plays (so
``pending`` is 0, and a hint is of the round to come alone), and what it draws it draws for the game's round.
"""

from __future__ import annotations

from typing import Any

from tarry.learners.base import notice
from tarry.learners.ogd import by_time
from tarry.learners.rules import Constant


class Reducing:
    """The Python face of a learner whose ``base`` plays as if nothing were late (mixin)."""

    __slots__ = ()

    base: Any

    makes_immediate = True

    @property
    def domain(self) -> Any:
        return self.base.domain

    @property
    def dimension(self) -> int:
        return int(self.base.dimension)

    def check_horizon(self, horizon: int | None) -> None:
        """Refuse games longer than the base's sequence (None: a session, which has no end)."""
        check_base(self.base, horizon)


def as_immediate(base: Any, *feedback: str) -> Any:
    """A learner of such feedback that can play as if nothing were late, or a sentence saying why not."""
    if isinstance(base, type) or getattr(base, "feedback", None) not in feedback:
        kinds = " or ".join(f"{kind}s" for kind in feedback)
        raise TypeError(f"base must be a learner of {kinds} such as OGD(domain, rate=…), got {base!r}")
    part = base
    while part is not None:
        _check_part(base, part)
        part = getattr(part, "base", None)
    return base


def _check_part(base: Any, part: Any) -> None:
    if getattr(part, "makes_immediate", False):
        raise TypeError(f"base must be a learner for immediate feedback, got {base!r}, which wraps another already")
    rate = getattr(part, "rate", None)
    if rate is not None and not getattr(rate, "follows_feedback", False):
        by_time(rate)
    if not isinstance(getattr(part, "smoothing", None), (float, Constant, type(None))):
        raise TypeError(
            f"a base has its own clock and draws for the game's rounds, so it needs one radius for all rounds, got "
            f"{part.smoothing!r}: give a number"
        )
    # Learners with rates take notice for the rates' sake, wrappers for their base's; others say so, or are believed to.
    looks = getattr(part, "watches_tracked", rate is None and not hasattr(part, "base"))
    if looks and isinstance(part, tuple(notice.registry.members)):
        raise TypeError(f"a base waits for one round at most and cannot count the tracked ones, got {part!r}")


def check_base(base: Any, horizon: int | None) -> None:
    """Let the base refuse a horizon, if it minds."""
    if hasattr(base, "check_horizon"):
        base.check_horizon(horizon)
