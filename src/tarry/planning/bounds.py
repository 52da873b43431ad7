"""The regret bounds that a few constants determine, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import ceil, log
from typing import Any, NamedTuple

import numpy as np

from tarry import theory
from tarry.checks import as_int, as_positive
from tarry.errors import ArgumentError

EPSILONS = np.geomspace(1e-3, 32.0, 400)  # Morris's ε: bounds are flat around their best, 3 % steps will do

Least = Callable[[int], float]


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
            self._set(name, as_int, 1)
        for name in ("diameter", "gradient_bound", "strong_convexity", "value_bound", "inner_radius"):
            self._set(name, as_positive)
        for name in ("total_delay", "max_backlog", "max_delay"):
            self._set(name, as_int)
        _check_delays(self.horizon, self.total_delay, self.max_backlog)
        _check_longest(self.horizon, self.total_delay, self.max_backlog, self.max_delay)
        _check_curvature(self.diameter, self.gradient_bound, self.strong_convexity)

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


def list_bounds(constants: Constants) -> list[Bound]:
    """The bounds determined by these constants, in the order game, source.

    >>> known = Constants(horizon=10_000, capacity=32, total_delay=10**6, diameter=2, gradient_bound=1)
    >>> [(b.scheduler, round(b.value)) for b in list_bounds(known)[:3]]
    [('Pareto', 36182), ('Pareto', 7913), ('VarOpt', 3012)]
    """
    known = constants.known()
    return [_evaluate(row, known) for row in _formulas() if all(name in known for name in row.takes)]


def trivial_bound(constants: Constants) -> float | None:
    """GDT, which no player exceeds; None where D or G is not known."""
    if constants.diameter is None or constants.gradient_bound is None:
        return None
    return constants.gradient_bound * constants.diameter * constants.horizon


def _evaluate(row: Formula, known: dict[str, Any]) -> Bound:
    game, capacity = {name: known[name] for name in row.takes}, known["capacity"]
    least = ceil(row.least(known["horizon"])) + row.fewer
    if capacity < least:
        why = f"{row.scheduler}'s bound needs a capacity of at least {least}, got {capacity}"
        return Bound(row.game, row.scheduler, row.source, None, why)
    try:
        found = row.formula(**{**game, "capacity": capacity - row.fewer})
    except ArgumentError as error:
        # Without its remedy, which is for whoever calls the formula.
        why = str(ArgumentError(error.name, error.problem, error.value))
        return Bound(row.game, row.scheduler, row.source, None, why)
    value, note = found if isinstance(found, tuple) else (found, row.note)
    return Bound(row.game, row.scheduler, row.source, float(value), note)


def _check_delays(horizon: int, total: float | None, peak: int | None) -> None:
    if peak is not None and peak > horizon - 1:
        raise ArgumentError("max_backlog", f"must be below the horizon {horizon}", peak)
    if total is None:
        return
    if total > horizon * (horizon - 1) / 2:
        problem = f"is at most T(T−1)/2 = {horizon * (horizon - 1) // 2} in {horizon} rounds"
        raise ArgumentError("total_delay", problem, total)
    if peak is not None and not peak * (peak + 1) / 2 <= total <= horizon * peak:
        raise ValueError(
            f"a backlog of at most {peak} in {horizon} rounds has a total delay between {peak * (peak + 1) // 2} and "
            f"{horizon * peak}, got {total}"
        )


def _check_longest(horizon: int, total: float | None, peak: int | None, longest: int | None) -> None:
    if longest is None:
        return
    if longest > horizon - 1:
        raise ArgumentError("max_delay", f"must be below the horizon {horizon}", longest, "delays end with the game")
    if peak is not None and peak > longest:
        raise ArgumentError("max_backlog", f"is at most {longest} where rounds wait at most {longest} rounds", peak)
    most = horizon * longest - longest * (longest + 1) // 2
    if total is not None and not longest <= total <= most:
        raise ValueError(
            f"a longest delay of {longest} in {horizon} rounds has a total delay between {longest} and {most}, got "
            f"{total}"
        )


def _check_curvature(diameter: float | None, gradient: float | None, curvature: float | None) -> None:
    if diameter is None or gradient is None or curvature is None:
        return
    widest = 2.0 * gradient / curvature
    if diameter > widest * (1.0 + 1e-9):
        problem = f"{curvature:g} and gradients up to {gradient:g} allow a diameter of at most 2G/λ = {widest:g}"
        remedy = "no such losses exist; correct one of the three, or leave one out"
        raise ArgumentError("strong_convexity", problem, diameter, remedy)


def _one_slot(horizon: int) -> float:
    """Return the least capacity of a bound that holds at every capacity."""
    return 1.0


def _two_slots(horizon: int) -> float:
    """Return the least capacity of Theorems 4 and 5 (c)."""
    return 2.0


def _level_slots(horizon: int) -> float:
    """Return the least capacity at which ``moment_level`` is proved."""
    return max(3.0, 1.0 + log(horizon))


class Formula(NamedTuple):
    """A formula and the constants it takes, from ``least(horizon)`` slots on.

    ``fewer`` slots are passed on (VarOpt is held to C − 1), and as many more are asked for.
    """

    game: str
    scheduler: str
    source: str
    formula: Callable[..., Any]
    takes: tuple[str, ...]
    note: str = ""
    fewer: int = 0
    least: Least = _one_slot


def _formulas() -> list[Formula]:
    """Return all of them, by game."""
    return [*_convex(), *_strongly_convex(), *_bandit(), *_bandit_strongly_convex()]


def _sharpened(formula: Callable[..., float]) -> Callable[..., float]:
    return lambda **game: formula(**game, sharpened=True)


def _ours(
    game: str, formula: Callable[..., Any], takes: tuple[str, ...], note: str, least: Least = _two_slots
) -> list[Formula]:
    """Return the theorem for Priority, and for VarOpt with a slot less."""
    return [
        Formula(game, "VarOpt", "ours", formula, takes, f"{note}, as for C − 1", 1, least),
        Formula(game, "Priority", "ours", formula, takes, note, 0, least),
    ]


def _convex() -> list[Formula]:
    takes = ("diameter", "gradient_bound", "horizon", "total_delay", "capacity")
    name, printed, anytime, restarts = "convex", "the paper's rate", "anytime rates", "restarts over T + total delay"
    pareto, restarted = theory.convex_bound, theory.total_doubling_bound
    return [
        Formula(name, "Pareto", "paper", pareto, takes, printed),
        Formula(name, "Pareto", "paper, sharpened", _sharpened(pareto), takes, printed),
        *_ours(name, theory.tracking_convex_bound, takes, "rate tuned to the bound"),
        *_ours(name, lambda **g: theory.tracking_convex_bound(**g, tuned=False), takes, printed),
        *_ours(name, theory.tracking_anytime_bound, takes, anytime),
        *_ours(name, restarted, takes, restarts),
        Formula(name, "Pareto", "ours", lambda **g: restarted(**g, pareto=True), takes, restarts),
        Formula(name, "Morris", "ours", _best_morris(theory.morris_convex_bound), takes),
        Formula(name, "Morris", "ours", _best_morris(_anytime_morris, "anytime rates, "), takes),
        Formula(name, "Bernoulli", "ours", theory.bernoulli_anytime_bound, (*takes, "max_backlog"), anytime),
        Formula(name, "Batching", "ours", _batches, (*takes, "max_delay")),
    ]


def _strongly_convex() -> list[Formula]:
    name, note = "strongly convex", "rate 1/(λt)"
    takes = ("gradient_bound", "strong_convexity", "horizon", "max_backlog", "capacity")
    coin, batches = theory.strongly_convex_bound, theory.batching_strongly_convex_bound
    return [
        Formula(name, "Bernoulli", "paper", coin, takes, note),
        Formula(name, "Bernoulli", "paper, sharpened", _sharpened(coin), takes, note),
        Formula(name, "DoublingBernoulli", "paper", _restarted_coin, takes, f"{note}, restarts over the backlog"),
        Formula(name, "Thinning", "ours", _sharpened(coin), takes, note),
        *_ours(name, theory.tracking_strongly_convex_bound, takes, note),
        Formula(name, "Morris", "ours", _best_morris(_curved_morris), (*takes, "total_delay")),
        Formula(name, "Batching", "ours", batches, (*takes, "max_delay"), note),
    ]


def _bandit() -> list[Formula]:
    paper = ("diameter", "gradient_bound", "spread", "horizon", "max_backlog", "capacity")
    free = ("diameter", "gradient_bound", "spread", "horizon", "total_delay", "capacity")
    name, leveled, batched = "bandit, convex", (*free, "max_backlog"), (*free, "max_delay")
    level, anytime = "rate from the moment level", "anytime rates"
    fixed, running = theory.tracking_bandit_bound, _anytime_bandit
    return [
        Formula(name, "Bernoulli", "paper", theory.bandit_convex_bound, paper, "the theorem's closed form"),
        Formula(name, "Bernoulli", "paper", theory.bandit_convex_line, paper, "the proof's line (c)"),
        Formula(
            name, "Bernoulli", "paper, sharpened", _sharpened(theory.bandit_convex_bound), paper, "the paper's rates"
        ),
        *_ours(name, theory.tracking_free_bandit_bound, free, "rate from the total delay"),
        *_ours(name, _leveled(fixed), leveled, level, _level_slots),
        *_ours(name, _leveled(running), leveled, anytime, _level_slots),
        Formula(name, "Morris", "ours", _best_morris(_morris_values(fixed)), leveled),
        Formula(name, "Morris", "ours", _best_morris(_morris_values(running), "anytime rates, "), leveled),
        Formula(name, "Batching", "ours", _batched(fixed), batched, level),
        Formula(name, "Batching", "ours", _batched(running), batched, anytime),
    ]


def _bandit_strongly_convex() -> list[Formula]:
    name, note = "bandit, strongly convex", "rate 1/(λt)"
    takes = ("gradient_bound", "strong_convexity", "spread", "horizon", "max_backlog", "capacity")
    formula, ours = theory.bandit_strongly_convex_bound, theory.tracking_strongly_convex_bandit_bound
    return [
        Formula(name, "Bernoulli", "paper", formula, takes, note),
        Formula(name, "Bernoulli", "paper, sharpened", _sharpened(formula), takes, note),
        *_ours(name, _leveled(ours, keep_backlog=True), takes, note, _level_slots),
        Formula(name, "Morris", "ours", _best_morris(_curved_morris_values), (*takes, "total_delay")),
        Formula(name, "Batching", "ours", _batched(ours), (*takes, "max_delay"), note),
    ]


def _anytime_bandit(**game: Any) -> float:
    return theory.tracking_bandit_bound(**game, anytime=True)


def _leveled(formula: Callable[..., float], keep_backlog: bool = False) -> Callable[..., float]:
    """Return the formula with ρ, the level of the weights' second moment, in place of the capacity."""

    def bound(*, max_backlog: int, capacity: int, **game: Any) -> float:
        level = theory.moment_level(max_backlog=max_backlog, capacity=capacity, horizon=game["horizon"])
        more = {"max_backlog": max_backlog} if keep_backlog else {}
        return formula(level=level, **game, **more)

    return bound


