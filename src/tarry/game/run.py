"""A prepared game and player, and what its seeds leave. It is shared by all seeds and threads, and never changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tarry.checks import as_int
from tarry.delays.base import allocate as allocate_delays
from tarry.errors import TooLarge
from tarry.game.checked import play_checked
from tarry.game.descent import Projection
from tarry.game.grants import check_player, setting_of
from tarry.game.hindsight import OUTSIDE, Comparator
from tarry.game.rounds import Setting, no_slot, no_weight
from tarry.game.world import (
    BOOKS,
    KINDS,
    LOSS,
    RATE,
    TURN,
    AllOne,
    Buffers,
    Cell,
    Cells,
    Fixed,
    NoLog,
    Points,
    Reactions,
    make_log,
    make_world,
    run_rounds,
)
from tarry.kernel.compile import must_run_plain
from tarry.kernel.packed import Packed
from tarry.kernel.views import alone
from tarry.kernel.wheel import LONGEST_LINE, NODE_BYTES, make_line, make_wheel
from tarry.kernel.words import write
from tarry.learners import Euclidean
from tarry.losses.base import allocate as allocate_rows
from tarry.losses.base import rows_react
from tarry.losses.drawn import in_table
from tarry.schedulers.base import UNLIMITED, RecordedLosers
from tarry.tracking import Draws, Player, Terms, as_state, fresh_state, terms_of
from tarry.tracking.certificate import bounds_at
from tarry.tracking.table import without_index
from tarry.tracking.tally import SUMS, UNCERTIFIED, WEIGHT, check_balance, without_unused

FIRST_ROOM = 3 * TURN // 2  # of a wheel, which grows where more are pending


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
    rows: np.ndarray  # the losses' rows and the delays as they were met, where they react
    waits: np.ndarray
    weighted: np.ndarray  # losses times the weights of a weighted game
    held: np.ndarray  # Σ h_t of what rounds found not arrived
    best: Comparator | None = None
    is_on_gpu: bool = False

    @property
    def where(self) -> str:
        """How rounds were played: "on a GPU", "compiled" or "in Python"."""
        return "on a GPU" if self.is_on_gpu else "in Python" if self.run.is_plain else "compiled"

    def by_game(self) -> list[Played]:
        """Return what was played of each game: where losses or delays react, every seed has met another one."""
        game = self.run.game
        if not (rows_react(game.losses) or game.delays.reacts):
            return [self]
        parts = []
        for i, seed in enumerate(self.seeds):
            game_met = game.as_met(self.rows[i], self.waits[i])
            measured = {name: getattr(self, name)[i : i + 1] for name in self._fields[2:-2]}
            parts.append(self._replace(run=self.run._replace(game=game_met), seeds=[seed], **measured))
        return parts


class Run(NamedTuple):
    """A game and a player that were checked against each other, with the compiled rounds that play them."""

    game: Any
    player: Player
    setting: Setting
    checkpoints: np.ndarray  # the rounds to write down
    terms: Terms | None  # the constants of the certificate, if there is one
    compiled: Callable[..., int]
    is_plain: bool  # nothing is compiled
    project: Projection | None  # into the learner's domain, None where nothing is played
    keep_rounds: bool = False
    allow_large: bool = False
    threads: int = 1
    doubts: tuple[str, ...] = ()  # what whoever made the player says of it

    @property
    def is_debugged(self) -> bool:
        """Whether debug mode plays it."""
        return self.compiled is play_checked

    @property
    def horizon(self) -> int:
        """The number of rounds."""
        return int(self.game.delays.horizon)

    @property
    def slots(self) -> int:
        """How many slots rounds may take."""
        capacity = self.setting.capacity
        # The round that begins is not in the backlog.
        most = int(self.game.delays.max_backlog) + 1 if capacity == UNLIMITED else capacity
        return min(most, self.horizon)

    def start(self, draws: Draws, slots: int | None = None, nodes: int = FIRST_ROOM) -> Buffers:
        """Return the buffers of one seed before the first round, with room in the wheel for some pending rounds."""
        learner, losses, capacity = self.player.learner, self.game.losses, self.setting.capacity
        slots = self.slots if slots is None else slots
        widths, queries = {"gradient": learner.dimension, "example": losses.rows.width}, learner.queries
        width = widths.get(self.game.feedback, queries)
        line = self.game.delays.in_line
        is_line = 0 < line < LONGEST_LINE
        nodes = line if is_line else min(self.horizon, nodes)
        self.refuse_if_large(nodes, slots * (width + 16))
        points = Points(np.zeros((queries, learner.dimension)), np.zeros(queries))
        state, certify = fresh_state(self.player, slots, capacity), self.setting.certify
        tally = without_unused(state.tally, certify, self.game.sizes is not None)
        sums = SUMS if certify != UNCERTIFIED or self.keep_rounds else 0
        return Buffers(
            draws=draws,
            state=state._replace(table=without_index(state.table, self.keep_rounds), tally=tally),
            world=make_world(
                (losses.rows.width, width),
                slots,
                # A round past the last, in which comes what is never heard.
                make_line(nodes) if is_line else make_wheel(nodes, self.horizon + 1),
                (self.checkpoints.size, BOOKS + sums),
                self._fresh_reactions(),
            ),
            log=make_log(self.horizon, learner.dimension) if self.keep_rounds else NoLog(),
            kind=KINDS[self.game.feedback] if queries == 1 else points,
        )

    def _fresh_reactions(self) -> Reactions:
        """Return what losses and delays that react know before the first round, with room for what comes of it."""
        rows, delays, fresh = self.game.losses.rows, self.game.delays, Reactions()
        if rows_react(self.game.losses):
            self.refuse_if_large(0, self.horizon * rows.width)
            state = as_state("rows", rows, allocate_rows(rows))
            fresh = fresh._replace(losses=state, rows=np.zeros((self.horizon, rows.width)))
        if delays.reacts:
            self.refuse_if_large(0, self.horizon)
            state = as_state("delays", delays, allocate_delays(delays))
            fresh = fresh._replace(delays=state, waits=np.zeros(self.horizon, np.int64))
        return fresh

    def advance(self, buffers: Buffers, stop: Stop, first: int, last: int) -> None:
        """Play rounds first..last of one seed, whose wheel has room for all rounds."""
        cells, packed = cells_of([self], np.zeros(1, np.int64)), Packed(alone(buffers))
        self.play(cells, packed, stop, first, last)

    def play(self, cells: Cells, packed: Packed, stop: Stop, first: int, last: int) -> int:
        """Play rounds first..last of packed replicas as far as there is room; return the last one played."""
        return self.compiled(cells, packed, stop.cell, first, last)

    @property
    def cell(self) -> Cell:
        """What compiled rounds are played by."""
        game = self.game
        sizes = AllOne() if game.sizes is None else game.sizes
        return Cell(self.player, self.setting, Fixed(game.losses, game.delays, sizes, self.checkpoints))

    def played(self, seeds: Sequence[int], buffers: Buffers, logs: list[Any], rows: slice) -> Played:
        """Return copies of what is measured in these rows of stacked buffers, which are used again."""
        state, curve, books = buffers.state, buffers.world.curve[rows], buffers.state.tally
        bounds = np.full(curve.shape[:2], np.nan)
        if self.terms is not None:
            bounds = bounds_at(self.terms, curve[:, :, BOOKS:], curve[:, :, RATE])
        measured = [part[rows] for part in (*books[:3], books.strays, books.sized)]
        measured += [curve[:, :, LOSS], curve[:, -1, RATE], state.play[rows]]
        reactions = buffers.world.reactions
        measured += [
            reactions.rows[rows],
            reactions.waits[rows],
            buffers.world.loss[rows, 1],
            buffers.world.held[rows, 1],
        ]
        return Played._make((self, seeds, logs[rows], bounds, *map(np.array, measured), None, False))

    def refuse_if_large(self, nodes: int, cells: int) -> None:
        """Raise TooLarge where so many items of the wheel and other cells are too much for the memory."""
        if not self.allow_large:
            refuse_if_large((NODE_BYTES * nodes + 8 * cells) * self.threads, "the pending rounds")

    def check(self, buffers: Buffers, first: int, last: int) -> None:
        """Raise ValueError for slots that are not there, and plays or losses that are not finite.

        Raise BrokenInvariant for books that do not balance.
        """
        learner, plays, world = self.player.learner, buffers.state.play, buffers.world
        if np.any(buffers.state.tally.fates < 0):
            raise no_slot(self.player.scheduler)
        if not np.all(np.isfinite(buffers.state.tally.sums[:, WEIGHT])):  # before the plays, which it spoils
            raise no_weight(self.player.scheduler, f"rounds {first} to {last}")
        good = np.isfinite(plays).all(axis=1)
        if not good.all():  # first, since a loss there is not finite either
            raise ValueError(
                f"{type(learner).__name__} played {plays[np.argmin(good)]} in rounds {first} to {last}, which is not "
                "finite: check its predict, absorb and advance, the gradients of "
                f"{type(self.game.losses).__name__} there, or project of {type(learner.domain).__name__}; "
                "simulate(…, debug=True) names the line"
            )
        good = np.isfinite(world.loss[:, 0])
        if not good.all():
            raise ValueError(
                f"a loss in rounds {first} to {last} is not finite; the last play was {plays[np.argmin(good)]}: "
                f"check the data or functions of {type(self.game.losses).__name__} there"
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


def cells_of(runs: Sequence[Run], which: np.ndarray) -> Cells:
    """Return the cells of runs of one kind for compiled rounds; ``which`` of them each replica plays."""
    cells = [run.cell if run.is_plain else _with_table(run) for run in runs]
    return Cells(cells[0], tuple(cells) if runs[0].is_plain else write(cells), which)


def _with_table(run: Run) -> Cell:
    """Return what a run is played by, rows that are drawn in a table."""
    cell = run.cell
    return cell._replace(fixed=cell.fixed._replace(losses=in_table(cell.fixed.losses, run.horizon)))


def make_run(
    game: Any,
    player: Player,
    *,
    checkpoints: np.ndarray,
    hears: bool = False,
    terms: Terms | None = None,
    debug: bool = False,
    **kept: Any,
) -> Run:
    """Return a run of a player that fits the game; ``hears`` plays out ends of untracked rounds that nobody counts.

    ``debug`` plays in plain Python and checks what members do.
    """
    certify = UNCERTIFIED if terms is None else terms.certify
    losses = in_table(game.losses, game.delays.horizon, is_empty=True)
    members = (player, losses, game.delays)
    return Run(
        game=game,
        player=player,
        setting=setting_of(
            player, game.capacity, game.information, certify=certify, hears=hears, sized=game.sizes is not None
        ),
        checkpoints=checkpoints,
        terms=terms,
        compiled=play_checked if debug else run_rounds.dispatcher_for(*members),
        is_plain=debug or must_run_plain(members),
        project=project_into(player.learner.domain),
        **kept,
    )


def project_into(domain: Any) -> Projection | None:
    """Return the projection into a learner's domain, if it has one."""
    return None if domain is None else Projection(domain)


