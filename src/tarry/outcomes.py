"""The words of a run: fates of rounds, answers to calls, the health of weights, and what a path proves.

The fates of the rounds played sum to their number. An answer to a call is a fate, or one of the words about the call
itself. Compiled steps write fates as numbers, so the numbers never change.
"""

from __future__ import annotations

from enum import IntEnum
from html import escape
from math import floor, isfinite, isnan, log10
from typing import Any, NamedTuple


class _Word(IntEnum):
    """Be a number in arrays and a word in print."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, form: str) -> str:
        return format(self.name, form)


# The numbers are written in stores and by compiled steps: a new word takes a new number, at the end.
class Fate(_Word):
    """Say what became of a round."""

    USED = 0
    UNTRACKED = 1
    SATURATED = 2
    PREEMPTED = 3
    EXPIRED = 4
    PENDING = 5


class Answer(_Word):
    """What a call was answered: the fates, then words about the call itself.

    >>> f"{Answer.LATE}", int(Answer.LATE)
    ('LATE', 8)
    """

    USED = 0
    UNTRACKED = 1
    SATURATED = 2
    PREEMPTED = 3
    EXPIRED = 4
    PENDING = 5
    DUPLICATE = 6
    UNKNOWN = 7
    LATE = 8
    REPEATED = 9
    OUTSIDE = 10


DASH = "–"  # of a figure that is not there
# What policies without weights get wrong: tables, warnings and pages quote it (tests/test_outcomes.py).
WITHOUT_WEIGHTS = (
    "drop newest errs where load or time tells something of outcomes; drop oldest, time-outs and reservoirs err there "
    "too, and wherever the delay does"
)

FATES = tuple(fate.name.lower() for fate in Fate)


class Weights(NamedTuple):
    """Moments of the weights over rounds (unseen ones weigh zero): numbers, or arrays with one entry per seed."""

    mean: Any
    second_moment: Any
    max: Any
    effective_sample_size: Any


class Certificate(NamedTuple):
    """A bound on the weighted regret over the ``rounds`` that have arrived, in its parts.

    Σ w_s (f_s(x_s) − f_s(u)) over these rounds is at most ``bound`` for every u of the domain, as ``holds`` says:
    except in the strongly convex form, where ``bound`` is the second sum of the inequality only. There
    ``omitted_curvature`` is the most that the first, Σ ½(α_t − λw_t)|x_t − u|² over the rounds played, can be, and
    ``full_bound`` is what ``bound`` is elsewhere.

    A part is NaN where it is not known; ``caveat`` then says why, and the way out.

    >>> part = dict(regularisation=2.0, variance=0.5, overlap=1.5, smoothing=0.0, omitted_curvature=0.0)
    >>> said = dict(feedback="gradient", gradient_bound=1.0, value_bound=None, holds="on every path", caveat="")
    >>> Certificate(rounds=3, **part, **said).bound
    4.0
    """

    rounds: int
    regularisation: float  # D²/(2η), once for each epoch
    variance: float  # what weights cost by their squares
    overlap: float  # what weights cost for having been out together
    smoothing: float  # what a bandit's exploration costs
    omitted_curvature: float
    feedback: str
    gradient_bound: float | None  # as assumed; None where nothing was, and sizes are those observed
    value_bound: float | None
    holds: str
    caveat: str

    @property
    def bound(self) -> float:
        """The sum of the parts."""
        return self.regularisation + self.variance + self.overlap + self.smoothing

    @property
    def full_bound(self) -> float:
        """The same with ``omitted_curvature``: at least the weighted regret, on every path (values: in expectation)."""
        return self.bound + self.omitted_curvature

    # A bound assumed is given to six digits as it was; sizes observed are the path's own and need no number.
    @property
    def sizes(self) -> str:
        """How large feedback was taken to be."""
        bounds = {"gradient_bound": self.gradient_bound, "value_bound": self.value_bound}
        assumed = [f"{name} {number:.6g}" for name, number in bounds.items() if number is not None]
        if self.feedback == "value" and self.value_bound is None:
            return ", ".join(["value as observed", *assumed])
        return " and ".join(assumed) or "as observed"

    def rows(self) -> dict[str, str]:
        """The same as text, for tables."""
        parts = ("bound", "regularisation", "variance", "overlap", "smoothing")
        rows = {"rounds": str(self.rounds)} | {name: _show(getattr(self, name)) for name in parts}
        rows |= {"omitted curvature": _show(self.omitted_curvature)} if self.omitted_curvature != 0 else {}
        rows |= {"size of feedback": self.sizes, "holds": self.holds}
        return rows | ({"caveat": self.caveat} if self.caveat else {})

    def __repr__(self) -> str:
        parts = {"regularisation": self.regularisation, "variance": self.variance, "overlap": self.overlap}
        parts |= {"smoothing": self.smoothing} if self.smoothing != 0 else {}
        added = " + ".join(f"{name} {_show(number)}" for name, number in parts.items())
        caveat = f"; {self.caveat}" if self.caveat else ""
        return (
            f"Certificate({_show(self.bound)} = {added} over {self.rounds} rounds; size of feedback {self.sizes}; "
            f"{self.holds}{caveat})"
        )

    def _repr_html_(self) -> str:
        return html_facts("Certificate", self.rows())


def _show(number: float) -> str:
    return "unknown" if isnan(number) else f"{number:.6g}"


def counted(number: int, what: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "cell"), counted(2000, "cell")
    ('1 cell', '2,000 cells')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def number(mean: float | None, half: float | None = None) -> str:
    """Return a number with its error, both to the error's second digit; with four digits where there is no error.

    The error is half the 95 % interval, here and wherever a ± is printed.

    >>> number(1234.567, 12.3), number(0.5, None), number(float("nan")), number(3.14159, 0.0)
    ('1,235 ± 12', '0.5', '–', '3.142')
    """
    if mean is None or not isfinite(mean):
        return DASH
    if half is None or not isfinite(half) or half <= 1e-12 * abs(mean):  # none, or rounding
        return f"{mean:,.0f}" if abs(mean) >= 1000 else f"{mean:.4g}"
    places = max(0, min(8, 1 - floor(log10(half))))
    return f"{mean:,.{places}f} ± {half:,.{places}f}"


def html_facts(title: str, facts: dict[str, str]) -> str:
    """Return an HTML table of names and values for a notebook; everything is escaped."""
    cells = (f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items())
    return f"<table><caption>{escape(title)}</caption>{''.join(cells)}</table>"
