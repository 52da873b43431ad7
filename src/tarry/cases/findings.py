"""What the figures of this run say, in sentences: who came nearest, who erred least, and what that shows."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot

from tarry.cases.measure import Figures, Spread
from tarry.cases.policies import VAROPT
from tarry.cases.stream import Stream
from tarry.cases.table import shown

CLEAR = 2.0  # standard errors, beyond which a difference is more than chance


_VERDICTS = {
    1: "the best weighted policy errs less than every unweighted one",
    0: "these runs do not tell the best weighted policy from the best unweighted one",
    -1: "an unweighted policy errs less than every weighted one",
}


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
        _contest(limited, "on the way", f"{unit}²", _progressive),
        _contest(limited, "with its last model", f"{unit}²", _last),
        _moral(limited),
    ]
    return " ".join(filter(None, sentences))


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
    """Whether weights paid: the best weighted policy against the best of the others."""
    weighted = [one for one in limited if one.is_unbiased]
    others = [one for one in limited if not one.is_unbiased]
    if not weighted or not others:
        return ""
    verdicts = []
    for read in (_progressive, _last):
        ours, theirs = (min(map(read, group), key=lambda spread: spread.mean) for group in (weighted, others))
        verdicts.append(0 if not _is_clear(ours, theirs) else 1 if ours.mean < theirs.mean else -1)
    way, end = (_VERDICTS[verdict] for verdict in verdicts)
    if way == end:
        text = f"Both on the way and in the end {way}"
    else:
        text = f"On the way {way}, in the end {end}"
    cause = ": the variance of few weighted labels can cost a model more than the bias that they avoid"
    return f"{text}{cause if -1 in verdicts else ''}."


def _is_clear(one: Spread, two: Spread) -> bool:
    return abs(two.mean - one.mean) > CLEAR * hypot(one.error, two.error)


def _progressive(one: Figures) -> Spread:
    return one.progressive


def _last(one: Figures) -> Spread:
    return one.last
