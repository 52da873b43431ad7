"""What a simulation measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tarry.game.books import Occupancy, books_of, events_of
from tarry.game.plans import Measured, Plan
from tarry.game.regret import Comparator
from tarry.game.world import LOSS, Log
from tarry.results import FATES, Certificate, Weights, html_table
from tarry.results.charts import regret_chart
from tarry.tracking import restart_warnings

if TYPE_CHECKING:
    import polars as pl

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Record:
    """A simulation's results; arrays have one entry per seed.

    ``regret`` is final regret against the best fixed action of the horizon, ``curve`` a frame with columns seed,
    t, regret, bound: regret at t is against the best action of the *whole* horizon. ``certificates`` are the bounds on
    the weighted regret in their parts, and say what they hold for (None where there is none); ``bound`` is the sum of
    the parts, or NaN. With the rate 1/(λt) on strongly convex losses it is the second sum only, here and in the curve:
    no bound on one path (``certificate.full_bound`` is one). ``last_plays`` has a row per seed. ``doubts`` are what the
    player assumes and the game does not have; ``warnings`` begin with them.
    """

    seeds: list[int]
    horizon: int
    capacity: int | None
    regret: Array
    bound: Array
    loss: Array
    certificates: list[Certificate | None]
    comparators: list[Comparator]
    weights: Weights
    occupancy: Occupancy
    fates: NDArray[np.int64]
    checkpoints: NDArray[np.int64]
    regret_at: Array
    loss_at: Array
    bound_at: Array
    last_plays: Array
    player: Any
    doubts: tuple[str, ...] = ()
    _logs: list[Log | None] = field(default_factory=list)

    @classmethod
    def build(cls, plan: Plan, measured: list[Measured]) -> Record:
        """Gather what was measured under all seeds."""
        game, horizon = plan.game, int(plan.game.horizon)
        outcomes = [one.outcome for one in measured]
        books = books_of(outcomes, horizon)
        losses = np.array([outcome.curve[:, LOSS] for outcome in outcomes])
        regret = losses - np.array([one.best.losses for one in measured])
        bounds = np.array([one.bounds for one in measured])
        return cls(
            seeds=[one.seed for one in measured],
            horizon=horizon,
            capacity=game.capacity,
            regret=regret[:, -1],
            bound=bounds[:, -1],
            loss=losses[:, -1],
            certificates=[one.certificate for one in measured],
            comparators=[one.best for one in measured],
            weights=books.weights,
            occupancy=books.occupancy,
            fates=books.fates,
            checkpoints=outcomes[0].rounds,
            regret_at=regret,
            loss_at=losses,
            bound_at=bounds,
            last_plays=np.array([outcome.play for outcome in outcomes]),
            player=plan.player,
            doubts=plan.doubts,
            _logs=[outcome.log for outcome in outcomes],
        )

    @property
    def curve(self) -> pl.DataFrame:
        """Columns seed, t, regret, bound at the checkpoints.

        The bound is on the weighted regret over what has arrived, as its certificate's ``holds`` says: with the rate
        1/(λt) on strongly convex losses it is the second sum only, no bound on one path.
        """
        import polars as pl

        return pl.DataFrame(
            {
                "seed": np.repeat(self.seeds, self.checkpoints.size),
                "t": np.tile(self.checkpoints, len(self.seeds)),
                "regret": self.regret_at.ravel(),
                "bound": self.bound_at.ravel(),
            }
        )

    @property
    def ledger(self) -> pl.DataFrame:
        """Rounds by fate, per seed; each row sums to the horizon."""
        import polars as pl

        columns = {name: self.fates[:, i] for i, name in enumerate(FATES)}
        return pl.DataFrame({"seed": self.seeds, **columns})

    @property
    def observed(self) -> Array:
        """The share of rounds whose feedback was used, per seed."""
        return np.asarray(self.fates[:, 0] / self.horizon)

    @property
    def exploration_rounds(self) -> int | None:
        """How many of the first rounds explored only (bandit learners, smoothing = inner radius).

        None where the player restarts: then it depends on when it did.
        """
        count = self.player.learner.exploration_rounds(self.horizon)
        if count is None:
            return 0
        return None if self.player.epochs.needs_preemption else int(count)

    def plays(self, seed: int | None = None) -> Array:
        """Every play of a seed (default: the first), shape (horizon, dimension); needs ``keep_rounds=True``."""
        return self._log(seed).plays  # type: ignore[no-any-return]

    def rounds(self, seed: int | None = None) -> pl.DataFrame:
        """Columns t, loss, weight of a seed (default: the first); needs ``keep_rounds=True``."""
        import polars as pl

        log = self._log(seed)
        t = np.arange(1, self.horizon + 1)
        return pl.DataFrame({"t": t, "loss": log.losses, "weight": log.weights})

    def events(self, seed: int | None = None) -> pl.DataFrame:
        """What happened under a seed (default: the first), in order; needs ``keep_rounds=True``.

        Columns t, event, s, weight; the weight is that of a "feedback" event, and the delay in a "delay" event.
        """
        return events_of(self._log(seed))

    def _log(self, seed: int | None) -> Any:
        if seed is not None and seed not in self.seeds:
            raise ValueError(f"there is no seed {seed} in this record, only {self.seeds}")
        index = 0 if seed is None else self.seeds.index(seed)
        log = self._logs[index]
        if log is None:
            raise ValueError("rounds were not kept: run simulate(…, keep_rounds=True)")
        return log

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the numbers."""
        found, share = list(self.doubts), float(self.fates[:, 2].mean()) / self.horizon
        if self.player.scheduler.is_unbiased and share > 0.01:
            found.append(
                f"{share:.0%} of rounds found no room and are not made up for by weights: raise the capacity, "
                "lower the chance of tracking, or use VarOpt"
            )
        found += restart_warnings(self.player, float(self.weights.mean.mean()))
        gap = max(one.gap / max(1.0, abs(float(one.losses[-1]))) for one in self.comparators)
        if gap > 1e-4:
            found.append(f"the best fixed action is known only to a relative gap of {gap:.1e}; so is the regret")
        return tuple(found)

    def plot(self) -> Any:
        """Mean regret over seeds with the band of its 95 % interval (an Altair chart).

        ``record.plot().save("regret.svg")`` writes a picture; :func:`tarry.reports.compare` overlays records.
        """
        learner, scheduler = type(self.player.learner).__name__, type(self.player.scheduler).__name__
        return regret_chart(self.curve, title=f"Regret of {learner} with {scheduler}, capacity {self.capacity}")

    def summary(self) -> dict[str, float]:
        """Means over seeds, and the standard error of the regret."""
        n = len(self.seeds)
        error = float(np.std(self.regret, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
        return {
            "regret": float(self.regret.mean()),
            "standard_error": error,
            "observed": float(self.observed.mean()),
            "mean_weight": float(self.weights.mean.mean()),
            "second_moment": float(self.weights.second_moment.mean()),
            "saturated": float(self.fates[:, 2].mean() / self.horizon),
            "bound": float(self.bound.mean()),
        }

    def __repr__(self) -> str:
        s = self.summary()
        error = "" if np.isnan(s["standard_error"]) else f" ± {s['standard_error']:.2g}"
        explored = f", {self.exploration_rounds} rounds of pure exploration" if self.exploration_rounds else ""
        return (
            f"Record({len(self.seeds)} seeds × {self.horizon} rounds: regret {s['regret']:.4g}{error}, "
            f"{s['observed']:.1%} of labels seen, mean weight {s['mean_weight']:.3f}{explored})"
        )

    def _repr_html_(self) -> str:
        shown = {name.replace("_", " "): f"{number:.6g}" for name, number in self.summary().items()}
        return html_table(f"Record of {len(self.seeds)} seeds × {self.horizon:,} rounds", shown)
