"""What the figures of this run say, in sentences: who came nearest, who erred least, and what that shows."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot

from tarry.cases.measure import Figures, Spread
from tarry.cases.policies import VAROPT
from tarry.cases.stream import Stream
from tarry.cases.table import rounded, shown

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
    sentences = [
        f"In this run, {stream.horizon:,} decisions and {slots} slots, {_beliefs(limited, stream.mean, unit)}.",
        _distortion(limited, stream.mean),
        _contest(limited, "on the way", f"{unit}²", _progressive),
        _contest(limited, "with its last model", f"{unit}²", _last),
        _moral(limited),
    ]
    return " ".join(filter(None, sentences))


def _beliefs(limited: list[Figures], truth: float, unit: str) -> str:
    """Who comes nearest to the true mean and who stays farthest off, with all that chance may have put behind them."""

    def off(one: Figures) -> float:
        return round(abs(rounded(one.believed.mean) - rounded(truth)), 1)

    def is_like(one: Figures, other: Figures) -> bool:
        return abs(off(one) - off(other)) <= CLEAR * hypot(one.believed.error, other.believed.error)

    ranked = sorted(limited, key=off)
    near = [one for one in ranked if is_like(one, ranked[0])]
    far = [one for one in reversed(ranked) if is_like(one, ranked[-1]) and one not in near]
    verb = "comes" if len(near) == 1 else "come"
    text = f"{_listed(near)} {verb} nearest to the true mean of {truth:.1f} {unit}"
    if len(near) > 1:
        text += ", with differences that may be chance"
    if not far or ranked[-1] in near:
        return text
    return f"{text}; {_listed(far)} {'stays' if len(far) == 1 else 'stay'} farthest off"


def _listed(ones: list[Figures]) -> str:
    *most, last = [f"{one.policy} ({shown(one.believed._replace(runs=1))})" for one in ones]
    return f"{', '.join(most)} and {last}" if most else last


def _distortion(limited: list[Figures], truth: float) -> str:
    """How many times the true mean the unweighted policies believe in, where that makes sense."""
    believed = [rounded(one.believed.mean) for one in limited if not one.is_unbiased]
    if not believed or not rounded(truth) > 0.0 or min(believed) < 0.0:
        return ""
    least, most = (f"{extreme(believed) / rounded(truth):.2f}" for extreme in (min, max))
    return f"Without weights it is taken to be {least if least == most else f'{least} to {most}'} times what it is."


def _contest(limited: list[Figures], where: str, unit: str, read: Callable[[Figures], Spread]) -> str:
    """Who errs least, and by how much VarOpt, or the next one, is behind."""
    best, *others = sorted(limited, key=lambda one: read(one).mean)
    rival = next((one for one in others if one.policy == VAROPT.name), others[0])
    apart = "" if _is_clear(read(best), read(rival)) else ", a difference that may be chance"
    if rounded(read(best).mean) == rounded(read(rival).mean):
        apart = ", no difference as far as shown"
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
    apart = round(abs(rounded(two.mean) - rounded(one.mean)), 1)
    return apart > CLEAR * hypot(one.error, two.error)


def _progressive(one: Figures) -> Spread:
    return one.progressive


def _last(one: Figures) -> Spread:
    return one.last
