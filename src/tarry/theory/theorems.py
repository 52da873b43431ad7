"""The table of theorems: which bound takes which constants."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any, NamedTuple

import numpy as np

from tarry.theory.keeping import (
    batch_length,
    batching_convex_bound,
    batching_strongly_convex_bound,
    morris_convex_bound,
    morris_saturation,
    morris_strongly_convex_bound,
)
from tarry.theory.paper import (
    bandit_convex_bound,
    bandit_convex_line,
    bandit_strongly_convex_bound,
    bernoulli_anytime_bound,
    convex_bound,
    doubling_bound,
    strongly_convex_bound,
    total_doubling_bound,
)
from tarry.theory.tracking import (
    moment_level,
    tracking_anytime_bound,
    tracking_bandit_bound,
    tracking_convex_bound,
    tracking_free_bandit_bound,
    tracking_strongly_convex_bandit_bound,
    tracking_strongly_convex_bound,
)

EPSILONS = np.geomspace(1e-3, 32.0, 400)  # a bound holds for every ε: the best of these is within a thousandth

Least = Callable[[int], float]


def one_slot(horizon: int) -> float:
    """Every capacity will do."""
    return 1.0


def two_slots(horizon: int) -> float:
    """Theorem 4 and 5 (c)."""
    return 2.0


def level_slots(horizon: int) -> float:
    """Where ``moment_level`` is proved."""
    return max(3.0, 1.0 + log(horizon))


class Row(NamedTuple):
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
    least: Least = one_slot


def rows() -> list[Row]:
    """All of them, by game."""
    return [*_convex(), *_strongly_convex(), *_bandit(), *_bandit_strongly_convex()]


def _sharpened(formula: Callable[..., float]) -> Callable[..., float]:
    return lambda **game: formula(**game, sharpened=True)


def _ours(
    game: str, formula: Callable[..., Any], takes: tuple[str, ...], note: str, least: Least = two_slots
) -> list[Row]:
    """The theorem for Priority, and for VarOpt with a slot less."""
    return [
        Row(game, "VarOpt", "ours", formula, takes, f"{note}, as for C − 1", 1, least),
        Row(game, "Priority", "ours", formula, takes, note, 0, least),
    ]


def _convex() -> list[Row]:
    takes = ("diameter", "gradient_bound", "horizon", "total_delay", "capacity")
    name, printed, anytime, restarts = "convex", "the paper's rate", "anytime rates", "restarts over T + total delay"
    pareto, restarted = convex_bound, total_doubling_bound
    return [
        Row(name, "Pareto", "paper", pareto, takes, printed),
        Row(name, "Pareto", "paper, sharpened", _sharpened(pareto), takes, printed),
        *_ours(name, tracking_convex_bound, takes, "rate tuned to the bound"),
        *_ours(name, lambda **g: tracking_convex_bound(**g, tuned=False), takes, printed),
        *_ours(name, tracking_anytime_bound, takes, anytime),
        *_ours(name, restarted, takes, restarts),
        Row(name, "Pareto", "ours", lambda **g: restarted(**g, pareto=True), takes, restarts),
        Row(name, "Morris", "ours", _best_morris(morris_convex_bound), takes),
        Row(name, "Morris", "ours", _best_morris(_anytime_morris, "anytime rates, "), takes),
        Row(name, "Bernoulli", "ours", bernoulli_anytime_bound, (*takes, "max_backlog"), anytime),
        Row(name, "Batching", "ours", _batches, (*takes, "max_delay")),
    ]


def _strongly_convex() -> list[Row]:
    name, note = "strongly convex", "rate 1/(λt)"
    takes = ("gradient_bound", "strong_convexity", "horizon", "max_backlog", "capacity")
    coin, batches = strongly_convex_bound, batching_strongly_convex_bound
    return [
        Row(name, "Bernoulli", "paper", coin, takes, note),
        Row(name, "Bernoulli", "paper, sharpened", _sharpened(coin), takes, note),
        Row(name, "Guessing", "paper", _restarted_coin, takes, f"{note}, restarts over the backlog"),
        Row(name, "Thinning", "ours", _sharpened(coin), takes, note),
        *_ours(name, tracking_strongly_convex_bound, takes, note),
        Row(name, "Morris", "ours", _best_morris(_curved_morris), (*takes, "total_delay")),
        Row(name, "Batching", "ours", batches, (*takes, "max_delay"), note),
    ]


def _bandit() -> list[Row]:
    paper = ("diameter", "gradient_bound", "spread", "horizon", "max_backlog", "capacity")
    free = ("diameter", "gradient_bound", "spread", "horizon", "total_delay", "capacity")
    name, leveled, batched = "bandit, convex", (*free, "max_backlog"), (*free, "max_delay")
    level, anytime = "rate from the moment level", "anytime rates"
    fixed, running = tracking_bandit_bound, _anytime_bandit
    return [
        Row(name, "Bernoulli", "paper", bandit_convex_bound, paper, "the theorem's closed form"),
        Row(name, "Bernoulli", "paper", bandit_convex_line, paper, "the proof's line (c)"),
        Row(name, "Bernoulli", "paper, sharpened", _sharpened(bandit_convex_bound), paper, "the paper's rates"),
        *_ours(name, tracking_free_bandit_bound, free, "rate from the total delay"),
        *_ours(name, _leveled(fixed), leveled, level, level_slots),
        *_ours(name, _leveled(running), leveled, anytime, level_slots),
        Row(name, "Morris", "ours", _best_morris(_morris_values(fixed)), leveled),
        Row(name, "Morris", "ours", _best_morris(_morris_values(running), "anytime rates, "), leveled),
        Row(name, "Batching", "ours", _batched(fixed), batched, level),
        Row(name, "Batching", "ours", _batched(running), batched, anytime),
    ]


def _bandit_strongly_convex() -> list[Row]:
    name, note = "bandit, strongly convex", "rate 1/(λt)"
    takes = ("gradient_bound", "strong_convexity", "spread", "horizon", "max_backlog", "capacity")
    formula, ours = bandit_strongly_convex_bound, tracking_strongly_convex_bandit_bound
    return [
        Row(name, "Bernoulli", "paper", formula, takes, note),
        Row(name, "Bernoulli", "paper, sharpened", _sharpened(formula), takes, note),
        *_ours(name, _leveled(ours, keep_backlog=True), takes, note, level_slots),
        Row(name, "Morris", "ours", _best_morris(_curved_morris_values), (*takes, "total_delay")),
        Row(name, "Batching", "ours", _batched(ours), (*takes, "max_delay"), note),
    ]


def _anytime_bandit(**game: Any) -> float:
    return tracking_bandit_bound(**game, anytime=True)


def _leveled(formula: Callable[..., float], keep_backlog: bool = False) -> Callable[..., float]:
    """The formula with ρ, the level of the weights' second moment, in place of the capacity."""

    def bound(*, max_backlog: int, capacity: int, **game: Any) -> float:
        level = moment_level(max_backlog=max_backlog, capacity=capacity, horizon=game["horizon"])
        more = {"max_backlog": max_backlog} if keep_backlog else {}
        return formula(level=level, **game, **more)

    return bound


