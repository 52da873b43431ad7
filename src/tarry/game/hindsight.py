"""The best fixed action in hindsight: the minimum of F = Σ_t f_t over the domain, with a certificate.

Linear and quadratic losses have the minimum in closed form from one pass over their rows. For all others each
evaluation is one compiled pass; Newton's descent takes few. Convexity certifies what is reached: at any y with
g ∈ ∂F(y) and λ the strong convexity of F, every point z of the domain has

    F(z) ≥ F(y) + ⟨g, z − y⟩ + (λ/2)‖z − y‖²

and the right-hand side is minimised by the domain's linear minimiser, by the projection of y − g/λ, or bounded through
any projected step p = Π(y − ηg): ⟨g, p − z⟩ ≤ ‖y − p‖·D/η. Kinked losses of a prediction go to an interior-point
method (``tarry.game.interior``). Where it does not know the domain's shape, and for other losses with a kink, smooth
lower bounds of decreasing smoothing are solved, whose slopes certify the exact losses (``tarry.losses.base.support``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from math import inf, isclose, isnan, nan
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from tarry.checks import as_choice
from tarry.domains import nearest, project
from tarry.domains.base import as_array
from tarry.errors import ArgumentError
from tarry.game.descent import Projection, Sample, Turn, Vector, descend, differences, project_rows
from tarry.game.interior import ALIKE, planes, write_bends
from tarry.kernel import entry
from tarry.kernel.kept import Kept
from tarry.losses.base import (
    Listed,
    fetch,
    gradient,
    is_changed,
    is_table,
    shape_of,
    support,
    value,
)
from tarry.losses.drawn import in_table
from tarry.losses.supervised import Kinked, Supervised, bend, curve, predict_label

GOAL = 1e-9  # the relative gap to reach: far below what a regret is read to
KINKED_GOAL = 1e-6  # through smooth lower bounds: each further digit takes another stage of smoothing
STAGES = 12  # of smoothing, each an eighth of the last: 8⁻¹² is below rounding
IDLE_STAGES = 4  # stages in a row that hardly close the gap: rounding has been reached
SAMPLE = 1 << 12  # rounds whose curvature is that of all: of a first model, which later steps correct
BLOCK = 1 << 18  # rounds a pass takes between two questions whether to stop: some milliseconds
NEAR = 1e-7  # of a prediction: about the root of rounding, the best width for a difference of slopes
OUTSIDE = 1e-6  # of 1 + the outer radius: farther than rounding takes a play out of its domain
KEPT_BYTES = 1 << 26  # of best fixed actions: a sweep comes back to a game again and again
FAR = 1e4  # steps ahead for the second plane: rounding of the first is divided by it

_shared = Kept[SimpleNamespace](KEPT_BYTES)  # by what games are made of


class Stopped(Exception):
    """Say that a seed was told to stop, in its rounds or in the search for the best fixed action."""


class Comparator(NamedTuple):
    """The best fixed action; ``losses`` are cumulative, and no fixed action loses less than ``losses[-1] - gap``.

    An action or a path that the caller gave is certified in nothing: its gap is NaN.
    """

    point: Vector
    losses: Vector
    gap: float


def room_for_best(domain: Any, losses: Any, horizon: int) -> SimpleNamespace:
    """Return where the best fixed action is kept: one place for all games of equal domain, losses and horizon.

    Losses made of functions have a place for each game, since what a function reads may change. So have linear and
    quadratic losses in a table: to solve them again takes less time than to compare tables.
    """
    key = None
    if shape_of(losses) is None or not isinstance(losses.rows, Listed):
        # A verb that is registered anew makes other losses of the same fields.
        verbs: list[Any] = [
            project.find(type(domain)),
            *(verb.find(type(losses)) for verb in (value, gradient, support)),
        ]
        verbs += [verb.members.get(kind) for verb in (curve, bend) for kind in type(losses).__mro__]
        content = _content((domain, losses))
        key = None if content is None else (content, horizon, fetch.find(type(losses.rows)), *verbs)
    place = SimpleNamespace(lock=threading.Lock(), found=None, key=key)
    return place if key is None else _shared.take(key, place)


def _content(value: Any) -> Any:
    """Return what is equal for equal members, arrays by a hash; None where a field may be changed, as a function."""
    if isinstance(value, np.ndarray):
        table = np.ascontiguousarray(value)
        return (table.shape, table.dtype.str, sha256(table.data).digest())
    if isinstance(value, tuple):
        parts = [_content(part) for part in value]
        return None if None in parts else (type(value), *parts)
    return value if isinstance(value, (int, float, str, np.generic)) else None


def compare(game: Any, rounds: np.ndarray, stopped: Callable[[], bool] = lambda: False) -> Comparator:
    """Return the best fixed action of a game, found once for all equal games, and its losses up to each of ``rounds``.

    ``stopped`` is asked between blocks of rounds; where it says yes, :class:`Stopped` is raised.
    """
    best = game.best_action
    with best.lock:  # of threads that finish their seeds together one solves, and the others wait for it
        if best.found is None:
            _keep(best, rounds, comparator(game.domain, game.losses, game.horizon, rounds, stopped))
        known_rounds, comparison = best.found
        if not np.array_equal(known_rounds, rounds):
            comparison = _keep(
                best, rounds, comparison._replace(losses=losses_up_to(game.losses, comparison.point, rounds, stopped))
            )
    return comparison  # type: ignore[no-any-return]


def _keep(place: SimpleNamespace, rounds: np.ndarray, comparison: Comparator) -> Comparator:
    """Put a comparator in its place, where nobody can change it: equal games share it."""
    for part in (comparison.point, comparison.losses):
        part.setflags(write=False)
    place.found = rounds, comparison
    _shared.resize(place.key, rounds.nbytes + comparison.point.nbytes + comparison.losses.nbytes)
    return comparison


def comparing(against: Any, game: Any, rounds: np.ndarray) -> Callable[[Any, Callable[[], bool]], Comparator | None]:
    """Return what finds the comparator of games like this one, from what ``simulate`` was given.

    Raise ArgumentError for what is neither ``"best"``, None, a :class:`Comparator`, an action nor a path of the domain.
    """
    if against is None:
        return lambda _game, _stopped: None
    if isinstance(against, str):
        as_choice(against, "comparator", ["best"])
        return lambda game, stopped: compare(game, rounds, stopped)
    if not isinstance(against, Comparator):
        actions, action_shape, path = as_array(against, "comparator"), (game.dimension,), (game.horizon, game.dimension)
        if actions.shape not in (action_shape, path):
            problem = f"must be 'best', None, an action of shape {action_shape} or a path of shape {path}"
            raise ArgumentError("comparator", problem, actions.shape)
        check_path(game.domain, actions, "comparator")
        against = Comparator(actions, np.full(1, nan), nan)
    return lambda game, stopped: _again(against, losses_up_to(game.losses, against.point, rounds, stopped))


def _again(earlier: Comparator, losses: Vector) -> Comparator:
    """Return a comparator with these losses; raise ArgumentError where it was found for others."""
    before, now = float(earlier.losses[-1]), float(losses[-1])
    if not (isnan(before) or isclose(before, now, rel_tol=1e-9, abs_tol=1e-9)):
        problem = f"lost {before:g} where it was found, and loses {now:g} in this game"
        raise ArgumentError("comparator", problem, remedy="give its point, or comparator='best'")
    return earlier._replace(losses=losses)


def check_path(domain: Any, path: Vector, name: str) -> None:
    """Raise ArgumentError for actions, one a row, that leave the domain."""
    rows = np.atleast_2d(path)
    if not np.all(np.isfinite(rows)):
        t = int(np.argmin(np.isfinite(rows).all(axis=1))) + 1
        raise ArgumentError(name, f"must be finite, in round {t} too", rows[t - 1])
    away = np.linalg.norm(Projection(domain)(rows) - rows, axis=1)
    is_out = away > OUTSIDE * (1.0 + float(domain.outer_radius))
    if is_out.any():
        t = int(np.argmax(is_out)) + 1  # the first
        problem = f"must lie in the domain {domain!r}, in round {t} it is {away[t - 1]:.3g} outside"
        raise ArgumentError(name, problem, remedy="project every action with tarry.domains.base.nearest")


def weighted_comparator(game: Any, given: Vector | None = None) -> Comparator:
    """Return the best fixed action of the losses w_t f_t of a weighted game, and its loss over all rounds.

    ``given`` is an action or a path instead, which is certified in nothing.
    """
    losses, last = in_table(game.losses, game.horizon), np.array([game.horizon])
    # A search has goals of its own: it finds the same action whatever the weights are multiplied by.
    scale = float(game.weights.max()) or 1.0
    weights = game.weights / scale
    if given is None:
        best = comparator(game.domain, losses, game.horizon, last, weights=weights)
    else:
        best = Comparator(given, losses_up_to(losses, given, last, weights=weights), nan)
    return Comparator(best.point, scale * best.losses, scale * best.gap)


def comparator(
    domain: Any,
    losses: Any,
    horizon: int,
    rounds: np.ndarray,
    stopped: Callable[[], bool] = lambda: False,
    weights: Vector = ALIKE,
) -> Comparator:
    """Return the best fixed action of rounds 1..horizon, and its losses up to each of ``rounds``."""
    losses = in_table(losses, horizon)
    solution = _in_closed_form(domain, losses, horizon, stopped, weights)
    if solution is None:
        best = minimise(domain, losses, horizon, stopped, weights)
        solution = best.point, best.gap
    point, gap = np.ascontiguousarray(solution[0]), solution[1]
    return Comparator(point, losses_up_to(losses, point, rounds, stopped, weights), gap)


def has_closed_form(game: Any) -> bool:
    """Return whether the best fixed action of a game takes one pass over its rounds."""
    return shape_of(game.losses) is not None


def compile_passes(game: Any) -> None:
    """Compile, in the calling thread, the passes over rounds that ``compare`` makes, by passes over none."""
    losses, row = in_table(game.losses, game.horizon), np.zeros(game.losses.rows.width)
    x, rounds, total = np.zeros(losses.dimension), np.ones(1, np.int64), np.zeros(1)
    _losses_at.dispatcher_for(losses)(losses, ALIKE, x[np.newaxis], row, 1, 0, rounds, total, total)
    if shape_of(losses) is not None:
        _sum_rows.dispatcher_for(losses)(losses.rows, ALIKE, 1, 0, row, row)
        return
    project_rows.dispatcher_for(game.domain)(game.domain, np.zeros((0, x.size)), x)
    _sum_losses.dispatcher_for(losses)(losses, ALIKE, 1, 0, 1, x, row, x, x, total)
    if isinstance(losses, Supervised):
        _sum_curvatures.dispatcher_for(losses)(losses, ALIKE, 1, 0, x, row, np.zeros((0, 0)))
    if isinstance(losses, Kinked):
        write_bends.dispatcher_for(losses)(losses, 1, 0, np.zeros((0, 4)))


def losses_up_to(
    losses: Any,
    x: Vector,
    rounds: np.ndarray,
    stopped: Callable[[], bool] = lambda: False,
    weights: Vector = ALIKE,
) -> Vector:
    """Return the sum of losses up to each of ``rounds``: of one action, or of a path with an action for each round."""
    losses = in_table(losses, int(rounds[-1]))
    row, out, total = np.zeros(losses.rows.width), np.zeros(rounds.size), np.zeros(1)
    path = np.ascontiguousarray(np.atleast_2d(x))
    add = _losses_at.dispatcher_for(losses)
    for first, last in blocks(int(rounds[-1]), stopped):
        i, j = np.searchsorted(rounds, (first, last + 1))
        add(losses, weights, path, row, first, last, rounds[i:j], out[i:j], total)
    return out


def _in_closed_form(
    domain: Any, losses: Any, horizon: int, stopped: Callable[[], bool], weights: Vector
) -> tuple[Vector, float] | None:
    """Return the minimiser of (c/2)·Σ w·‖x‖² + b⟨Σ w·rows, x⟩ and its gap, if the losses sum to that; no weights: 1."""
    shape = shape_of(losses)
    if shape is None:
        return None
    row, total = np.zeros(losses.rows.width), np.zeros(losses.rows.width)
    add = _sum_rows.dispatcher_for(losses)
    for first, last in blocks(horizon, stopped):
        add(losses.rows, weights, first, last, row, total)
    mass = float(weights.sum()) if weights.size else horizon
    curvature, slope = mass * shape[0], shape[1] * total[: losses.dimension]
    if curvature == 0.0:
        corner = domain.linear_minimiser(slope)
        return None if corner is None else (corner, 0.0)
    point = nearest(domain, -slope / curvature)
    steepest = slope + curvature * point
    corner = domain.linear_minimiser(steepest)
    return point, 0.0 if corner is None else max(0.0, float(steepest @ (point - corner)))


def blocks(last: int, stopped: Callable[[], bool]) -> Iterator[tuple[int, int]]:
    """Yield the first and last rounds of the pieces of 1..last; raise Stopped where ``stopped`` says so."""
    for first in range(1, last + 1, BLOCK):
        heed(stopped)
        yield first, min(first + BLOCK - 1, last)


def heed(stopped: Callable[[], bool]) -> None:
    """Raise Stopped where ``stopped`` says so."""
    if stopped():
        raise Stopped("the search for the best fixed action was stopped")


@entry
def _sum_rows(rows: Any, weights: Vector, first: int, last: int, row: Vector, out: Vector) -> None:
    for t in range(first, last + 1):
        fetch(rows, t, row)
        weight = weights[t - 1] if weights.size else 1.0
        for i in range(row.size):
            out[i] += weight * row[i]


@entry
def _losses_at(
    losses: Any,
    weights: Vector,
    path: Vector,
    row: Vector,
    first: int,
    last: int,
    rounds: np.ndarray,
    out: Vector,
    total: Vector,
) -> None:
    i = 0
    for t in range(first, last + 1):
        fetch(losses.rows, t, row)
        weight = weights[t - 1] if weights.size else 1.0
        total[0] += weight * value(losses, row, path[min(t, path.shape[0]) - 1])  # one action is a path of one row
        while i < rounds.size and rounds[i] == t:
            out[i] = total[0]
            i += 1


@entry
def _sum_losses(
    losses: Any,
    weights: Vector,
    first: int,
    last: int,
    every: int,
    x: Vector,
    row: Vector,
    slope: Vector,
    total: Vector,
    sums: Vector,
) -> None:
    for t in range(first, last + 1, every):
        fetch(losses.rows, t, row)
        height = value(losses, row, x)
        weight = weights[t - 1] if weights.size else 1.0
        sums[0] += weight * height
        sums[1] += weight * support(losses, row, x, height)
        gradient(losses, row, x, slope)
        for i in range(x.size):
            total[i] += weight * slope[i]


@entry
def _sum_curvatures(losses: Any, weights: Vector, first: int, last: int, x: Vector, row: Vector, out: Vector) -> None:
    for t in range(first, last + 1):
        fetch(losses.rows, t, row)
        z, y = predict_label(row, x), row[x.size]
        width = NEAR * max(1.0, abs(z))
        bent = (curve(losses, z + width, y)[1] - curve(losses, z - width, y)[1]) / (2.0 * width)
        bent *= weights[t - 1] if weights.size else 1.0
        if bent > 0.0:
            for i in range(x.size):
                for j in range(i + 1):
                    out[i, j] += bent * row[i] * row[j]


def _tells_planes(losses: Any) -> bool:
    """Return whether ``support`` is that of these losses: a subclass may have other values."""
    home = next((cls for cls in type(losses).__mro__ if cls in support.members), None)
    return home is None or not is_changed(losses, home, value, gradient, curve)


def _tells_curvature(losses: Any) -> bool:
    """Return whether ``hessian`` is that of these losses and rows."""
    home = next((cls for cls in type(losses).__mro__ if "hessian" in vars(cls)), None)
    return home is not None and is_table(losses.rows) and not is_changed(losses, home, value, gradient)


class _Objective:
    """F, its supporting planes and its curvature."""

    def __init__(self, domain: Any, losses: Any, horizon: int, stopped: Callable[[], bool], weights: Vector) -> None:
        self._domain, self._losses, self._horizon, self._stopped = domain, losses, horizon, stopped
        self._weights, self._mass = weights, float(weights.sum()) if weights.size else float(horizon)
        self._pass = _sum_losses.dispatcher_for(losses)
        self._row, self._one = np.zeros(losses.rows.width), np.zeros(losses.dimension)
        self.strong_convexity = self._mass * float(losses.strong_convexity)
        self._every = max(1, horizon // SAMPLE)
        self._tells, self._is_supported = _tells_curvature(losses) and not weights.size, _tells_planes(losses)
        self.enough = 0.01 if self._tells or isinstance(losses, Supervised) else 0.1  # differences cost more

    def at(self, x: Vector, every: int = 1) -> Sample:
        total, sums = np.zeros(x.size), np.zeros(2)
        for first, last in blocks(self._horizon, self._stopped):
            self._pass(self._losses, self._weights, first, last, every, x, self._row, self._one, total, sums)
        return Sample(x, float(sums[0]), float(sums[1 if self._is_supported else 0]), total)

    def curvature(self, here: Sample, before: Vector | None) -> Vector:
        """Return the Hessian: as losses tell it, from features where they are of a prediction, or by differences."""
        if self._tells:
            return np.asarray(self._losses.hessian(here.x, self._horizon))
        if not isinstance(self._losses, Supervised):
            # Of some rounds, more each time: curvature may err, since slopes and certificates do not.
            at, share = partial(self.at, every=self._every), self._horizon / -(-self._horizon // self._every)
            sample = here if self._every == 1 else at(here.x)
            self._every = max(1, self._every // 4)
            return share * differences(self._domain, at, sample, None if before is None else before / share)
        lower, add = np.zeros((here.x.size, here.x.size)), _sum_curvatures.dispatcher_for(self._losses)
        for first, last in blocks(self._horizon, self._stopped):
            add(self._losses, self._weights, first, last, here.x, self._row, lower)
        ridge = self._mass * self._losses.ridge * np.eye(here.x.size)
        return np.asarray(lower + np.tril(lower, -1).T + ridge)


class _Search:
    """What is known of the minimum: the best point so far and a value that no point falls below."""

    def __init__(self, domain: Any) -> None:
        self.domain = domain
        self.point, self.value, self.low = nearest(domain, domain.center), inf, -inf

    @property
    def gap(self) -> float:
        """By how much the best value may at most be improved."""
        return max(0.0, self.value - self.low)

    def reached(self, goal: float) -> bool:
        """Return whether the gap is at most this share of the value (or of 1)."""
        return self.gap <= goal * max(1.0, abs(self.value))

    def offer(self, sample: Sample) -> None:
        """Keep a point (with the exact value there) if it is the best."""
        if sample.value < self.value:
            self.point, self.value = sample.x, sample.value

    def raise_low(self, here: Sample, strong_convexity: float) -> float:
        """Lift the lower bound by the plane at ``here``; return how far the plane falls from there."""
        falls = [inf] if here.slope.any() else [0.0]
        corner = self.domain.linear_minimiser(here.slope)
        if corner is not None:
            falls.append(float(here.slope @ (here.x - corner)))
        elif np.isfinite(self.domain.diameter):
            unit = float(self.domain.outer_radius) / max(float(np.linalg.norm(here.slope)), 1e-300)
            falls.extend(self._projected_fall(here, far * unit) for far in np.logspace(-8, 8, 17))
        if strong_convexity > 0.0:
            bottom = nearest(self.domain, here.x - here.slope / strong_convexity)
            d = here.x - bottom
            falls.append(float(here.slope @ d) - strong_convexity / 2 * float(d @ d))
        fall = max(0.0, min(falls))
        self.low = max(self.low, here.height - fall)
        return fall

    def _projected_fall(self, here: Sample, step: float) -> float:
        moved = nearest(self.domain, here.x - step * here.slope)
        # A step lost in rounding must not look like a step that the domain took back.
        away = float(np.linalg.norm(moved - here.x)) + 1e-15 * float(np.linalg.norm(here.x))
        return float(here.slope @ (here.x - moved)) + away * float(self.domain.diameter) / step


def minimise(
    domain: Any, losses: Any, horizon: int, stopped: Callable[[], bool] = lambda: False, weights: Vector = ALIKE
) -> _Search:
    """Return the best fixed action over rounds 1..horizon: its point, value and gap.

    Each round counts with its weight, at most 1. The gap is always certified. It is at most 1e-9·max(1, |F|) where that
    is reached within the limits (1e-6 for kinks where domain or losses are not known to ``interior``). ``stopped`` is
    asked between blocks of rounds.
    """
    search, objective = _Search(domain), _Objective(domain, losses, horizon, stopped, weights)
    if not getattr(losses, "has_kink", False) or not _tells_planes(losses):
        _solve(search, objective, objective, GOAL)
        return search
    for plane in planes(domain, losses, horizon, partial(heed, stopped), weights):
        search.offer(plane)
        search.raise_low(plane, objective.strong_convexity)
        if search.reached(GOAL):
            break
    if search.value < inf:
        # Losses of one's own may bend otherwise than they say: then what was found says nothing.
        if not isclose(objective.at(search.point).value, search.value, rel_tol=1e-9, abs_tol=1e-9):
            search = _Search(domain)
        elif search.reached(KINKED_GOAL):  # rounding may keep it from the first goal
            return search
    first = objective.at(search.point)
    search.offer(first)
    smoothing, idle = max(abs(first.value) / horizon, 1e-12), 0
    for _ in range(STAGES):
        before = search.gap
        smooth = _Objective(domain, losses.smoothed(smoothing), horizon, stopped, weights)
        _solve(search, smooth, objective, KINKED_GOAL)
        idle = idle + 1 if search.gap > 0.7 * before else 0
        if search.reached(KINKED_GOAL) or idle == IDLE_STAGES:
            break
        smoothing = min(smoothing / 8.0, max(abs(search.value) / horizon, 1e-12))
    return search


def _solve(search: _Search, objective: _Objective, exact: _Objective, goal: float) -> None:
    """Descend on the objective, the exact losses or smoothed from them, until it tells little more."""
    for turn in descend(search.domain, objective, search.point):
        here = turn.here
        true = here if exact is objective else exact.at(here.x)
        search.offer(true)
        fall = search.raise_low(here, objective.strong_convexity)
        if FAR * turn.fall <= goal * max(1.0, abs(here.value)) and not search.reached(goal):
            blend = _beyond_rounding(search.domain, objective, turn)
            fall = min(fall, search.raise_low(blend, objective.strong_convexity))
        if search.reached(goal) or (exact is not objective and fall <= 0.1 * (true.value - here.height)):
            return


def _beyond_rounding(domain: Any, objective: _Objective, turn: Turn) -> Sample:
    """Return the plane at here + step, interpolated between here and a point far along the step.

    Where curvature is large, rounding of the point alone tilts the plane; the mean of two planes is a
    plane below F, and its slope belongs to a point between the floating-point numbers.
    """
    here, share = turn.here, 1.0 / FAR
    far = objective.at(nearest(domain, here.x + FAR * turn.step))
    height = far.height + float(far.slope @ (here.x - far.x))
    tilt = (1.0 - share) * here.slope + share * far.slope
    return Sample(here.x, here.value, (1.0 - share) * here.height + share * height, tilt)
