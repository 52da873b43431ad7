"""What is recommended for values (bandit feedback): which rates, radii and scheduler, and on what grounds.

Where restarting is allowed nothing about delays need be known: the backlog is guessed and the guess doubled. Elsewhere,
or if one is given, a bound on the backlog tunes radii for good. Without a limit on the tracking set weights are 1, and
radii need to know nothing.

Radii are tuned to 1 + σ_max/C, not to the level that is proved for the scheduler's moments, which is larger by a
factor κ: bounds grow by κ at most (docs/theory.md, after row 24, also for what was measured).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tarry import theory
from tarry.checks import as_positive
from tarry.learners import DWFTBL
from tarry.players.scheduling import SATURATED, choose_scheduler
from tarry.rates import BanditRadius, BanditRate, inverse_time
from tarry.schedulers import Morris, Priority, VarOpt
from tarry.tracking import Doubling


class Values(NamedTuple):
    """What is known of a game with values; None: no limit for ``capacity``, unknown for ``backlog``."""

    domain: Any
    acknowledged: bool
    preemption: bool
    strong_convexity: float | None
    gradient_bound: float
    spread: float
    backlog: int | None
    capacity: int | None

    @property
    def curved(self) -> bool:
        return self.strong_convexity is not None


def for_values(known: Values) -> tuple[Any, Any, Any]:
    """Learner, scheduler and epochs."""
    scheduler = choose_scheduler(known.capacity, known.backlog or 0, preemption=known.preemption)
    if known.capacity is None and (known.acknowledged or known.curved):
        return _leveled(known, 1.0), scheduler, None
    if known.backlog is not None:
        return _bounded(known, known.backlog), scheduler, None
    if known.acknowledged and known.preemption and known.capacity is not None:
        # Below C/8 the paper's coin is 1 whatever the guess: smaller first guesses would only cost restarts.
        first = max(1, known.capacity // 8).bit_length() - 1
        return _paper(known, None), scheduler, Doubling("backlog", first=first)
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


def _bounded(known: Values, backlog: int) -> DWFTBL:
    """Theorem 5 (b) or (d); convex without acknowledgements, the rates of the paper's theorem."""
    if not (known.curved or known.acknowledged):
        return _paper(known, backlog)
    fits = known.capacity is None or backlog < known.capacity
    return _leveled(known, 1.0 if fits else 1.0 + backlog / (known.capacity or 1))


def _leveled(known: Values, level: float) -> DWFTBL:
    domain = known.domain
    rate = (
        BanditRate(domain.diameter, known.gradient_bound, known.spread, level)
        if known.strong_convexity is None
        else inverse_time(known.strong_convexity)
    )
    return DWFTBL(
        domain, rate=rate, smoothing=BanditRadius(domain.inner_radius, known.spread, level, curved=known.curved)
    )


def _paper(known: Values, backlog: int | None) -> DWFTBL:
    """The paper's rates and radii, at this backlog or, None, at a guess (rows 19 and 26 of docs/theory.md)."""
    domain, crowd = known.domain, (known.spread, known.capacity, backlog)
    rate = (
        BanditRate.for_backlog(domain.diameter, known.gradient_bound, *crowd)
        if known.strong_convexity is None
        else inverse_time(known.strong_convexity)
    )
    smoothing = BanditRadius.for_backlog(domain.inner_radius, *crowd, curved=known.curved)
    return DWFTBL(domain, rate=rate, smoothing=smoothing)


def tuning_of(learner: DWFTBL, epochs: Any) -> tuple[str, int]:
    """What rates and radii follow, and the row of docs/theory.md that is about them."""
    curved = not isinstance(learner.rate, BanditRate)
    if epochs.needs_preemption:
        return "radii for a guessed backlog, doubled when outgrown", 26 if curved else 19
    radii = "radii for weights of 1" if _fits(learner.smoothing) else "radii for a bounded backlog"
    if learner.rate.needs_acknowledgements:
        return f"anytime rate from the observed backlog, {radii}", 21
    return (f"rate 1/(λt), {radii}", 27) if curved else ("rate and radii for a bounded backlog", 18)


def factor_of(learner: DWFTBL, scheduler: Any) -> str:
    """By how much bounds grow because radii are tuned below what is proved of the scheduler's moments."""
    if _fits(learner.smoothing):
        return ""
    if isinstance(scheduler, VarOpt):
        return (
            ", times at most κ = e·T^(1/(C−2))·C/(C−3) for C ≥ 4, 1.5(e√T+1) for C = 3: up to horizons of e^(C−2) that "
            "is e²·C/(C−3), then it grows"
        )
    if isinstance(scheduler, Priority):
        return ", times at most κ = e√T + 1"
    return f", times at most κ = max{{1, εC}}, with sat on top, {SATURATED}" if isinstance(scheduler, Morris) else ""


def _fits(smoothing: Any) -> bool:
    """Whether the tracking set cannot fill, so that every weight is 1."""
    return bool(0 < smoothing.level < 2)  # 1 + σ_max/C with σ_max < C; 0 is a level that is guessed
