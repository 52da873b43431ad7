"""A case's figures as tables for the terminal and the page, and what they say in sentences."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot

from studies.measure import FOUR, LearnerResult, Scores
from studies.streams import Stream
from tarry.cases import Spread
from tarry.outcomes import DASH
from tarry.reports.table import Table

CLEAR = 2.0  # standard errors, beyond which a difference is more than chance
_VERDICTS = {
    1: "the best weighted policy errs less than every unweighted one",
    0: "these runs do not tell the best weighted policy from the best unweighted one",
    -1: "an unweighted policy errs less than every weighted one",
}
LEGEND = (
    "Ridge regression, each number with the best penalty of a grid for this policy. progressive: mean squared error of "
    "the plays minus that of the best fixed linear model, ± half its 95 % interval; last model: the same of the last "
    "one over the whole stream; believed mean: by the labels heard and their weights, with one run's s.d.; shuffled: "
    "the same with pairs of wait and label shuffled over decisions, so that load and date tell nothing; pending: bytes "
    "of what waits, at most. * unweighted."
)
OTHERS = (
    "Steps of the first-order learners are the best of a grid for each policy, known only in hindsight. "
    "Mean squared errors are against the best fixed linear model, so a model that is not linear may be below 0."
)


def cells(one: Scores) -> tuple[str, ...]:
    """Return a row of the first table as text."""
    return (
        one.policy if one.is_unbiased else f"{one.policy} *",
        shown(one.progressive),
        shown(one.last),
        believed(one.believed),
        believed(one.shuffled),
        f"{one.seen:.1%}",
        f"{one.memory:,}",
    )


def shown(spread: Spread) -> str:
    """Return a mean with half its 95 % interval, where there is one."""
    return _with(spread.mean, f" ± {spread.half:.{_digits(spread.mean)}f}" if spread.runs > 1 else "")


def believed(spread: Spread) -> str:
    """Return the believed mean label, with the standard deviation of one run where runs differ."""
    mean, deviation = spread.mean, spread.deviation
    return _with(mean, f" (s.d. {deviation:.{_digits(mean)}f})" if spread.runs > 1 else "")


def rounded(mean: float) -> float:
    """Return a mean as it is shown, so that what is said of it can be checked against the table."""
    return round(mean, _digits(mean))


def _digits(mean: float) -> int:
    return 1 if abs(mean) < 100 else 0


def _with(mean: float, tail: str) -> str:
    digits = _digits(mean)
    return f"{mean:,.{digits}f}{tail}".replace("-0.0", "0.0") if abs(mean) < 0.05 else f"{mean:,.{digits}f}{tail}"


def figures_table(stream: Stream, figures: list[Scores]) -> Table:
    """Return the policies side by side."""
    unit, best = stream.unit, stream.best_error
    slots = max((one.capacity or 0) for one in figures)
    # What a number measures goes above its unit.
    measured = [f"{what}\n{unit}" for what in ("progressive", "last model", "believed mean", "shuffled")]
    measured[:2] = [f"{one}²" for one in measured[:2]]
    return Table(
        f"{stream.name}, {slots} slots: true mean {stream.mean:.1f} {unit}, best linear model {best:,.0f} {unit}²",
        ("policy", *measured, "seen", "pending\nbytes"),
        [cells(one) for one in figures],
        LEGEND,
        text=("policy",),
        wrap=("policy",),
        bold=tuple(i for i, one in enumerate(figures) if one.policy == "VarOpt"),
        name="policies",
    )


def others_table(stream: Stream, results: list[LearnerResult], rounds: int) -> Table:
    """Return the other learners, a row for each, a column for each policy."""
    rows = []
    for learner, what in dict.fromkeys((r.learner, r.what) for r in results):
        found = {r.policy: r for r in results if r.learner == learner}
        rows.append((learner, what, *(shown(found[p.name].value) if p.name in found else DASH for p in FOUR)))
    title = f"Other learners, first {min(rounds, stream.horizon):,} decisions"
    words = ("learner", "what")
    return Table(title, (*words, *(p.name for p in FOUR)), rows, OTHERS, text=words, wrap=words, name="learners")


def findings(stream: Stream, figures: list[Scores]) -> str:
    """Return the outcome of this run in sentences: beliefs, the way there, the last model, and whether weights paid."""
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


def _beliefs(limited: list[Scores], truth: float, unit: str) -> str:
    """Say who comes nearest to the true mean and who stays farthest off, with all whom chance may have put there."""

    def off(one: Scores) -> float:
        return round(abs(rounded(one.believed.mean) - rounded(truth)), 1)

    def is_like(one: Scores, other: Scores) -> bool:
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


def _listed(ones: list[Scores]) -> str:
    *most, last = [f"{one.policy} ({shown(one.believed._replace(runs=1))})" for one in ones]
    return f"{', '.join(most)} and {last}" if most else last


def _distortion(limited: list[Scores], truth: float) -> str:
    """Say how many times the true mean the unweighted policies believe in, where that makes sense."""
    believed = [rounded(one.believed.mean) for one in limited if not one.is_unbiased]
    if not believed or not rounded(truth) > 0.0 or min(believed) < 0.0:
        return ""
    least, most = (f"{extreme(believed) / rounded(truth):.2f}" for extreme in (min, max))
    return f"Without weights it is taken to be {least if least == most else f'{least} to {most}'} times what it is."


def _contest(limited: list[Scores], where: str, unit: str, read: Callable[[Scores], Spread]) -> str:
    """Say who errs least, and by how much VarOpt, or the next one, is behind."""
    best, *others = sorted(limited, key=lambda one: read(one).mean)
    rival = next((one for one in others if one.policy == "VarOpt"), others[0])
    apart = "" if _is_clear(read(best), read(rival)) else ", a difference that may be chance"
    if rounded(read(best).mean) == rounded(read(rival).mean):
        apart = ", no difference as far as shown"
    return (
        f"Of those with a limit, {best.policy} errs least {where}: {shown(read(best))} {unit}, "
        f"{rival.policy} {shown(read(rival))}{apart}."
    )


def _moral(limited: list[Scores]) -> str:
    """Say whether weights paid: the best weighted policy against the best of the others."""
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


def _progressive(one: Scores) -> Spread:
    return one.progressive


def _last(one: Scores) -> Spread:
    return one.last
