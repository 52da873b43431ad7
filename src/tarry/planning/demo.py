"""The demonstration: a help desk, where busy hours bring more hard tickets and these take longer, by policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry import delays, domains, learners, losses
from tarry.delays.base import Delays, array
from tarry.game import Game, Record, simulate
from tarry.planning.policies import Conditions, find_policy
from tarry.tracking import Player

HORIZON = 20_000  # tickets of a month
BUSY, PACE = (9, 10, 11, 14, 15), (150, 13)  # hours of the day, and tickets an hour in these and in others
HARD = (0.45, 0.10)  # the share of hard tickets, in busy hours and in others
STAY = (1.5, 0.4)  # hours to the end, on average, of hard tickets and of others
PRICE = 0.25  # hours that an engineer takes, who saves one hour if the ticket is hard
CAPACITIES, SLOTS = (4, 8, 16, 32, 64), 8
STEPS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0)  # over 1/√(T + 2Σd)
TRIALS = 8  # months to choose the step on, at most as many as are then played
# VarOpt, a random sample, the paper's coin, and what people do today, without weights.
SHOWN = ("VarOpt", "Bernoulli (calibrated)", "Bernoulli (paper)", "drop newest", "drop oldest", "time out", "reservoir")
AS_IT_IS, MOVED, SHUFFLED = WORLDS = ("as it is", "tickets moved", "outcomes shuffled")
PLAN: tuple[tuple[str, int | None, str], ...] = (
    *((name, None if name == "unlimited" else SLOTS, world) for world in WORLDS for name in ("unlimited", *SHOWN)),
    *((name, capacity, AS_IT_IS) for capacity in CAPACITIES if capacity != SLOTS for name in SHOWN),
)
STORY = (
    f"A simulated help desk gets about 1,000 tickets a day, three quarters of them in {len(BUSY)} busy hours. In busy "
    f"hours {HARD[0]:.0%} are hard, at other times {HARD[1]:.0%}. A ticket shows which it was when it is closed: after "
    f"{60 * STAY[0]:.0f} minutes on average if it was hard, else after {60 * STAY[1]:.0f}. An engineer's look takes "
    f"{60 * PRICE:.0f} minutes and saves an hour if the ticket is hard, so it pays where more than {PRICE:.0%} are. "
    "Should an engineer look? A learner (DW-FTRL) decides for each ticket, from the labels that it has seen. It does "
    "not see the hour."
)


class Month(NamedTuple):
    """Tickets in their order: which are hard, and how many others come before each one is closed."""

    hard: NDArray[np.bool_]
    delays: Delays

    def game(self, capacity: int | None) -> Game:
        """Return the decisions: x is the share of an engineer's look at a ticket, and costs (PRICE − hard)·x hours."""
        rows = (PRICE - self.hard)[:, None]
        return Game(domains.Box([0.0], [1.0]), losses.Linear(rows), self.delays, capacity=capacity)


class Result(NamedTuple):
    """One policy in months of one kind: for each month the rate it believes less the truth, and the hours it loses.

    ``by_step`` has the hours lost in the months of the trial, by step. ``age`` is the number of tickets after which a
    time-out gives one up, None of other policies.
    """

    policy: str
    capacity: int | None
    world: str
    is_unbiased: bool
    truth: float
    errors: NDArray[np.float64]
    regrets: NDArray[np.float64]
    seen: float
    step: float
    by_step: dict[float, NDArray[np.float64]]
    age: int | None

    @property
    def name(self) -> str:
        """The policy's name; those without weights carry a star."""
        return self.policy if self.is_unbiased else f"{self.policy} *"


def draw_month(seed: int, world: str = AS_IT_IS, horizon: int = HORIZON) -> Month:
    """Return a month, as it is or as a control.

    In the first control every ticket, with its outcome and its time to the end, falls at another ticket's time: so busy
    hours are like others. In the second outcomes are shuffled among tickets: so they tell nothing of delays either.
    """
    generator = np.random.default_rng(seed)
    is_busy = np.isin(np.arange(24), BUSY)
    # Tickets expected by the hour; a day brings 997 of them.
    expected = np.cumsum([0, *np.tile(np.where(is_busy, *PACE), 2 + horizon // 500)])
    times = np.interp(np.cumsum(generator.exponential(size=horizon)), expected, np.arange(expected.size))
    hard = generator.random(horizon) < np.where(is_busy[times.astype(int) % 24], *HARD)
    stays = generator.exponential(np.where(hard, *STAY))
    order = generator.permutation(horizon)
    if world == MOVED:
        hard, stays = hard[order], stays[order]
    elif world == SHUFFLED:
        hard = hard[order]
    # As a list, so that the loop is compiled once per policy.
    return Month(hard, array(delays.trace(times, times + stays).values))


def play_policy(name: str, capacity: int | None, months: Sequence[Month], step: float, first: int = 0) -> Record:
    """Return DW-FTRL's record over these months, whose seeds count from ``first``."""
    horizon, total = months[0].hard.size, months[0].delays.total_delay
    games = {first + i: month.game(capacity) for i, month in enumerate(months)}
    learner = learners.DWFTRL(games[first].domain, rate=step / sqrt(horizon + 2 * total))
    scheduler = find_policy(name).make(Conditions.of(months[0].delays, capacity or 1))
    return simulate(
        None, Player(learner, scheduler), games=games.__getitem__, seeds=games, keep_rounds=True, bound=False
    )


def play_plan(seeds: int, horizon: int = HORIZON) -> Iterator[Result]:
    """Yield the results of ``PLAN``, in its order; steps are chosen with ``SLOTS``, which is where hours are shown."""
    few = min(TRIALS, seeds)
    drawn = {world: [draw_month(i, world, horizon) for i in range(few + seeds)] for world in WORLDS}
    trials: dict[tuple[str, str], dict[float, NDArray[np.float64]]] = {}
    for name, capacity, world in PLAN:
        if (name, world) not in trials:
            plays = {step: play_policy(name, capacity, drawn[world][:few], step) for step in STEPS}
            trials[name, world] = {step: record.regret for step, record in plays.items()}
        by_step, months = trials[name, world], drawn[world][few:]
        step = min(STEPS, key=lambda step: by_step[step].mean())
        record = play_policy(name, capacity, months, step, first=few)
        truths = np.array([month.hard.mean() for month in months])
        weights = [record.rounds(seed)["weight"].to_numpy() for seed in record.seeds]
        with np.errstate(invalid="ignore"):  # who has heard nothing believes nothing
            believed = np.array([w @ month.hard / w.sum() for w, month in zip(weights, months, strict=True)])
        yield Result(
            policy=name,
            capacity=capacity,
            world=world,
            is_unbiased=bool(record.player.scheduler.is_unbiased),
            truth=float(truths.mean()),
            errors=believed - truths,
            regrets=record.regret,
            seen=float(record.observed.mean()),
            step=step,
            by_step=by_step,
            age=getattr(record.player.scheduler, "age", None),
        )
