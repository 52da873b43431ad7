"""What is shown where not everything can be, and the sentences that say so."""

from __future__ import annotations

PANELS = 6


def choose(names: list[str], most: int = PANELS) -> list[str]:
    """At most so many, first and last among them, evenly spread.

    >>> choose(["a", "b", "c", "d", "e"], most=3)
    ['a', 'c', 'e']
    """
    if len(names) <= most:
        return names
    if most == 1:
        return [names[len(names) // 2]]
    return [names[round(i * (len(names) - 1) / (most - 1))] for i in range(most)]


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "setting"), counted(2, "setting")
    ('1 setting', '2 settings')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def left_out(chosen: list[str], names: list[str], what: str = "settings") -> str:
    """A sentence on what is not shown."""
    return "" if len(chosen) == len(names) else f" {len(chosen)} of {len(names)} {what} are shown."


def not_finite(count: int) -> str:
    """A sentence on runs that are in no mean.

    >>> not_finite(0), not_finite(2)
    ('', ' 2 runs without a finite value are left out.')
    """
    if not count:
        return ""
    return f" {counted(count, 'run')} without a finite value {'is' if count == 1 else 'are'} left out."
