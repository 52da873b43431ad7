"""The live half of the game: ids, fates and answers around the compiled round.

A tracker owns the order of rounds and the memory of what became of them; sessions and joins are thin
faces on it. What it keeps lies in a vault: at most C tracked rounds with what belongs to them, three bits for
each of the last ``memory`` rounds, and the plays of the last few.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np

from tarry.checks import as_int
from tarry.game.problem import setting_of
from tarry.kernel import Entry, handle
from tarry.learners.base import points_of
from tarry.live import fates
from tarry.live.batches import Receipt
from tarry.live.configuration import Configuration, encode
from tarry.live.grants import check_naming, check_player, disclosed_delay, terms_for
from tarry.live.holdings import ANSWERED, ANSWERS, NAMING, ROUNDS, Holdings, fresh_holdings
from tarry.live.ids import CALLERS, OURS, as_id
from tarry.live.items import Item, as_shown, encode_payload, new_item
from tarry.live.regions import describe
from tarry.live.steps import MALFORMED, Desk, give_up, hand_over, is_malformed, open_round
from tarry.live.stores import Store
from tarry.live.sums import book_label
from tarry.live.vault import Vault
from tarry.results import FATES, Answer
from tarry.schedulers.base import SATURATED
from tarry.tracking import fresh_state, grow_state, keyed_draws
from tarry.tracking.table import RELEASED
from tarry.tracking.tally import UNCERTIFIED, check_balance

FIRST_SLOTS = 64
CHECKED = 4096
_DECLINED = ((fates.UNTRACKED, Answer.UNTRACKED), (fates.SATURATED, Answer.SATURATED))
_NOWHERE = np.zeros(0)
UNLABELLED: Any = object()
_ENDED = ((fates.USED, Answer.USED), (fates.EXPIRED, Answer.EXPIRED))


class Tracker:
    """See the module's text. Safe to share among threads."""

    def __init__(self, configuration: Configuration, store: Store) -> None:
        self.configuration = configuration
        self.player, self.capacity = configuration.player, configuration.capacity
        check_player(configuration)
        self.memory = as_int(configuration.memory, "memory", 1)
        self.terms = terms_for(configuration)
        certify = UNCERTIFIED if self.terms is None else self.terms.sizes
        self._setting = setting_of(self.capacity, configuration.information, certify=certify)
        self._is_clairvoyant = configuration.information == "clairvoyant"
        self._plays = self.player.learner.dimension > 0
        self._open = partial(self._compile, "_open", open_round)
        self._hand = partial(self._compile, "_hand", hand_over)
        self._drop = partial(self._compile, "_drop", give_up)
        self.vault = Vault(
            store,
            kind=configuration.kind,
            slots=self.capacity or FIRST_SLOTS,
            memory=self.memory,
            seed=configuration.seed,
            fresh=self._fresh,
            placed=self._placed,
        )

    def _fresh(self, slots: int) -> Holdings:
        return fresh_holdings(fresh_state(self.player, slots, self._setting.capacity))

    def _placed(self, held: Holdings) -> None:
        self._box = handle(Desk(self.player, self._setting, keyed_draws(self.configuration.seed), held.play))

    def _compile(self, name: str, step: Entry, *arguments: Any) -> Any:
        """The first call of a step finds the compiled one, which takes its place."""
        compiled = step.machine_code_for(arguments, self.player)
        setattr(self, name, compiled)
        return compiled(*arguments)

    def create(self) -> bool:
        """Store the session before its first round; False if it is there already."""
        return self.vault.create(encode(self.configuration, self.layout))

    @property
    def layout(self) -> str:
        """How the state lies in its bytes, before it ever grew."""
        return describe(self._fresh(self.capacity or FIRST_SLOTS))

    @property
    def state(self) -> Any:
        """The player's state."""
        return self.vault.held.play

    @property
    def rounds(self) -> int:
        """Rounds begun so far."""
        return self.vault.rounds

    @property
    def is_numbered(self) -> bool | None:
        """Whether rounds go by their numbers; None before the first."""
        return self.vault.naming == OURS if self.vault.naming else None

    def open(self, id: Hashable = None, delay: int | None = None, payload: Any = None) -> Item:
        """Begin a round, or return the round that already has this id; to be called within a change.

        Bad arguments begin nothing.
        """
        disclosed = -1 if delay is None and not self._is_clairvoyant else disclosed_delay(self.configuration, delay)
        if payload is not None and self.vault.is_durable:
            encode_payload(payload)  # refused whether or not the round will be tracked
        if id is not None:
            id = as_id(id)
            known = self.find(id)
            if known is not None:
                return self._again(known, id)
        if self.vault.rounds and (id is not None) != (self.vault.naming == CALLERS):
            check_naming(self.configuration, self.vault.naming, id is not None)
        return self._begin(id, disclosed, payload)

    def open_many(self, ids: list[Any], delays: list[Any], payloads: list[Any]) -> list[Item]:
        """Begin rounds one after the other, within a change; bad arguments begin none of them."""
        if len(delays) != len(ids):
            raise ValueError(f"there are {len(ids)} rounds and {len(delays)} delays: give one each")
        named = [as_id(id) for id in ids if id is not None]
        if len(named) not in (0, len(ids)):
            raise ValueError("some rounds have an id and some have none: give ids always or never")
        for delay in delays:
            disclosed_delay(self.configuration, delay)
        if self.vault.rounds and ids and not (named and all(self.find(id) is not None for id in named)):
            check_naming(self.configuration, self.vault.naming, bool(named))
        return [self.open(*row) for row in zip(ids, delays, payloads, strict=True)]

    def _begin(self, id: Hashable, delay: int, payload: Any) -> Item:
        vault = self.vault
        t = vault.rounds + 1
        if t % CHECKED == 0:
            check_balance(self.player, self.state, t - 1)
        if self.capacity is None and len(vault.tracked) == vault.slots:
            self._grow()
        vault.is_midway = True
        slot = self._open(self._box, t, delay)
        state = vault.held.play
        if t == 1:
            vault.naming = vault.counts[NAMING] = OURS if id is None else CALLERS
        vault.rounds = vault.counts[ROUNDS] = t
        gone = state.table.counts[RELEASED]
        released = tuple(map(self._retire, state.table.released[:gone].tolist())) if gone else ()
        play = as_shown(state.play) if self._plays else _NOWHERE
        if id is not None:
            vault.ids.add(id, t, vault.tracked)
        if slot >= 0:
            vault.tracked.add(t)
            item = new_item((t if id is None else id, True, released, Answer.PENDING, play, payload, (), ()))
            vault.fates.write(t, fates.PENDING)
        else:
            code, answer = _DECLINED[slot == SATURATED]
            item = new_item((t if id is None else id, False, released, answer, play, None, (), ()))
            vault.fates.write(t, code)
        if vault.is_durable:
            vault.put(t, item)
        else:
            vault.items[t] = item
        past = t - vault.recent
        if past > 0 and past not in vault.tracked:
            if vault.is_durable:
                vault.drop(past)
            else:
                vault.items.pop(past, None)
        vault.is_midway = False
        return item

    def _grow(self) -> None:
        held, slots = self.vault.held, 2 * self.vault.slots
        self.vault.place(held._replace(play=grow_state(self.player, held.play, slots, self._setting.capacity)), slots)

    def _retire(self, t: int) -> Hashable:
        """A tracked round has lost its slot: what belonged to it goes, unless it is recent; its id."""
        item = self.vault.item(t)
        self._forget(t, item)
        return t if item is None else item.id

    def _forget(self, t: int, item: Item | None) -> None:
        vault = self.vault
        vault.tracked.discard(t)
        if item is not None and t <= vault.rounds - self.memory and vault.naming == CALLERS:
            vault.ids.forget(item.id)
        if t <= vault.rounds - vault.recent:
            vault.drop(t)
        elif item is not None and (item.payload is not None or item.gathered):
            vault.put(t, new_item((*item[:5], None, (), ())))

    def answer(self, id: Hashable, feedback: np.ndarray | None, label: Any = UNLABELLED) -> tuple[Receipt, Item | None]:
        """Answer a round with feedback, or with nothing (None: it expired); to be called within a change.

        The answer is a receipt, and what was kept of the round if it was tracked; then a label is counted too.
        """
        vault, t = self.vault, self.find(as_id(id))
        counts, kept, weight, is_tracked = vault.counts, None, 0.0, t in vault.tracked
        refused = None if is_tracked else self.refusal(t)
        if refused is not None or t is None:
            if feedback is not None and is_malformed(feedback):
                raise _malformed(feedback)
            answer = refused or Answer.UNKNOWN
            counts[ANSWERS + answer] += 1
            return Receipt(answer, 0.0), None
        vault.is_midway = True
        if feedback is None:
            self._drop(self._box, t, vault.rounds)
        else:
            weight = float(self._hand(self._box, t, vault.rounds, feedback))  # a NumPy number with the JIT off
        if weight == MALFORMED:
            vault.is_midway = False
            raise _malformed(feedback)
        if is_tracked:
            kept = vault.items.get(t) or vault.item(t)
            self._forget(t, kept)
            code, answer = _ENDED[feedback is None]
            if label is not UNLABELLED:
                book_label(vault.sums, weight, label)
        else:
            code = vault.fates.read(t) + 1
            answer = Answer(vault.fates.fate(t))
        if t > vault.rounds - self.memory:
            vault.fates.write(t, code)
        counts[ANSWERED] += 1
        counts[ANSWERS + answer] += 1
        vault.is_midway = False
        return Receipt(answer, weight), kept

    def item(self, id: Hashable) -> Item | None:
        """What is kept of a round; to be called within a change."""
        t = self.find(as_id(id))
        return None if t is None else self.vault.item(t)

    def points(self, id: Hashable) -> np.ndarray | None:
        """The points at which a round is evaluated, made again from its play; None where that is not kept."""
        t, item = self.find(as_id(id)), self.item(id)
        if t is None or item is None or item.play is None:
            return None
        return points_of(self.player.learner, keyed_draws(self.configuration.seed).directions, t, item.play)

    def fate(self, id: Hashable) -> Answer:
        """What became of a round, as far as it is remembered; to be called within a change."""
        t = self.find(as_id(id))
        if t is None or (t <= self.rounds - self.memory and t not in self.vault.tracked):
            return self._absence(t)
        return Answer.PENDING if t in self.vault.tracked else Answer(self.vault.fates.fate(t))

    def ledger(self) -> dict[str, int]:
        """Rounds by fate; they sum to the rounds played."""
        counts = dict(zip(FATES, self.state.tally.fates.tolist(), strict=True))
        counts["pending"] = len(self.vault.tracked)
        return counts

    def find(self, id: Hashable) -> int | None:
        """The round of an id, as far as it is remembered; to be called within a change."""
        vault = self.vault
        if vault.naming != CALLERS:
            return id if type(id) is int and 0 < id <= vault.rounds else None
        return vault.ids.find(id, vault.rounds)

    def _absence(self, t: int | None) -> Answer:
        """Why nothing is known: forgotten, or never there. Of callers' ids we cannot tell once some are forgotten."""
        if t is not None or (self.vault.naming == CALLERS and self.rounds > self.memory):
            return Answer.LATE
        return Answer.UNKNOWN

    def refusal(self, t: int | None) -> Answer | None:
        """Why nothing can be done with a round any more; None where something can."""
        vault = self.vault
        if t in vault.tracked:
            return None
        if t is None or t <= vault.rounds - self.memory:
            return self._absence(t)
        return Answer.DUPLICATE if vault.fates.was_answered(t) else None

    def _again(self, t: int, id: Hashable) -> Item:
        """A round that began before: as it was (REPEATED), or LATE with no play where that is forgotten.

        Whether it was tracked at first is known for as long as its fate is.
        """
        before = self.vault.item(t)
        answer = Answer.LATE if before is None else Answer.REPEATED
        self.vault.counts[ANSWERS + answer] += 1
        if before is not None:
            return before._replace(answer=answer)
        was_tracked = t > self.vault.rounds - self.memory and self.vault.fates.was_tracked(t)
        return Item(id, was_tracked, (), answer, None)


def _malformed(feedback: Any) -> ValueError:
    return ValueError(f"feedback must be finite and below 1e100, got {feedback}: nothing was changed")
