"""The regret bounds that a few constants determine, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from math import ceil, log
from typing import Any, NamedTuple

import numpy as np

from tarry import theory
from tarry.checks import as_int, as_positive
from tarry.errors import ArgumentError
from tarry.theory.weights import batch_length

EPSILONS = np.geomspace(1e-3, 32.0, 400)  # Morris's ε: bounds are flat around their best, 3 % steps will do


@dataclass(frozen=True)
class Constants:
    """What is known of the game; None where it is not.

    ``total_delay`` = Σd_t, ``max_backlog`` = σ_max, ``max_delay`` a bound on d_t; D, G, λ, M, r, k are
    ``diameter`` … ``dimension``. Raise ValueError for constants that no game can have together.
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
        checks: dict[Callable[..., float], tuple[str, ...]] = {
            partial(as_int, least=1): ("horizon", "capacity", "dimension"),
            as_positive: ("diameter", "gradient_bound", "strong_convexity", "value_bound", "inner_radius"),
            as_int: ("total_delay", "max_backlog", "max_delay"),
        }
        for check, names in checks.items():
            for name in names:
                value = getattr(self, name)
                if value is not None:
                    object.__setattr__(self, name, check(value, name))  # frozen, but for its own checks
        _check_delays(self.horizon, self.total_delay, self.max_backlog, self.max_delay)
        if self.diameter is None or self.gradient_bound is None or self.strong_convexity is None:
            return
        steepest, curvature = self.gradient_bound, self.strong_convexity
        widest = 2.0 * steepest / curvature
        if self.diameter > widest * (1.0 + 1e-9):
            problem = f"{curvature:g} and gradients up to {steepest:g} allow a diameter of at most 2G/λ = {widest:g}"
            remedy = "no such losses exist; correct one of the three, or leave one out"
            raise ArgumentError("strong_convexity", problem, self.diameter, remedy)

    def known(self) -> dict[str, Any]:
        """Return the constants that are known, with the spread νk = kM/(Gr) where it follows."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        parts = {n: found.get(n) for n in ("value_bound", "gradient_bound", "inner_radius", "dimension")}
        if all(value is not None for value in parts.values()):
            found["spread"] = theory.spread_of(**parts)  # type: ignore[arg-type]
        return found

    @property
    def trivial_bound(self) -> float | None:
        """GDT, which no player exceeds; None where D or G is not known."""
        if self.diameter is None or self.gradient_bound is None:
            return None
        return self.gradient_bound * self.diameter * self.horizon


class Bound(NamedTuple):
    """A bound on expected regret: its ``value``, or None and, in ``note``, why it says nothing here.

    ``source``: "paper" as printed, "paper, sharpened" for the same proof without its rounding up, or "ours".
    """

    game: str
    scheduler: str
    source: str
    value: float | None
    note: str


class Formula(NamedTuple):
    """A formula and the constants that it takes; it speaks of ``least`` slots and more.

    ``fewer`` slots are passed on (VarOpt is held to C − 1), and as many more are asked for.
    """

    game: str
    scheduler: str
    source: str
    formula: Callable[..., Any]
    takes: tuple[str, ...]
    note: str = ""
    fewer: int = 0
    least: float = 1.0

    def evaluate(self, known: dict[str, Any]) -> Bound:
        """Return the bound for these constants; a capacity that is too small makes a note in place of a value."""
        capacity, least = known["capacity"], ceil(self.least) + self.fewer
        if capacity < least:
            why = f"{self.scheduler}'s bound needs a capacity of at least {least}, got {capacity}"
            return Bound(*self[:3], None, why)
        game = {name: known[name] for name in self.takes}
        if "capacity" in game:
            game["capacity"] = capacity - self.fewer
        try:
            found = self.formula(**game)
        except ArgumentError as error:
            # Without its remedy, which is for whoever calls the formula.
            return Bound(*self[:3], None, str(ArgumentError(error.name, error.problem, error.value)))
        value, note = found if isinstance(found, tuple) else (found, self.note)
        return Bound(*self[:3], float(value), note)


def list_bounds(constants: Constants) -> list[Bound]:
    """Return the bounds determined by these constants, in the order game, source.

    >>> known = Constants(horizon=10_000, capacity=32, total_delay=10**6, diameter=2, gradient_bound=1)
    >>> [(b.scheduler, round(b.value)) for b in list_bounds(known)[:3]]
    [('Pareto', 36182), ('Pareto', 7913), ('VarOpt', 2835)]
    """
    known = constants.known()
    proved = max(3.0, 1.0 + log(constants.horizon))  # the least capacity at which theory.moment_level is
    rows = [*_convex(), *_strongly_convex(), *_bandit(proved), *_bandit_strongly_convex(proved)]
    return [row.evaluate(known) for row in rows if all(name in known for name in row.takes)]


def bounds_by_delay(constants: Constants) -> dict[int, list[Bound]]:
    """Return bounds on convex losses by mean delay, in units of GD, where horizon and capacity are all that is known.

    >>> found = bounds_by_delay(Constants(horizon=10_000, capacity=16))
    >>> [(mean, round(next(b.value for b in rows if b.scheduler == "VarOpt"))) for mean, rows in found.items()]
    [(4, 300), (16, 574), (64, 1136), (256, 2265), (1024, 4527)]
    """
    if set(constants.known()) != {"horizon", "capacity"}:
        return {}
    horizon, capacity = constants.horizon, constants.capacity
    means = [mean for mean in (max(1, capacity // 4), *(capacity * 4**i for i in range(4))) if 2 * mean < horizon]
    made = {mean: Constants(horizon, capacity, mean * horizon, diameter=1.0, gradient_bound=1.0) for mean in means}
    return {mean: list_bounds(one) for mean, one in made.items()}


def _check_delays(horizon: int, total: float | None, peak: int | None, longest: int | None) -> None:
    """Raise ValueError where a sum, a largest backlog and a longest delay cannot be those of one sequence."""
    if peak is not None and peak > horizon - 1:
        raise ArgumentError("max_backlog", f"must be below the horizon {horizon}", peak)
    if longest is not None and longest > horizon - 1:
        raise ArgumentError("max_delay", f"must be below the horizon {horizon}", longest, "delays end with the game")
    if peak is not None and longest is not None and peak > longest:
        raise ArgumentError("max_backlog", f"is at most {longest} where rounds wait at most {longest} rounds", peak)
    if total is None:
        return
    if total > horizon * (horizon - 1) / 2:
        problem = f"is at most T(T−1)/2 = {horizon * (horizon - 1) // 2} in {horizon} rounds"
        raise ArgumentError("total_delay", problem, total)
    ranges = {}
    if peak is not None:
        # A backlog of σ takes delays of at least 1, 2, …, σ, and no round adds more than σ.
        ranges[f"a backlog of at most {peak}"] = (peak * (peak + 1) // 2, horizon * peak)
    if longest is not None:
        # Delays end with the game: the last ones are T − t.
        ranges[f"a longest delay of {longest}"] = (longest, horizon * longest - longest * (longest + 1) // 2)
    for what, (least, most) in ranges.items():
        if not least <= total <= most:
            known = f"{what} in {horizon} rounds has a total delay between {least} and {most}"
            raise ValueError(f"{known}, got {total}")


def _ours(
    game: str, formula: Callable[..., Any], takes: tuple[str, ...], note: str, least: float = 2.0
) -> list[Formula]:
    """Return the theorem for Priority, and for VarOpt with a slot less."""
    return [
        Formula(game, "VarOpt", "ours", formula, takes, f"{note}, as for C − 1", 1, least),
        Formula(game, "Priority", "ours", formula, takes, note, 0, least),
    ]


def _convex() -> list[Formula]:
    takes = ("diameter", "gradient_bound", "horizon", "total_delay", "capacity")
    name, printed, anytime, restarts = "convex", "the paper's rate", "anytime rates", "restarts over T + total delay"
    free = ("diameter", "gradient_bound", "horizon", "total_delay")  # of the capacity
    pareto, priority = theory.pareto_bound, theory.priority_bound
    morris, varopt = theory.morris_bound, theory.varopt_bound
    running = partial(_best, morris, "anytime rates, ", anytime=True)
    return [
        Formula(name, "Pareto", "paper", pareto, takes, printed),
        Formula(name, "Pareto", "paper, sharpened", partial(pareto, sharpened=True), takes, printed),
        Formula(name, "VarOpt", "ours", partial(varopt, rate="tuned"), free, "rate tuned to the bound"),
        Formula(name, "VarOpt", "ours", varopt, free, f"{anytime}, nothing known"),
        Formula(name, "Priority", "ours", priority, takes, "rate tuned to the bound", 0, 2.0),
        Formula(name, "Priority", "ours", partial(priority, rate="paper"), takes, printed, 0, 2.0),
        Formula(name, "Priority", "ours", partial(priority, rate="anytime"), takes, anytime, 0, 2.0),
        Formula(name, "Priority", "ours", partial(priority, rate="restarted"), takes, restarts, 0, 2.0),
        Formula(name, "Pareto", "ours", partial(pareto, restarted=True), takes, restarts),
        Formula(name, "Morris", "ours", partial(_best, morris), takes),
        Formula(name, "Morris", "ours", running, takes),
        Formula(name, "Bernoulli", "ours", theory.bernoulli_bound, (*takes, "max_backlog"), anytime),
        Formula(name, "Batching", "ours", _batches, (*takes, "max_delay")),
    ]


def _strongly_convex() -> list[Formula]:
    name, note = "strongly convex", "rate 1/(λt)"
    takes = ("gradient_bound", "strong_convexity", "horizon", "max_backlog", "capacity")
    coin = theory.bernoulli_bound
    sharpened, restarted = partial(coin, sharpened=True), partial(coin, restarted=True)
    return [
        Formula(name, "Bernoulli", "paper", coin, takes, note),
        Formula(name, "Bernoulli", "paper, sharpened", sharpened, takes, note),
        Formula(name, "DoublingBernoulli", "paper", restarted, takes, f"{note}, restarts over the backlog"),
        Formula(name, "Thinning", "ours", sharpened, takes, note),
        Formula(name, "VarOpt", "ours", theory.varopt_bound, takes[:4], note),
        Formula(name, "Priority", "ours", theory.priority_bound, takes, note, 0, 2.0),
        Formula(name, "Morris", "ours", partial(_best, theory.morris_bound), (*takes, "total_delay")),
        Formula(name, "Batching", "ours", theory.batching_bound, (*takes, "max_delay"), note),
    ]


def _bandit(proved: float) -> list[Formula]:
    paper = ("diameter", "gradient_bound", "spread", "horizon", "max_backlog", "capacity")
    free = ("diameter", "gradient_bound", "spread", "horizon", "total_delay", "capacity")
    name, leveled, batched = "bandit, convex", (*free, "max_backlog"), (*free, "max_delay")
    level, anytime = "rate from the moment level", "anytime rates"
    coin, rates = theory.bernoulli_bandit_bound, "the paper's rates"
    running = partial(_best, _morris_values, "anytime rates, ", anytime=True)
    return [
        Formula(name, "Bernoulli", "paper", coin, paper, "the theorem's closed form"),
        Formula(name, "Bernoulli", "paper", partial(coin, line=True), paper, "the proof's line (c)"),
        Formula(name, "Bernoulli", "paper, sharpened", partial(coin, sharpened=True), paper, rates),
        *_ours(name, theory.priority_bandit_bound, free, "rate from the total delay"),
        *_ours(name, _leveled, leveled, level, proved),
        *_ours(name, partial(_leveled, anytime=True), leveled, anytime, proved),
        Formula(name, "Morris", "ours", partial(_best, _morris_values), leveled),
        Formula(name, "Morris", "ours", running, leveled),
        Formula(name, "Batching", "ours", _batched, batched, level),
        Formula(name, "Batching", "ours", partial(_batched, anytime=True), batched, anytime),
    ]


def _bandit_strongly_convex(proved: float) -> list[Formula]:
    name, note, coin = "bandit, strongly convex", "rate 1/(λt)", theory.bernoulli_bandit_bound
    takes = ("gradient_bound", "strong_convexity", "spread", "horizon", "max_backlog", "capacity")
    return [
        Formula(name, "Bernoulli", "paper", coin, takes, note),
        Formula(name, "Bernoulli", "paper, sharpened", partial(coin, sharpened=True), takes, note),
        *_ours(name, _leveled, takes, note, proved),
        Formula(name, "Morris", "ours", partial(_best, _morris_values), (*takes, "total_delay")),
        Formula(name, "Batching", "ours", _batched, (*takes, "max_delay"), note),
    ]


def _leveled(*, max_backlog: int, capacity: int, **game: Any) -> float:
    """Return Theorem 5 with ρ from the largest backlog."""
    level = theory.moment_level(max_backlog=max_backlog, capacity=capacity, horizon=game["horizon"])
    return theory.bandit_bound(level=level, max_backlog=max_backlog, **game)


def _batched(*, max_delay: int, capacity: int, **game: Any) -> float:
    """Return Theorem 5 with the length of a batch, which is the second moment of its weights, for ρ."""
    return theory.bandit_bound(level=batch_length(max_delay=max_delay, capacity=capacity), **game)


def _batches(**game: Any) -> tuple[float, str]:
    """Return the bound of batches; all delays are equal where their sum is the largest that the longest allows."""
    longest, horizon = game["max_delay"], game["horizon"]
    is_fixed = game["total_delay"] == horizon * longest - longest * (longest + 1) // 2
    note = "rate tuned to the bound" + (", all delays equal" if is_fixed else "")
    return theory.batching_bound(**game, is_fixed=is_fixed), note


def _morris_values(*, epsilon: float, capacity: int, max_backlog: int, total_delay: float, **game: Any) -> float:
    """Return Theorem 5 with ρ = 1 + εσ_max, and the rounds without room on top."""
    costs = theory.morris_costs(epsilon=epsilon, capacity=capacity, total_delay=total_delay, horizon=game["horizon"])
    game |= {"max_backlog": max_backlog, "total_delay": total_delay}
    return theory.bandit_bound(level=1.0 + epsilon * max_backlog, saturation=costs.saturation, **game)


def _best(formula: Callable[..., float], rates: str = "", **game: Any) -> tuple[float, str]:
    """Return the least of Morris's bound over many ε, since it holds for each, and where that is."""
    values = [formula(epsilon=float(e), **game) for e in EPSILONS]
    best = int(np.argmin(values))
    return values[best], f"{rates}at ε = {EPSILONS[best]:.3g}, where it is least"
