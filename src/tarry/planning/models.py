"""Plans before there is a log: from a model of delays and a rate of decisions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from tarry import delays
from tarry.checks import as_int, as_positive
from tarry.delays.base import Delays
from tarry.errors import ArgumentError
from tarry.planning.plan import Plan, plan

NAMES = ("fixed", "uniform", "geometric", "pareto", "lognormal", "bursts", "queue")
MODELS: dict[str, Callable[..., Delays]] = {name: getattr(delays, name) for name in NAMES}
UNITS = {"d": 1.0, "h": 1.0 / 24, "min": 1.0 / 1440, "s": 1.0 / 86400}  # days
WHOLE = {"delay", "low", "high", "length", "slow", "fast", "servers"}  # these count decisions or servers


def model_delays(kind: str, *, horizon: int, per_day: float | None = None, rng: Any = 0, **parameters: Any) -> Delays:
    """Return the delays of a named model; its parameters are numbers of decisions, or lengths of time such as "3d" or "36h".

    Lengths of time (d, h, min, s) need ``per_day``, the decisions made in a day.

    >>> model_delays("fixed", horizon=1000, per_day=240, delay="2h").values[:2].tolist()
    [20, 20]
    """
    if kind not in MODELS:
        raise ValueError(f"there is no model {kind!r}: take one of {', '.join(MODELS)}")
    takes = inspect.signature(MODELS[kind]).parameters
    known = {name: one for name, one in takes.items() if name not in ("horizon", "rng")}
    for name in parameters:
        if name not in known:
            raise ArgumentError(name, f"is no parameter of the model {kind!r}", remedy=f"it takes {', '.join(known)}")
    for name, one in known.items():
        if one.default is inspect.Parameter.empty and name not in parameters:
            raise ArgumentError(name, f"is missing: the model {kind!r} takes {', '.join(known)}")
    made = {name: _rounds(name, value, per_day) for name, value in parameters.items()}
    chance = {"rng": rng} if "rng" in takes else {}
    return MODELS[kind](horizon=as_int(horizon, "horizon", 1), **made, **chance)


def plan_model(
    kind: str,
    parameters: dict[str, Any] | None = None,
    *,
    horizon: int = 20_000,
    per_day: float | None = None,
    rng: Any = 0,
    **options: Any,
) -> Plan:
    """Plan from a model of delays: ``kind`` and ``parameters`` as in :func:`model_delays`, ``options`` of ``plan``."""
    rate = None if per_day is None else as_positive(per_day, "per_day")
    made = model_delays(kind, horizon=horizon, per_day=rate, rng=rng, **(parameters or {}))
    return plan(made, per_day=rate, **options)


def _rounds(name: str, value: Any, per_day: float | None) -> Any:
    """A parameter as a number; a length of time becomes a number of decisions."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"\s*([-+0-9.eE]+)\s*(d|h|min|s)?\s*", value)
    try:
        number = float(found[1]) if found else float(value)
    except ValueError:
        if name == "service":
            return value
        raise ArgumentError(name, "must be a number, or a length of time such as 3d, 36h, 20min", value) from None
    if found and found[2]:
        if per_day is None:
            remedy = "say how many decisions a day there are (per_day=, --per-day)"
            raise ArgumentError(name, "is a length of time", value, remedy)
        number *= UNITS[found[2]] * per_day
    return round(number) if name in WHOLE and ((found and found[2]) or number == int(number)) else number
