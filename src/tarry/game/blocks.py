"""Blocks of seeds: of replicas, one a seed, and of rounds.

A block of replicas is one call of compiled code for each block of rounds, outside the interpreter's lock; between calls
a run can be watched. Its seeds are those of one run, or of several runs of one kind. What changes while seeds are
played lies in the ``Buffers`` of a ``Block``, arrays alone, which serve one block of seeds after another.
"""

from __future__ import annotations

import operator
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tarry.game.hindsight import Stopped, has_closed_form
from tarry.game.run import Played, Run, Stop, cells_of, project_into
from tarry.game.world import TURN, Buffers, run_rounds
from tarry.kernel.blame import raised_by
from tarry.kernel.cache import walk
from tarry.kernel.compile import in_python
from tarry.kernel.packed import Packed
from tarry.kernel.views import leaves, replica, replicate
from tarry.kernel.wheel import NODE_BYTES, grow_wheel
from tarry.kernel.words import kind_of
from tarry.tracking import keyed_draws

# Blocks are sized by the time they take: progress is told often, and rarely for its price.
BLOCK_SECONDS = 0.2
LEAST_SECONDS = 0.001  # of a block of replicas, for each thread: many times what Python does, one thread at a time
FIRST_SECONDS = 0.01  # of the first block, as guessed
FIRST_BLOCK = 1 << 12  # rounds of the first block where they are plain Python
FEW_ROUNDS = 1 << 13  # of one kind in a process: in Python they take less time than a compiler
NARROW = 16  # entries of a round that Python touches while it does all else; wider ones count as several rounds
LONG = 1 << 17  # rounds: wheels of fewer may grow as they like
LARGEST_WHEELS = 1 << 27  # bytes of a block's wheels, once they have grown
LARGEST_STACK = 1 << 22  # bytes of a block of replicas: about fifty that play in R^10
KINDS = 16  # of blocks that wait for more seeds


