"""What the rounds that have arrived prove about a run."""

from __future__ import annotations

from math import isnan
from typing import NamedTuple

from tarry.results.views import html_table


class Certificate(NamedTuple):
    """A bound on the weighted regret over the ``rounds`` that have arrived, in its parts.

    Σ w_s (f_s(x_s) − f_s(u)) over these rounds is at most ``bound`` for every u of the domain, as ``holds`` says:
    except in the strongly convex form, where ``bound`` is the second sum of the inequality only. There
    ``omitted_curvature`` is the most that the first, Σ ½(α_t − λw_t)|x_t − u|² over the rounds played, can be, and
    ``full_bound`` is what ``bound`` is elsewhere.

    ``regularisation`` is D²/(2η), once for each epoch; ``variance`` what weights cost by their squares; ``overlap``
    what they cost for having been out together; ``smoothing`` what a bandit's exploration costs. ``gradient_bound`` and
    ``value_bound`` are what was assumed, None where nothing was and sizes are those observed. A part is NaN where it
    is not known; ``caveat`` then says why, and the way out.

    >>> part = dict(regularisation=2.0, variance=0.5, overlap=1.5, smoothing=0.0, omitted_curvature=0.0)
    >>> said = dict(feedback="gradient", gradient_bound=1.0, value_bound=None, holds="on every path", caveat="")
    >>> Certificate(rounds=3, **part, **said).bound
    4.0
    """

    rounds: int
    regularisation: float
    variance: float
    overlap: float
    smoothing: float
    omitted_curvature: float
    feedback: str
    gradient_bound: float | None
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

    @property
    def sizes(self) -> str:
        """How large feedback was taken to be."""
        given = {"gradient_bound": self.gradient_bound, "value_bound": self.value_bound}
        assumed = [f"{name} {number:.6g}" for name, number in given.items() if number is not None]
        if self.feedback == "value" and self.value_bound is None:
            return ", ".join(["value as observed", *assumed])
        return " and ".join(assumed) or "as observed"

    def rows(self) -> dict[str, str]:
        """The same as text, for tables."""
        parts = ("bound", "regularisation", "variance", "overlap", "smoothing")
        shown = {"rounds": str(self.rounds)} | {name: _show(getattr(self, name)) for name in parts}
        shown |= {"omitted curvature": _show(self.omitted_curvature)} if self.omitted_curvature != 0 else {}
        shown |= {"sizes": self.sizes, "holds": self.holds}
        return shown | ({"caveat": self.caveat} if self.caveat else {})

    def __repr__(self) -> str:
        parts = {"regularisation": self.regularisation, "variance": self.variance, "overlap": self.overlap}
        parts |= {"smoothing": self.smoothing} if self.smoothing != 0 else {}
        added = " + ".join(f"{name} {_show(number)}" for name, number in parts.items())
        caveat = f"; {self.caveat}" if self.caveat else ""
        return (
            f"Certificate({_show(self.bound)} = {added} over {self.rounds} rounds; sizes {self.sizes}; "
            f"{self.holds}{caveat})"
        )

    def _repr_html_(self) -> str:
        return html_table("Certificate", self.rows())


def _show(number: float) -> str:
    return "unknown" if isnan(number) else f"{number:.6g}"
