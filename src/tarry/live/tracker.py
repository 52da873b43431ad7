"""The live half of the game: ids, fates and answers around the compiled round.

A tracker owns the order of rounds and the memory of what became of them; sessions and joins are thin
faces on it. It keeps at most C tracked rounds, and one byte for each of the last ``memory`` rounds.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from tarry.game.problem import check_grants, setting_of
from tarry.kernel import handle, make_seed
from tarry.live.steps import MALFORMED, Desk, give_up, hand_over, open_round
from tarry.results import FATES, Answer, Fate
from tarry.schedulers.base import SATURATED
from tarry.tracking import Player, fresh_state, grow_state, keyed_draws
from tarry.tracking.balance import check_balance

FIRST_SLOTS = 64
RECENT = 1024
CHECKED = 4096
_ANSWERED = 8
_FATE = 7


class Opened(NamedTuple):
    """A round that has just begun, or that began before (``answer`` REPEATED or LATE)."""

    t: int
    id: Hashable
    tracked: bool
    released: tuple[Hashable, ...]
    play: np.ndarray | None
    answer: Answer


class Receipt(NamedTuple):
    """What became of a call: a status and the weight the feedback was given."""

    status: Answer
    weight: float


class Tracker:
    """See the module's text. Safe to share among threads."""

    def __init__(
        self,
        player: Player,
        *,
        capacity: int | None,
        information: str,
        preemption: bool,
        rng: Any,
        memory: int,
    ) -> None:
        check_grants(player, feedback=None, capacity=capacity, information=information, preemption=preemption)
        if int(memory) != memory or memory < 1:
            raise ValueError(f"memory must be a whole number of rounds, at least 1, got {memory}")
        self.player, self.capacity, self.information, self.preemption = (
            player,
            capacity,
            information,
            preemption,
        )
        self.seed = make_seed(rng)
        self.memory = int(memory)
        self.rounds = 0
        self.answered = 0
        self.answers = [0] * len(Answer)
        self._setting = setting_of(capacity, information, certify=True)
        self._fates = bytearray()
        self._ids: OrderedDict[Hashable, int] | None = None
        self._names: dict[int, Hashable] = {}
        self._recent: OrderedDict[int, Opened] = OrderedDict()
        self._lock = threading.RLock()
        self._clairvoyant = information == "clairvoyant"
        self._open = open_round.of(player)
        self._hand = hand_over.of(player)
        self._drop = give_up.of(player)
        self._place(fresh_state(player, capacity or FIRST_SLOTS, self._setting.capacity))

    def _place(self, state: Any) -> None:
        self.state = state
        self._box = handle(Desk(self.player, self._setting, keyed_draws(self.seed), state))

    def open(self, id: Hashable = None, delay: int | None = None) -> Opened:
        """Begin a round, or return the round that already has this id."""
        with self._lock:
            if id is not None:
                known = self._round_of(id)
                if known is not None:
                    return self._again(known, id)
            disclosed = self._disclosed(delay)
            self._settle_ids(id)
            return self._begin(id, disclosed)

    def _begin(self, id: Hashable, delay: int) -> Opened:
        table = self.state.table
        if self.capacity is None and table.counts[0] == table.rounds.size:
            self._place(grow_state(self.player, self.state, 2 * table.rounds.size, self._setting.capacity))
            table = self.state.table
        t = self.rounds + 1
        if t % CHECKED == 0:
            check_balance(self.player, self.state, self.rounds)
        slot = self._open(self._box, t, delay)
        self.rounds = t
        released = tuple(map(self._preempted, table.released[: table.counts[2]].tolist())) if table.counts[2] else ()
        fate = Fate.PENDING if slot >= 0 else (Fate.SATURATED if slot == SATURATED else Fate.UNTRACKED)
        self._remember(t, fate)
        name = t if id is None else id
        if id is not None:
            self._name(t, id, slot >= 0)
        opened = Opened(t, name, slot >= 0, released, self.state.play.copy(), Answer(fate))
        self._recent[t] = opened
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)
        return opened

    def close(self, id: Hashable, feedback: np.ndarray | None) -> tuple[int, Receipt]:
        """Answer a round with feedback, or with nothing (None: it expired); its number and a receipt."""
        with self._lock:
            t, refused = self._refusal(id)
            if refused is not None:
                self.answers[refused] += 1
                return t, Receipt(refused, 0.0)
            fate = Fate(self._fates[(t - 1) % self.memory] & _FATE)
            if feedback is None:
                self._drop(self._box, t, self.rounds)
                weight = 0.0
            else:
                weight = float(self._hand(self._box, t, self.rounds, feedback))
                if weight == MALFORMED:
                    raise ValueError(f"feedback must be finite, got {feedback}: nothing was changed")
            if fate == Fate.PENDING:
                fate = Fate.EXPIRED if feedback is None else Fate.USED
            self._fates[(t - 1) % self.memory] = fate | _ANSWERED
            self.answered += 1
            self.answers[fate] += 1
            self._names.pop(t, None)
            return t, Receipt(Answer(fate), weight)

    def ledger(self) -> dict[str, int]:
        """Rounds by fate; they sum to the rounds played."""
        counts = dict(zip(FATES, self.state.tally.fates.tolist(), strict=True))
        counts["pending"] = int(self.state.table.counts[0])
        return counts

    def _refusal(self, id: Hashable) -> tuple[int, Answer | None]:
        t = self._round_of(id)
        if t is None:
            return 0, Answer.UNKNOWN
        if t <= self.rounds - self.memory:
            return t, Answer.LATE
        if self._fates[(t - 1) % self.memory] & _ANSWERED:
            return t, Answer.DUPLICATE
        return t, None

    def _again(self, t: int, id: Hashable) -> Opened:
        self.answers[Answer.REPEATED] += 1
        before = self._recent.get(t)
        if before is None:
            return Opened(t, id, False, (), None, Answer.LATE)
        return before._replace(answer=Answer.REPEATED)

    def _round_of(self, id: Hashable) -> int | None:
        if self._ids is not None:
            return self._ids.get(id)
        if type(id) is int or isinstance(id, np.integer):
            return int(id) if 1 <= id <= self.rounds else None
        return None

    def _settle_ids(self, id: Hashable) -> None:
        """Ids are all ours (round numbers) or all the caller's; mixing them could confuse two rounds."""
        if self.rounds == 0:
            self._ids = None if id is None else OrderedDict()
        elif (id is None) != (self._ids is None):
            used = "round numbers" if self._ids is None else "your own ids"
            raise ValueError(f"this session has used {used} so far, got id={id!r}: give ids always or never")

    def _name(self, t: int, id: Hashable, tracked: bool) -> None:
        assert self._ids is not None
        self._ids[id] = t
        if tracked:
            self._names[t] = id
        if len(self._ids) > self.memory:
            self._ids.popitem(last=False)

    def _preempted(self, s: int) -> Hashable:
        self._fates[(s - 1) % self.memory] = Fate.PREEMPTED
        return s if self._ids is None else self._names.pop(s)

    def _remember(self, t: int, fate: Fate) -> None:
        if len(self._fates) < self.memory:
            self._fates.append(fate)
        else:
            self._fates[(t - 1) % self.memory] = fate

    def _disclosed(self, delay: int | None) -> int:
        if not self._clairvoyant:
            if delay is not None:
                raise ValueError(f"a {self.information} session takes no delay, got {delay}: leave it out")
            return -1
        if delay is None or int(delay) != delay or delay < 0:
            raise ValueError(f"a clairvoyant session needs the delay of each round, not negative, got {delay}")
        return int(delay)
