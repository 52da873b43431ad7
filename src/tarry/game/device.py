"""Blocks of seeds on a GPU: the same rounds, one thread a replica; what is measured comes back.

Decisions are those of the CPU, round for round, and sums agree to rounding: multiplications and additions are not
contracted, so only functions such as ``log`` differ, in their last digit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tarry.errors import ArgumentError
from tarry.game.blocks import Crew, Pace
from tarry.game.run import Played, Run, Stop
from tarry.game.world import BOOKS, AllOne, Buffers, Examples, Fixed, Gradients, Rows, play_rounds
from tarry.kernel import cuda, step
from tarry.kernel.views import leaves
from tarry.kernel.wheel import NEVER, make_slot_queue, make_wheel
from tarry.schedulers.base import without_unused
from tarry.tracking import keyed_draws
from tarry.tracking.table import without_index
from tarry.tracking.tally import UNCERTIFIED, all_of_size_one, without_certificates

logger = logging.getLogger("tarry")

DEVICES = ("cpu", "cuda", "auto")
FEW_SLOTS = 64  # arrivals of so few are looked for slot by slot
SHARE = 0.7  # of the free memory, for the replicas of one block
ROUND_SECONDS = 1e-9  # of all replicas together, as guessed


@step
def _play(setting: Any, shared: Any, buffers: Buffers, first: int, last: int) -> None:
    player, fixed, stop = shared
    play_rounds(player, setting, fixed, buffers, stop, first, last)


_launcher = cuda.Launcher(_play)


def kernel_for(run: Run, fitted: Buffers) -> tuple[cuda.Kernel, Any]:
    """Return the kernel that plays a run from buffers that fit a GPU, and what all its replicas share."""
    game, state, world = run.game, fitted.state, fitted.world
    sizes = AllOne() if game.sizes is None else game.sizes
    shared = (run.player, Fixed(game.losses, game.delays, sizes, run.checkpoints), np.zeros(1, np.int64))
    near, far = (state.table, state.scheduler, world.wheel), (world.curve,)
    return _launcher.kernel_for(run.setting, shared, fitted, near, far), shared


class DeviceBlock:
    """Room for replicas of a run on a GPU, which plays one block of seeds after another."""

    def __init__(self, run: Run, fresh: Buffers, size: int) -> None:
        self.buffers, self._run, self._fresh = fresh, run, fit(run, fresh)
        self._kernel, shared = kernel_for(run, self._fresh)
        self._kernel.load()
        self.size = max(1, min(size, int(SHARE * cuda.free_bytes()) // sum(x.nbytes for x in leaves(self._fresh))))
        self._shared, self._stack = cuda.to_device(shared), cuda.spread(self._fresh, self.size)
        self._is_used, self._seeds = False, 0

    def begin(self, seeds: Sequence[int]) -> None:
        """Let the replicas be these seeds before the first round."""
        if self._is_used:
            for rows, leaf in zip(_flat(self._stack), leaves(self._fresh), strict=True):
                cuda.respread(rows, leaf)
        self._is_used, self._seeds = True, len(seeds)
        for part, keyed in zip(self._stack.draws, keyed_draws(seeds), strict=True):
            if isinstance(part, type(keyed)):  # not where draws are recorded
                cuda.put(part.key, keyed.key)

    def advance(self, stop: Stop, first: int, last: int) -> int:
        """Play rounds first..last, and bring back what is measured; return the last one played."""
        self.launch(first, last)
        self.buffers = self._fetched(last)
        return last

    def launch(self, first: int, last: int) -> None:
        """Play rounds first..last, and leave what they made on the device."""
        self._kernel.run((self._shared, self._stack, self._seeds, first, last), self._seeds)

    def _fetched(self, t: int) -> Buffers:
        stack, n, is_last = self._stack, self._seeds, t == self._run.horizon

        def fetch(rows: Any) -> Any:
            return cuda.fetch(rows, n)

        state, world, log = stack.state, stack.world, stack.log
        tally = type(state.tally)(*map(fetch, state.tally))
        if self._run.game.sizes is None:
            tally = all_of_size_one(tally, t)
        draws = stack.draws._replace(schedule=type(stack.draws.schedule)(*map(fetch, stack.draws.schedule)))
        measured = {"loss": fetch(world.loss), "held": fetch(world.held)}
        if is_last:
            measured["curve"] = fetch(world.curve)
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
    slots, tally = state.table.rounds.size, state.tally
    if run.setting.certify == UNCERTIFIED:
        tally = without_certificates(tally)
        world = world._replace(curve=np.ascontiguousarray(world.curve[:, :BOOKS]))
    if run.game.sizes is None:
        tally = tally._replace(size=tally.size[:0], sized=tally.sized[:0])
    if run.setting.hears or slots > FEW_SLOTS:
        # A round waits in the wheel until its end, tracked or not.
        nodes = min(run.horizon, int(run.game.delays.max_backlog) + 1)
        world = world._replace(wheel=make_wheel(nodes, run.horizon))
    else:
        world = world._replace(wheel=make_slot_queue(slots))
        state = state._replace(table=without_index(state.table))
    is_row = losses.isotropic() == (0.0, 1.0) and losses.rows.width == losses.dimension
    if isinstance(kind, Examples) or (isinstance(kind, Gradients) and is_row):
        kind, world = Rows(), world._replace(feedback=world.feedback[:, :0])
    scheduler = without_unused(run.player.scheduler, state.scheduler, fresh.draws.schedule)
    return fresh._replace(state=state._replace(tally=tally, scheduler=scheduler), world=world, kind=kind)


class DeviceCrew:
    """A GPU that plays the seeds of a run, as many together as its memory holds."""

    def __init__(self, run: Run, fresh: Buffers, seeds: int) -> None:
        self.run, self._block, self._pace = run, DeviceBlock(run, fresh, seeds), Pace(run)
        self._pace.seconds = ROUND_SECONDS

    def next_size(self, remaining: int) -> int:
        """Return of how many seeds the next block should be, where so many remain."""
        return int(min(self._block.size, remaining))

    def play(self, seeds: Sequence[int], stop: Stop, report: Callable[[int], None]) -> Played:
        """Play these seeds together, at most ``next_size``; raise Stopped if ``stop`` was set on the way."""
        return self.run.play(seeds, self._block, self._pace, stop, report)


def crew_on(device: str, run: Run, fresh: Buffers, seeds: int) -> Crew | DeviceCrew:
    """Return who plays the seeds of a run: threads, or a GPU; raise ArgumentError where that cannot be.

    ``"auto"`` takes the GPU where there is one that can, and says so where not.
    """
    if device == "cpu":
        return Crew(run, fresh, seeds)
    try:
        _check(run)
        cuda.find_device()
    except (ArgumentError, cuda.NoDevice) as reason:
        if device == "auto":
            logger.info("played on the CPU: %s", reason)
            return Crew(run, fresh, seeds)
        if isinstance(reason, ArgumentError):
            raise
        raise ArgumentError("device", f"cannot be used here ({reason})", device, "leave device out") from None
    return DeviceCrew(run, fresh, seeds)


def _check(run: Run) -> None:
    """Raise ArgumentError for a run that cannot be played on a GPU."""
    if run.is_plain and not cuda.is_simulated():
        problem = "plays compiled rounds alone, and a member holds a plain Python function"
        raise ArgumentError("device", problem, "cuda", "decorate it with numba.njit, or leave device out")
    if run.horizon >= NEVER:
        raise ArgumentError("device", f"plays games of fewer than {NEVER} rounds", "cuda", "leave device out")


def _flat(tree: Any) -> list[Any]:
    return [leaf for part in tree for leaf in _flat(part)] if isinstance(tree, tuple) else [tree]