def prepare(
    game: Any, player: Any, *, checkpoints: int = 1, bound: bool = True, keep_rounds: bool = False, **kept: Any
) -> Run:
    """Return the run of a game and a player (a learner, or a function of the game that makes one).

    Raise ValueError or TypeError where they do not fit. ``bound`` asks the losses for the certificate's constants;
    supervised losses look at all rounds for them, once for a game. ``kept`` are the last fields of :class:`Run`.
    """
    maker = player(game) if callable(player) else player
    fitting = check_player(game, maker)
    kept["doubts"] = getattr(maker, "warnings", ())
    return make_run(
        game,
        fitting,
        checkpoints=checkpoint_rounds(game.horizon, as_int(checkpoints, "checkpoints", 1)),
        hears=keep_rounds,  # the log tells of every end
        terms=_terms(game, fitting) if bound else None,
        keep_rounds=keep_rounds,
        **kept,
    )


def _terms(game: Any, player: Player) -> Terms | None:
    """Return the constants of a certificate, from the losses; what they do not bound is observed."""
    learner, restarts, withholds = player.learner, player.epochs.needs_preemption, player.scheduler.withholds_feedback
    terms = terms_of(learner, strong_convexity=game.losses.strong_convexity, restarts=restarts, withholds=withholds)
    # From values only expectations over directions are certified, of a world that does not react to them.
    if terms is None or (game.feedback == "value" and (rows_react(game.losses) or game.delays.reacts)):
        return None
    # One bound for all gradients says little where rounds differ in size: there they are observed.
    is_one = game.sizes is None or game.feedback == "value"
    if isinstance(learner.norm, Euclidean) and is_one:  # the norm in which losses bound their gradients
        terms = terms._replace(gradient_bound=game.gradient_bound)
    if game.feedback == "value":
        terms = terms._replace(value_bound=float(game.losses.value_bound(game.domain)))
    return terms


@cache
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
