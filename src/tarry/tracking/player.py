"""The player W(A, D): a learner behind a scheduler (Algorithm 1 of the paper, for any scheduler)."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from tarry import schedulers
from tarry.kernel import Parameters, Purpose, make_key
from tarry.learners.base import KeyedDirections, Learner, rules_of
from tarry.learners.base import allocate as allocate_learner
from tarry.schedulers.base import Keyed
from tarry.schedulers.base import allocate as allocate_scheduler
from tarry.tracking.buffer import make_buffer
from tarry.tracking.doubling import Single, fresh_epochs
from tarry.tracking.partners import check_partners
from tarry.tracking.table import Table, grow_table, make_table
from tarry.tracking.tally import Tally, make_tally

NOTICEABLE = 0.01  # of the mean weight: a smaller shortfall is noise


class Player(Parameters, init=False):
    """A learner and the scheduler that decides whose feedback it sees (default: VarOpt).

    ``epochs=Doubling(…)`` restarts both whenever a guess is outgrown.

    >>> from tarry.domains import Ball
    >>> from tarry.learners import DWFTRL
    >>> Player(DWFTRL(Ball(2), rate=0.1)).scheduler
    VarOpt()
    """

    learner: Any
    scheduler: Any
    epochs: Any

    def __new__(cls, learner: Any, scheduler: Any = None, epochs: Any = None) -> Self:
        if not isinstance(learner, Learner):
            own = ": one of your own inherits tarry.learners.base.Learner" if hasattr(learner, "feedback") else ""
            raise TypeError(f"learner must be a learner such as DWFTRL(domain, rate=…), got {learner!r}{own}")
        chosen = schedulers.VarOpt() if scheduler is None else scheduler
        if isinstance(chosen, type) or not hasattr(chosen, "needs_preemption"):
            raise TypeError(f"scheduler must be a scheduler such as VarOpt(), got {scheduler!r}")
        restarts = Single() if epochs is None else epochs
        check_partners(learner, chosen, restarts)
        return cls.make(learner, chosen, restarts)


def as_player(chosen: Any) -> Player:
    """Return the player of what may stand for one: a player, a recommendation that holds one, or a bare learner."""
    chosen = getattr(chosen, "player", chosen)
    return chosen if isinstance(chosen, Player) else Player(chosen)


def restart_warnings(player: Player, mean_weight: float) -> list[str]:
    """Return what restarts did to the weights, and whether a member heeds them, in sentences."""
    if not getattr(player.epochs, "over", ""):
        return []
    found = []
    if player.scheduler.is_unbiased and mean_weight < 1.0 - NOTICEABLE:
        found.append(
            f"the mean weight is {mean_weight:.2f}: restarts drop the rounds that wait, so with doubling it lies "
            "below 1 by design, and weighted sums over all rounds are too small"
        )
    rules = rules_of(player.learner)
    follows = any(rule.follows_backlog for rule in rules)
    if not follows and not any(getattr(member, "follows_epochs", ()) for member in (player.scheduler, *rules)):
        found.append(
            "nothing follows the guesses that restarts correct: restarting only costs, leave out epochs=, or use a "
            "member that follows them (docs/choosing.md)"
        )
    return found


class Draws(NamedTuple):
    """Where the player's randomness comes from."""

    schedule: Any
    directions: Any


class State(NamedTuple):
    """Everything that changes while a player plays; also what a snapshot holds."""

    table: Table
    tally: Tally
    scheduler: Any
    learner: Any
    epochs: np.ndarray
    play: np.ndarray
    buffer: Any


def keyed_draws(seed: int) -> Draws:
    """Return the player's own randomness under a seed."""
    return Draws(Keyed(make_key(seed, Purpose.SCHEDULE)), KeyedDirections(make_key(seed, Purpose.DIRECTIONS)))


def fresh_state(player: Player, slots: int, capacity: int) -> State:
    """Return the state before the first round."""
    return State(
        table=make_table(slots),
        tally=make_tally(slots),
        scheduler=_checked("scheduler", player.scheduler, allocate_scheduler(player.scheduler, slots, capacity)),
        learner=_checked("learner", player.learner, allocate_learner(player.learner, slots)),
        epochs=fresh_epochs(),
        play=np.zeros(player.learner.dimension),
        buffer=make_buffer(player),
    )


def _checked(kind: str, member: Any, state: Any) -> Any:
    """Return a state that compiled code can hold; raise TypeError where it cannot."""
    parts = [state]
    while parts:
        part = parts.pop()
        if isinstance(part, tuple):
            parts += part
        elif not isinstance(part, np.ndarray):
            inside = "" if part is state else " in it"
            raise TypeError(
                f"the state of the {kind} {type(member).__name__}, made by its allocate(), must be a named tuple of "
                f"arrays, nested or not, got a {type(part).__name__}{inside}: make it a NamedTuple of NumPy arrays"
            )
    return state


def grow_state(player: Player, state: State, slots: int, capacity: int) -> State:
    """Return the same state with more slots (unlimited capacity only)."""
    larger = fresh_state(player, slots, capacity)
    for name in ("tally", "scheduler", "learner"):
        _copy_prefix(getattr(state, name), getattr(larger, name))
    return state._replace(
        table=grow_table(state.table, slots), tally=larger.tally, scheduler=larger.scheduler, learner=larger.learner
    )


def _copy_prefix(old: Any, new: Any) -> None:
    for source, target in zip(old, new, strict=True):
        if isinstance(source, tuple):
            _copy_prefix(source, target)
        else:
            target[tuple(slice(size) for size in source.shape)] = source