def _batched(formula: Callable[..., float]) -> Callable[..., float]:
    """Return the formula with the length of a batch for ρ."""

    def bound(*, max_delay: int, capacity: int, **game: Any) -> float:
        return formula(level=theory.batch_length(max_delay=max_delay, capacity=capacity), **game)

    return bound


def _batches(**game: Any) -> tuple[float, str]:
    """Return the bound of batches; all delays are equal where their sum is the largest that the longest allows."""
    longest, horizon = game["max_delay"], game["horizon"]
    is_fixed = game["total_delay"] == horizon * longest - longest * (longest + 1) // 2
    note = "rate tuned to the bound" + (", all delays equal" if is_fixed else "")
    return theory.batching_convex_bound(**game, is_fixed=is_fixed), note


def _restarted_coin(**game: Any) -> float:
    """Return the paper's theorem "Doubling over σ_max" on its bound 18(G²/λ)(σ+1)H_T + 4G²/λ."""
    peak = game.pop("max_backlog")
    free, first = (theory.strongly_convex_bound(**game, max_backlog=sigma) for sigma in (0, 1))
    return theory.doubling_bound(2.0 * free - first, [(first - free, 1.0)], max_backlog=peak)


def _anytime_morris(**game: Any) -> float:
    return theory.morris_convex_bound(**game, anytime=True)


