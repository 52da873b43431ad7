"""Which scheduler is recommended at a capacity, and what is proved of it."""

from __future__ import annotations

from typing import Any, Literal

from tarry.checks import as_int
from tarry.schedulers import Always, Bernoulli, Morris, Priority, VarOpt

Room = int | None | Literal["unknown"]

SAFETY = 8.0
SATURATION = 1e-3


def as_room(capacity: Room) -> Room:
    """A capacity, None for no limit, or "unknown"."""
    if capacity is None or capacity == "unknown":
        return capacity
    return as_int(capacity, 'capacity (None for no limit, "unknown" if gradients are told)', 1)


def choose_scheduler(capacity: Room, backlog: int | None, *, preemption: bool) -> Any:
    """VarOpt, or Priority at two slots, which VarOpt's moments are not proved for; Morris where all must be kept."""
    if capacity is None:
        return Always()
    if preemption:
        return Priority() if capacity == 2 else VarOpt()
    if backlog is None or capacity == "unknown":
        raise ValueError(
            "without preemption the scheduler is Morris, which needs a guess of the backlog and the capacity: "
            "give backlog=… and capacity=…"
        )
    if is_crowded(capacity, backlog):
        return Bernoulli(probability=1 / (SAFETY * (backlog + 1)))
    return Morris.for_backlog(backlog, int(capacity), saturation=SATURATION)


def is_crowded(capacity: Room, backlog: int | None) -> bool:
    """One slot, and rounds that wait: nothing is proved then."""
    return capacity == 1 and backlog != 0


def standing(scheduler: Any, *, curved: bool) -> str:
    """What is proved of gradients with the anytime rate, or with 1/(λt) if ``curved``."""
    part = "c" if curved else "b"
    if isinstance(scheduler, VarOpt):
        return f"proved by this project for capacities of at least 3 (docs/theory.md, Theorems 4{part} and 6)"
    if isinstance(scheduler, Morris):
        row, more = (16, "(4G²/λ)") if curved else (6, "GD")
        return f"proved by this project, {more}·sat on top, {SATURATED} (docs/theory.md, Theorem 7, row {row})"
    if isinstance(scheduler, Always):
        return f"proved by this project for weights 1 (docs/theory.md, (A) and Theorem 4{part})"
    return f"proved by this project (docs/theory.md, Theorem 4{part})"


SATURATED = "sat at most T/1000 while the backlog keeps to its bound"
