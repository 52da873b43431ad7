"""A prepared game and player, and its seeds, played in blocks: of replicas, one a seed, and of rounds.

A block of replicas is one call of compiled code for each block of rounds, outside the interpreter's lock; between calls
a run can be watched. ``Run`` is shared by all seeds of a game and never changes. What changes while seeds are played
lies in the ``Buffers`` of a ``Block``, arrays alone, which serve one block of seeds after another.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tarry.checks import as_int
from tarry.errors import TooLarge
from tarry.game.descent import Projection
from tarry.game.hindsight import Comparator, Stopped
from tarry.game.problem import check_player, setting_of
from tarry.game.rounds import Setting
from tarry.game.world import (
    BOOKS,
    KINDS,
    LOSS,
    RATE,
    Buffers,
    Fixed,
    Points,
    make_log,
    make_world,
    run_rounds,
)
from tarry.kernel.compile import must_run_plain
from tarry.kernel.views import alone, first_replicas, leaves, replica, replicate
from tarry.kernel.wheel import INSIDE, grow_wheel
from tarry.learners import Euclidean
from tarry.schedulers.base import UNLIMITED, RecordedLosers
from tarry.tracking import Draws, Player, Terms, fresh_state, keyed_draws, terms_of
from tarry.tracking.certificate import bounds_at
from tarry.tracking.tally import UNCERTIFIED, check_balance

# Blocks are sized by the time they take: progress is told often, and rarely for its price.
BLOCK_SECONDS = 0.2
LEAST_SECONDS = 0.002  # of a block of replicas: many times what Python does for it
FIRST_SECONDS = 0.01  # of the first block, as guessed
FIRST_BLOCK = 1 << 12  # rounds of the first block where they are plain Python
LARGEST_BLOCK = 1 << 20  # rounds, for which there must be room
LARGEST_STACK = 1 << 23  # bytes of a block of replicas, and at most half as many rounds
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


class Pace:
    """How long a round takes: a guess until rounds were played, and shared by the threads that play them."""

    def __init__(self, run: Run) -> None:
        # Rounds take some nanoseconds for each entry of a play; of plain Python nothing can be said.
        known = 3e-9 * (10 + run.player.learner.dimension)
        self.seconds = FIRST_SECONDS / FIRST_BLOCK if run.is_plain else known
        self.limit = FIRST_SECONDS

    def rounds(self) -> int:
        """Return how many rounds, of all replicas together, to play in one block."""
        return max(1, int(self.limit / self.seconds))

    def learn(self, rounds: int, seconds: float) -> None:
        """Note that so many rounds took so long."""
        self.seconds, self.limit = max(seconds, 1e-9) / rounds, BLOCK_SECONDS

    def replicas(self, horizon: int, remaining: int, threads: int) -> int:
        """Return of how many seeds the next block should be, where so many remain."""
        # Smaller and smaller ones, so that threads end together.
        share = remaining if threads == 1 else -(-remaining // (2 * threads))
        least = int(LEAST_SECONDS / (self.seconds * horizon))
        return max(1, min(max(share, least), self.rounds() // horizon))


class Block:
    """Room for replicas of a run, which plays one block of seeds after another."""

    def __init__(self, run: Run, fresh: Buffers, size: int) -> None:
        self.size, self._run = size, run
        self._fresh, self._room, self._is_used = fresh, replicate(fresh, size), False
        self.buffers = self._room

    def begin(self, seeds: Sequence[int]) -> None:
        """Let ``buffers`` be those of these seeds before the first round."""
        if self.buffers.world.loss.shape[0] != len(seeds):
            self.buffers = first_replicas(self._room, len(seeds))
        if self._is_used:
            nodes = self.buffers.world.wheel.nodes  # which need not be clean: none of them is open
            for rows, leaf in zip(leaves(self.buffers), leaves(self._fresh), strict=True):
                if rows is not nodes:
                    rows[:] = leaf
        self._is_used = True
        for part, keyed in zip(self.buffers.draws, keyed_draws(seeds), strict=True):
            if isinstance(part, type(keyed)):  # not where draws are recorded
                part.key[:] = keyed.key

    def make_room(self, rounds: int) -> None:
        """Make room in the wheels for this many more pending rounds."""
        wheel = self.buffers.world.wheel
        nodes = int(wheel.meta[:, INSIDE].max()) + rounds
        if nodes <= wheel.room:
            return
        self._run.refuse_if_large(nodes, 0)
        n, world = self.buffers.world.loss.shape[0], self._room.world
        self._room = self._room._replace(world=world._replace(wheel=grow_wheel(world.wheel, nodes)))
        self.buffers = first_replicas(self._room, n)

    def advance(self, stop: Stop, first: int, last: int) -> None:
        """Play rounds first..last, for which there is room."""
        self._run.advance_block(self.buffers, stop, first, last)

    def hand_over_logs(self) -> list[Any]:
        """Return the log of each seed and put fresh ones in their place."""
        n, log = self.buffers.world.loss.shape[0], self._room.log
        self._room = self._room._replace(log=replicate(self._fresh.log, self.size))
        self.buffers = first_replicas(self._room, n)
        return [replica(log, i) for i in range(n)]


class Played(NamedTuple):
    """What a block of finished seeds leaves, in rows; ``best`` is compared later."""

    run: Run
    seeds: Sequence[int]
    logs: list[Any]  # None where rounds are not kept
    bounds: np.ndarray  # at checkpoints, over what has arrived; NaN where there is no certificate
    fates: np.ndarray
    sums: np.ndarray
    counts: np.ndarray
    strays: np.ndarray  # how far weighted sums may stray
    sized: np.ndarray  # sums by size
    losses: np.ndarray  # at checkpoints
    rates: np.ndarray  # the last, as are the plays
    plays: np.ndarray
    best: Comparator | None = None


class Run(NamedTuple):
    """A game and a player that were checked against each other, with the compiled rounds that play them."""

    game: Any
    player: Player
    setting: Setting
    checkpoints: np.ndarray  # the rounds to write down
    terms: Terms | None  # the constants of the certificate, if there is one
    compiled: Callable[..., None]
    is_plain: bool  # nothing is compiled
    project: Projection | None  # into the learner's domain, None where nothing is played
    keep_rounds: bool = False
    allow_large: bool = False
    threads: int = 1

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.game.delays.horizon)

    def start(self, draws: Draws, slots: int | None = None) -> Buffers:
        """Return the buffers of one seed before the first round."""
        learner, losses, capacity = self.player.learner, self.game.losses, self.setting.capacity
        if slots is None:
            # The round that begins is not in the backlog.
            most = int(self.game.delays.max_backlog) + 1 if capacity == UNLIMITED else capacity
            slots = min(most, self.horizon)
        widths, queries = {"gradient": learner.dimension, "example": losses.rows.width}, learner.queries
        width = widths.get(self.game.feedback, queries)
        nodes = self.horizon if self.keep_rounds else min(self.horizon, LARGEST_BLOCK)  # what is not used stays virtual
        self.refuse_if_large(nodes, slots * (width + 16))
        points = Points(np.zeros((queries, learner.dimension)), np.zeros(queries))
        return Buffers(
            draws=draws,
            state=fresh_state(self.player, slots, capacity),
            world=make_world(losses.rows.width, width, slots, nodes, self.horizon, self.checkpoints.size),
            log=make_log(self.horizon if self.keep_rounds else 0, learner.dimension),
            kind=KINDS[self.game.feedback] if queries == 1 else points,
        )

    def most_replicas(self, fresh: Buffers, seeds: int) -> int:
        """Return how many of so many seeds may be played together: few if memory is short, one in plain Python."""
        touched = sum(leaf.nbytes for leaf in leaves(fresh)) - fresh.world.wheel.nodes.nbytes
        most = min(seeds, LARGEST_STACK // touched, LARGEST_STACK // (2 * self.horizon))
        return 1 if self.is_plain else max(1, most)

    def compile(self, block: Block) -> None:
        """Compile the rounds in the calling thread, or load them from the disk cache."""
        # There an interrupt is heard; and loading cached code may import a user's module, for which a worker
        # would wait for ever while the caller is itself being imported.
        self.advance_block(block.buffers, Stop(), 1, 0)  # Numba finds out the types of arguments fastest in a call
        self.check_domain(block.buffers.state.play[:0], 0)

    def advance(self, buffers: Buffers, stop: Stop, first: int, last: int) -> None:
        """Play rounds first..last of one seed, for which there is room."""
        self.advance_block(alone(buffers), stop, first, last)

    def advance_block(self, buffers: Buffers, stop: Stop, first: int, last: int) -> None:
        """Play rounds first..last, for which there is room, of stacked seeds."""
        game = self.game
        fixed = Fixed(game.losses, game.delays, NO_SIZES if game.sizes is None else game.sizes, self.checkpoints)
        self.compiled(self.player, self.setting, fixed, buffers, stop.cell, first, last)

    def play(self, seeds: Sequence[int], block: Any, pace: Pace, stop: Stop, report: Callable[[int], None]) -> Played:
        """Play the whole game for these seeds, together; raise Stopped if ``stop`` was set on the way."""
        block.begin(seeds)
        n, first = len(seeds), 1
        while first <= self.horizon:
            last = min(self.horizon, first - 1 + min(LARGEST_BLOCK, max(1, pace.rounds() // n)))
            block.make_room(last + 1 - first)
            started = time.perf_counter()
            block.advance(stop, first, last)
            if stop.is_set():
                raise Stopped("the rounds were stopped")
            pace.learn(n * (last + 1 - first), time.perf_counter() - started)
            self.check(block.buffers, first, last)
            self.check_domain(block.buffers.state.play, last)
            report(n * (last + 1 - first))
            first = last + 1
        return self._played(seeds, block)

    def _played(self, seeds: Sequence[int], block: Any) -> Played:
        """Return copies of what is measured: the buffers are used again."""
        _, state, world, _, _ = block.buffers
        curve, books = world.curve, state.tally
        bounds = np.full(curve.shape[:2], np.nan)
        if self.terms is not None:
            bounds = bounds_at(self.terms, curve[:, :, BOOKS:], curve[:, :, RATE])
        logs = block.hand_over_logs() if self.keep_rounds else [None] * len(seeds)
        rows = (*books[:3], books.strays, books.sized, curve[:, :, LOSS], curve[:, -1, RATE], state.play)
        return Played._make((self, seeds, logs, bounds, *map(np.array, rows), None))

    def refuse_if_large(self, nodes: int, cells: int) -> None:
        """Raise TooLarge where so many items of the wheel and other cells are too much for the memory."""
        if not self.allow_large:
            refuse_if_large(8 * (3 * nodes + cells) * self.threads, "the pending rounds")

    def check(self, buffers: Buffers, first: int, last: int) -> None:
        """Raise ValueError for plays or losses that are not finite, BrokenInvariant for books that do not balance."""
        learner, plays, world = self.player.learner, buffers.state.play, buffers.world
        good = np.isfinite(plays).all(axis=1)
        if not good.all():  # first, since a loss there is not finite either
            raise ValueError(
                f"{type(learner).__name__} played {plays[np.argmin(good)]} in rounds {first} to {last}, which is not "
                "finite: check its predict, absorb and advance, or the losses' gradients there"
            )
        good = np.isfinite(world.loss[:, 0])
        if not good.all():
            raise ValueError(
                f"a loss in rounds {first} to {last} is not finite; the last play was {plays[np.argmin(good)]}: "
                "check the losses' data or functions there"
            )
        source = buffers.draws.schedule
        if isinstance(source, RecordedLosers) and np.any(source.values < 0):
            t = int(np.argmin(source.values)) % self.horizon + 1
            raise ValueError(
                f"the round recorded as lost in round {t} cannot be lost there: it is 0, gone or too heavy"
            )
        if self.player.scheduler.conserves_weight:
            check_balance(buffers.state.tally, world.held[:, 0], last)

    def check_domain(self, plays: np.ndarray, t: int) -> None:
        """Raise ValueError for a play outside the learner's domain."""
        if self.project is None:  # nothing is played
            return
        learner, domain = self.player.learner, self.player.learner.domain
        with np.errstate(all="ignore"):  # a play may be anywhere
            away = np.linalg.norm(plays - self.project(plays), axis=1)
        far = np.flatnonzero(~(away <= OUTSIDE * (1.0 + float(domain.outer_radius))))
        if far.size:  # out there losses may be below any promise
            raise ValueError(
                f"{type(learner).__name__} played {plays[far[0]]} in round {t}, which lies {away[far[0]]:.3g} outside "
                f"its domain {domain!r}: project in predict (tarry.domains.base.project), or where the point is moved"
            )


