"""Every regret bound that a few constants determine, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from tarry import theory
from tarry.checks import as_positive, as_whole

EPSILONS = np.geomspace(1e-3, 32.0, 400)


@dataclass(frozen=True)
class Constants:
    """What is known of the game; None where it is not.

    ``total_delay`` = Σd_t, ``max_backlog`` = σ_max, ``max_delay`` a bound on d_t; D, G, λ, M, r, k are
    ``diameter`` … ``dimension``.
    """

    horizon: int
    capacity: int
    total_delay: float | None = None
    max_backlog: int | None = None
    max_delay: int | None = None
    diameter: float | None = None
    gradient_bound: float | None = None
    strong_convexity: float | None = None
    value_bound: float | None = None
    inner_radius: float | None = None
    dimension: int | None = None

    def __post_init__(self) -> None:
        for name in ("horizon", "capacity", "dimension"):
            self._set(name, as_whole, 1)
        for name in ("diameter", "gradient_bound", "strong_convexity", "value_bound", "inner_radius"):
            self._set(name, as_positive)
        for name in ("total_delay", "max_backlog", "max_delay"):
            self._set(name, as_whole)
        _check_delays(self.horizon, self.total_delay, self.max_backlog)
        _check_longest(self.horizon, self.total_delay, self.max_backlog, self.max_delay)

    def _set(self, name: str, check: Callable[..., Any], *more: Any) -> None:
        value = getattr(self, name)
        if value is not None:
            object.__setattr__(self, name, check(value, name, *more))

    def known(self) -> dict[str, Any]:
        """The constants that are known, with the spread νk = kM/(Gr) where it follows."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        parts = {n: found.get(n) for n in ("value_bound", "gradient_bound", "inner_radius", "dimension")}
        if all(value is not None for value in parts.values()):
            found["spread"] = theory.spread_of(**parts)  # type: ignore[arg-type]
        return found


class Bound(NamedTuple):
    """A bound on expected regret: its ``value``, or None and, in ``note``, why it says nothing here.

    ``source``: "paper" as printed, "paper, sharpened" for the same proof without its rounding up, or "ours".
    """

    game: str
    scheduler: str
    source: str
    value: float | None
    note: str


class _Row(NamedTuple):
    """A formula and the constants it takes; ``fewer`` slots are passed on (VarOpt is held to C − 1)."""

    game: str
    scheduler: str
    source: str
    formula: Callable[..., Any]
    takes: tuple[str, ...]
    note: str = ""
    fewer: int = 0


def list_bounds(constants: Constants) -> list[Bound]:
    """The bounds determined by these constants, in the order game, source.

    >>> known = Constants(horizon=10_000, capacity=32, total_delay=10**6, diameter=2, gradient_bound=1)
    >>> [(b.scheduler, round(b.value)) for b in list_bounds(known)[:3]]
    [('Pareto', 36182), ('Pareto', 7913), ('VarOpt', 3012)]
    """
    known = constants.known()
    return [_evaluate(row, known) for row in _rows() if all(name in known for name in row.takes)]


def trivial_bound(constants: Constants) -> float | None:
    """GDT, which no player exceeds; None where D or G is not known."""
    if constants.diameter is None or constants.gradient_bound is None:
        return None
    return constants.gradient_bound * constants.diameter * constants.horizon


def _evaluate(row: _Row, known: dict[str, Any]) -> Bound:
    game = {name: known[name] for name in row.takes}
    game["capacity"] -= row.fewer
    try:
        if game["capacity"] < 1:
            raise ValueError(f"the bound needs a capacity of at least {1 + row.fewer}, got {known['capacity']}")
        found = row.formula(**game)
    except ValueError as error:
        return Bound(row.game, row.scheduler, row.source, None, str(error).partition(": ")[0])
    value, note = found if isinstance(found, tuple) else (found, row.note)
    return Bound(row.game, row.scheduler, row.source, float(value), note)


def _rows() -> list[_Row]:
    return [*_convex(), *_strongly_convex(), *_bandit(), *_bandit_strongly_convex()]


def _sharpened(formula: Callable[..., float]) -> Callable[..., float]:
    return lambda **game: formula(**game, sharpened=True)


def _ours(game: str, formula: Callable[..., Any], takes: tuple[str, ...], note: str) -> list[_Row]:
    """The theorem for Priority, and for VarOpt with a slot less."""
    return [
        _Row(game, "VarOpt", "ours", formula, takes, f"{note}, as for C − 1", 1),
        _Row(game, "Priority", "ours", formula, takes, note),
    ]


def _convex() -> list[_Row]:
    takes = ("diameter", "gradient_bound", "horizon", "total_delay", "capacity")
    printed = "the paper's rate"
    return [
        _Row("convex", "Pareto", "paper", theory.convex_bound, takes, printed),
        _Row("convex", "Pareto", "paper, sharpened", _sharpened(theory.convex_bound), takes, printed),
        *_ours("convex", theory.tracking_convex_bound, takes, "rate tuned to the bound"),
        *_ours("convex", lambda **g: theory.tracking_convex_bound(**g, tuned=False), takes, "the paper's rate"),
        *_ours("convex", theory.tracking_anytime_bound, takes, "anytime rates"),
        _Row("convex", "Morris", "ours", _best_morris(theory.morris_convex_bound), takes),
        _Row(
            "convex", "Batching", "ours", theory.batching_convex_bound, (*takes, "max_delay"), "rate tuned to the bound"
        ),
    ]