class Pace:
    """How long a round takes: a guess until rounds were played, and shared by the threads that play them."""

    def __init__(self, run: Run, seeds: int = 1) -> None:
        self._threads, self._horizon = run.threads, run.horizon
        self._even = -(-seeds // run.threads)  # so that each thread has a block
        # Rounds take some nanoseconds for each entry of a play; of plain Python nothing can be said.
        guess = 3e-9 * (10 + run.player.learner.dimension)
        self.seconds = FIRST_SECONDS / FIRST_BLOCK if run.is_plain else guess
        self.limit = FIRST_SECONDS

    def rounds(self) -> int:
        """Return how many rounds, of all replicas together, to play in one block."""
        return max(1, int(self.limit / self.seconds))

    def learn(self, rounds: int, seconds: float) -> None:
        """Note that so many rounds took so long."""
        if rounds > 0:
            self.seconds, self.limit = max(seconds, 1e-9) / rounds, BLOCK_SECONDS

    def replicas(self, remaining: int, room: int) -> int:
        """Return of how many seeds the next block should be, where so many remain and a block has room for some."""
        threads, each = self._threads, self.seconds * self._horizon
        most, least = min(room, int(BLOCK_SECONDS / each)), int(LEAST_SECONDS * threads / each)
        # Smaller and smaller ones, so that threads end together.
        share = -(-remaining // (2 * threads)) if threads > 1 else even_share(remaining, max(1, most))
        return max(1, min(max(share, min(least, self._even)), most))


class Part(NamedTuple):
    """Some seeds of a run, to be played beside others.

    ``fresh`` are the buffers of a seed before the first round. One block can play parts of one ``kind``.
    """

    run: Run
    seeds: Sequence[int]
    fresh: Buffers
    kind: Any = None

    def in_python(self) -> Part:
        """Return the same without compiled code, in one thread."""
        with in_python():
            project = project_into(self.run.player.learner.domain)
        plain = self.run._replace(compiled=run_rounds.plain, is_plain=True, threads=1, project=project)
        return self._replace(run=plain)


def kind_of_run(run: Run, fresh: Buffers) -> Any:
    """Return what runs have in common that one block can play."""
    shapes = tuple(leaf.shape for leaf in leaves(fresh))
    return run.setting, run.horizon, kind_of(run.cell), kind_of(fresh), shapes


def is_worth_compiling(part: Part, seeds: int) -> bool:
    """Return whether compiled rounds are loaded, or so many seeds more of one kind are too much for Python."""
    run = part.run
    if run.is_plain or run.compiled.signatures:  # type: ignore[attr-defined]
        return True
    k = run.game.dimension
    has_matrix = any(leaf.shape[-2:] == (k, k) for leaf in leaves(part.fresh.state))
    width = max(run.game.losses.rows.width, k * k if has_matrix else k)
    with _lock:
        _in_python[run.compiled] += run.horizon * seeds * max(1, width // NARROW)
        return _in_python[run.compiled] > FEW_ROUNDS


def is_search_short(game: Any, searches: int) -> bool:
    """Return whether Python finds the best fixed actions of so many games like this one before a compiler is ready."""
    if has_closed_form(game):
        return True
    # Some ten turns of Newton's descent, each with a matrix of curvatures.
    return bool(game.horizon * searches * max(1, game.dimension**2 // NARROW) <= FEW_ROUNDS)


_lock = threading.Lock()
_in_python = Counter[Any]()  # rounds by the dispatcher that was not asked


def own_bytes(run: Run) -> int:
    """Return the bytes of what a game and a player are made of."""
    return sum(leaf.nbytes for leaf in leaves(run.cell))


class Block:
    """Room for replicas of runs of one kind, which plays one block of seeds after another."""

    def __init__(self, run: Run, fresh: Buffers, size: int) -> None:
        self.size, self._run, self._fresh = size, run, fresh
        self._room, self._is_used = Packed(replicate(fresh, size)), False
        self._cells, self._runs = cells_of([run], np.zeros(size, np.int64)), [run]
        self._show(size)

    def begin(self, parts: Sequence[Part]) -> None:
        """Let ``buffers`` be those of these seeds before the first round."""
        counts = [len(part.seeds) for part in parts]
        if self.packed.count != sum(counts):
            self._show(sum(counts))
        runs, which = [part.run for part in parts], np.arange(len(parts)).repeat(counts)
        self._cells = self._cells._replace(which=which) if are_same(runs, self._runs) else cells_of(runs, which)
        self._runs = runs
        first = 0
        for part, count in zip(parts, counts, strict=True):
            if self._is_used or part.fresh is not self._fresh:
                for rows, leaf in zip(self._changing, leaves(_without_wheel(part.fresh)), strict=True):
                    rows[first : first + count] = leaf
            first += count
        if self._is_used:  # a line still tells of rounds that are past
            self.buffers.world.wheel.clear()
        self._is_used = True
        for part, keyed in zip(self.buffers.draws, keyed_draws(seeds_of(parts)), strict=True):
            if isinstance(part, type(keyed)):  # not where draws are recorded
                part.key[:] = keyed.key

    def advance(self, stop: Stop, first: int, aim: int) -> int:
        """Play rounds first..aim as far as there is room; make room for the rest, and return the last one played."""
        try:
            last = self._run.play(self._cells, self.packed, stop, first, aim)
        except Exception as error:
            if self._run.is_plain:  # its traceback says all
                raise
            raise raised_by(walk(self._run.cell), error) from error
        if last < aim:
            self._make_room()
        return last

    def _make_room(self) -> None:
        """Make room in the wheels for twice as many pending rounds, at most all of them."""
        n, room = self.packed.count, self._room.trees
        world = room.world
        nodes = min(2 * world.wheel.room, self._run.horizon + 1)
        self._run.refuse_if_large(nodes * self.size, 0)
        self._room = Packed(room._replace(world=world._replace(wheel=grow_wheel(world.wheel, nodes))))
        self._show(n)

    def _show(self, replicas: int) -> None:
        self.packed = self._room.first(replicas)
        self.buffers = self.packed.trees
        self.__dict__.pop("_changing", None)

    @cached_property
    def _changing(self) -> list[np.ndarray]:
        return leaves(_without_wheel(self.buffers))

    def hand_over_logs(self) -> list[Any]:
        """Return the log of each seed and put fresh ones in their place."""
        n, room = self.packed.count, self._room.trees
        log = room.log
        self._room = Packed(room._replace(log=replicate(self._fresh.log, self.size)))
        self._show(n)
        return [replica(log, i) for i in range(n)]


def are_same(runs: Sequence[Run], others: Sequence[Run]) -> bool:
    """Return whether these are the same objects."""
    return len(runs) == len(others) and all(map(operator.is_, runs, others))


def _without_wheel(buffers: Buffers) -> Any:
    """Return what a game changes, but for what is to come, which is cleared."""
    return buffers._replace(world=buffers.world._replace(wheel=()))


def seeds_of(parts: Sequence[Part]) -> list[int]:
    """Return the seeds of all parts, as replicas of a block stand."""
    return [seed for part in parts for seed in part.seeds]


def play_block(
    parts: Sequence[Part], block: Any, pace: Pace, stop: Stop, report: Callable[[int], None]
) -> list[Played]:
    """Play the whole game for the seeds of parts of one kind, together; raise Stopped if ``stop`` was set."""
    block.begin(parts)
    run, n, first = parts[0].run, sum(len(part.seeds) for part in parts), 1
    while first <= run.horizon:
        aim = min(run.horizon, first - 1 + max(1, pace.rounds() // n))
        started = time.perf_counter()
        last = block.advance(stop, first, aim)
        if stop.is_set():
            raise Stopped("the rounds were stopped")
        pace.learn(n * (last + 1 - first), time.perf_counter() - started)
        if last < first:
            continue
        run.check(block.buffers, first, last)
        _check_domains(parts, block.buffers.state.play, last)
        report(n * (last + 1 - first))
        first = last + 1
    logs = block.hand_over_logs() if run.keep_rounds else [None] * n
    results, first = list[Played](), 0
    for part in parts:
        rows = slice(first, first + len(part.seeds))
        results.append(part.run.played(part.seeds, block.buffers, logs, rows))
        first = rows.stop
    return results


def _check_domains(parts: Sequence[Part], plays: np.ndarray, t: int) -> None:
    """Raise ValueError for a play outside its domain; parts that share a domain are looked at together."""
    first = 0
    while parts:
        run, same = parts[0].run, 1
        while same < len(parts) and parts[same].run.player.learner.domain == run.player.learner.domain:
            same += 1
        count = sum(len(part.seeds) for part in parts[:same])
        run.check_domain(plays[first : first + count], t)
        first, parts = first + count, parts[same:]


class Crew:
    """Threads that play seeds: each takes a block of those that are made already, or makes one."""

    def __init__(self, part: Part, seeds: int, own: int = 0) -> None:
        run = part.run
        self._pace = Pace(run, seeds)
        first = Block(run, part.fresh, even_share(seeds, most_replicas(part, seeds, own)))
        self._size, self._idle = first.size, {part.kind: [first]}
        # Compiled or loaded from the disk here, in the calling thread: there an interrupt is heard; and cached code may
        # import a user's module, for which a worker would wait for ever while the caller is itself being imported.
        first.advance(Stop(), 1, 0)  # Numba finds out the types of arguments fastest in a call
        run.check_domain(first.buffers.state.play[:0], 0)

    def next_size(self, remaining: int) -> int:
        """Return of how many seeds the next block should be, where so many remain."""
        return self._pace.replicas(remaining, self._size)

    def play(self, parts: Sequence[Part], stop: Stop, report: Callable[[int], None]) -> list[Played]:
        """Play these parts, those of one kind together, of at most ``next_size`` seeds; raise Stopped if told to."""

        def play_together(together: Sequence[Part]) -> list[Played]:
            if together[0].kind not in self._idle and len(self._idle) >= KINDS:
                self._idle.clear()  # a function of its own makes a kind of each seed
            idle = self._idle.setdefault(together[0].kind, [])
            try:
                block = idle.pop()
            except IndexError:
                block = Block(together[0].run, together[0].fresh, self._size)
            results = play_block(together, block, self._pace, stop, report)
            idle.append(block)
            return results

        return play_by_kind(parts, play_together)


def play_by_kind(parts: Sequence[Part], play: Callable[[list[Part]], list[Played]]) -> list[Played]:
    """Return what parts leave, in their order; those of one kind are played together."""
    by_kind, results = dict[Any, list[int]](), dict[int, Played]()
    for i, part in enumerate(parts):
        by_kind.setdefault(part.kind, []).append(i)
    for places in by_kind.values():
        results |= zip(places, play([parts[i] for i in places]), strict=True)
    return [results[i] for i in range(len(parts))]


def most_replicas(part: Part, seeds: int, own: int = 0) -> int:
    """Return how many seeds to play together: few if memory is short, one in plain Python.

    ``own`` bytes are what each seed has beside its buffers.
    """
    # Not more than a thread gets to play.
    each = own + sum(leaf.nbytes for leaf in leaves(part.fresh))
    most = min(-(-seeds // part.run.threads), LARGEST_STACK // each)
    if part.run.horizon > LONG:  # to know the backlog takes a pass over all rounds
        pending = min(part.run.horizon, int(part.run.game.delays.max_backlog) + TURN)
        most = min(most, LARGEST_WHEELS // (NODE_BYTES * pending))
    return 1 if part.run.is_plain else max(1, most)


def even_share(count: int, most: int) -> int:
    """Return the size of the blocks into which so many fall evenly, none of them larger than the most."""
    return -(-count // -(-count // most))
