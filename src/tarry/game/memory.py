"""Will it fit? Runs that would take more than half of the machine's memory are refused."""

from __future__ import annotations

import os

from tarry.errors import TooLarge


def machine_memory() -> int | None:
    """Bytes of physical memory, where the system says."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def refuse_if_large(needed: int, what: str) -> None:
    """Raise TooLarge when ``needed`` bytes are more than half of the machine's memory."""
    memory = machine_memory()
    if memory is not None and needed > memory / 2:
        raise TooLarge(
            f"{what} would take about {needed / 2**30:.1f} GiB, more than half of this machine's "
            f"{memory / 2**30:.1f} GiB: use fewer rounds or seeds, drop keep_rounds, or pass allow_large=True"
        )
