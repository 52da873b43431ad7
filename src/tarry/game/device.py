"""Blocks of seeds on a GPU: the same rounds, one thread a replica; what is measured comes back.

Decisions are those of the CPU, round for round, and sums agree to rounding: multiplications and additions are not
contracted, so only functions such as ``log`` differ, in their last digit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tarry.errors import ArgumentError
from tarry.game.blocks import Pace, Part, are_same, play_block, play_by_kind, seeds_of
from tarry.game.run import Played, Run, Stop
from tarry.game.world import Buffers, Examples, Fixed, Gradients, Rows, play_rounds
from tarry.kernel import cuda, step
from tarry.kernel.views import flat, leaves
from tarry.kernel.wheel import NEVER, make_slot_queue, make_wheel
from tarry.kernel.words import kind_of, read, without_arrays, write
from tarry.losses.base import rows_react, shape_of
from tarry.schedulers.base import without_unused
from tarry.tracking import keyed_draws

logger = logging.getLogger("tarry")

FEW_SLOTS = 64  # arrivals of so few are looked for slot by slot
SHARE = 0.7  # of the free memory, for the replicas of one block
HOST_BYTES = 1 << 31  # of games that wait on the host for one launch
ROUND_SECONDS = 1e-9  # of all replicas together, as guessed


@step
def _play(setting: Any, shared: Any, buffers: Buffers, first: int, last: int) -> None:
    player, fixed, stop = shared
    play_rounds(player, setting, fixed, buffers, stop, first, last)


@step
def _play_cells(setting: Any, shared: Any, places: tuple[Buffers, int], first: int, last: int) -> None:
    (like, words, stop), (buffers, which) = shared, places
    player, fixed = read(like, words, which)
    play_rounds(player, setting, fixed, buffers, stop, first, last)


_launcher, _cells_launcher = cuda.Launcher(_play), cuda.Launcher(_play_cells)


def kernel_for(run: Run, fitted: Buffers) -> tuple[cuda.Kernel, Any]:
    """Return the kernel that plays a run from buffers that fit a GPU, and what all its replicas share."""
    shared = (*_cell_of(run), np.zeros(1, np.int64))
    return _launcher.kernel_for(run.setting, shared, fitted, *_places(fitted)), shared


def _places(fitted: Buffers) -> tuple[Any, Any]:
    """Return what should lie near to a thread, and what far."""
    state, world = fitted.state, fitted.world
    return (state.table, state.scheduler, world.wheel), (world.curve, *world.reactions[2:])


class DeviceBlock:
    """Room for replicas of runs of one kind on a GPU, whose buffers fit it; plays one block of seeds after another."""

    def __init__(self, run: Run, fresh: Buffers, size: int, own: int = 0) -> None:
        self.buffers, self._run, self._fresh = fresh, run, fresh
        each = own + sum(leaf.nbytes for leaf in leaves(self._fresh))
        self.size = max(1, min(size, int(SHARE * cuda.free_bytes()) // each))
        self._stack = cuda.spread(self._fresh, self.size)
        self._is_used, self._seeds, self._runs = False, 0, list[Run]()

    def begin(self, parts: Sequence[Part]) -> None:
        """Let the replicas be these seeds before the first round."""
        counts = [len(part.seeds) for part in parts]
        if self._is_used or len(parts) > 1:
            fresh = zip(*(leaves(part.fresh) for part in parts), strict=True)
            for rows, leaf in zip(flat(self._stack), fresh, strict=True):
                if len(parts) == 1 or not np.any((every := np.stack(leaf)) != leaf[0]):
                    cuda.respread(rows, leaf[0])
                else:
                    cuda.lay(rows, every.repeat(counts, axis=0))
        self._is_used, self._seeds = True, sum(counts)
        for part, keyed in zip(self._stack.draws, keyed_draws(seeds_of(parts)), strict=True):
            if isinstance(part, type(keyed)):  # not where draws are recorded
                cuda.put(part.key, keyed.key)
        self._share([part.run for part in parts], counts)

    def _share(self, runs: list[Run], counts: list[int]) -> None:
        """Bring to the device what these runs are made of, and find the kernel for it."""
        if not are_same(runs, self._runs):
            self._runs = runs
            self._kernel, shared = kernel_for(runs[0], self._fresh) if len(runs) == 1 else self._many(runs)
            self._kernel.load()
            self._shared = cuda.to_device(shared)
        which = np.arange(len(runs)).repeat(counts)
        self._replicas = self._stack if len(runs) == 1 else (self._stack, cuda.to_device(which))

    def _many(self, runs: list[Run]) -> tuple[cuda.Kernel, Any]:
        """Return the kernel that plays several runs, and what its replicas share."""
        self._mirror, cells = cuda.Mirror(), [_cell_of(run) for run in runs]
        words = tuple(cells) if cuda.is_simulated() else write(cells, self._mirror.place)
        shared, fresh = (without_arrays(cells[0]), words, np.zeros(1, np.int64)), (self._fresh, np.int64(0))
        return _cells_launcher.kernel_for(runs[0].setting, shared, fresh, *_places(self._fresh)), shared

    def advance(self, stop: Stop, first: int, last: int) -> int:
        """Play rounds first..last, and bring back what is measured; return the last one played."""
        self.launch(first, last)
        self.buffers = self._fetched(last)
        return last

    def launch(self, first: int, last: int) -> None:
        """Play rounds first..last, and leave what they made on the device."""
        self._kernel.run((self._shared, self._replicas, self._seeds, first, last), self._seeds)

    def _fetched(self, t: int) -> Buffers:
        stack, n, is_last = self._stack, self._seeds, t == self._run.horizon

        def fetch(rows: Any) -> Any:
            return cuda.fetch(rows, n)

        state, world, log = stack.state, stack.world, stack.log
        tally = type(state.tally)(*map(fetch, state.tally))
        draws = stack.draws._replace(schedule=type(stack.draws.schedule)(*map(fetch, stack.draws.schedule)))
        measured = {"loss": fetch(world.loss), "held": fetch(world.held)}
        if is_last:
            measured["curve"] = fetch(world.curve)
            reactions = world.reactions
            measured["reactions"] = reactions._replace(rows=fetch(reactions.rows), waits=fetch(reactions.waits))
            if self._run.keep_rounds:
                log = type(log)(*map(fetch, log))
        state = state._replace(tally=tally, play=fetch(state.play))
        return Buffers(draws, state, world._replace(**measured), log, stack.kind)

    def hand_over_logs(self) -> list[Any]:
        """Return the log of each seed."""
        return [type(self.buffers.log)(*(rows[i] for rows in self.buffers.log)) for i in range(self._seeds)]


def fit(run: Run, fresh: Buffers) -> Buffers:
    """Return the buffers of one seed as a GPU takes them: without what is not looked at, or can be found again."""
    state, world, kind, losses = fresh.state, fresh.world, fresh.kind, run.game.losses
    slots = state.table.rounds.size
    if run.setting.hears or slots > FEW_SLOTS:
        # A round waits in the wheel until its end, tracked or not.
        nodes = min(run.horizon, 1 << int(run.game.delays.max_backlog).bit_length())  # games share a shape
        world = world._replace(wheel=make_wheel(nodes, run.horizon))
    else:
        world = world._replace(wheel=make_slot_queue(slots))
    is_row = shape_of(losses) == (0.0, 1.0) and losses.rows.width == losses.dimension
    if not rows_react(losses) and (isinstance(kind, Examples) or (isinstance(kind, Gradients) and is_row)):
        kind, world = Rows(), world._replace(feedback=world.feedback[:, :0])
    scheduler = without_unused(run.player.scheduler, state.scheduler, fresh.draws.schedule)
    return fresh._replace(state=state._replace(scheduler=scheduler), world=world, kind=kind)


def _cell_of(run: Run) -> tuple[Any, Fixed]:
    """Return what a run is played by, besides its rules."""
    return run.cell.player, run.cell.fixed


class DeviceCrew:
    """A GPU that plays seeds, as many together as its memory holds."""

    def __init__(self, part: Part, seeds: int, own: int = 0) -> None:
        fitted = _fitted(part)
        block = DeviceBlock(part.run, fitted.fresh, seeds, own)
        self._own, self._blocks, self._pace = own, {fitted.kind: block}, Pace(part.run)
        self._size = min(block.size, max(1, HOST_BYTES // own)) if own else block.size
        self._pace.seconds = ROUND_SECONDS

    def next_size(self, remaining: int) -> int:
        """Return of how many seeds the next block should be, where so many remain."""
        return int(min(self._size, remaining))

    def play(self, parts: Sequence[Part], stop: Stop, report: Callable[[int], None]) -> list[Played]:
        """Play these parts, those of one kind together, of at most ``next_size`` seeds; raise Stopped if told to."""

        def play_together(together: list[Part]) -> list[Played]:
            kind = together[0].kind
            if kind not in self._blocks:
                self._blocks.clear()  # memory for one kind at a time
                self._blocks[kind] = DeviceBlock(together[0].run, together[0].fresh, self._size, self._own)
            block, results = self._blocks[kind], list[Played]()
            while left := together[len(results) :]:
                # Memory for fewer, where seeds of this kind need more than those of the first.
                ends = np.cumsum([len(part.seeds) for part in left])
                fits = max(1, int(np.searchsorted(ends, block.size, side="right")))
                results += play_block(left[:fits], block, self._pace, stop, report)
            return [result._replace(is_on_gpu=True) for result in results]

        return play_by_kind([_fitted(part) for part in parts], play_together)


def _fitted(part: Part) -> Part:
    """Return a part as a GPU takes it; what fits may differ within a kind, since it depends on numbers too."""
    fresh = fit(part.run, part.fresh)
    shapes = tuple(leaf.shape for leaf in leaves(fresh))
    return part._replace(fresh=fresh, kind=(part.kind, kind_of(fresh), shapes))


def gpu_for(device: str, part: Part, seeds: int, own: int = 0) -> DeviceCrew | None:
    """Return a GPU that plays seeds of one kind, None where ``"auto"`` finds none that can, and says so.

    Raise ArgumentError where ``"cuda"`` is asked for and cannot be had.
    """
    try:
        _check(part.run)
        cuda.find_device()
    except (ArgumentError, cuda.NoDevice) as reason:
        if device == "auto":
            _tell_once(f"played on the CPU: {reason}")
            return None
        if isinstance(reason, ArgumentError):
            raise
        raise _missing(reason) from None
    return DeviceCrew(part, seeds, own)


def has_device(device: str) -> bool:
    """Return whether there is a GPU to play on; raise ArgumentError if there is none and ``device`` is "cuda"."""
    try:
        cuda.find_device()
    except cuda.NoDevice as reason:
        if device == "cuda":
            raise _missing(reason) from None
        _tell_once(f"played on the CPU: {reason}")
        return False
    return True


@cache
def _tell_once(text: str) -> None:
    logger.warning(text)


def _missing(reason: Exception) -> ArgumentError:
    return ArgumentError("device", f"'cuda' cannot be used here, {reason}", remedy="'cpu' and 'auto' play here")


def _check(run: Run) -> None:
    """Raise ArgumentError for a run that cannot be played on a GPU."""
    if run.is_plain and not cuda.is_simulated():
        problem = "plays compiled rounds alone, and a member holds a plain Python function"
        raise ArgumentError("device", problem, "cuda", "decorate it with numba.njit, or leave device out")
    if run.horizon >= NEVER:
        raise ArgumentError("device", f"plays games of fewer than {NEVER} rounds", "cuda", "leave device out")
