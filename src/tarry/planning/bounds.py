"""The regret bounds that a few constants determine, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, NamedTuple

from tarry import theory
from tarry.checks import as_int, as_positive
from tarry.theory.theorems import Row, rows


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
    return [_evaluate(row, known) for row in rows() if all(name in known for name in row.takes)]


def trivial_bound(constants: Constants) -> float | None:
    """GDT, which no player exceeds; None where D or G is not known."""
    if constants.diameter is None or constants.gradient_bound is None:
        return None
    return constants.gradient_bound * constants.diameter * constants.horizon


def _evaluate(row: Row, known: dict[str, Any]) -> Bound:
    game, capacity = {name: known[name] for name in row.takes}, known["capacity"]
    least = ceil(row.least(known["horizon"])) + row.fewer
    try:
        if capacity < least:
            raise ValueError(f"{row.scheduler}'s bound needs a capacity of at least {least}, got {capacity}")
        found = row.formula(**{**game, "capacity": capacity - row.fewer})
    except ValueError as error:
        return Bound(row.game, row.scheduler, row.source, None, str(error).partition(": ")[0])
    value, note = found if isinstance(found, tuple) else (found, row.note)
    return Bound(row.game, row.scheduler, row.source, float(value), note)


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
    if longest > horizon - 1:
        raise ValueError(f"max_delay must be below the horizon {horizon}, got {longest}: delays end with the game")
    if peak is not None and peak > longest:
        raise ValueError(
            f"rounds that wait at most {longest} rounds have a backlog of at most {longest}, got max_backlog {peak}"
        )
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
        raise ValueError(
            f"strong_convexity {curvature:g} and gradient_bound {gradient:g} allow a diameter of at most 2G/λ = "
            f"{widest:g}, got {diameter:g}: no such losses exist; correct one of the three, or leave one out"
        )
