"""One seed of a simulation, run in blocks so that it can be watched, grown and interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from tarry.domains.base import nearest
from tarry.game.memory import refuse_if_large
from tarry.game.rounds import Setting
from tarry.game.world import (
    Examples,
    Gradients,
    Log,
    Nothing,
    Points,
    Values,
    World,
    grow_world,
    make_log,
    make_world,
    run_rounds,
)
from tarry.learners.base import queries_of
from tarry.schedulers.base import UNLIMITED
from tarry.tracking import Draws, Player, State, fresh_state, grow_state
from tarry.tracking.table import TRACKED
from tarry.tracking.tally import Tally, check_balance

Kind = Gradients | Values | Points | Examples | Nothing
KINDS: dict[str, Kind] = {"gradient": Gradients(), "value": Values(), "example": Examples(), "label": Nothing()}
FIRST_BLOCK = 1 << 12
LARGEST_BLOCK = 1 << 20
BLOCK_SECONDS = 0.2
OUTSIDE = 1e-6  # of 1 + the outer radius: farther than rounding takes a play out of its domain


class Outcome(NamedTuple):
    """What one seed left behind; ``play`` is that of the last round."""

    tally: Tally
    rounds: np.ndarray
    curve: np.ndarray
    log: Log | None
    play: np.ndarray


class Stop:
    """A flag that compiled rounds in other threads see at once."""

    def __init__(self) -> None:
        self.cell = np.zeros(1, np.int64)

    def set(self) -> None:
        """Ask everybody to stop."""
        self.cell[0] = 1

    def is_set(self) -> bool:
        """Whether somebody did."""
        return bool(self.cell[0])


class Task(NamedTuple):
    """One seed's game as the engine needs it."""

    player: Player
    setting: Setting
    draws: Draws
    losses: Any
    delays: Any
    feedback: str
    rounds: np.ndarray
    keep_rounds: bool
    allow_large: bool
    threads: int


class Bench(NamedTuple):
    """Everything one run works on."""

    run: Callable[..., None]
    state: State
    world: World
    kind: Kind
    log: Any

    def rounds(self, task: Task, stop: Stop, first: int, last: int) -> None:
        """Play rounds first..last."""
        self.run(
            task.player,
            task.setting,
            task.draws,
            self.state,
            task.losses,
            task.delays,
            self.kind,
            self.world,
            self.log,
            stop.cell,
            first,
            last,
        )


def compile_for(task: Task) -> None:
    """Compile in the calling thread, by playing no round at all.

    There an interrupt is heard; and loading cached code may import a user's module, for which a worker
    would wait for ever while the caller is itself being imported.
    """
    set_up(task, 1).rounds(task, Stop(), 1, 0)


def set_up(task: Task, block: int) -> Bench:
    """Everything a run works on before its first round, with room for a block of rounds."""
    dimension = task.player.learner.dimension
    slots = block if task.setting.capacity == UNLIMITED else min(task.setting.capacity, int(task.delays.horizon))
    queries = queries_of(task.player.learner)
    width = {"gradient": dimension, "example": task.losses.rows.width}.get(task.feedback, queries)
    return Bench(
        run=run_rounds.dispatcher_for(task.player, task.losses, task.delays),
        state=fresh_state(task.player, slots, task.setting.capacity),
        world=make_world(task.losses.rows.width, width, slots, block, task.rounds),
        kind=kind_of(task.player.learner, task.feedback),
        log=make_log(int(task.delays.horizon) if task.keep_rounds and block > 1 else 0, dimension),
    )


def kind_of(learner: Any, feedback: str) -> Kind:
    """How the world answers this learner."""
    queries = queries_of(learner)
    return KINDS[feedback] if queries == 1 else Points(np.zeros((queries, learner.dimension)), np.zeros(queries))


def play(task: Task, stop: Stop, report: Callable[[int], None]) -> Outcome | None:
    """Play the whole game; None if it was stopped on the way."""
    horizon = int(task.delays.horizon)
    block = min(FIRST_BLOCK, horizon)
    bench = set_up(task, max(block, 2))
    first = 1
    while first <= horizon:
        last = min(horizon, first + block - 1)
        bench = make_room(task, bench, last - first + 1)
        started = time.perf_counter()
        bench.rounds(task, stop, first, last)
        if stop.is_set():
            return None
        check_rounds(task, bench, first, last)
        check_play(task.player.learner, bench.state.play, last)
        report(last - first + 1)
        first = last + 1
        if time.perf_counter() - started < BLOCK_SECONDS / 2:
            block = min(2 * block, LARGEST_BLOCK)
    log = bench.log if task.keep_rounds else None
    return Outcome(bench.state.tally, task.rounds, bench.world.curve, log, bench.state.play)


def check_rounds(task: Task, bench: Bench, first: int, last: int) -> None:
    """Refuse to go on from losses that are not finite, or books that do not balance."""
    if not np.isfinite(bench.world.loss[0]):
        raise ValueError(
            f"a loss in rounds {first} to {last} is not finite; the last play was {bench.state.play}: "
            "check the losses' data or functions there"
        )
    check_balance(task.player, bench.state, last)


def check_play(learner: Any, play: np.ndarray, t: int) -> None:
    """Refuse to go on from a play outside the learner's domain: out there losses may be lower than any promise."""
    domain = getattr(learner, "domain", None)
    if domain is None:
        return
    with np.errstate(all="ignore"):  # a play may be anywhere
        away = float(np.linalg.norm(play - nearest(domain, play))) if np.all(np.isfinite(play)) else inf
    if not away <= OUTSIDE * (1.0 + float(domain.outer_radius)):
        raise ValueError(
            f"{type(learner).__name__} played {play} in round {t}, which lies {away:.3g} outside its domain "
            f"{domain!r}: project in predict (tarry.domains.base.project), or where the point is moved"
        )


def make_room(task: Task, bench: Bench, rounds: int) -> Bench:
    """Room for this many more pending rounds, tracked and in the wheel."""
    state, world = bench.state, bench.world
    nodes = int(world.wheel.meta[1]) + rounds
    slots = state.table.rounds.size
    if task.setting.capacity == UNLIMITED:
        slots = max(slots, int(state.table.counts[TRACKED]) + rounds)
    if not task.allow_large:
        cells = 3 * nodes + slots * (world.feedback.shape[1] + 16)
        refuse_if_large(8 * cells * task.threads, "the pending rounds")
    if slots > state.table.rounds.size:
        state = grow_state(task.player, state, slots, task.setting.capacity)
    return bench._replace(state=state, world=grow_world(world, slots, nodes))