def _curved_morris(*, total_delay: float, capacity: int, epsilon: float, horizon: int, **game: Any) -> float:
    full = theory.morris_saturation(epsilon=epsilon, horizon=horizon, total_delay=total_delay, capacity=capacity)
    return theory.morris_strongly_convex_bound(epsilon=epsilon, horizon=horizon, saturation=full, **game)


def _morris_values(formula: Callable[..., float]) -> Callable[..., float]:
    """Return Theorem 5 (a) or (b) with ρ = 1 + εσ_max, and GD for every round without room."""

    def bound(*, epsilon: float, capacity: int, max_backlog: int, **game: Any) -> float:
        time = {name: game[name] for name in ("horizon", "total_delay")}
        full = theory.morris_saturation(epsilon=epsilon, capacity=capacity, **time)
        scale: float = game["gradient_bound"] * game["diameter"]
        return formula(level=1.0 + epsilon * max_backlog, **game) + scale * full

    return bound


def _curved_morris_values(*, epsilon: float, capacity: int, total_delay: float, **game: Any) -> float:
    """Return Theorem 5 (d) with ρ = 1 + εσ_max, and 4G²/λ for every round without room."""
    full = theory.morris_saturation(
        epsilon=epsilon, capacity=capacity, total_delay=total_delay, horizon=game["horizon"]
    )
    level: float = 1.0 + epsilon * game["max_backlog"]
    scale: float = game["gradient_bound"] ** 2 / game["strong_convexity"]
    return theory.tracking_strongly_convex_bandit_bound(level=level, **game) + 4.0 * scale * full


def _best_morris(formula: Callable[..., float], rates: str = "") -> Callable[..., tuple[float, str]]:
    """Return the least of a bound over many ε: it holds for each."""

    def bound(**game: Any) -> tuple[float, str]:
        values = [formula(epsilon=float(e), **game) for e in EPSILONS]
        best = int(np.argmin(values))
        return values[best], f"{rates}at ε = {EPSILONS[best]:.3g}, where it is least"

    return bound
