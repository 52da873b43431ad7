"""The paper's Table 1 as lines that can fail: slopes of a player's regret, and of three controls, beside the claims.

A line is a series of games along one quantity. The claim is the slope that the column's rate has along these very
games, its terms added up. A line is *evidence* where the player's whole interval lies within the fences and the whole
interval of every control lies outside: what a player passes that never moves, says nothing about learning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from math import ceil, isfinite, nan, sqrt
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from studies.table1_games import (
    BANDIT,
    BANDIT_CURVED,
    COLUMNS,
    CONTROLS,
    CONVEX,
    CURVED,
    FREE,
    OURS,
    PLAYER,
    PRINTED,
    Column,
    Facts,
    Setting,
    bound_of,
    cast,
    entrant,
    facts_of,
    terms,
)
from tarry.charts import CONFIDENCE, student
from tarry.game import Game, simulate
from tarry.game.simulate import core_count
from tarry.reports.exponents import fit_exponent
from tarry.tracking import Player

Array = NDArray[np.float64]

ATTAINED, UPPER, LOGARITHM, LOWER = "attained", "upper bound", "logarithm", "lower bound"
SLACK = 0.1  # how far a slope may be from its claim
PILOT = 8  # seeds from which the number of seeds is computed
AT_ONCE, MANY_AT_ONCE = 8, 256  # seeds whose games are held, on a CPU and on a GPU
SHOWN = 32  # the most seeds of what is shown and not judged
AIM = SLACK / 2  # half an interval: a slope at its claim is then inside with room to spare

EVIDENCE, NO_EVIDENCE, UNDECIDED, HOLDS = "evidence", "no evidence", "undecided", "holds for everybody"
STEEPER, FLATTER, ABOVE = "steeper", "flatter", "above the bound"
VERDICTS = (EVIDENCE, HOLDS, NO_EVIDENCE, UNDECIDED, STEEPER, FLATTER, ABOVE)
FINE = (EVIDENCE, HOLDS)


class Line(NamedTuple):
    """Hold a claim along ``along``, a field of Facts, over games of these settings."""

    column: Column
    along: str
    settings: tuple[Setting, ...]
    kind: str
    game: str = ""  # another game than the column's own
    is_open: bool = False  # known not to be told apart from a control at sizes that can be played

    @property
    def facts(self) -> list[Facts]:
        return [facts_of(at, self.game or self.column.game) for at in self.settings]

    @property
    def name(self) -> str:
        """What changes along the line: T alone, or T and the capacity with it, or the capacity alone, …."""
        rooms = {at.capacity for at in self.settings}
        return "T, C ∝ T" if self.along == "T" and len(rooms) > 1 else self.along

    @property
    def at(self) -> Array:
        return np.array([getattr(one, self.along) for one in self.facts])

    @property
    def claim(self) -> float:
        """The slope of the rate along this line; 0 for a logarithm, of which curvature is measured."""
        return 0.0 if self.kind == LOGARITHM else self.slope_of(self.column.rate)

    def slope_of(self, rate: Callable[[Facts], float]) -> float:
        """Return the least squares slope of a rate over the line's games, on logarithmic axes."""
        return _slope(self.at, np.array([rate(one) for one in self.facts]))

    @property
    def fences(self) -> tuple[float, float]:
        return (-np.inf if self.kind == UPPER else self.claim - SLACK), self.claim + SLACK


def _slope(x: Array, y: Array) -> float:
    away = np.log(x) - np.log(x).mean()
    return float(away @ np.log(y) / (away @ away))


class Slope(NamedTuple):
    """Hold a slope and its interval over seeds; NaN where there is none, for the ``reason`` given."""

    slope: float
    low: float
    high: float
    seeds: int
    reason: str = ""
    level: tuple[float, float] = (0.0, 0.0)  # the largest share of the proved bound: above and below by the interval

    def is_inside(self, fences: tuple[float, float]) -> bool:
        """Return whether the whole interval lies within the fences, and regret below its bound."""
        return fences[0] <= self.low and self.high <= fences[1] and self.level[1] <= 1.0

    def is_outside(self, fences: tuple[float, float]) -> bool:
        """Return whether the whole interval lies outside the fences, or regret above its bound."""
        return self.high < fences[0] or self.low > fences[1] or self.level[0] > 1.0


