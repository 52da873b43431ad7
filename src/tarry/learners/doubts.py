"""Sentences about assumptions that several learners and rates share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CLOSE = 1e-5  # relative: sentences show six digits, and a number copied from one must not be doubted again

Facts = Any


def flatter(member: Any, facts: Facts, instead: str) -> Iterator[str]:
    """Yield a sentence if a member assumes a ``strong_convexity`` that the losses do not have."""
    assumed, known = member.strong_convexity, facts.strong_convexity
    if known is not None and assumed > known * (1 + CLOSE):
        has = f"have {known:g}: give strong_convexity={known:g}, or use" if known > 0 else "have none: use"
        yield (
            f"{type(member).__name__} assumes losses of strong convexity {assumed:g}, these "
            f"({type(facts.losses).__name__}) {has} {instead}"
        )


def outside_unit(name: str, facts: Facts) -> Iterator[str]:
    """Yield a sentence if losses of arms leave [0, 1]."""
    if facts.corner_range is None:
        return
    least, largest = facts.corner_range
    if least < -CLOSE or largest > 1 + CLOSE:
        yield (
            f"{name} assumes losses in [0, 1], these lie in [{least:g}, {largest:g}]: shift and scale them, "
            "(losses − least)/(largest − least)"
        )
