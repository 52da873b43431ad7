"""A domain given by the user's own projection."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_int, as_positive
from tarry.domains.base import Domain, Vector, as_vector
from tarry.errors import ArgumentError
from tarry.kernel import as_step, verb

PROXIMAL_STEPS = 16  # far more than ten digits need, see ``linear_minimiser``
PROXIMAL_REACH = 1e4  # radii that a step moves before it projects: rounding costs that factor in digits


# Two types, since compiled code chooses by type how to call: the other call would not compile.
class InPlace(NamedTuple):
    """A projection that needs nothing but the point."""

    function: Callable[[Vector], None]


class WithScratch(NamedTuple):
    """A projection that also takes scratch of the point's size."""

    function: Callable[[Vector, Vector], None]


@verb
def apply(projection: InPlace | WithScratch, x: Vector, scratch: Vector) -> None:
    """Call the user's projection in the way it wants to be called."""


@apply.on(InPlace)
def _alone(projection: InPlace, x: Vector, scratch: Vector) -> None:
    projection.function(x)


@apply.on(WithScratch)
def _with_scratch(projection: WithScratch, x: Vector, scratch: Vector) -> None:
    projection.function(x, scratch)


class _PythonSide:
    """Hold what Python alone asks for: compiled code sees fields only, and this is none."""

    _minimiser: Any = None


class CustomDomain(Domain, _PythonSide, init=False):
    """The set that ``project`` projects on, in place: ``project(x)`` or ``project(x, scratch)``.

    Decorated with ``numba.njit`` the projection runs inside compiled games; a plain Python function works too, but then
    the whole game runs uncompiled, some hundred times slower. The ball of ``inner_radius`` (0 if there is none) around
    ``center`` lies in the set, and the set in the ball of ``outer_radius`` (by default the ``diameter``).
    ``linear_minimiser(g)`` returns a point where ⟨g, x⟩ is least; without it the projection finds one, to about ten
    digits.

    >>> def keep_positive(x):
    ...     np.clip(x, 0.0, 1.0, out=x)
    >>> cube = CustomDomain(keep_positive, 2, center=[0.5, 0.5], diameter=2**0.5, inner_radius=0.5)
    >>> cube.linear_minimiser(np.array([1.0, -1.0])).tolist()
    [0.0, 1.0]
    """

    projection: InPlace | WithScratch
    center: Vector
    diameter: float
    inner_radius: float
    outer_radius: float

    def __new__(
        cls,
        project: Callable[..., None],
        dimension: int,
        center: ArrayLike,
        diameter: float,
        inner_radius: float,
        outer_radius: float | None = None,
        linear_minimiser: Callable[[Vector], ArrayLike] | None = None,
    ) -> Self:
        middle = as_vector(center, "center", as_int(dimension, "dimension", 1))
        width = as_positive(diameter, "diameter")
        outer = width if outer_radius is None else as_positive(outer_radius, "outer_radius")
        inner = float(inner_radius)
        if not 0.0 <= inner <= outer:  # NaN neither
            raise ArgumentError("inner_radius", f"must lie between 0 and the outer radius {outer:g}", inner_radius)
        projection = _as_projection(as_step(project))
        inside = middle.copy()
        apply(projection, inside, np.empty(middle.size))
        if not np.linalg.norm(inside - middle) <= 1e-9 * max(1.0, outer):
            raise ValueError(f"center must lie in the set, but the projection moves {middle} to {inside}")
        outside = middle + 3.0 * outer  # in every entry, so beyond the outer ball in any dimension
        apply(projection, outside, np.empty(middle.size))
        reach = float(np.linalg.norm(outside - middle))
        if not reach <= outer * (1.0 + 1e-9):
            problem = f"leaves a point at distance {reach:g} from the centre, beyond the outer radius {outer:g}"
            raise ValueError(f"the projection {problem}: it must change x in place, and the set must lie in that ball")
        domain = cls.make(projection, middle, width, inner, outer)
        domain._minimiser = linear_minimiser
        return domain

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self._minimiser == getattr(other, "_minimiser", None)

    __hash__ = Domain.__hash__

    def __reduce__(self) -> Any:
        return *super().__reduce__(), {"_minimiser": self._minimiser}

    def linear_minimiser(self, g: Vector) -> Vector:
        if self._minimiser is not None:
            return as_vector(self._minimiser(g), "the linear minimiser", self.dimension)
        size = float(np.linalg.norm(g))
        point = self.center.copy()
        if size == 0.0:
            return point
        # Proximal steps: each moves far against g and projects. On a polytope they end in finitely
        # many, on a curved set the error falls by PROXIMAL_REACH in each.
        pull = (PROXIMAL_REACH * self.outer_radius / size) * np.asarray(g)
        for _ in range(PROXIMAL_STEPS):
            before = point.copy()
            point -= pull
            apply(self.projection, point, np.empty(point.size))
            if np.array_equal(point, before):
                break
        return point

    def project(self, x: Vector, scratch: Vector) -> None:
        apply(self.projection, x, scratch)


def _as_projection(function: Callable[..., None]) -> InPlace | WithScratch:
    """Return the projection with the way it is called, by the number of its arguments."""
    parameters = inspect.signature(getattr(function, "py_func", function)).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(p.kind in positional and p.default is inspect.Parameter.empty for p in parameters)
    if count not in (1, 2):
        raise ValueError(f"a projection is called as project(x) or project(x, scratch), this one takes {count}")
    return InPlace(function) if count == 1 else WithScratch(function)
