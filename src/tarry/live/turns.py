"""One call at a time, and each that changes something journaled in a store.

``change(work, …)`` makes a call on a tracker alone and durable; if anything fails on the way, nothing has changed.
``look(work, …)`` makes one that only reads, and keeps no other process waiting. ``together(calls)`` makes several calls
one entry of the journal.

An entry holds its calls, resolved, and the trail of each: what it has changed, in words. Whoever makes the calls of an
entry again compares the trails, so that a damaged entry, or a member that computes otherwise, is told at its place.
"""

from __future__ import annotations

import json
import os
import threading
import time
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import inf, isclose
from threading import get_ident
from typing import Any, NoReturn, TypeVar
from zlib import crc32

import numpy as np

from tarry.errors import StoreError, TarryError, Uncertain
from tarry.live.configuration import KEEP, parse
from tarry.live.encoding import Packed, damaged, resolved
from tarry.live.snapshots import dump, load, read
from tarry.live.stores.base import TOKEN, Entry, Snapshot, Store
from tarry.live.tracker import Tracker
from tarry.outcomes import Answer
from tarry.times import as_length

T = TypeVar("T")
LEAST_TAIL = 1 << 18  # bytes of entries that a snapshot is worth
TOKENS = 4096  # of the last entries, which a snapshot remembers
PAUSE = 0.2  # seconds before a call is tried again
_NEAR, _NOUGHT = 1e-6, 1e-9  # how far a weight or a play may be from what it was, relative to it and at zero
_CHECKSUM = 4  # bytes before the text of an entry
VERBS = frozenset(
    [
        "open",
        "open_many",
        "answer",
        "answer_many",
        "label",
        "label_many",
        "finish_many",
        "advance",
        "acknowledge",
        "reconfigure",
        "vacuum",
    ]
)
_EVERYTHING = b"\xff" * TOKEN  # sorts after every token
_forks = 0  # how often this process or its ancestors were forked


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class _Spoilt(Exception):
    """Say that a call of a group has failed when it may have changed something, and which one."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


class Turns:
    """Calls on a tracker in memory: one at a time, and none any more once one has been cut short.

    Threads wait for each other at ``_lock``, which the interpreter gives back whatever exception comes wherever.
    ``_owner`` is the thread whose call is under way: the same thread comes here again only from a signal handler or a
    function called back, and is refused. A ``_owner`` left behind by an interrupt does no harm, for the lock is free.
    """

    patience = 0.0  # seconds for which a call is tried again where its store is out of reach

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self.reconfigured: Callable[[], None] = lambda: None  # called whenever the tracker has another configuration
        self._is_between = False  # whether a group is under way, and none of its calls is at work
        self._renew_lock()

    def _renew_lock(self) -> None:
        """Make a lock that nobody holds: after a fork, whoever held the old one is not there to let go of it."""
        self._lock, self._owner, self._born = threading.Lock(), 0, _forks

    def _check_turn(self) -> None:
        """Raise TarryError if a call of this thread is under way."""
        if self._born != _forks:
            self._renew_lock()
        if self._owner == get_ident() and self._lock.locked():
            raise TarryError(
                f"this {self.tracker.configuration.kind} is in the middle of a call: a signal handler, or a function "
                "called back, must wait until that call is done"
            )

    def change(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return what a call on the tracker returns, made durable."""
        me = get_ident()
        if self._owner or self._born != _forks:
            self._check_turn()
        with self._lock:
            self._owner = me  # at once: a signal handler that comes after a call in between would wait for ever
            try:
                if self.tracker.slots.is_midway:  # without a store, what is left half done cannot be put right
                    raise TarryError(
                        "a call was interrupted in the middle of a round, or a function of your own failed there, so "
                        f"this {self.tracker.configuration.kind}'s state cannot be trusted: start a new one"
                    )
                return work(*arguments)
            finally:
                self._owner = 0

    def look(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns that only looks at the tracker."""
        return self.change(work, *arguments)

    def together(self, calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Make calls in their order, and return the result or the exception of each."""
        return [outcome_of(call) for call in calls]

    def close(self) -> None:
        """Do nothing: there is no store to let go of."""


def outcome_of(call: Callable[[], T]) -> T | Exception:
    """Return what a call returns or raises."""
    try:
        return call()
    except Exception as error:
        return error


class Stored(Turns):
    """Calls on a tracker that a store keeps: each is one transaction, and one entry of the journal.

    ``_is_sound`` says that the tracker is what the entries up to ``_seq`` make of it; ``_tokens`` are those of the last
    ones. It is not while a call is at work; where one ends badly, the tracker is made again from the store.
    """

    def __init__(self, tracker: Tracker, store: Store, found: Snapshot | None = None) -> None:
        super().__init__(tracker)
        self.store = store
        self._last = 0, b""  # number and token of the last entry, exchanged as one: an interrupt may come between lines
        self._tokens = deque[bytes](maxlen=TOKENS)
        self._is_sound = False
        self.is_new = False  # whether it was made here
        self._until = inf  # the moment at which a call under way is tried again no more
        self._tail, self._own, self._least = 0, 0, LEAST_TAIL  # bytes since the last snapshot, our part, and the limit
        if found is not None:
            self._take(found)

    @property
    def _seq(self) -> int:
        """The number of the last entry that the tracker has made."""
        return self._last[0]

    def _renew_lock(self) -> None:
        super()._renew_lock()
        # After a fork, what the parent has written is the parent's, and so is a call that it had under way.
        self._own, self._is_sound, self._is_between, self._until = 0, False, False, inf
        self._texts: list[str] = []  # the calls of the entry under way

    def create(self) -> bool:
        """Store the tracker as it is, as the first snapshot; False if there is something of this name already."""
        found = Snapshot(0, make_token(), b"")
        found = found._replace(body=dump(self.tracker))
        is_new = self.store.create(self.tracker.configuration.kind, _sealed(found))
        if is_new:
            self._tokens.append(found.tokens)
            self._last = 0, found.tokens
            self._is_sound = self.is_new = True
        return is_new

    def change(self, work: Callable[..., T], *arguments: Any) -> T:
        me = get_ident()
        if self._owner or self._born != _forks:
            if self._is_between and self._owner == me:
                return self._in_group(work, arguments)
            self._check_turn()
        with self._lock:
            self._owner = me
            try:
                if self._texts:
                    self._forget_unstored()
                while True:
                    try:
                        self._catch_up(writes=True)
                        result = self._apply(work, arguments)
                        self._append()
                        return result
                    except self.store.away:
                        self._wait()
            except BaseException as error:
                self._undo()
                if isinstance(error, self.store.errors):
                    raise StoreError(self.store.explain(error)) from error
                raise
            finally:
                self._owner, self._until = 0, inf

    def _undo(self) -> None:
        """End the transaction, also where a signal interrupts this: nobody else could write meanwhile."""
        try:
            self._rollback()
        except BaseException:
            self._rollback()
            raise

    def _forget_unstored(self) -> None:
        """Forget the calls that another one has made and not stored, as when it was interrupted twice."""
        self._is_sound = False
        self._texts.clear()

    def _wait(self) -> None:
        """Wait before a call is tried again; raise the failure that is handled where patience has ended."""
        now = time.monotonic()
        if self._until == inf:
            self._until = now + self.patience
        if now + PAUSE > self._until:
            raise
        self._rollback()
        time.sleep(PAUSE)

    def look(self, work: Callable[..., T], *arguments: Any) -> T:
        me = get_ident()
        if self._owner or self._born != _forks:
            if self._is_between and self._owner == me:
                return work(*arguments)
            self._check_turn()
        with self._lock:
            self._owner = me
            try:
                if self._texts:
                    self._forget_unstored()
                while True:
                    try:
                        self._catch_up(writes=False)
                        return work(*arguments)
                    except self.store.away:
                        self._wait()
            except self.store.errors as error:
                self._undo()
                raise StoreError(self.store.explain(error)) from error
            finally:
                self._owner, self._until = 0, inf

    def _apply(self, work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        """Make a call on the tracker, and note it for the entry if it has changed something."""
        trail = self.tracker.trail
        assert trail is not None
        trail.clear()
        self._is_sound = self.tracker.is_replayed = False
        try:
            result = work(*arguments)
        except Exception:
            self._is_sound = not (trail or self.tracker.slots.is_midway or self._texts)  # nothing was changed
            raise
        if trail:
            self._texts.append(_text_of(work.__name__, arguments, result, trail))
        return result

    def _append(self) -> None:
        """Commit the calls that were made as an entry; end the transaction where they have changed nothing."""
        texts = self._texts
        if not texts:
            self._rollback()
            self._is_sound = True
            return
        text = f"[{','.join(texts)}]".encode()
        token = make_token(self._last[1])
        entry = Entry(self._seq + 1, token, _checksum(self._seq + 1, token, self._last[1], text) + text)
        is_last = True
        try:
            self.store.append(entry)
        except self.store.errors as error:
            self._ask(entry, error)
            is_last = False  # others may have gone on from it: the next call looks
        self._note(entry)
        self._own += len(entry.body)
        texts.clear()
        self._is_sound = is_last
        if self._tail > self._least:
            self._leave_snapshot()

    def _ask(self, entry: Entry, error: Exception) -> None:
        """Return if an entry is stored whose commit has failed; raise what has happened to it otherwise."""
        self._rollback()
        while True:
            try:
                # As a writer, so that a commit which the server is still busy with is waited for.
                self.store.begin(entry.seq - 1, writes=True)
                token = self._token_at(entry.seq)
                break
            except Exception as unseen:  # whatever keeps it from being looked for
                self._rollback()
                if isinstance(unseen, self.store.away):
                    with suppress(*self.store.away):
                        self._wait()
                        continue
                raise Uncertain(
                    f"{self.store.where} failed in a commit, and whether this call was stored is unknown: ask fate(id) "
                    "or status(). If it was, the same call again is recognised by its id, but hands out no row"
                ) from error
        self._rollback()
        if token != entry.token:
            raise error

    def _token_at(self, seq: int) -> bytes | None:
        """Return the token of an entry, None where there is none; raise LookupError if it is forgotten."""
        for entry in self.store.entries(seq - 1):
            if entry.seq == seq:
                return entry.token
            break
        found = self.store.snapshot()
        back = -1 if found is None else found.seq - seq
        if found is None or back < 0:
            return None
        place = len(found.tokens) - TOKEN * (back + 1)
        if place < 0:
            raise LookupError(f"entry {seq} is older than all that are remembered")
        return found.tokens[place : place + TOKEN]

    def _note(self, entry: Entry) -> None:
        """Count an entry as made."""
        self._tokens.append(entry.token)
        self._last = entry.seq, entry.token
        self._tail += len(entry.body)

    def together(self, calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Make calls in their order and as one entry; return the result or the exception of each.

        All are durable when this returns. A call that fails changes nothing. If it had begun to, the transaction is
        undone, and the calls before it, it alone, and the calls after it are made again, each of the three in a
        transaction. Where a commit fails, so do all calls of it.
        """
        done: list[T | Exception] = []
        groups = [calls]  # still to be made, the next one last
        while groups:
            group = groups.pop()
            if len(group) < 2:
                done += super().together(group)
                continue
            try:
                done += self._make(group)
            except _Spoilt as spoilt:
                place = spoilt.place
                groups += [group[place + 1 :], group[place : place + 1], group[:place]]
            except Exception as error:
                done += [error] * len(group)
        return done

    def _make(self, calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Make the calls of a group in a transaction; raise _Spoilt where one of them fails at work."""
        me = get_ident()
        self._check_turn()
        results: list[T | Exception] = []
        with self._lock:
            self._owner = me
            try:
                if self._texts:
                    self._forget_unstored()
                while True:
                    try:
                        self._catch_up(writes=True)
                        break
                    except self.store.away:
                        self._wait()
                self._has_failed, self._is_between = False, True
                for place, call in enumerate(calls):
                    results.append(outcome_of(call))
                    if self._has_failed:
                        raise _Spoilt(place)
                self._is_between = False
                self._append()
                return results
            except BaseException as error:
                self._is_sound = self._is_sound and not self._texts
                self._undo()
                if isinstance(error, self.store.errors):
                    raise StoreError(self.store.explain(error)) from error
                raise
            finally:
                self._is_between, self._owner, self._until = False, 0, inf

    def _in_group(self, work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        """Make a call of a group; meanwhile no other may come."""
        self._is_between = False
        trail, slots = self.tracker.trail, self.tracker.slots
        try:
            return self._apply(work, arguments)
        except Exception:
            self._has_failed |= bool(trail) or slots.is_midway
            raise
        finally:
            self._is_between = True

    def close(self) -> None:
        """Let go of the store once the call of another thread has ended; leave a snapshot if it is worth it."""
        me = get_ident()
        self._check_turn()
        with self._lock:
            self._owner = me
            try:
                if self._is_sound and self._own and self._tail > self._least // 4:
                    self._leave_snapshot()
                self.store.close()
            finally:
                self._owner = 0

    def _rollback(self) -> None:
        try:
            self.store.rollback()
        except self.store.errors:
            self._is_sound = False  # the connection is gone: so is the transaction
        if self._texts:  # they were made on the tracker, and are not stored
            self._forget_unstored()

    # What others have done.

    def _catch_up(self, *, writes: bool) -> None:
        """Begin a transaction and make the calls that others have stored; one that only reads is ended again."""
        is_sound, self._is_sound = self._is_sound, False  # an interrupt may come after the store has told its news
        try:
            entries = self.store.begin(max(self._seq - 1, 0), writes=writes)
        except Exception:
            self._rollback()
            self._is_sound = is_sound
            raise
        if entries is None and is_sound:
            self._is_sound = True
            return
        try:
            if not (is_sound and self._follow(entries or [])):
                self._reload()
            self._is_sound = True
        finally:
            if not writes:
                self.store.rollback()

    def _follow(self, entries: Sequence[Entry]) -> bool:
        """Make the calls of entries from our last one on; return False where a snapshot has taken their place."""
        if self._seq:
            if not entries or entries[0].seq != self._seq:
                return False
            if entries[0].token != self._last[1]:
                self._refuse_other_history()
        elif entries and entries[0].seq != 1:
            return False
        for entry in entries[bool(self._seq) :]:
            self._replay(entry)
        return True

    def _reload(self) -> None:
        """Make the tracker again from the snapshot and the entries after it."""
        with suppress(LookupError):
            if self._last[1] and self._token_at(self._seq) != self._last[1]:
                self._refuse_other_history()
        found, entries = self._stored()
        self._take(found)
        self._is_sound = False
        for entry in entries:
            self._replay(entry)

    def _stored(self) -> tuple[Snapshot, Sequence[Entry]]:
        """Return the snapshot and the entries after it, also where another process leaves a later one meanwhile."""
        found = None
        while True:
            before, found = found, self.store.snapshot()
            if found is None:
                raise damaged(self.store.where, "no snapshot")
            entries = self.store.entries(found.seq)
            is_whole = not entries or entries[0].seq == found.seq + 1
            if is_whole or (before is not None and before.seq == found.seq):
                return found, entries

    def _refuse_other_history(self) -> NoReturn:
        """Forget everything, for the store is not what this process has written."""
        self._last = 0, b""
        raise StoreError(
            f"{self.store.where} went back in time, as when a copy is restored: calls that were acknowledged are gone "
            "from it. This call has changed nothing; the next one goes on from what is stored now"
        )

    def _take(self, found: Snapshot) -> None:
        """Go on from a snapshot."""
        where, tracker = self.store.where, self.tracker
        body = unsealed(found, where)
        content = read(body, where)
        before = tracker.configuration
        load(tracker, content, parse(content.configuration, before.player))
        self._last = found.seq, found.tokens[-TOKEN:]
        self._tokens = deque((found.tokens[i : i + TOKEN] for i in range(0, len(found.tokens), TOKEN)), maxlen=TOKENS)
        self._tail, self._own, self._least = 0, 0, max(LEAST_TAIL, len(found.body) // 2)
        self._is_sound = True
        self.reconfigured()

    def _replay(self, entry: Entry) -> None:
        """Make the calls of an entry on the tracker; raise StoreError where they do not give what they gave."""
        where, place = self.store.where, f"entry {entry.seq} of the journal"
        if entry.seq != self._seq + 1:
            raise StoreError(
                f"{where} has lost entries {self._seq + 1} to {entry.seq - 1} of the journal: restore a copy"
            )
        text = entry.body[_CHECKSUM:]
        if entry.body[:_CHECKSUM] != _checksum(entry.seq, entry.token, self._last[1], text):
            raise damaged(where, place)
        tracker = self.tracker
        configuration, trail = tracker.configuration, tracker.trail
        assert trail is not None
        tracker.is_replayed = True
        for verb, arguments, told in calls_of(text):
            trail.clear()
            try:
                if verb not in VERBS:
                    raise ValueError(f"no call is named {verb!r}")
                getattr(tracker, verb)(*arguments)
            except Exception as error:
                raise StoreError(f"{where}: {place} cannot be made again ({error}): {_WAY_OUT}") from error
            if not _is_same(trail, told):
                raise StoreError(f"{where}: {place}, made again, gives {trail}, and gave {told}: {_WAY_OUT}")
        tracker.is_replayed = False
        self._note(entry)
        if self._tail > self._least:  # whoever wrote it has left a snapshot
            self._tail = self._own = 0
        if tracker.configuration is not configuration:
            self.reconfigured()

    # Snapshots.

    def _leave_snapshot(self) -> None:
        """Store the tracker as it is; where that fails the entries stay, and it is tried again after as many."""
        try:
            found = Snapshot(self._seq, b"".join(self._tokens), dump(self.tracker))
            self.store.replace(_sealed(found), self._oldest())
            self._least = max(LEAST_TAIL, len(found.body) // 2)
        except BaseException as error:
            self._undo()
            if not isinstance(error, Exception):
                raise
        self._tail = self._own = 0

    def _oldest(self) -> bytes:
        """Return what the tokens of entries begin with that are to stay beyond a snapshot."""
        keep = self.tracker.configuration.options.get(KEEP)
        if keep is None:
            return _EVERYTHING
        if keep == "all":
            return b""
        return ((time.time_ns() // 1000 - as_length(keep, KEEP)) // 1000).to_bytes(6, "big")

    def snapshot(self) -> None:
        """Leave a snapshot now: what was erased is gone from the store then."""
        me = get_ident()
        self._check_turn()  # nor in a group, whose calls are not stored yet
        self.change(self.tracker.vacuum)  # an entry of its own, since the last one stays
        with self._lock:
            self._owner = me
            try:
                self._catch_up(writes=False)
                self._leave_snapshot()
            except self.store.errors as error:
                self._undo()
                raise StoreError(self.store.explain(error)) from error
            finally:
                self._owner = 0

    def journal(self, after: int) -> Iterator[dict[str, Any]]:
        """Yield what the stored entries after one have done, an object for each change; raise StoreError if damaged."""
        for entry in self.look(self._whole_entries, after):
            at = int.from_bytes(entry.token[:6], "big") / 1000
            for verb, _, told in calls_of(entry.body[_CHECKSUM:]):
                for word, *rest in told:
                    if word != "plays":  # for replays alone
                        yield {"entry": entry.seq, "at": at, "call": verb, "what": word} | _named(word, rest)

    def _whole_entries(self, after: int) -> list[Entry]:
        """Return the entries after one that are still kept; raise StoreError where one is damaged or missing.

        What stands before the oldest of all is known for a while only; then the checksum of that one is not compared.
        """
        entries = list(self.store.entries(max(after - 1, 0)))
        place = len(self._tokens) - 1 - self._seq
        for entry, former in zip(entries, [None, *entries], strict=False):
            back = place + entry.seq - 1
            before = self._tokens[back] if 0 <= back < len(self._tokens) else None
            if former is not None:
                before = former.token
            text = entry.body[_CHECKSUM:]
            is_whole = former is None or entry.seq == former.seq + 1
            if before is not None and entry.body[:_CHECKSUM] != _checksum(entry.seq, entry.token, before, text):
                is_whole = False
            if not is_whole or not _is_readable(text):
                raise damaged(self.store.where, f"entry {entry.seq} of the journal, or the one before it")
        keep = self.tracker.configuration.options.get(KEEP)
        if entries and entries[0].seq > max(after, 1) and keep == "all":
            raise damaged(self.store.where, f"entry {entries[0].seq - 1} of the journal is missing")
        return [entry for entry in entries if entry.seq > after]


def _is_readable(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


_WAY_OUT = (
    "the entry is damaged, or a member (a scheduler, a learner, a function) is not the same as it was, or not "
    "deterministic. Open it with what wrote it, or restore a copy"
)


def _named(word: str, rest: list[Any]) -> dict[str, Any]:
    """Return what a change is about, by names."""
    if word in ("now", "acked"):
        return {"number": rest[0]}
    names = ("id", "slot" if word == "tracked" else "weight")
    return {name: _plain_value(value) for name, value in zip(names, rest, strict=False)}


def _plain_value(value: Any) -> Any:
    return {"bytes": b64encode(value).decode()} if isinstance(value, bytes) else value


def make_token(before: bytes = b"") -> bytes:
    """Return a token that no other entry has, of a moment that is not before another token's."""
    return max((time.time_ns() // 1_000_000).to_bytes(6, "big"), before[:6]) + os.urandom(TOKEN - 6)


def _checksum(seq: int, token: bytes, before: bytes, text: bytes) -> bytes:
    """Return a checksum of an entry, and of the place that it has among others."""
    return crc32(text, crc32(b"%d %b %b" % (seq, token, before))).to_bytes(_CHECKSUM, "little")


def _sealed(found: Snapshot) -> Snapshot:
    """Return a snapshot whose body begins with a checksum of its place in the journal."""
    return found._replace(body=_seal(found) + found.body)


def _seal(found: Snapshot) -> bytes:
    return crc32(found.tokens, crc32(b"%d" % found.seq)).to_bytes(_CHECKSUM, "little")


def unsealed(found: Snapshot, where: str) -> bytes:
    """Return the body of a snapshot; raise StoreError where it does not belong to its place in the journal."""
    if found.body[:_CHECKSUM] != _seal(found):
        raise damaged(where, "its snapshot")
    return found.body[_CHECKSUM:]


# Entries as text.


def _plain(value: Any) -> Any:
    """Return what JSON does not have: bytes and arrays."""
    if isinstance(value, bytes):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    return value.item() if isinstance(value, np.integer) else float(value)  # of NumPy, or a fraction


def _value(plain: dict[str, Any]) -> Any:
    if "bytes" in plain:
        return b64decode(plain["bytes"])
    return np.array(plain["array"], float) if "array" in plain else plain


_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain).encode


def _text_of(verb: str, arguments: tuple[Any, ...], result: Any, trail: Sequence[tuple[Any, ...]]) -> str:
    """Return a call and its trail as text; features of a decision without a slot are not kept."""
    if verb == "open":
        if result.answer is not Answer.PENDING:
            arguments = (*arguments[:2], None, *arguments[3:])
    elif verb == "open_many":
        ids, delays, payloads, *rest = arguments
        pairs = zip(payloads, result, strict=True)
        arguments = (ids, delays, [None if item.answer is not Answer.PENDING else one for one, item in pairs], *rest)
    elif verb == "label":
        arguments = (arguments[0], resolved(arguments[1]), *arguments[2:])
    elif verb == "label_many":
        arguments = (arguments[0], [resolved(label) for label in arguments[1]], *arguments[2:])
    return _encode((verb, arguments, trail))


def calls_of(text: bytes) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """Yield the calls of an entry: a verb, arguments and the trail."""
    for verb, arguments, told in json.loads(text, object_hook=_value):
        if verb == "open" and len(arguments) > 2:
            arguments[2] = _packed(arguments[2])
        elif verb == "open_many":
            arguments[2] = [_packed(payload) for payload in arguments[2]]
        elif verb in ("label", "finish_many"):
            arguments[1] = _packed(arguments[1])
        elif verb == "label_many":
            arguments[1] = [_packed(label) for label in arguments[1]]
        elif verb == "advance":
            waiting = {change[1] for change in told if change[0] == "waiting"}
            arguments = [arguments[0], arguments[1] if len(arguments) > 1 else None, waiting]
        yield verb, arguments, told


def _packed(value: Any) -> Any:
    return Packed(value) if isinstance(value, str) else value


def _is_same(trail: Sequence[tuple[Any, ...]], told: Sequence[Sequence[Any]]) -> bool:
    """Return whether calls have changed the same, but for the last bits of weights and plays."""
    if len(trail) != len(told):
        return False
    for now, then in zip(trail, told, strict=True):
        if list(now) == then:
            continue
        if len(now) != len(then) or not all(map(_is_near, now, then)):
            return False
    return True


def _is_near(now: Any, then: Any) -> bool:
    """Return whether parts of a trail are equal; numbers of other machines may differ in their last bits."""
    if type(now) is float and type(then) is float:
        return isclose(now, then, rel_tol=_NEAR, abs_tol=_NOUGHT)
    return bool(now == then)