def fit(line: Line, regrets: Array) -> Slope:
    """Return the slope of regrets, a row for each setting and a column for each seed."""
    seeds = regrets.shape[1]
    if not np.isfinite(regrets).all():
        return Slope(nan, nan, nan, seeds, "not every regret is finite")
    level = share_of_bound(line, regrets)
    if not (regrets.mean(axis=1) > 0).all():
        return Slope(nan, nan, nan, seeds, "not every mean is positive", level)
    if line.kind == LOGARITHM:
        return fit_curvature(line.at, regrets)._replace(level=level)
    found = fit_exponent(line.at, regrets)
    return Slope(found.slope, found.low, found.high, seeds, level=level)


def share_of_bound(line: Line, regrets: Array) -> tuple[float, float]:
    """Return the lower and the upper end of mean regret over the proved bound, each where it is largest."""
    ceilings, seeds = np.array([bound_of(line.column, at, line.game) for at in line.settings]), regrets.shape[1]
    half = student(CONFIDENCE, seeds - 1) * regrets.std(axis=1, ddof=1) / sqrt(seeds) if seeds > 1 else 0.0
    mean = regrets.mean(axis=1)
    return float(np.max((mean - half) / ceilings)), float(np.max((mean + half) / ceilings))


def fit_curvature(x: ArrayLike, y_by_seed: ArrayLike) -> Slope:
    """Return q = 2c/b of the regression y = a + b u + c u² on u = ln x, from its middle.

    b + 2cu is what y grows by for a unit of ln x, so q is the power of x by which this growth grows: 0 for a
    logarithm, p for x^p with p small, above ½ for what is linear in x.

    >>> bool(abs(fit_curvature([1, 4, 16], [[2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]).slope) < 1e-9)
    True
    """
    at, runs = np.log(np.asarray(x, dtype=np.float64)), np.asarray(y_by_seed, dtype=np.float64)
    middle = at - at.mean()
    pull = np.linalg.pinv(np.stack([np.ones_like(at), middle, middle**2], axis=1))
    means, seeds = runs.mean(axis=1), runs.shape[1]
    _, growth, bend = pull @ means
    if growth <= 0:
        return Slope(nan, nan, nan, seeds, "regret does not grow")
    found, half = 2.0 * bend / growth, np.inf
    if seeds > 1:
        # An error of a mean moves 2c/b by 2(b·dc − c·db)/b²; runs under one seed err together.
        shares = 2.0 * (growth * pull[2] - bend * pull[1]) / growth**2
        moved = shares @ (runs - means[:, None])
        half = student(CONFIDENCE, seeds - 1) * sqrt(float(np.sum(moved**2)) / (seeds * (seeds - 1)))
    return Slope(float(found), float(found - half), float(found + half), seeds)


class MeasuredLine(NamedTuple):
    """Hold a line with everybody's slope on it, the player's under PLAYER."""

    line: Line
    slopes: dict[str, Slope]

    @property
    def passed(self) -> list[str]:
        """The controls that are not told apart from the claim: no part of their interval may lie within the fences."""
        return [who for who in CONTROLS if not self.slopes[who].is_outside(self.line.fences)]

    @property
    def verdict(self) -> str:
        """What the line says; see VERDICTS and docs/table1.md."""
        own, fences = self.slopes[PLAYER], self.line.fences
        if own.is_inside(fences):
            if self.line.kind == LOWER:
                return HOLDS
            return NO_EVIDENCE if self.passed else EVIDENCE
        if not own.is_outside(fences):
            return UNDECIDED
        return ABOVE if own.level[0] > 1.0 else STEEPER if own.low > fences[1] else FLATTER

    @property
    def is_as_expected(self) -> bool:
        """Whether the line is what it is there for; of an open one nothing is expected but not to be refuted."""
        return self.verdict in FINE or (self.line.is_open and self.verdict in (NO_EVIDENCE, UNDECIDED))

    @property
    def reason(self) -> str:
        """The controls for which a line is no evidence, or why there is no slope; else empty."""
        if self.verdict == NO_EVIDENCE:
            return ", ".join(self.passed)
        return self.slopes[PLAYER].reason


