"""A prepared game and player, and the rounds of one seed, played in blocks.

Between blocks a run can be watched, grown and interrupted. ``Run`` is shared by all seeds of a game and never changes;
what changes while a seed is played lies in its ``Buffers``, arrays alone, so that many seeds can be stacked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tarry.checks import as_int
from tarry.domains.base import nearest
from tarry.errors import TooLarge
from tarry.game.hindsight import Comparator, Stopped
from tarry.game.problem import check_player, setting_of
from tarry.game.rounds import Setting
from tarry.game.world import KINDS, Kind, Log, Points, World, grow_world, make_log, make_world, run_rounds
from tarry.learners import Euclidean
from tarry.schedulers.base import UNLIMITED, RecordedLosers
from tarry.tracking import Draws, Player, State, Terms, fresh_state, terms_of
from tarry.tracking.player import grow_state
from tarry.tracking.table import TRACKED
from tarry.tracking.tally import UNCERTIFIED, check_balance

# Blocks double while they take less than half of BLOCK_SECONDS: progress is told often, and rarely for its price.
FIRST_BLOCK = 1 << 12
LARGEST_BLOCK = 1 << 20
BLOCK_SECONDS = 0.2
NO_SIZES = np.zeros(0)
OUTSIDE = 1e-6  # of 1 + the outer radius: farther than rounding takes a play out of its domain


class Stop:
    """A flag that compiled rounds in other threads see at once."""

    def __init__(self) -> None:
        self.cell = np.zeros(1, np.int64)

    def set(self) -> None:
        """Ask all threads to stop."""
        self.cell[0] = 1

    def is_set(self) -> bool:
        """Return True once ``set()`` was called."""
        return bool(self.cell[0])


class Buffers(NamedTuple):
    """Everything that changes while one seed is played, and the draws that its seed keys."""

    draws: Draws
    state: State
    world: World
    log: Any
    kind: Kind  # several queries have room in it, so seeds that are played in threads may not share one


class Played(NamedTuple):
    """What a finished seed leaves: the books, the sums at checkpoints, the last play; ``best`` is compared later."""

    seed: int
    run: Run
    fates: np.ndarray
    sums: np.ndarray
    counts: np.ndarray
    curve: np.ndarray
    play: np.ndarray
    log: Log | None
    strays: np.ndarray  # how far weighted sums may stray
    sized: np.ndarray  # sums by size
    best: Comparator | None = None


class Run(NamedTuple):
    """A game and a player that were checked against each other, with the compiled rounds that play them."""

    game: Any
    player: Player
    setting: Setting
    checkpoints: np.ndarray  # the rounds to write down
    terms: Terms | None  # the constants of the certificate, if there is one
    compiled: Callable[..., None]
    keep_rounds: bool = False
    allow_large: bool = False
    threads: int = 1

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.game.delays.horizon)

    def start(self, draws: Draws, block: int | None = None) -> Buffers:
        """Return the buffers before the first round, with room for a block of rounds."""
        block = min(FIRST_BLOCK, self.horizon) if block is None else block
        learner, losses, capacity = self.player.learner, self.game.losses, self.setting.capacity
        slots = block if capacity == UNLIMITED else min(capacity, self.horizon)
        widths, queries = {"gradient": learner.dimension, "example": losses.rows.width}, learner.queries
        width = widths.get(self.game.feedback, queries)
        points = Points(np.zeros((queries, learner.dimension)), np.zeros(queries))
        return Buffers(
            draws=draws,
            state=fresh_state(self.player, slots, capacity),
            world=make_world(losses.rows.width, width, slots, block, self.checkpoints),
            log=make_log(self.horizon if self.keep_rounds else 0, learner.dimension),
            kind=KINDS[self.game.feedback] if queries == 1 else points,
        )

    def compile(self, buffers: Buffers) -> None:
        """Compile the rounds in the calling thread, or load them from the disk cache."""
        # There an interrupt is heard; and loading cached code may import a user's module, for which a worker
        # would wait for ever while the caller is itself being imported.
        self.advance(buffers, Stop(), 1, 0)  # no round: Numba finds out the types of arguments fastest in a call

    def advance(self, buffers: Buffers, stop: Stop, first: int, last: int) -> None:
        """Play rounds first..last, for which there is room."""
        game, (draws, state, world, log, kind) = self.game, buffers
        sizes = NO_SIZES if game.sizes is None else game.sizes
        fixed = (self.player, self.setting, draws, state, game.losses, game.delays, sizes, kind)
        self.compiled(*fixed, world, log, stop.cell, first, last)

    def play(self, seed: int, buffers: Buffers, stop: Stop, report: Callable[[int], None]) -> Played:
        """Play the whole game from fresh buffers; raise Stopped if ``stop`` was set on the way."""
        block, first = min(FIRST_BLOCK, self.horizon), 1
        while first <= self.horizon:
            last = min(self.horizon, first + block - 1)
            buffers = self.make_room(buffers, last - first + 1)
            started = time.perf_counter()
            self.advance(buffers, stop, first, last)
            if stop.is_set():
                raise Stopped("the rounds were stopped")
            self.check(buffers, first, last)
            self.check_domain(buffers.state.play, last)
            report(last - first + 1)
            first = last + 1
            if time.perf_counter() - started < BLOCK_SECONDS / 2:
                block = min(2 * block, LARGEST_BLOCK)
        tally, log = buffers.state.tally, buffers.log if self.keep_rounds else None
        ended = (*tally[:3], buffers.world.curve, buffers.state.play, log, tally.strays, tally.sized)
        return Played(seed, self, *ended)

    def make_room(self, buffers: Buffers, rounds: int) -> Buffers:
        """Return the buffers with room for this many more pending rounds, tracked and in the wheel."""
        state, world, capacity = buffers.state, buffers.world, self.setting.capacity
        nodes, slots = int(world.wheel.meta[1]) + rounds, state.table.rounds.size
        if capacity == UNLIMITED:
            slots = max(slots, int(state.table.counts[TRACKED]) + rounds)
        if not self.allow_large:
            cells = 3 * nodes + slots * (world.feedback.shape[1] + 16)
            refuse_if_large(8 * cells * self.threads, "the pending rounds")
        if slots > state.table.rounds.size:
            state = grow_state(self.player, state, slots, capacity)
        return buffers._replace(state=state, world=grow_world(world, slots, nodes))

    def check(self, buffers: Buffers, first: int, last: int) -> None:
        """Raise ValueError for plays or losses that are not finite, BrokenInvariant for books that do not balance."""
        learner, play = self.player.learner, buffers.state.play
        if not np.all(np.isfinite(play)):  # first, since a loss there is not finite either
            raise ValueError(
                f"{type(learner).__name__} played {play} in rounds {first} to {last}, which is not finite: check its "
                "predict, absorb and advance, or the losses' gradients there"
            )
        if not np.isfinite(buffers.world.loss[0]):
            raise ValueError(
                f"a loss in rounds {first} to {last} is not finite; the last play was {play}: "
                "check the losses' data or functions there"
            )
        source = buffers.draws.schedule
        if isinstance(source, RecordedLosers) and np.any(source.values < 0):
            t = int(np.argmin(source.values)) + 1
            raise ValueError(
                f"the round recorded as lost in round {t} cannot be lost there: it is 0, gone or too heavy"
            )
        check_balance(self.player, buffers.state, last)

    def check_domain(self, play: np.ndarray, t: int) -> None:
        """Raise ValueError for a play outside the learner's domain."""
        learner, domain = self.player.learner, self.player.learner.domain
        if domain is None:  # nothing is played
            return
        with np.errstate(all="ignore"):  # a play may be anywhere
            away = float(np.linalg.norm(play - nearest(domain, play)))
        if not away <= OUTSIDE * (1.0 + float(domain.outer_radius)):  # out there losses may be below any promise
            raise ValueError(
                f"{type(learner).__name__} played {play} in round {t}, which lies {away:.3g} outside its domain "
                f"{domain!r}: project in predict (tarry.domains.base.project), or where the point is moved"
            )