def _batched(formula: Callable[..., float]) -> Callable[..., float]:
    """The same with the length of a batch for ρ."""

    def bound(*, max_delay: int, capacity: int, **game: Any) -> float:
        return formula(level=batch_length(max_delay=max_delay, capacity=capacity), **game)

    return bound


def _batches(**game: Any) -> tuple[float, str]:
    """All delays are equal where their sum is the largest that the longest allows."""
    longest, horizon = game["max_delay"], game["horizon"]
    is_fixed = game["total_delay"] == horizon * longest - longest * (longest + 1) // 2
    note = "rate tuned to the bound" + (", all delays equal" if is_fixed else "")
    return batching_convex_bound(**game, is_fixed=is_fixed), note


def _restarted_coin(**game: Any) -> float:
    """The paper's theorem "Doubling over σ_max" on its bound 18(G²/λ)(σ+1)H_T + 4G²/λ."""
    peak = game.pop("max_backlog")
    free, first = (strongly_convex_bound(**game, max_backlog=sigma) for sigma in (0, 1))
    return doubling_bound(2.0 * free - first, [(first - free, 1.0)], max_backlog=peak)


def _anytime_morris(**game: Any) -> float:
    return morris_convex_bound(**game, anytime=True)


def _curved_morris(*, total_delay: float, capacity: int, epsilon: float, horizon: int, **game: Any) -> float:
    full = morris_saturation(epsilon=epsilon, horizon=horizon, total_delay=total_delay, capacity=capacity)
    return morris_strongly_convex_bound(epsilon=epsilon, horizon=horizon, saturation=full, **game)


def _morris_values(formula: Callable[..., float]) -> Callable[..., float]:
    """Theorem 5 (a) or (b) with ρ = 1 + εσ_max, and GD for every round without room."""

    def bound(*, epsilon: float, capacity: int, max_backlog: int, **game: Any) -> float:
        time = {name: game[name] for name in ("horizon", "total_delay")}
        full = morris_saturation(epsilon=epsilon, capacity=capacity, **time)
        scale: float = game["gradient_bound"] * game["diameter"]
        return formula(level=1.0 + epsilon * max_backlog, **game) + scale * full

    return bound


def _curved_morris_values(*, epsilon: float, capacity: int, total_delay: float, **game: Any) -> float:
    """Theorem 5 (d) with ρ = 1 + εσ_max, and 4G²/λ for every round without room."""
    full = morris_saturation(epsilon=epsilon, capacity=capacity, total_delay=total_delay, horizon=game["horizon"])
    level: float = 1.0 + epsilon * game["max_backlog"]
    scale: float = game["gradient_bound"] ** 2 / game["strong_convexity"]
    return tracking_strongly_convex_bandit_bound(level=level, **game) + 4.0 * scale * full


def _best_morris(formula: Callable[..., float], rates: str = "") -> Callable[..., tuple[float, str]]:
    """The bound holds for every ε, so the best of many holds too."""

    def bound(**game: Any) -> tuple[float, str]:
        values = [formula(epsilon=float(e), **game) for e in EPSILONS]
        best = int(np.argmin(values))
        return values[best], f"{rates}at ε = {EPSILONS[best]:.3g}, where it is least"

    return bound
