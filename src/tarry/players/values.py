"""What is recommended for values (bandit feedback): which rates, radii and scheduler, and on what grounds.

Where restarting is allowed nothing about delays need be known: the backlog is guessed and the guess doubled. Elsewhere,
or if one is given, a bound on the backlog tunes radii for good.

Radii are tuned to 1 + σ_max/C, not to the level that is proved for the scheduler's moments, which is larger by a
factor κ (docs/theory.md, after row 24): bounds grow by κ at most, and measured regret falls to 0.3 to 0.6.
"""

from __future__ import annotations

from math import inf, log
from typing import Any, NamedTuple

from tarry import theory
from tarry.checks import as_positive, as_whole
from tarry.learners import DWFTBL, BacklogRadius, BacklogRate, LevelRadius, LevelRate, inverse_time
from tarry.schedulers import Bernoulli, Guessing, Morris, VarOpt
from tarry.tracking import Doubling

SAFETY = 8.0


class Values(NamedTuple):
    """What is known of a game with values; None: no limit for ``capacity``, unknown for ``backlog`` and ``horizon``."""

    domain: Any
    acknowledged: bool
    preemption: bool
    strong_convexity: float | None
    gradient_bound: float
    spread: float
    backlog: int | None
    capacity: int | None
    horizon: int | None

    @property
    def room(self) -> float:
        return inf if self.capacity is None else self.capacity


def for_values(known: Values) -> tuple[Any, Any, Any]:
    """Learner, scheduler and epochs."""
    if known.backlog is not None:
        return _bounded(known, as_whole(known.backlog, "backlog"))
    if known.acknowledged and known.preemption:
        return _doubling(known)
    lacking = "preemption, for restarts empty the tracking set" if known.acknowledged else "acknowledgements"
    raise ValueError(
        "bandit feedback needs a bound on the backlog to choose its radius: give backlog=…; "
        f"guessing it and restarting when it is outgrown would need {lacking}"
    )


def spread_on(domain: Any, gradient_bound: float | None, value_bound: float | None) -> tuple[float, float]:
    """G and νk, or a sentence asking for what is missing."""
    if gradient_bound is None:
        raise ValueError("bandit feedback needs gradient_bound, a bound on the norm of gradients on the domain")
    if value_bound is None:
        raise ValueError("bandit feedback needs value_bound, a bound on the size of losses on the domain")
    if not domain.inner_radius > 0:
        raise ValueError(
            f"bandit feedback needs a ball inside the domain, but {type(domain).__name__} has inner radius 0: "
            "use a full-dimensional domain (parametrise the simplex in its affine hull), or learners over arms: Exp3"
        )
    steepest, largest = as_positive(gradient_bound, "gradient_bound"), as_positive(value_bound, "value_bound")
    spread = theory.spread_of(
        value_bound=largest,
        gradient_bound=steepest,
        inner_radius=domain.inner_radius,
        dimension=domain.dimension,
    )
    return steepest, spread


def _doubling(known: Values) -> tuple[Any, Any, Any]:
    """The paper's rates and radii at a guess of the backlog (rows 19 and 26 of docs/theory.md)."""
    # Below C/8 the paper's coin is 1 whatever the guess: smaller first guesses would only cost restarts.
    first = 0 if known.capacity is None else max(1, known.capacity // 8).bit_length() - 1
    scheduler = VarOpt() if _is_roomy(known) else Guessing(SAFETY, fit=True)
    return _paper(known, None), scheduler, Doubling("backlog", first=first)


def _bounded(known: Values, backlog: int) -> tuple[Any, Any, Any]:
    """Theorem 5 (b) or (d); convex without acknowledgements, the rates of the paper's theorem."""
    scheduler = _scheduler(known, backlog)
    if known.strong_convexity is None and not known.acknowledged:
        return _paper(known, backlog), scheduler, None
    domain, curved = known.domain, known.strong_convexity is not None
    level = 1.0 if backlog < known.room else 1.0 + backlog / known.room
    rate = (
        LevelRate(domain.diameter, known.gradient_bound, known.spread, level)
        if known.strong_convexity is None
        else inverse_time(known.strong_convexity)
    )
    smoothing = LevelRadius(domain.inner_radius, known.spread, level, curved=curved)
    return DWFTBL(domain, rate=rate, smoothing=smoothing), scheduler, None


def _paper(known: Values, backlog: int | None) -> DWFTBL:
    """The paper's rates and radii, at this backlog or at a guess."""
    curved = known.strong_convexity is not None
    domain, crowd = known.domain, (known.spread, known.capacity, backlog)
    rate = (
        BacklogRate(domain.diameter, known.gradient_bound, *crowd)
        if known.strong_convexity is None
        else inverse_time(known.strong_convexity)
    )
    return DWFTBL(domain, rate=rate, smoothing=BacklogRadius(domain.inner_radius, *crowd, curved=curved))


def _is_roomy(known: Values) -> bool:
    """Whether a level is proved for VarOpt at every backlog."""
    return known.room >= max(4.0, 2.0 + log(known.horizon or 1))


def _scheduler(known: Values, backlog: int) -> Any:
    """VarOpt, or Morris without preemption, where a level is proved for their moments; else one coin for all."""
    fits = backlog < known.room
    if known.preemption and (fits or _is_roomy(known)):
        return VarOpt()
    if not known.preemption and 1 < known.room < inf:
        return Morris.for_backlog(backlog, int(known.room))
    return Bernoulli(probability=1.0 if fits else min(1.0, known.room / (SAFETY * (backlog + 1))))


def grounds(learner: DWFTBL, epochs: Any) -> str:
    """What the player rests on."""
    curved = not isinstance(learner.rate, (BacklogRate, LevelRate))
    if epochs.needs_preemption:
        row = 26 if curved else 19
        return f"radii for a guessed backlog, doubled when outgrown; proved (docs/theory.md, row {row})"
    if isinstance(learner.rate, LevelRate):
        return "anytime rate from the observed backlog, radii for a bound; proved (docs/theory.md, row 21)"
    row = 27 if curved else 18
    return f"rate and radii for a bounded backlog; proved (docs/theory.md, row {row})"
