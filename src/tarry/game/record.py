"""What simulations and replays measured."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarry.charts import CONFIDENCE, regret_chart, student
from tarry.checks import as_level, as_range
from tarry.delays.base import Backlog
from tarry.domains.base import as_array
from tarry.errors import ArgumentError
from tarry.game.blocks import is_search_short
from tarry.game.grants import assumption_warnings
from tarry.game.hindsight import Comparator, check_path, losses_up_to, weighted_comparator
from tarry.game.run import Played
from tarry.game.world import EVENTS, Log
from tarry.kernel.compile import in_python
from tarry.outcomes import FATES, Certificate, Fate, Weights, counted, html_facts, number
from tarry.rates.base import Facts
from tarry.theory.intervals import ROUNDING, Heard, deviation, sum_interval
from tarry.tracking import Player, Terms, restart_warnings, room_warnings
from tarry.tracking.certificate import certificates
from tarry.tracking.tally import (
    ARRIVED_SQUARE,
    BEGUN_SQUARE,
    DRIFT,
    FULL_ROUNDS,
    OCCUPANCY,
    PEAK,
    THRESHOLD,
    UNIT,
    weights_of,
)

if TYPE_CHECKING:
    import polars as pl

logger = logging.getLogger("tarry")
Array = NDArray[np.float64]
CLOSE_ENOUGH = 1e-4  # relative, of the best fixed action: regrets are read to fewer digits
FEWEST_SEEDS = 8  # whose spread says what chance does to a mean weight
FEWEST_HEARD = 1000  # rounds of all seeds: of fewer a rare large weight may be missing
BEYOND_CHANCE = 1.0 - 6e-5  # four standard errors of a normal variable


class Occupancy(NamedTuple):
    """The size of the set as a round finds it, per seed: expired members are gone, none is replaced yet."""

    mean: Array
    peak: Array
    full: Array  # the share of rounds that found no room


class DynamicRegret(NamedTuple):
    """Regret against a path u_1, …, u_T that moves: Σ_t f_t(x_t) − f_t(u_t), per seed."""

    regret: Array
    curve: pl.DataFrame  # columns seed, t, regret at the record's checkpoints
    path_length: float  # Σ_t |u_{t+1} − u_t|


@dataclass(frozen=True, kw_only=True, repr=False)
class SeedResults:
    """What became of the rounds of several seeds; arrays have one entry, or row, per seed."""

    seeds: list[int]
    horizon: int
    capacity: int | None
    fates: NDArray[np.int64]  # a column per Fate
    weights: Weights
    occupancy: Occupancy
    _logs: list[Log | None]
    _strays: Array | None  # rows of a scheduler that conserves weight: how far weighted sums may stray
    _sizes: list[Array | None]  # of the rounds of each seed's game, None where all are 1
    size_moments: Array | None = None  # Σ w²b²/Σ b² where rounds have sizes: the mean of w², sizes squared for weights

    @staticmethod
    def books(played: list[Played]) -> dict[str, Any]:
        """Return the fields above, of finished seeds."""
        run, sums, counts = played[0].run, _rows(played, "sums"), _rows(played, "counts")
        full = counts[:, FULL_ROUNDS] / run.horizon
        sized = None if run.game.sizes is None else _rows(played, "sized")
        return {
            "seeds": [seed for part in played for seed in part.seeds],
            "horizon": run.horizon,
            "capacity": run.game.capacity,
            "fates": _rows(played, "fates"),
            "weights": weights_of(sums, run.horizon),
            "occupancy": Occupancy(sums[:, OCCUPANCY] / run.horizon, counts[:, PEAK].astype(float), full),
            "_logs": [log for part in played for log in part.logs],
            "_strays": _rows(played, "strays") if run.player.scheduler.conserves_weight else None,
            "_sizes": [part.run.game.sizes for part in played for _ in part.seeds],
            "size_moments": None if sized is None else sized[:, ARRIVED_SQUARE] / sized[:, BEGUN_SQUARE],
        }

    @property
    def ledger(self) -> pl.DataFrame:
        """Rounds by fate, per seed; each row sums to the horizon."""
        import polars as pl

        columns = {name: self.fates[:, i] for i, name in enumerate(FATES)}
        return pl.DataFrame({"seed": self.seeds, **columns})

    @property
    def observed(self) -> Array:
        """The share of rounds whose feedback was used, per seed."""
        return np.asarray(self.fates[:, Fate.USED] / self.horizon)

    @property
    def refused(self) -> float:
        """The share of rounds that found no room, over all seeds."""
        return float(self.fates[:, Fate.SATURATED].mean()) / self.horizon

    def sum_interval(
        self, values: Any, *, low: float = 0.0, high: float = 1.0, level: float = 0.95, seed: int | None = None
    ) -> tuple[float, float]:
        """Return bounds on Σ_t values_t from the values of rounds that were heard alone; needs ``keep_rounds=True``.

        All values, heard or not, must lie between ``low`` and ``high``, times their sizes where rounds have some. With
        probability ``level`` over VarOpt's draws the bounds hold, at every horizon at once (docs/live.md). Raise
        ValueError for other schedulers.
        """
        low, high = as_range(low, high)
        weights, numbers = self._log(seed).weights, np.asarray(values, dtype=float)
        if self._strays is None:
            raise ValueError("how far weighted sums may stray is known for VarOpt alone: play with it")
        if numbers.shape != weights.shape:
            raise ArgumentError("values", f"must have {self.horizon} entries, one a round", numbers.shape)
        at, used = 0 if seed is None else self._index[seed], weights > 0
        round_sizes = self._sizes[at]
        sizes = np.ones(self.horizon) if round_sizes is None else round_sizes
        w, y, b = weights[used], numbers[used], sizes[used]
        slack = ROUNDING * max(abs(low), abs(high))
        if not np.all((low - slack <= y / b) & (y / b <= high + slack)):
            each = "" if round_sizes is None else " for each unit of size"
            raise ArgumentError("values", f"must lie between low={low:g} and high={high:g}{each}")
        strays = self._strays[at]
        reach = float(
            deviation(
                strays[DRIFT], strays[THRESHOLD], as_level(level), 1.0 if round_sizes is None else strays[UNIT] or 1.0
            )
        )
        heard = Heard(float(b.sum()), float(y.sum()), float(w @ b), float(w @ y))
        return sum_interval(heard, float(sizes.sum()), reach, low, high)

    def events(self, seed: int | None = None) -> pl.DataFrame:
        """Return columns t, event, s, weight (in a "delay" event the delay) of a seed; needs ``keep_rounds=True``."""
        import polars as pl

        log = self._log(seed)
        n = int(log.written[0])
        names = np.array(EVENTS, dtype=object)[log.kind[:n]]
        return pl.DataFrame({"t": log.t[:n], "event": names.astype(str), "s": log.s[:n], "weight": log.weight[:n]})

    @cached_property
    def _index(self) -> dict[int, int]:
        return {seed: i for i, seed in enumerate(self.seeds)}

    def _log(self, seed: int | None) -> Log:
        if seed is not None and seed not in self._index:
            raise ValueError(f"there is no seed {seed} in this {type(self).__name__.lower()}, only {self.seeds}")
        log = self._logs[0 if seed is None else self._index[seed]]
        if log is None:
            raise ValueError(f"rounds were not kept: run {self._made_by}(…, keep_rounds=True)")
        return log

    _made_by = "simulate"


@dataclass(frozen=True, kw_only=True, repr=False)
class Record(SeedResults):
    """A simulation's results; arrays have one entry per seed.

    ``regret`` is final regret against the best fixed action of the whole horizon, or against the ``comparator`` that
    ``simulate`` was given, at checkpoints too. ``bound`` is the sum of the certificate's parts, or NaN. With the rate
    1/(λt) on strongly convex losses it is the second sum only, here and in the curve: no bound on one path
    (``certificate.full_bound`` is one).
    """

    regret: Array
    bound: Array
    loss: Array
    comparators: list[Comparator]
    checkpoints: NDArray[np.int64]
    regret_at: Array  # a row per seed, a column per checkpoint; so are the next two
    loss_at: Array
    bound_at: Array
    last_plays: Array  # a row per seed
    player: Player
    _books: list[tuple[Terms | None, Array, Array, NDArray[np.int64]]]  # what certificates are made of
    _games: list[Any]  # of the seeds whose rounds are kept
    met_delays: list[Backlog] | None = None  # of each seed, where delays react: the game's own are the longest
    assumption_warnings: tuple[str, ...] = ()  # what the player assumes and the game does not have
    played: str  # "compiled", "in Python" (a short game, or a member that is not compiled) or "on a GPU"
    has_one_game: bool = True  # all seeds have met the same game, and differ by the player's draws alone
    reacts: bool = False  # losses or delays have followed the plays
    total_held: Array  # Σ h_t, h_t the weight that has not arrived when round t begins; NaN where sums may differ
    weighted_loss: Array  # Σ w_t f_t(x_t) of a weighted game
    _weighted_games: list[Any]  # of the seeds, where games are weighted

    @classmethod
    def of(cls, played: list[Played]) -> Record:
        """Return the record of finished and compared seeds."""
        run, losses, bounds = played[0].run, _rows(played, "losses"), _rows(played, "bounds")
        best = [(part.best, len(part.seeds)) for part in played if part.best is not None]
        against = [np.broadcast_to(comparison.losses, (n, losses.shape[1])) for comparison, n in best]
        regret = losses - np.concatenate(against) if best else np.full(losses.shape, np.nan)
        return cls(
            regret=regret[:, -1],
            bound=bounds[:, -1],
            loss=losses[:, -1],
            comparators=[comparison for comparison, n in best for _ in range(n)],
            checkpoints=run.checkpoints,
            regret_at=regret,
            loss_at=losses,
            bound_at=bounds,
            last_plays=_rows(played, "plays"),
            player=run.player,
            _books=[(part.run.terms, part.sums, part.rates, part.fates[:, Fate.USED]) for part in played],
            _games=[part.run.game for part in played for log in part.logs if log is not None],
            assumption_warnings=_assumption_warnings(played),
            played=played[0].where,
            met_delays=[part.run.game.delays.summary() for part in played] if played[0].waits.size else None,
            has_one_game=len({id(part.run.game) for part in played}) == 1,
            reacts=bool(played[0].rows.size or played[0].waits.size),
            total_held=_rows(played, "held") if run.player.scheduler.conserves_weight else np.full(len(regret), np.nan),
            weighted_loss=_rows(played, "weighted"),
            _weighted_games=[part.run.game for part in played for _ in part.seeds if hasattr(part.run.game, "weights")],
            **cls.books(played),
        )

    @cached_property
    def certificates(self) -> list[Certificate | None]:
        """Bounds on the weighted regret in their parts, which say what they hold for; None where there is none."""
        certified: list[Certificate | None] = []
        for terms, sums, rates, rounds in self._books:
            certified += [None] * len(sums) if terms is None else certificates(terms, sums, rates, rounds)
        return certified

    @cached_property
    def weighted_regret(self) -> Array:
        """R^w = Σ w_t (f_t(x_t) − f_t(u)) of a :class:`tarry.WeightedGame`, per seed.

        u is the best fixed action for these weights, or the action or path that ``simulate`` was given; without a
        comparator R^w is NaN. ``regret`` and ``loss`` leave the weights out. The search for u runs when this is first
        asked for; a gap that it leaves is logged, and stands in ``warnings`` from then on.
        """
        if not self._weighted_games:
            raise ValueError("only a WeightedGame has a weighted regret: record.regret is that of this game")
        if not self.comparators:
            return np.full(len(self.seeds), np.nan)
        losses = [float(best.losses[-1]) for best in self._weighted_comparators]
        for warning in _gap_warnings(self._weighted_comparators, "weighted regret"):
            logger.warning("%s", warning)
        return np.asarray(self.weighted_loss - losses)

    @cached_property
    def _weighted_comparators(self) -> list[Comparator]:
        """The comparator of each seed with its loss by weight: one search for all seeds of a game."""
        searched: dict[tuple[int, int], Comparator] = {}
        games = {id(game): game for game in self._weighted_games}
        is_quick = self.played == "in Python" and is_search_short(self._weighted_games[0], len(games))
        for game, known in zip(self._weighted_games, self.comparators, strict=True):
            if (id(game), id(known)) not in searched:
                given = known.point if np.isnan(known.gap) else None
                with in_python(is_quick):
                    searched[id(game), id(known)] = weighted_comparator(game, given)
        return [
            searched[id(game), id(known)] for game, known in zip(self._weighted_games, self.comparators, strict=True)
        ]

    @property
    def weighted_bound(self) -> Array:
        """The bound on ``weighted_regret`` of the paper's Theorems 3.1 and 3.2, constants tightened; NaN without one.

        It holds on every path, from values in expectation over the directions. At the rate 1/(λt) the first sum of the
        theorems, which depends on u, stands with the most that it can be.
        """
        return np.array(
            [np.nan if certificate is None else certificate.full_bound for certificate in self.certificates]
        )

    @property
    def bounds_regret(self) -> NDArray[np.bool_]:
        """Whether, on average, ``bound`` is at least ``regret`` by its theorem, per seed.

        The bound is on the weighted regret. Its mean is a bound on the mean regret where weights are unbiased, every
        round found room, no restart dropped rounds, nothing reacts, and regret is against the best fixed action.
        """
        fits = self.player.scheduler.is_unbiased and not self.player.epochs.needs_preemption and not self.reacts
        is_best = np.array(
            [not np.isnan(comparison.gap) for comparison in self.comparators] or [False]
        )  # NaN of those given
        return np.asarray(np.isfinite(self.bound) & (self.fates[:, Fate.SATURATED] == 0) & is_best & fits)

    @property
    def curve(self) -> pl.DataFrame:
        """Columns seed, t, regret, bound at the checkpoints; the bound is on the regret over what has arrived."""
        return self._at_checkpoints(regret=self.regret_at, bound=self.bound_at)

    def _at_checkpoints(self, **columns: Array) -> pl.DataFrame:
        import polars as pl

        seeds, rounds = np.repeat(self.seeds, self.checkpoints.size), np.tile(self.checkpoints, len(self.seeds))
        return pl.DataFrame({"seed": seeds, "t": rounds, **{name: values.ravel() for name, values in columns.items()}})

    def regret_against(self, path: ArrayLike) -> DynamicRegret:
        """Return the regret of every seed against a path, an action for each round; needs ``keep_rounds=True``.

        ``path`` has the shape (horizon, dimension) and lies in the domain; ArgumentError is raised where it does not.
        ``theory.dynamic_bound`` bounds the mean for projected descent. ``simulate(…, comparator=path)`` needs no
        rounds kept.
        """
        if self._logs[0] is None:  # neither were the games
            raise ValueError("rounds were not kept: run simulate(…, keep_rounds=True), or simulate(…, comparator=path)")
        moving, shape = as_array(path, "path"), (self.horizon, self.last_plays.shape[1])
        if moving.shape != shape:
            raise ArgumentError("path", f"must have the shape {shape}, an action for each round", moving.shape)
        losses_of_games: dict[int, Array] = {}
        for game in {id(one): one for one in self._games}.values():
            check_path(game.domain, moving, "path")
            losses_of_games[id(game)] = losses_up_to(game.losses, moving, self.checkpoints)
        regret = self.loss_at - np.array([losses_of_games[id(game)] for game in self._games])
        length = float(np.sum(np.linalg.norm(np.diff(moving, axis=0), axis=1)))
        return DynamicRegret(regret[:, -1], self._at_checkpoints(regret=regret), length)

    def played_game(self, seed: int | None = None) -> Any:
        """Return the game that a seed (default: the first) has met; needs ``keep_rounds=True``.

        Where losses or delays react, theirs are listed as they were in play; regret is measured against these losses.
        """
        self._log(seed)
        return self._games[0 if seed is None else self._index[seed]]

    @property
    def exploration_rounds(self) -> int | None:
        """How many of the first rounds explored only (bandits, smoothing = inner radius), None after restarts."""
        count = self.player.learner.exploration_rounds(self.horizon)
        if count is None:
            return 0
        return None if self.player.epochs.needs_preemption else int(count)

    def plays(self, seed: int | None = None) -> Array:
        """Return every play of a seed (default: the first), shape (horizon, dimension); needs ``keep_rounds=True``."""
        return self._log(seed).plays

    def rounds(self, seed: int | None = None) -> pl.DataFrame:
        """Return columns t, loss, weight of a seed (default: the first); needs ``keep_rounds=True``."""
        import polars as pl

        log = self._log(seed)
        t = np.arange(1, self.horizon + 1)
        return pl.DataFrame({"t": t, "loss": log.losses, "weight": log.weights})

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the numbers."""
        sentences = list(self.assumption_warnings)
        scheduler, epochs = self.player.scheduler, self.player.epochs
        if scheduler.is_unbiased:
            rounds, fates = self.fates.sum(), self.fates.sum(axis=0)
            full = self.occupancy.full.mean() * rounds
            sentences += room_warnings(fates[Fate.SATURATED], fates[Fate.UNTRACKED], full, rounds)
        if self.fates[:, Fate.PREEMPTED].any() and not (scheduler.needs_preemption or epochs.needs_preemption):
            name = type(scheduler).__name__
            sentences.append(
                f"{name} drops tracked rounds, allowed or not, and does not say so: needs_preemption = True"
            )
        sentences += [*self._bias_warnings(), *restart_warnings(self.player, float(self.weights.mean.mean()))]
        sentences += _gap_warnings(self.comparators, "regret")
        # Nobody waits for a second search who has not asked for what it finds.
        sentences += _gap_warnings(self.__dict__.get("_weighted_comparators", ()), "weighted regret")
        return tuple(sentences)

    def _bias_warnings(self) -> list[str]:
        """Return a sentence where a user's scheduler claims to be unbiased and its mean weight says otherwise.

        The library's own are held to it by their tests, where every draw is enumerated.
        """
        scheduler, n = self.player.scheduler, len(self.seeds)
        is_claimed = scheduler.is_unbiased and not type(scheduler).__module__.startswith("tarry.")
        if not is_claimed or self.player.epochs.needs_preemption or n < FEWEST_SEEDS:
            return []
        # A round that finds no room is owed nothing by whoever turns it away, and 1 by whoever takes over a slot.
        turned_away = self.occupancy.full if self.fates[:, Fate.SATURATED].any() else np.zeros(n)
        takes_over = scheduler.needs_preemption and not scheduler.announces_preemption
        for owed, sign in ((1.0 - turned_away, -1.0), (1.0 - turned_away * (not takes_over), 1.0)):
            excess = sign * (self.weights.mean - owed)
            reach = student(BEYOND_CHANCE, n - 1) * float(excess.std(ddof=1)) / np.sqrt(n) + ROUNDING
            if excess.mean() > reach and self.fates[:, Fate.USED].sum() >= FEWEST_HEARD:
                mean, name = self.weights.mean.sum() / owed.sum(), type(scheduler).__name__
                return [
                    f"rounds that find room weigh {mean:.3g} on average and not 1, by more than chance over {n} seeds: "
                    f"{name} is biased, or its large weights are so rare that none was drawn; run SchedulerContract, "
                    "or say is_unbiased = False"
                ]
        return []

    def plot(self, path: ArrayLike | None = None) -> Any:
        """Return a chart (Altair) of mean regret with its 95 % interval; ``.save("regret.svg")`` writes a picture.

        Where all seeds have met one game the interval is over the player's draws alone, and tells of no other game.
        With a ``path`` the regret against it stands beside that against the best fixed action.
        """
        if not self.comparators:
            raise ValueError(
                "there is no regret to draw: give simulate a comparator, 'best' or a path, instead of None"
            )
        learner, scheduler = type(self.player.learner).__name__, type(self.player.scheduler).__name__
        slots = "no limit" if self.capacity is None else f"capacity {self.capacity}"
        title = f"Regret of {learner} with {scheduler}, {slots}"
        title += ", one game" if self.has_one_game else ", a game for each seed"
        if path is None:
            return regret_chart(self.curve, title=title)
        import polars as pl

        curves = {"the path": self.regret_against(path).curve, "the best fixed action": self.curve.drop("bound")}
        named = [curve.with_columns(against=pl.lit(f"against {name}")) for name, curve in curves.items()]
        return regret_chart(pl.concat(named), title=title, group="against")

    def summary(self) -> dict[str, float]:
        """Return means over seeds; of the regret also its standard error and ``half``, half the 95 % interval.

        ``bound`` is NaN unless it is one on the mean regret (``bounds_regret``).
        """
        n = len(self.seeds)
        error = float(np.std(self.regret, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
        return {
            "regret": float(self.regret.mean()),
            "standard_error": error,
            "half": student(CONFIDENCE, n - 1) * error,
            "observed": float(self.observed.mean()),
            "mean_weight": float(self.weights.mean.mean()),
            "second_moment": float(self.weights.second_moment.mean()),
            "saturated": self.refused,
            "bound": float(self.bound.mean()) if self.bounds_regret.all() else float("nan"),
        }

    def __repr__(self) -> str:
        s = self.summary()
        sure = " (95 %)" if s["half"] > 0.0 else ""
        seeds = counted(len(self.seeds), "seed") + (" of one game" if self.has_one_game and len(self.seeds) > 1 else "")
        outcome = (
            f"regret {number(s['regret'], s['half'])}{sure}" if self.comparators else f"loss {self.loss.mean():.4g}"
        )
        explored = f", {self.exploration_rounds} rounds of pure exploration" if self.exploration_rounds else ""
        return (
            f"Record({seeds} × {self.horizon:,} rounds: {outcome}, "
            f"{s['observed']:.1%} of labels seen, mean weight {s['mean_weight']:.3f}{explored})"
        )

    def _repr_html_(self) -> str:
        rows = {name.replace("_", " "): f"{number:.6g}" for name, number in self.summary().items()}
        rows["played"] = self.played
        return html_facts(f"Record of {counted(len(self.seeds), 'seed')} × {self.horizon:,} rounds", rows)


def _gap_warnings(comparators: Iterable[Comparator], name: str) -> list[str]:
    """Return a sentence where a search has left a gap that a reader of this regret would see."""
    gaps = [best.gap / max(1.0, abs(float(best.losses[-1]))) for best in comparators if not np.isnan(best.gap)]
    gap = max(gaps, default=0.0)
    if gap <= CLOSE_ENOUGH:
        return []
    return [f"the best fixed action is known only to a relative gap of {gap:.1e}; so is the {name}"]


def _assumption_warnings(played: list[Played]) -> tuple[str, ...]:
    """Return the warnings of all games, one of those that differ in numbers alone."""
    sentences: dict[str, str] = {}
    for run in {id(part.run): part.run for part in played}.values():
        for warning in (*run.doubts, *assumption_warnings(run.player.learner, Facts(run.game, run.player.scheduler))):
            sentences.setdefault(re.sub(r"[\d.]+", "", warning), warning)
    return tuple(sentences.values())


def _rows(played: list[Played], name: str) -> Any:
    """Return the rows of all seeds."""
    return np.concatenate([getattr(part, name) for part in played])
