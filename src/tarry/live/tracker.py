"""The live half of the game: ids, fates and answers around the compiled round.

A tracker owns the order of rounds and the memory of what became of them; sessions and joins are thin
faces on it. It keeps at most C tracked rounds with what belongs to them, one byte for each of the last
``memory`` rounds, and the plays of the last few.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from tarry.checks import as_whole
from tarry.errors import TarryError
from tarry.game.problem import check_grants, setting_of
from tarry.kernel import handle, make_seed
from tarry.live.ids import Ids
from tarry.live.steps import MALFORMED, Desk, give_up, hand_over, open_round
from tarry.results import FATES, Answer, Fate
from tarry.schedulers.base import SATURATED
from tarry.tracking import Player, Terms, fresh_state, grow_state, keyed_draws
from tarry.tracking.balance import check_balance
from tarry.tracking.tally import UNCERTIFIED

FIRST_SLOTS = 64
RECENT = 1024
CHECKED = 4096
_ANSWERED = 8
_FATE = 7


class Opened(NamedTuple):
    """A round that has just begun, or that began before (``answer`` REPEATED, or LATE with no play)."""

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


class Kept(NamedTuple):
    """A tracked round: how it was opened and what the caller left with it."""

    opened: Opened
    payload: Any


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
        terms: Terms | None = None,
    ) -> None:
        check_grants(player, feedback=None, capacity=capacity, information=information, preemption=preemption)
        if hasattr(player.learner, "check_horizon"):
            player.learner.check_horizon(None)
        self.player, self.information = player, information
        self.capacity = None if capacity is None else int(capacity)
        self.seed = make_seed(rng)
        self.memory = as_whole(memory, "memory", 1)
        self.rounds = 0
        self.answered = 0
        self.answers = [0] * len(Answer)
        self.lock = threading.RLock()
        self.terms = terms
        certify = UNCERTIFIED if terms is None else terms.sizes
        self._setting = setting_of(self.capacity, information, certify=certify)
        self._clairvoyant = information == "clairvoyant"
        self._fates = bytearray()
        self._ids = Ids(self.memory)
        self._tracked: dict[int, Kept] = {}
        self._recent: OrderedDict[int, Opened] = OrderedDict()
        self._broken = False
        self._open, self._hand, self._drop = (step.of(player) for step in (open_round, hand_over, give_up))
        self._place(fresh_state(player, self.capacity or FIRST_SLOTS, self._setting.capacity))

    def _place(self, state: Any) -> None:
        self.state = state
        self._box = handle(Desk(self.player, self._setting, keyed_draws(self.seed), state))

    def open(self, id: Hashable = None, delay: int | None = None, payload: Any = None) -> Opened:
        """Begin a round, or return the round that already has this id."""
        with self.lock:
            self._check_whole()
            known = self._ids.find(id, self.rounds) if id is not None else None
            if known is not None:
                return self._again(known, id)
            disclosed = self._disclosed(delay)
            self._ids.settle(id, self.rounds)
            return self._begin(id, disclosed, payload)

    def _begin(self, id: Hashable, delay: int, payload: Any) -> Opened:
        t = self.rounds + 1
        if t % CHECKED == 0:
            check_balance(self.player, self.state, self.rounds)
        if self.capacity is None and len(self._tracked) == self.state.table.rounds.size:
            slots = 2 * self.state.table.rounds.size
            self._place(grow_state(self.player, self.state, slots, self._setting.capacity))
        slot = self._step(self._open, t, delay)
        self.rounds = t
        table = self.state.table
        gone = table.counts[2]
        released = tuple(map(self._preempted, table.released[:gone].tolist())) if gone else ()
        fate = Fate.PENDING if slot >= 0 else (Fate.SATURATED if slot == SATURATED else Fate.UNTRACKED)
        play = self.state.play.copy()
        play.flags.writeable = False
        opened = Opened(t, t if id is None else id, slot >= 0, released, play, Answer(fate))
        self._remember(opened, fate, payload)
        return opened

    def _step(self, step: Any, *arguments: Any) -> Any:
        """Cross into the round; if a user's own function fails in there, the state can be trusted no more."""
        try:
            return step(self._box, *arguments)
        except BaseException:
            self._broken = True
            raise

    def _remember(self, opened: Opened, fate: Fate, payload: Any) -> None:
        t = opened.t
        if len(self._fates) < self.memory:
            self._fates.append(fate)
        else:
            self._fates[(t - 1) % self.memory] = fate
        if opened.tracked:
            self._tracked[t] = Kept(opened, payload)
        self._ids.add(opened.id, t, self._tracked)
        self._recent[t] = opened
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)

    def close(self, id: Hashable, feedback: np.ndarray | None) -> tuple[Receipt, Any]:
        """Answer a round with feedback, or with nothing (None: it expired); a receipt and its payload."""
        with self.lock:
            self._check_whole()
            t = self._ids.find(id, self.rounds)
            refused = self._refusal(t)
            if refused is not None or t is None:
                answer = refused or Answer.UNKNOWN
                self.answers[answer] += 1
                return Receipt(answer, 0.0), None
            weight = 0.0
            if feedback is None:
                self._step(self._drop, t, self.rounds)
            else:
                weight = float(self._step(self._hand, t, self.rounds, feedback))
                if weight == MALFORMED:
                    raise ValueError(f"feedback must be finite and below 1e100, got {feedback}: nothing was changed")
            kept = self._tracked.pop(t, None)
            fate = self._settle(t, kept is not None, feedback is None)
            return Receipt(Answer(fate), weight), None if kept is None else kept.payload

    def _settle(self, t: int, was_tracked: bool, without_outcome: bool) -> Fate:
        if was_tracked:
            fate = Fate.EXPIRED if without_outcome else Fate.USED
        else:
            fate = Fate(self._fates[(t - 1) % self.memory] & _FATE)
        if t > self.rounds - self.memory:
            self._fates[(t - 1) % self.memory] = fate | _ANSWERED
        self.answered += 1
        self.answers[fate] += 1
        return fate

    def fate(self, id: Hashable) -> Answer:
        """What became of a round, as far as it is remembered."""
        with self.lock:
            t = self._ids.find(id, self.rounds)
            if t is None:
                return Answer.UNKNOWN
            if t in self._tracked:
                return Answer.PENDING
            return Answer.LATE if t <= self.rounds - self.memory else Answer(self._fates[(t - 1) % self.memory] & _FATE)

    def ledger(self) -> dict[str, int]:
        """Rounds by fate; they sum to the rounds played."""
        counts = dict(zip(FATES, self.state.tally.fates.tolist(), strict=True))
        counts["pending"] = len(self._tracked)
        return counts

    def _refusal(self, t: int | None) -> Answer | None:
        if t is None:
            return Answer.UNKNOWN
        if t in self._tracked:
            return None
        if t <= self.rounds - self.memory:
            return Answer.LATE
        return Answer.DUPLICATE if self._fates[(t - 1) % self.memory] & _ANSWERED else None

    def _again(self, t: int, id: Hashable) -> Opened:
        kept = self._tracked.get(t)
        before = self._recent.get(t) if kept is None else kept.opened
        answer = Answer.LATE if before is None else Answer.REPEATED
        self.answers[answer] += 1
        if before is None:
            return Opened(t, id, False, (), None, answer)
        return before._replace(answer=answer)

    def _preempted(self, s: int) -> Hashable:
        if s > self.rounds - self.memory:
            self._fates[(s - 1) % self.memory] = Fate.PREEMPTED
        return self._tracked.pop(s).opened.id

    def _disclosed(self, delay: int | None) -> int:
        if self._clairvoyant:
            return as_whole(delay, "the delay (a clairvoyant session needs each round's)", 0)
        if delay is not None:
            raise ValueError(f"a {self.information} session takes no delay, got {delay}: leave it out")
        return -1

    def _check_whole(self) -> None:
        if self._broken:
            raise TarryError(
                "a function of your own failed in the middle of a round, so this session's state cannot be trusted: "
                "start a new one"
            )
