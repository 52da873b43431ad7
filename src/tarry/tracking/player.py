"""The player W(A, D): a learner behind a scheduler (Algorithm 1 of the paper, for any scheduler), and its state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from tarry.kernel import Parameters, Purpose, make_key
from tarry.kernel.keyed import sealed_key, sealed_word, word
from tarry.learners.base import KeyedDirections, Learner, SealedDirections, notice, rules_of
from tarry.learners.base import allocate as allocate_learner
from tarry.schedulers import VarOpt
from tarry.schedulers.base import Keyed, Sealed, resettle
from tarry.schedulers.base import allocate as allocate_scheduler
from tarry.schedulers.named import free_scheduler
from tarry.tracking.buffer import make_buffer
from tarry.tracking.doubling import Single, fresh_epochs
from tarry.tracking.table import grow_table, make_table, resettled_table
from tarry.tracking.tally import Tally, make_tally, resettled

NOTICEABLE = 0.01  # of the mean weight: a smaller shortfall is noise


class Player(Parameters, init=False):
    """A learner and the scheduler that decides whose feedback it sees (default: VarOpt), or that scheduler's name.

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
        chosen = VarOpt() if scheduler is None else scheduler
        if isinstance(chosen, str):
            chosen = free_scheduler(chosen)
        if isinstance(chosen, type) or not hasattr(chosen, "needs_preemption"):
            raise TypeError(f"scheduler must be a scheduler such as VarOpt(), got {scheduler!r}")
        restarts = Single() if epochs is None else epochs
        for contradiction in _contradictions(learner, chosen, restarts):
            raise ValueError(contradiction)
        return cls.make(learner, chosen, restarts)


def _contradictions(learner: Learner, scheduler: Any, epochs: Any) -> Iterator[str]:
    """Yield what one part of a player assumes of another and does not find."""
    rules: list[Any] = rules_of(learner)
    over = getattr(epochs, "over", "")
    name, other = type(learner).__name__, type(scheduler).__name__
    if any(rule.follows_backlog for rule in rules) and over != "backlog":
        yield (
            "the learner's rules follow a guess of the backlog, which nobody makes: give "
            'epochs=Doubling("backlog"), or max_backlog=… to the rules'
        )
    for member in (scheduler, *rules):
        kinds = getattr(member, "follows_epochs", ())
        if kinds and over not in kinds:
            fixes = " or ".join(f'epochs=Doubling("{kind}")' for kind in kinds)
            got = f"{epochs!r} does not make" if over else "nobody makes"
            yield (
                f"{type(member).__name__} follows a guess that {got}: give {fixes} to the Player, or a member that "
                "follows none"
            )
    if getattr(scheduler, "withholds_feedback", False) and _looks_at_the_set(learner):
        yield (
            f"{other} withholds feedback so that plays do not know who of a batch was drawn, but "
            "the learner counts the tracked rounds, which tells: use another learner, or another scheduler"
        )
    # Such a learner counts entries and arrivals by itself, and must not miss one.
    if learner.watches_tracked and scheduler.needs_preemption and not scheduler.announces_preemption:
        yield (
            f"{name} counts the tracked rounds, and does not notice when {other} hands a slot on to "
            'another round: use Skipping or a scheduler that never preempts, or TsallisFTRL with counts="pending"'
        )
    if learner.watches_tracked and scheduler.has_zero_weights:
        yield (
            f"{name} counts the tracked rounds, and does not hear of rounds that weigh 0, but some do: "
            'use positive weights, or TsallisFTRL with counts="pending"'
        )


def _looks_at_the_set(learner: Learner) -> bool:
    """Return whether plays depend on how many rounds are tracked; a learner with a rate or a base says so itself."""
    if learner.watches_tracked is not None:
        return bool(learner.watches_tracked)
    return learner.rate is None and learner.base is None and isinstance(learner, tuple(notice.members))


def as_player(chosen: Any) -> Player:
    """Return the player of what may stand for one: a player, a recommendation that holds one, or a bare learner."""
    chosen = getattr(chosen, "player", chosen)
    return chosen if isinstance(chosen, Player) else Player(chosen)