def measure(
    lines: Sequence[Line],
    most: int,
    workers: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
    device: str = "cpu",
) -> list[MeasuredLine]:
    """Play every line with the player and its controls, each with at most so many seeds, in so many processes.

    Lines with long games begin first. Each process compiles for itself, and plays in few threads.
    """
    workers = min(len(lines), workers or core_count())
    play = partial(measure_line, most=most, workers=-(-workers // 4), device=device)
    if workers == 1:
        return [play(line) for line in lines]
    found, order = dict[int, MeasuredLine](), sorted(range(len(lines)), key=lambda i: -_length(lines[i]))
    with ProcessPoolExecutor(workers, get_context("spawn"), hush) as pool:
        begun = {pool.submit(play, lines[i]): i for i in order}
        for one in as_completed(begun):
            found[begun[one]], column = one.result(), lines[begun[one]].column
            tell(f"{len(found)} of {len(lines)}: {column.row}, {column.name}, along {lines[begun[one]].name}")
    return [found[i] for i in range(len(lines))]


def _length(line: Line) -> int:
    return sum(at.horizon for at in line.settings)


def hush() -> None:
    """Leave out warnings, which say what controls do on purpose."""
    logging.getLogger("tarry").setLevel(logging.ERROR)


def measure_line(line: Line, most: int, workers: int | None = None, device: str = "cpu") -> MeasuredLine:
    """Play a line with the player and its controls, each with at most so many seeds, in so many threads.

    A pilot says from its interval how many seeds make a second one that is short enough to decide.
    """
    regrets = _regrets(line, dict.fromkeys((PLAYER, *CONTROLS), range(PILOT)), workers, device)
    wanted = dict[str, range]()
    for who, pilot in regrets.items():
        # Whether a control passes a lower bound decides nothing: it is shown, and needs no narrow interval.
        few = line.kind == LOWER and who != PLAYER
        wanted[who] = range(PILOT, seeds_for(line, fit(line, pilot), min(most, SHOWN) if few else most))
    more = _regrets(line, wanted, workers, device)
    return MeasuredLine(line, {who: fit(line, np.hstack([regrets[who], more[who]])) for who in regrets})


def _regrets(line: Line, seeds: dict[str, range], workers: int | None, device: str) -> dict[str, Array]:
    """Return everybody's regrets under their seeds, a row for each setting; all of them meet the same games."""
    found = {who: np.zeros((len(line.settings), len(seeds[who]))) for who in seeds}
    first, last = min(mine.start for mine in seeds.values()), max(mine.stop for mine in seeds.values())
    size = AT_ONCE if device == "cpu" else MANY_AT_ONCE
    for i, at in enumerate(line.settings):
        for start in range(first, last, size):
            for who, mine in seeds.items():
                now = range(start, min(start + size, mine.stop))
                if len(now):
                    found[who][i, start - first : now.stop - first] = regrets_at(line, at, who, now, workers, device)
            cast.cache_clear()
    return found


def seeds_for(line: Line, pilot: Slope, most: int) -> int:
    """Return how many seeds a slope takes: none more where the pilot lies wholly outside the fences.

    The nearer to a fence the pilot's slope is, the narrower an interval has to be that is not to cross it.
    """
    half = (pilot.high - pilot.low) / 2
    if pilot.is_outside(line.fences) or not isfinite(half):
        return pilot.seeds
    room = min(abs(pilot.slope - fence) for fence in line.fences)
    aim = min(AIM, max(AIM / 4, 0.75 * room))
    return min(most, max(pilot.seeds, ceil(pilot.seeds * (half / aim) ** 2)))


def regrets_at(
    line: Line, at: Setting, who: str, seeds: range, workers: int | None = None, device: str = "cpu"
) -> Array:
    """Return the regret of a player or control under each seed, which draws the game too."""
    column, ruled = terms(line.column, at, who)
    players = dict[int, Player]()  # by game

    def games(seed: int) -> Game:
        game, player = cast(column, ruled, seed, line.game)
        players[id(game)] = entrant(player, who)
        return game

    rest: dict[str, Any] = {"bound": False, "checkpoints": 1, "threads": workers, "device": device}
    return simulate(None, lambda game: players[id(game)], seeds, games=games, **rest).regret


def lines(scale: int = 1) -> list[Line]:
    """Return every line of the table; a scale of 4 makes the games four times as long."""
    made: list[Line] = []
    for column in COLUMNS:
        made.extend(MAKERS[column.row](column, scale))
    free = next(one for one in COLUMNS if (one.row, one.name) == (CONVEX, FREE))
    return [*made, *_signs(free, scale)]


def _convex(column: Column, scale: int) -> Iterator[Line]:
    slots = _slots(column)
    long = [scale * 2**i for i in (14, 15, 16, 17, 18)]
    yield Line(column, "T", tuple(Setting(T, 64, 0.5, slots, straggler=True) for T in long), ATTAINED)
    shares = [1 / 8, 1 / 4, 1 / 2]
    yield Line(column, "d_tot", tuple(Setting(long[-1], 256, s, slots, straggler=True) for s in shares), ATTAINED)
    if slots is not None:
        yield Line(column, "T", _roomier(column, long[0], 64 if slots == 1 else 512, longer=2), UPPER)
        yield Line(column, "C", _roomier(column, *((long[2], 64) if slots == 1 else (long[4], 256))), UPPER)


def _curved(column: Column, scale: int) -> Iterator[Line]:
    slots = _slots(column)
    long = [scale * 2**i for i in (12, 13, 14, 15, 16)]
    # With 16 slots a calibrated coin's weights are so large that curvature would take thousands of seeds.
    room = 64 if column.name == OURS else slots
    yield Line(column, "T", tuple(Setting(T, 256, 0.5, room) for T in long), LOGARITHM)
    spells = [64, 128, 256, 512]
    yield Line(column, "harmonic", tuple(Setting(long[-1], S, 0.5, slots) for S in spells), ATTAINED)
    if slots is not None:
        yield Line(column, "T", _roomier(column, long[0], 64 if slots == 1 else 512, longer=2), UPPER)
        yield Line(column, "C", _roomier(column, *((long[4], 64) if slots == 1 else (8 * long[4], 256))), UPPER)


def _values(column: Column, scale: int) -> Iterator[Line]:
    if column.name == PRINTED:
        # One T and one delay: capacity alone moves 1 + σ_max/C, from the least that the theorem covers, ln T + 1.
        rooms = (14, 50, 200, 400)
        yield Line(column, "crowding", tuple(Setting(200_000, 400, 0.5, C) for C in rooms), ATTAINED)
        return
    slots = _slots(column)
    spell, powers = (16, (12, 13, 14, 15, 16)) if slots is None else (64, (12, 14, 16, 18))
    # On strongly convex losses that can be learnt regret stays far below T^(2/3), with 30 times the rate as well; and
    # the reduction of ryabchenko2026 still learns at 30 times its rate.
    is_open = column.row == BANDIT_CURVED or "ryabchenko" in column.name
    long = [scale * 2**i for i in powers]
    yield Line(column, "T", tuple(Setting(T, spell, 0.5, slots) for T in long), UPPER, is_open=is_open)
    if slots is not None and not is_open:
        yield Line(column, "T", _roomier(column, long[2], 512, longer=2), UPPER)


def _slots(column: Column) -> int | None:
    return {OURS: 16, FREE: 1}.get(column.name)


def _roomier(column: Column, first: int, spell: int, longer: int = 1) -> tuple[Setting, ...]:
    """Return games whose capacity doubles at one delay, σ_max ≥ 4C to the last, and whose horizon grows by ``longer``.

    At one horizon all have to be so long that who never moves is above the bound: its slope is the claim, 0.
    """
    least = _slots(column) or 1
    doubled = (i for i in range(5) if 4 * least * 2**i <= spell)
    return tuple(Setting(first * longer**i, spell, 0.5, least * 2**i) for i in doubled)


def _signs(column: Column, scale: int) -> Iterator[Line]:
    long = [scale * 2**i for i in (12, 14, 16)]
    yield Line(column, "T", tuple(Setting(T, 63, capacity=1) for T in long), LOWER, "signs")
    late = [15, 63, 255]
    yield Line(column, "d_tot", tuple(Setting(long[-1], S, capacity=1) for S in late), LOWER, "signs")


MAKERS = {CONVEX: _convex, CURVED: _curved, BANDIT: _values, BANDIT_CURVED: _values}