def make_run(
    game: Any, player: Player, *, checkpoints: np.ndarray, hears: bool = False, terms: Terms | None = None, **kept: Any
) -> Run:
    """Return a run of a player that fits the game; ``hears`` plays out ends of untracked rounds that nobody counts."""
    certify = UNCERTIFIED if terms is None else terms.certify
    return Run(
        game=game,
        player=player,
        setting=setting_of(
            player, game.capacity, game.information, certify=certify, hears=hears, sized=game.sizes is not None
        ),
        checkpoints=checkpoints,
        terms=terms,
        compiled=run_rounds.dispatcher_for(player, game.losses, game.delays),
        **kept,
    )


def prepare(
    game: Any, player: Any, *, checkpoints: int = 1, bound: bool = True, keep_rounds: bool = False, **kept: Any
) -> Run:
    """Return the run of a game and a player (a learner, or a function of the game that makes one).

    Raise ValueError or TypeError where they do not fit. ``bound`` asks the losses for the certificate's constants;
    supervised losses look at all rounds for them, once for a game. ``kept`` are the last fields of :class:`Run`.
    """
    chosen = check_player(game, player)
    return make_run(
        game,
        chosen,
        checkpoints=checkpoint_rounds(game.horizon, as_int(checkpoints, "checkpoints", 1)),
        hears=keep_rounds,  # the log tells of every end
        terms=_terms(game, chosen) if bound else None,
        keep_rounds=keep_rounds,
        **kept,
    )


def _terms(game: Any, player: Player) -> Terms | None:
    """Return the constants of a certificate, from the losses; what they do not bound is observed."""
    learner, restarts, withholds = player.learner, player.epochs.needs_preemption, player.scheduler.withholds_feedback
    terms = terms_of(learner, strong_convexity=game.losses.strong_convexity, restarts=restarts, withholds=withholds)
    if terms is None:
        return None
    # One bound for all gradients says little where rounds differ in size: there they are observed.
    is_one = game.sizes is None or game.feedback == "value"
    if isinstance(learner.norm, Euclidean) and is_one:  # the norm in which losses bound their gradients
        terms = terms._replace(gradient_bound=game.gradient_bound)
    if game.feedback == "value":
        terms = terms._replace(value_bound=float(game.losses.value_bound(game.domain)))
    return terms


def checkpoint_rounds(horizon: int, most: int) -> np.ndarray:
    """Return rounds to write down: half evenly spaced, half by powers so that the start shows; always the last."""
    even = np.linspace(1, horizon, min(max(most - most // 2, 2), horizon))
    early = np.geomspace(1, horizon, min(max(most // 2, 1), horizon))
    rounds = np.unique(np.round(np.concatenate((even, early))).astype(np.int64))
    return rounds if most > 1 else rounds[-1:]


def machine_memory() -> int | None:
    """Return the bytes of physical memory, None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def refuse_if_large(needed: int, what: str) -> None:
    """Raise TooLarge when ``needed`` bytes are more than half of the machine's memory."""
    memory = machine_memory()
    if memory is not None and needed > memory / 2:
        raise TooLarge(
            f"{what} would take about {needed / 2**30:.1f} GiB, more than half of this machine's "
            f"{memory / 2**30:.1f} GiB: use fewer rounds or seeds, or drop keep_rounds "
            "(simulate also takes allow_large=True)"
        )
