"""Open joins and sessions by name, each with a thread that makes its calls; a join in shards, one for each shard.

Calls that come while a transaction is being written wait, and are written together by the next one: one commit for
many callers, each answered when it is durable, in the order in which they came. Looks are made before them, without
the lock of those who write.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from tarry.errors import Missing, StoreError
from tarry.live.base import StoredObject, erase
from tarry.live.stores import POWER, stored_names
from tarry.service.problems import COME_AGAIN, Refusal

T = TypeVar("T")
_logger = logging.getLogger("tarry.service")
LARGEST_GROUP = 512  # calls in one transaction
MOST_WAITING = 10_000  # calls; beyond it callers are asked to come again
MOST_OPEN = 256  # desks


class Gone(Missing):
    """An open object is no longer in the store; another may have its name, which a second look will find."""


class _Waiting(NamedTuple):
    """A call that waits, and who waits for its answer."""

    call: Callable[[], Any]
    answer: asyncio.Future[Any]
    is_look: bool


_END: Any = None  # in place of a call: the thread ends


class Desk:
    """An open object, and the thread that makes its calls: all that wait at once, in one transaction."""

    def __init__(
        self, opened: Any, *, is_grouping: bool = True, count: Callable[[int, int], None] = lambda *_: None
    ) -> None:
        self.opened = opened
        self._queues: list[SimpleQueue[_Waiting]] = [SimpleQueue() for _ in opened.lanes]
        self._loop = asyncio.get_running_loop()
        self._most, self._count = LARGEST_GROUP if is_grouping else 1, count
        self._is_closed = False
        self.is_gone = False  # from the store, though perhaps made again there
        self.waiting = 0  # calls that are not answered
        pairs = zip(opened.lanes, self._queues, strict=True)
        self._threads = [Thread(target=self._work, args=pair, name="tarry-desk", daemon=True) for pair in pairs]
        for thread in self._threads:
            thread.start()

    async def call(self, call: Callable[[], T], id: Any = None, *, is_look: bool = False) -> T:
        """Return what a call of the object's own methods returns, when it is durable.

        A call that is about one id is made beside those about others, where the object has shards.
        """
        if self._is_closed:
            raise Refusal(503, "this was just closed to make room: come again", COME_AGAIN)
        if self.waiting >= MOST_WAITING:
            raise Refusal(503, f"{self.waiting} calls are waiting already: come again", COME_AGAIN)
        lane = 0 if id is None else self.opened.lane_of(id)
        answer: asyncio.Future[T] = self._loop.create_future()
        self.waiting += 1
        try:
            self._queues[lane].put(_Waiting(call, answer, is_look))
            return await answer
        except Missing:  # whose sentence names the store
            self.is_gone = True
            raise Gone("this was deleted, and what may have its name now was too: make it first") from None
        finally:
            self.waiting -= 1

    def _work(self, lane: StoredObject, calls: SimpleQueue[_Waiting]) -> None:
        """Make calls until the end; what waits is drained at once."""
        while (first := calls.get()) is not _END:
            group = [first]
            while len(group) < self._most:
                try:
                    following = calls.get_nowait()
                except Empty:
                    break
                if following is _END:
                    calls.put(_END)
                    break
                group.append(following)
            self._answer([waiting for waiting in group if waiting.is_look], _one_by_one)
            self._answer([waiting for waiting in group if not waiting.is_look], lane.together)

    def _answer(self, group: list[_Waiting], make: Callable[[list[Callable[[], Any]]], list[Any]]) -> None:
        if not group:
            return
        try:
            results = make([waiting.call for waiting in group])
        except BaseException as error:  # whatever it is, callers must not wait for ever
            _logger.exception("a group of calls failed")
            results = [error if isinstance(error, Exception) else RuntimeError(str(error))] * len(group)
        self._loop.call_soon_threadsafe(self._hand_out, group, results)

    def _hand_out(self, group: list[_Waiting], results: list[Any]) -> None:
        self._count(len(group), sum(isinstance(result, StoreError) for result in results))
        for waiting, result in zip(group, results, strict=True):
            if waiting.answer.done():  # its caller has gone
                continue
            if isinstance(result, Exception):
                waiting.answer.set_exception(result)
            else:
                waiting.answer.set_result(result)

    async def close(self) -> None:
        """Make the calls that wait, end the thread and let go of the store."""
        self._is_closed = True
        for calls in self._queues:
            calls.put(_END)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        await asyncio.sleep(0)  # answers of the last group are handed out
        await asyncio.to_thread(self.opened.close)


def _one_by_one(calls: list[Callable[[], Any]]) -> list[Any]:
    results: list[Any] = []
    for call in calls:
        try:
            results.append(call())
        except Exception as error:
            results.append(error)
    return results


class Desks:
    """Desks by kind and name; the one that was used longest ago is closed where too many are open."""

    def __init__(self, store: str, *, most: int = MOST_OPEN, durability: str = POWER, **options: Any) -> None:
        self.store, self._most, self._durability, self._options = store, most, durability, options
        self._open: OrderedDict[tuple[type[StoredObject], str], Desk] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # of names, while they are used

    def names(self, kind: str, after: str | None = None) -> Iterator[str]:
        """Yield the names of a kind, oldest first, those after one; it asks the store, so call it in a thread."""
        names = self._stored()
        if after is not None and after not in names:
            raise Refusal(422, f"after {after!r} is not there any more: begin anew", name="after")
        first = 0 if after is None else [*names].index(after) + 1
        return (name for name in islice(names, first, None) if names[name] == kind)

    def newest(self, kind: str, count: int) -> list[str]:
        """Return the newest names of a kind, at most so many; it asks the store, so call it in a thread."""
        names = (name for name, other in reversed(self._stored().items()) if other == kind)
        return [*islice(names, count)]

    def _stored(self) -> dict[str, str]:
        """Return the names in the store and their kinds; no object is opened."""
        try:
            return stored_names(self.store)
        except Missing:  # nothing was made yet
            return {}

    async def find(self, kind: type[StoredObject], name: str) -> Desk:
        """Return the desk of an object that is in the store; raise Missing where there is none."""
        desk = self._open.get((kind, name))
        if desk is not None and not desk.is_gone:
            self._open.move_to_end((kind, name))
            return desk
        async with self._lock(name):
            desk = self._open.get((kind, name))
            if desk is None or desk.is_gone:
                await self._close(kind, name)
                desk = self._open[kind, name] = Desk(await self._opened(kind, name), **self._options)
        while len(self._open) > self._most:
            oldest, other = next(iter(self._open.items()))
            if other.waiting or oldest == (kind, name):
                break
            del self._open[oldest]
            await other.close()
        return desk

    async def using(self, kind: type[StoredObject], name: str, work: Callable[[Desk], Awaitable[T]]) -> T:
        """Return what work with a desk returns; it is done again where the object was made anew since it was opened."""
        try:
            return await work(await self.find(kind, name))
        except Gone:
            return await work(await self.find(kind, name))

    async def make(self, kind: type[StoredObject], name: str, make: Callable[..., StoredObject]) -> bool:
        """Return whether an object that ``make`` makes, or finds in the store, is new there."""
        known = {"store": self.store, "name": name, "durability": self._durability}
        async with self._lock(name):
            is_new = name not in await asyncio.to_thread(self._stored)
            if is_new:  # what is open under this name was deleted elsewhere
                for other, _ in [key for key in self._open if key[1] == name]:
                    await self._close(other, name)
            (await asyncio.to_thread(make, **known)).close()  # which refuses where something else is there
        return is_new

    async def delete(self, kind: type[StoredObject], name: str) -> None:
        """Remove an object from the store, for good; no call can open it meanwhile."""
        async with self._lock(name):
            await self._close(kind, name)
            (await self._opened(kind, name)).close()  # which refuses where there is none of this kind
            await asyncio.to_thread(erase, self.store, name)

    def _lock(self, name: str) -> asyncio.Lock:
        """Return what is held while an object of this name is opened, made or removed."""
        return self._locks.setdefault(name, asyncio.Lock())

    async def _opened(self, kind: type[StoredObject], name: str) -> StoredObject:
        try:
            return await asyncio.to_thread(kind.open, self.store, name=name, durability=self._durability)
        except Missing:  # whose sentence names the store and all that is in it
            raise Missing(f"there is no {kind._kind} called {name!r}: make it first") from None

    async def _close(self, kind: type[StoredObject], name: str) -> None:
        """Close the desk of an object, if it is open."""
        desk = self._open.pop((kind, name), None)
        if desk is not None:
            await desk.close()

    async def close(self) -> None:
        """Make all calls that wait and close every desk."""
        while self._open:
            await self._open.popitem()[1].close()