def _strongly_convex() -> list[_Row]:
    name, note = "strongly convex", "rate 1/(λt)"
    takes = ("gradient_bound", "strong_convexity", "horizon", "max_backlog", "capacity")
    return [
        _Row(name, "Bernoulli", "paper", theory.strongly_convex_bound, takes, note),
        _Row(name, "Bernoulli", "paper, sharpened", _sharpened(theory.strongly_convex_bound), takes, note),
        *_ours(name, theory.tracking_strongly_convex_bound, takes, note),
        _Row(name, "Morris", "ours", _best_morris(_curved_morris), (*takes, "total_delay")),
        _Row(name, "Batching", "ours", theory.batching_strongly_convex_bound, (*takes, "max_delay"), note),
    ]


def _bandit() -> list[_Row]:
    paper = ("diameter", "gradient_bound", "spread", "horizon", "max_backlog", "capacity")
    free = ("diameter", "gradient_bound", "spread", "horizon", "total_delay", "capacity")
    name = "bandit, convex"
    return [
        _Row(name, "Bernoulli", "paper", theory.bandit_convex_bound, paper, "the theorem's closed form"),
        _Row(name, "Bernoulli", "paper", theory.bandit_convex_line, paper, "the proof's line (c)"),
        _Row(name, "Bernoulli", "paper, sharpened", _sharpened(theory.bandit_convex_bound), paper, "the paper's rates"),
        *_ours(name, theory.tracking_free_bandit_bound, free, "rate from the total delay"),
        *_ours(name, _leveled(theory.tracking_bandit_bound), (*free, "max_backlog"), "rate from the moment level"),
        *_ours(name, _leveled(_anytime_bandit), (*free, "max_backlog"), "anytime rates"),
    ]


def _bandit_strongly_convex() -> list[_Row]:
    name, note = "bandit, strongly convex", "rate 1/(λt)"
    takes = ("gradient_bound", "strong_convexity", "spread", "horizon", "max_backlog", "capacity")
    formula = theory.bandit_strongly_convex_bound
    return [
        _Row(name, "Bernoulli", "paper", formula, takes, note),
        _Row(name, "Bernoulli", "paper, sharpened", _sharpened(formula), takes, note),
        *_ours(name, _leveled(theory.tracking_strongly_convex_bandit_bound, keep_backlog=True), takes, note),
    ]


def _anytime_bandit(**game: Any) -> float:
    return theory.tracking_bandit_bound(**game, anytime=True)


def _leveled(formula: Callable[..., float], keep_backlog: bool = False) -> Callable[..., float]:
    """The formula with ρ, the level of the weights' second moment, in place of the capacity."""

    def bound(*, max_backlog: int, capacity: int, **game: Any) -> float:
        level = theory.moment_level(max_backlog=max_backlog, capacity=capacity, horizon=game["horizon"])
        more = {"max_backlog": max_backlog} if keep_backlog else {}
        return formula(level=level, **game, **more)

    return bound


def _curved_morris(*, total_delay: float, capacity: int, epsilon: float, horizon: int, **game: Any) -> float:
    full = theory.morris_saturation(epsilon=epsilon, horizon=horizon, total_delay=total_delay, capacity=capacity)
    return theory.morris_strongly_convex_bound(epsilon=epsilon, horizon=horizon, saturation=full, **game)


def _best_morris(formula: Callable[..., float]) -> Callable[..., tuple[float, str]]:
    """The bound holds for every ε, so the best of many holds too."""

    def bound(**game: Any) -> tuple[float, str]:
        values = [formula(epsilon=float(e), **game) for e in EPSILONS]
        best = int(np.argmin(values))
        return values[best], f"at ε = {EPSILONS[best]:.3g}, where it is least"

    return bound


def _check_delays(horizon: int, total: float | None, peak: int | None) -> None:
    if peak is not None and peak > horizon - 1:
        raise ValueError(f"max_backlog must be below the horizon {horizon}, got {peak}")
    if total is None:
        return
    if total > horizon * (horizon - 1) / 2:
        raise ValueError(
            f"total_delay is at most T(T−1)/2 = {horizon * (horizon - 1) // 2} in {horizon} rounds, got {total}"
        )
    if peak is not None and not peak * (peak + 1) / 2 <= total <= horizon * peak:
        raise ValueError(
            f"a backlog of at most {peak} in {horizon} rounds has a total delay between {peak * (peak + 1) // 2} and "
            f"{horizon * peak}, got {total}"
        )


def _check_longest(horizon: int, total: float | None, peak: int | None, longest: int | None) -> None:
    if longest is None:
        return
    if total is not None and total > horizon * longest:
        raise ValueError(f"{horizon} delays of at most {longest} add up to at most {horizon * longest}, got {total}")
    if peak is not None and peak > longest:
        raise ValueError(f"with delays of at most {longest} no more than {longest} rounds wait, got max_backlog={peak}")
