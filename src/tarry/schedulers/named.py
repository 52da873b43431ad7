"""Schedulers by name: those that need no constants, one spelling for joins, players, adapters and commands."""

from __future__ import annotations

from typing import Any

from tarry.errors import ArgumentError
from tarry.schedulers.naive import DropNewest, DropOldest, RandomEvict, Reservoir
from tarry.schedulers.priority import Priority
from tarry.schedulers.survival import Pareto
from tarry.schedulers.varopt import VarOpt

# Those that need no constants and hand each row out when its label comes: for joins, which know nothing of delays.
FREE: dict[str, Any] = {
    "VarOpt": VarOpt(),
    "Priority": Priority(),
    "Pareto (paper)": Pareto(),
    "drop newest": DropNewest(),
    "drop oldest": DropOldest(),
    "random evict": RandomEvict(),
    "reservoir": Reservoir(),
}


def is_name_of(text: str, name: str) -> bool:
    """Return whether a name is meant; case, blanks and punctuation do not count, nor does "(paper)".

    >>> is_name_of("DropNewest", "drop newest"), is_name_of("pareto", "Pareto (paper)")
    (True, True)
    """
    return _key(text) in (_key(name), _key(name.removesuffix(" (paper)")))


def is_free(text: str) -> bool:
    """Return whether this is the name of a scheduler in ``FREE``."""
    return any(is_name_of(text, name) for name in FREE)


def free_scheduler(text: str) -> Any:
    """Return the scheduler of this name in ``FREE``, which needs to know nothing; raise ArgumentError for any other.

    >>> free_scheduler("drop newest")
    DropNewest()
    """
    for name, scheduler in FREE.items():
        if is_name_of(text, name):
            return scheduler
    remedy = """one that needs constants is Timeout(500) in Python, and '{ type = "Timeout", age = 500 }' in files"""
    raise ArgumentError("scheduler", f"must be one of {', '.join(FREE)}", text, remedy)


def _key(name: str) -> str:
    return "".join(letter for letter in str(name).lower() if letter.isalnum())
