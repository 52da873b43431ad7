"""What the figures of this run say, in sentences: who came nearest, who erred least, and what that shows."""

from __future__ import annotations

from collections.abc import Callable

from tarry.cases.measure import Figures, Spread
from tarry.cases.policies import VAROPT
from tarry.cases.stream import Stream
from tarry.cases.table import shown

CLEAR = 2.0  # standard errors, beyond which a difference is more than chance


def findings(stream: Stream, figures: list[Figures]) -> str:
    """The outcome of this run: beliefs, the way there, the last model, and whether weights paid."""
    limited = [one for one in figures if one.capacity is not None]
    if len(limited) < 2:
        return ""
    slots, unit = limited[0].capacity, stream.unit
    by_error = sorted(limited, key=lambda one: abs(one.believed.mean - stream.mean))
    near, far = by_error[0], by_error[-1]
    sentences = [
        f"In this run, {stream.horizon:,} decisions and {slots} slots, {near.policy} comes nearest to the true mean of "
        f"{stream.mean:.1f} {unit} ({near.believed.mean:.1f}), {far.policy} stays farthest off "
        f"({far.believed.mean:.1f}).",
        _contest(limited, "on the way", f"{unit}²", lambda one: one.progressive),
        _contest(limited, "with its last model", f"{unit}²", lambda one: one.last),
        _moral(limited),
    ]
    return " ".join(sentences)


def _contest(limited: list[Figures], where: str, unit: str, read: Callable[[Figures], Spread]) -> str:
    """Who errs least, and by how much VarOpt, or the next one, is behind."""
    best, *others = sorted(limited, key=lambda one: read(one).mean)
    rival = next((one for one in others if one.policy == VAROPT.name), others[0])
    apart = "" if _is_clear(read(best), read(rival)) else ", a difference that may be chance"
    return (
        f"Of those with a limit, {best.policy} errs least {where}: {shown(read(best))} {unit}, "
        f"{rival.policy} {shown(read(rival))}{apart}."
    )


def _moral(limited: list[Figures]) -> str:
    wins = [_winner(limited, read) for read in (lambda one: one.progressive, lambda one: one.last)]
    if all(one.is_unbiased for one in wins):
        return "Weights pay here: no unweighted policy errs less than the best weighted one."
    where = " and ".join(
        place for one, place in zip(wins, ("on the way", "in the end"), strict=True) if not one.is_unbiased
    )
    return (
        f"An unweighted policy does best {where}: here the variance of few weighted labels costs a model more than the "
        "bias that they avoid."
    )


def _winner(limited: list[Figures], read: Callable[[Figures], Spread]) -> Figures:
    return min(limited, key=lambda one: read(one).mean)


def _is_clear(one: Spread, two: Spread) -> bool:
    return abs(two.mean - one.mean) > CLEAR * (one.error**2 + two.error**2) ** 0.5
