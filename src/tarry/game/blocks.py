"""Blocks of seeds: of replicas, one a seed, and of rounds.

A block of replicas is one call of compiled code for each block of rounds, outside the interpreter's lock; between calls
a run can be watched. What changes while seeds are played lies in the ``Buffers`` of a ``Block``, arrays alone, which
serve one block of seeds after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tarry.game.run import Played, Run, Stop
from tarry.game.world import Buffers
from tarry.kernel.packed import Packed
from tarry.kernel.views import leaves, replica, replicate
from tarry.kernel.wheel import grow_wheel
from tarry.tracking import keyed_draws

# Blocks are sized by the time they take: progress is told often, and rarely for its price.
BLOCK_SECONDS = 0.2
LEAST_SECONDS = 0.002  # of a block of replicas: many times what Python does for it
FIRST_SECONDS = 0.01  # of the first block, as guessed
FIRST_BLOCK = 1 << 12  # rounds of the first block where they are plain Python
LARGEST_STACK = 1 << 23  # bytes of a block of replicas: about a hundred that play in R^10


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
        if rounds > 0:
            self.seconds, self.limit = max(seconds, 1e-9) / rounds, BLOCK_SECONDS

    def replicas(self, horizon: int, remaining: int, threads: int, room: int) -> int:
        """Return of how many seeds the next block should be, where so many remain and a block has room for some."""
        most, least = min(room, self.rounds() // horizon), int(LEAST_SECONDS / (self.seconds * horizon))
        # Smaller and smaller ones, so that threads end together.
        share = -(-remaining // (2 * threads)) if threads > 1 else even_share(remaining, max(1, most))
        return max(1, min(max(share, least), most))


class Block:
    """Room for replicas of a run, which plays one block of seeds after another."""

    def __init__(self, run: Run, fresh: Buffers, size: int) -> None:
        self.size, self._run, self._fresh = size, run, fresh
        self._room, self._is_used = Packed(replicate(fresh, size)), False
        self._show(size)

    def begin(self, seeds: Sequence[int]) -> None:
        """Let ``buffers`` be those of these seeds before the first round."""
        if self.packed.count != len(seeds):
            self._show(len(seeds))
        if self._is_used:
            for rows, leaf in self._changing:
                rows[:] = leaf
        self._is_used = True
        for part, keyed in zip(self.buffers.draws, keyed_draws(seeds), strict=True):
            if isinstance(part, type(keyed)):  # not where draws are recorded
                part.key[:] = keyed.key

    def advance(self, stop: Stop, first: int, aim: int) -> int:
        """Play rounds first..aim as far as there is room; make room for the rest, and return the last one played."""
        last = self._run.advance_block(self.packed, stop, first, aim)
        if last < aim:
            self._make_room()
        return last

    def _make_room(self) -> None:
        """Make room in the wheels for twice as many pending rounds, at most all of them."""
        n, room = self.packed.count, self._room.trees
        world = room.world
        nodes = min(2 * world.wheel.room, self._run.horizon)
        self._run.refuse_if_large(nodes, 0)
        self._room = self._room.moved(room._replace(world=world._replace(wheel=grow_wheel(world.wheel, nodes))))
        self._show(n)

    def _show(self, replicas: int) -> None:
        self.packed = self._room.first(replicas)
        self.buffers = self.packed.trees
        self.__dict__.pop("_changing", None)

    @cached_property
    def _changing(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """What a game changes, and how it was. A wheel that a game has emptied is as good as new."""
        none: Any = ()
        parts = (one._replace(world=one.world._replace(wheel=none)) for one in (self.buffers, self._fresh))
        return list(zip(*map(leaves, parts), strict=True))

    def hand_over_logs(self) -> list[Any]:
        """Return the log of each seed and put fresh ones in their place."""
        n, room = self.packed.count, self._room.trees
        log = room.log
        self._room = self._room.moved(room._replace(log=replicate(self._fresh.log, self.size)))
        self._show(n)
        return [replica(log, i) for i in range(n)]


class Crew:
    """Threads that play the seeds of a run: each takes a block of those that are made already, or makes one."""

    def __init__(self, run: Run, fresh: Buffers, seeds: int) -> None:
        self.run, self._fresh, self._pace = run, fresh, Pace(run)
        first = Block(run, fresh, even_share(seeds, most_replicas(run, fresh, seeds)))
        self._size, self._idle = first.size, [first]
        # Compiled or loaded from the disk here, in the calling thread: there an interrupt is heard; and cached code may
        # import a user's module, for which a worker would wait for ever while the caller is itself being imported.
        first.advance(Stop(), 1, 0)  # Numba finds out the types of arguments fastest in a call
        run.check_domain(first.buffers.state.play[:0], 0)

    def next_size(self, remaining: int) -> int:
        """Return of how many seeds the next block should be, where so many remain."""
        return self._pace.replicas(self.run.horizon, remaining, self.run.threads, self._size)

    def play(self, seeds: Sequence[int], stop: Stop, report: Callable[[int], None]) -> Played:
        """Play these seeds together, at most ``next_size``; raise Stopped if ``stop`` was set on the way."""
        try:
            block = self._idle.pop()
        except IndexError:
            block = Block(self.run, self._fresh, self._size)
        played = self.run.play(seeds, block, self._pace, stop, report)
        self._idle.append(block)
        return played


def most_replicas(run: Run, fresh: Buffers, seeds: int) -> int:
    """Return how many seeds to play together: few if memory is short, one in plain Python."""
    # Not more than a thread gets to play.
    most = min(-(-seeds // run.threads), LARGEST_STACK // sum(leaf.nbytes for leaf in leaves(fresh)))
    return 1 if run.is_plain else max(1, most)


def even_share(count: int, most: int) -> int:
    """Return the size of the blocks into which so many fall evenly, none of them larger than the most."""
    return -(-count // -(-count // most))
