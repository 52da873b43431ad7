"""Threads of this process: compiled rounds do not hold Python's lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from tarry.experiments.engines.base import PAUSE, Outcome, play_one
from tarry.game.seeds import core_count


class Threads:
    """The default: nothing to start, nothing to send."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or core_count()

    def play(self, contents: dict[str, str]) -> Iterator[Outcome | None]:
        """Play the cells, a few ahead of the workers."""
        stop, left = threading.Event(), iter(contents.items())
        pool = ThreadPoolExecutor(self._workers)
        under_way: set[Future[Outcome]] = set()
        try:
            while True:
                ahead = islice(left, 2 * self._workers - len(under_way))
                under_way |= {pool.submit(play_one, *one, stop.is_set) for one in ahead}
                if not under_way:
                    return
                done, under_way = wait(under_way, timeout=PAUSE, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
                yield None
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)  # one that compiles hears of it only when it is through
