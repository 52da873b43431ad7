"""Open joins and sessions by name, each with a thread that makes its calls; a join in shards, one for each shard.

Calls that come while a transaction is being written wait, and are written together by the next one: one commit for
many callers, each answered when it is durable, in the order in which they came.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from itertools import count
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
_END: Any = None  # in place of a call: the thread ends
LARGEST_GROUP = 512  # calls in one transaction
MOST_WAITING = 10_000  # calls; beyond it callers are asked to come again
MOST_OPEN = 256  # desks
HISTORY = 1024  # answers that the timeline shows
_MOST_TIMES = 100_000  # moments of decisions that are kept
_SPARE_TIMES = 1000  # moments that may be kept in vain, beside twice those that are needed

_Waiting = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class Event(NamedTuple):
    """A call of the timeline: when it was made, what it was, its last answers, and how many it had."""

    number: int
    at: float
    what: str
    answers: Sequence[Any]
    rows: int


class Gone(Missing):
    """An open object is no longer in the store; another may have its name, which a second look will find."""


class Desk:
    """An open object, and the thread that makes its calls: all that wait at once, in one transaction."""

    def __init__(
        self, opened: Any, *, is_grouping: bool = True, told: Callable[[int, int], None] = lambda *_: None
    ) -> None:
        self.opened = opened
        self._queues: list[SimpleQueue[_Waiting]] = [SimpleQueue() for _ in opened.lanes]
        self._loop = asyncio.get_running_loop()
        self._most, self._told = LARGEST_GROUP if is_grouping else 1, told
        self._numbers, self._is_closed = count(1), False
        self.is_gone = False  # from the store, though perhaps made again there
        self.waiting, self.last = 0, 0  # calls that are not answered, and the number of the last event
        self.history: deque[Event] = deque()
        self._noted = 0  # answers in it
        self.times: dict[Hashable, float] = {}  # when tracked decisions were made, as far as this process knows
        self._room = _SPARE_TIMES  # so many moments may be kept before drop_times looks which are needed
        self._sweep: asyncio.Task[None] | None = None  # that look, while it is under way
        pairs = zip(opened.lanes, self._queues, strict=True)
        self._threads = [Thread(target=self._work, args=pair, name="tarry-desk", daemon=True) for pair in pairs]
        for thread in self._threads:
            thread.start()

    async def call(self, call: Callable[[], T], about: Sequence[Hashable] = ()) -> T:
        """Return what a call of the object's own methods returns, when it is durable.

        A call that is about one id is made beside those about others, where the object has shards.
        """
        if self._is_closed:
            raise Refusal(503, "this was just closed to make room: come again", COME_AGAIN)
        if self.waiting >= MOST_WAITING:
            raise Refusal(503, f"{self.waiting} calls are waiting already: come again", COME_AGAIN)
        lane = self.opened.lane_of(about[0]) if len(about) == 1 and about[0] is not None else 0
        answer: asyncio.Future[T] = self._loop.create_future()
        self.waiting += 1
        try:
            self._queues[lane].put((call, answer))
            return await answer
        except Missing:  # whose sentence names the store
            self.is_gone = True
            raise Gone("this was deleted, and what may have its name now was too: make it first") from None
        finally:
            self.waiting -= 1

    def note(self, what: str, answers: Sequence[Any]) -> None:
        """Put a call that was made on the timeline, where older ones make room."""
        kept, self.last = answers[-HISTORY:], next(self._numbers)
        if kept:
            self.history.append(Event(self.last, time.time(), what, kept, len(answers)))
            self._noted += len(kept)
        while self._noted > HISTORY:
            self._noted -= len(self.history.popleft().answers)

    def note_tracked(self, ids: Iterable[Hashable]) -> None:
        """Remember when these decisions were made."""
        now = time.time()
        for id in ids:
            self.times[id] = now
        while len(self.times) > _MOST_TIMES:
            del self.times[next(iter(self.times))]

    def drop_times(self) -> None:
        """Begin to drop the moments of decisions that no longer wait, where there are many; no caller waits for it.

        Decisions may have ended elsewhere, so only the store can tell.
        """
        if len(self.times) > self._room and (self._sweep is None or self._sweep.done()):
            self._sweep = asyncio.create_task(self._drop_times())

    async def _drop_times(self) -> None:
        asked = time.time()
        self._room = min(2 * len(self.times), _MOST_TIMES - 1)  # for the next try, where the store fails
        try:
            self.keep_times(await self.call(self.opened.tracked), asked)
        except (StoreError, Refusal):  # which callers hear of in their own calls
            pass
        except Exception:
            _logger.exception("moments of decisions that no longer wait could not be dropped")

    def keep_times(self, waiting: Iterable[Any], asked: float) -> None:
        """Keep the moments of those that were waiting when this was asked, and later ones."""
        ids = {one.id for one in waiting}
        self.times = {id: at for id, at in self.times.items() if id in ids or at >= asked}
        self._room = _SPARE_TIMES + 2 * len(self.times)

    def _work(self, lane: StoredObject, calls: SimpleQueue[_Waiting]) -> None:
        """Make calls until the end; what waits is drained at once."""
        while True:
            first = calls.get()
            group = [] if first is _END else [first]
            while group and len(group) < self._most:
                try:
                    following = calls.get_nowait()
                except Empty:
                    break
                if following is _END:
                    calls.put(_END)
                    break
                group.append(following)
            if not group:
                return
            try:
                results = lane.together([call for call, _ in group])
            except BaseException as error:  # whatever it is, callers must not wait for ever
                _logger.exception("a group of calls failed")
                results = [error if isinstance(error, Exception) else RuntimeError(str(error))] * len(group)
            self._loop.call_soon_threadsafe(self._hand_out, group, results)

    def _hand_out(self, group: list[_Waiting], results: list[Any]) -> None:
        self._told(len(group), sum(isinstance(result, StoreError) for result in results))
        for (_, answer), result in zip(group, results, strict=True):
            if answer.done():  # its caller has gone
                continue
            if isinstance(result, Exception):
                answer.set_exception(result)
            else:
                answer.set_result(result)

    async def close(self) -> None:
        """Make the calls that wait, end the thread and let go of the store."""
        self._is_closed = True
        for calls in self._queues:
            calls.put(_END)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        await asyncio.sleep(0)  # answers of the last group are handed out
        await asyncio.to_thread(self.opened.close)


class Desks:
    """Desks by kind and name; the one that was used longest ago is closed where too many are open."""

    def __init__(self, store: str, *, most: int = MOST_OPEN, durability: str = POWER, **options: Any) -> None:
        self.store, self._most, self._durability, self._options = store, most, durability, options
        self._open: OrderedDict[tuple[type[StoredObject], str], Desk] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # of names, while they are used

    def __iter__(self) -> Any:
        return iter(list(self._open.items()))

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

    async def make(self, kind: type[StoredObject], name: str, make: Callable[..., StoredObject]) -> tuple[Desk, bool]:
        """Return the desk of an object that ``make`` makes, or finds in the store, and whether it is new there."""
        known = {"store": self.store, "name": name, "durability": self._durability}
        async with self._lock(name):
            is_new = not await asyncio.to_thread(self._has, name)
            if is_new:  # what is open under this name was deleted elsewhere
                for other, _ in [key for key in self._open if key[1] == name]:
                    await self._close(other, name)
            (await asyncio.to_thread(make, **known)).close()  # which refuses where something else is there
        return await self.find(kind, name), is_new

    def _has(self, name: str) -> bool:
        try:
            return name in stored_names(self.store)
        except Missing:
            return False

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