def room_warnings(refused: int, untracked: int, full: float, rounds: int) -> list[str]:
    """Return a sentence where rounds that found no room take more of the weight than could go unseen.

    Behind a coin they take their share of the rounds that it chose. Nothing takes more than the share of rounds that
    found the set full: less, where a scheduler refuses before it tosses its coin (Morris).
    """
    lost = min(refused / max(1, rounds - untracked), full / max(1, rounds))
    if lost <= NOTICEABLE:
        return []
    problem = f"{lost:.0%} of chosen rounds found no room and are not made up for by weights"
    remedy = "raise the capacity, track with a lower chance where the scheduler has one, or use VarOpt"
    return [f"{problem}: {remedy}"]


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

    table: Any  # a Table, or a SlotTable
    tally: Tally
    scheduler: Any
    learner: Any
    epochs: np.ndarray
    play: np.ndarray
    buffer: Any


def keyed_draws(seed: Any) -> Draws:
    """Return the player's own randomness under a seed (a text: a secret), or under each of several, stacked."""
    if isinstance(seed, str):
        directions = SealedDirections(*sealed_key(seed, Purpose.DIRECTIONS))
        return Draws(Sealed(*sealed_key(seed, Purpose.SCHEDULE)), directions)
    return Draws(Keyed(make_key(seed, Purpose.SCHEDULE)), KeyedDirections(make_key(seed, Purpose.DIRECTIONS)))


def resize_draws(seed: int | str, t: int) -> Keyed:
    """Return the randomness of a capacity that falls after round t, which no round draws from."""
    with np.errstate(over="ignore"):  # the keyed generator wraps around by design
        if isinstance(seed, str):
            return Keyed(sealed_word(*sealed_key(seed, Purpose.RESIZE), t))
        return Keyed(word(make_key(seed, Purpose.RESIZE), t))


def fresh_state(player: Player, slots: int, capacity: int) -> State:
    """Return the state before the first round."""
    return State(
        table=make_table(slots),
        tally=make_tally(slots),
        scheduler=as_state("scheduler", player.scheduler, allocate_scheduler(player.scheduler, slots, capacity)),
        learner=as_state("learner", player.learner, allocate_learner(player.learner, slots)),
        epochs=fresh_epochs(),
        play=np.zeros(player.learner.dimension),
        buffer=make_buffer(player),
    )


def as_state(kind: str, member: Any, state: Any) -> Any:
    """Return a state that compiled code can hold; raise TypeError where it cannot."""
    parts = [state]
    while parts:
        part = parts.pop()
        if isinstance(part, tuple):
            parts += part
        elif not isinstance(part, np.ndarray) or part.dtype.kind not in "biuf":
            inside = "" if part is state else " in it"
            inside += f" of {part.dtype}" if isinstance(part, np.ndarray) else ""
            raise TypeError(
                f"the state of the {kind} {type(member).__name__}, made by its allocate(), must be a named tuple of "
                f"arrays, nested or not, got a {type(part).__name__}{inside}: make it a NamedTuple of NumPy arrays"
            )
    return state


def grow_state(player: Player, state: State, slots: int, capacity: int) -> State:
    """Return the same state with more slots; slots keep their numbers."""
    larger = fresh_state(player, slots, capacity)
    # Books without room for something, as those of the first stores, stay without.
    kept = (new if old.size else old for old, new in zip(state.tally, larger.tally, strict=True))
    larger = larger._replace(tally=type(state.tally)(*kept))
    for name in ("tally", "scheduler", "learner"):
        _copy_prefix(getattr(state, name), getattr(larger, name))
    return state._replace(
        table=grow_table(state.table, slots), tally=larger.tally, scheduler=larger.scheduler, learner=larger.learner
    )


def resettle_state(player: Player, state: State, slots: int, capacity: int) -> State:
    """Return the same state in so many slots, at least as many as are tracked: their rounds move to the first of them.

    The learner must keep nothing by slot, and the scheduler know how to ``resettle``.
    """
    kept = np.flatnonzero(state.table.rounds)
    places = np.zeros(state.table.rounds.size, np.int64)
    places[kept] = np.arange(kept.size)
    members = allocate_scheduler(player.scheduler, slots, capacity)
    resettle(player.scheduler, state.scheduler, members, places)
    table, books = resettled_table(state.table, kept, slots), resettled(state.tally, kept, slots)
    return state._replace(table=table, tally=books, scheduler=members)


def _copy_prefix(old: Any, new: Any) -> None:
    if isinstance(old, np.ndarray):
        new[tuple(slice(size) for size in old.shape)] = old
        return
    for source, target in zip(old, new, strict=True):
        _copy_prefix(source, target)