class Crew:
    """Threads that play the seeds of a run: each takes a block of those that are made already, or makes one."""

    def __init__(self, run: Run, fresh: Buffers, seeds: int) -> None:
        self.run, self._fresh, self._pace = run, fresh, Pace(run)
        # Not more than a thread gets to play.
        first = Block(run, fresh, run.most_replicas(fresh, -(-seeds // run.threads)))
        self._size, self._idle = first.size, [first]
        run.compile(first)

    def next_size(self, remaining: int) -> int:
        """Return of how many seeds the next block should be, where so many remain."""
        return min(self._size, self._pace.replicas(self.run.horizon, remaining, self.run.threads))

    def play(self, seeds: Sequence[int], stop: Stop, report: Callable[[int], None]) -> Played:
        """Play these seeds together, at most ``next_size``; raise Stopped if ``stop`` was set on the way."""
        try:
            block = self._idle.pop()
        except IndexError:
            block = Block(self.run, self._fresh, self._size)
        played = self.run.play(seeds, block, self._pace, stop, report)
        self._idle.append(block)
        return played


def make_run(
    game: Any, player: Player, *, checkpoints: np.ndarray, hears: bool = False, terms: Terms | None = None, **kept: Any
) -> Run:
    """Return a run of a player that fits the game; ``hears`` plays out ends of untracked rounds that nobody counts."""
    certify = UNCERTIFIED if terms is None else terms.sizes
    return Run(
        game=game,
        player=player,
        setting=setting_of(
            player, game.capacity, game.information, certify=certify, hears=hears, sized=game.sizes is not None
        ),
        checkpoints=checkpoints,
        terms=terms,
        compiled=run_rounds.dispatcher_for(player, game.losses, game.delays),
        is_plain=must_run_plain((player, game.losses, game.delays)),
        project=None if player.learner.domain is None else Projection(player.learner.domain),
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
    learner, restarts = player.learner, player.epochs.needs_preemption
    terms = terms_of(learner, strong_convexity=game.losses.strong_convexity, restarts=restarts)
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
