"""A player from options: domain and constants in, a learner behind a scheduler out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tarry.domains import Ball, Box, Simplex
from tarry.learners import DWFTBL, DWFTRL
from tarry.players import recommended
from tarry.schedulers import Morris, VarOpt
from tarry.tracking import Player

DOMAINS = ("ball", "box", "simplex")
FEEDBACK = ("gradient", "value")


class Choice(NamedTuple):
    """A player, why it is this one, and whether a regret bound is proved for it."""

    player: Player
    reason: str
    is_proved: bool


def make_domain(
    kind: str, dimension: int | None, *, radius: float, lower: str | None, upper: str | None, scale: float
) -> Any:
    """The domain of this kind."""
    if kind == "box":
        if lower is None or upper is None:
            raise ValueError("a box needs --lower and --upper: a number each, or one for every entry, as in 0,0,-1")
        low, high = _numbers(lower, "--lower", dimension), _numbers(upper, "--upper", dimension)
        return Box(low, high)
    if kind not in DOMAINS:
        raise ValueError(f"--domain must be one of {', '.join(DOMAINS)}, got {kind!r}")
    if dimension is None:
        raise ValueError(f"a {kind} needs --dimension")
    return Ball(dimension, radius) if kind == "ball" else Simplex(dimension, scale)


def choose_recommended(domain: Any, known: dict[str, Any]) -> Choice:
    """What ``tarry.players.recommended`` says for the constants that are known."""
    given = {name: value for name, value in known.items() if value is not None}
    found = recommended(domain, **given | {"capacity": known["capacity"]})
    return Choice(found.player, found.reason, found.is_proved)


def choose_rate(domain: Any, rate: float, smoothing: float | None, known: dict[str, Any]) -> Choice:
    """A learner with the caller's own rate."""
    if known["feedback"] not in FEEDBACK:
        raise ValueError(f"--feedback must be gradient or value, got {known['feedback']!r}")
    if known["feedback"] == "value":
        if smoothing is None:
            raise ValueError("a bandit learner with a rate of yours also needs --smoothing")
        learner: Any = DWFTBL(domain, rate, smoothing)
    else:
        learner = DWFTRL(domain, rate)
    scheduler = choose_scheduler(known["preemption"], known["backlog"], known["capacity"])
    return Choice(Player(learner, scheduler), f"the constant rate {rate} you gave; no bound is claimed for it", False)


def choose_scheduler(preemption: bool, backlog: int | None, capacity: int | None) -> Any:
    """VarOpt, or Morris where tracked rounds must be kept."""
    if preemption:
        return VarOpt()
    if backlog is None or capacity is None:
        raise ValueError("without preemption the scheduler is Morris, which needs --backlog (a guess) and --capacity")
    return Morris.for_backlog(backlog, capacity)


def _numbers(text: str, name: str, dimension: int | None) -> float | np.ndarray:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} must be numbers with commas between them, got {text!r}") from None
    if len(numbers) == 1:
        return numbers[0] if dimension is None else np.full(dimension, numbers[0])
    if dimension not in (None, len(numbers)):
        raise ValueError(f"{name} has {len(numbers)} entries, --dimension is {dimension}")
    return np.array(numbers)
