"""Several labels for one decision: they wait with it until its window ends."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from tarry.live.holdings import ANSWERS
from tarry.live.ids import as_id
from tarry.live.tracker import Tracker
from tarry.results import Answer


def gather(tracker: Tracker, id: Hashable, label: Any, key: Hashable = None) -> Answer:
    """Keep a label with a tracked round and let it wait on; to be called within a change.

    A label whose key has come before is a duplicate. Keys are kept as long as the labels.
    """
    vault, t = tracker.vault, tracker.find(as_id(id))
    item = vault.item(t) if t in vault.tracked else None
    if t is None or item is None:
        answer = tracker.refusal(t) or Answer(vault.fates.fate(t or 0))
    elif key is None:
        vault.put(t, item._replace(gathered=(*item.gathered, label)))
        return Answer.PENDING
    elif key in item.keys:
        answer = Answer.DUPLICATE
    else:
        vault.put(t, item._replace(gathered=(*item.gathered, label), keys=(*item.keys, key)))
        return Answer.PENDING
    vault.counts[ANSWERS + answer] += 1
    return answer


def gathered_for(tracker: Tracker, id: Hashable, missing: Any, rule: Callable[[tuple[Any, ...]], Any]) -> Any:
    """What the labels of a round come to; ``missing`` where none have come."""
    waiting = tracker.item(id)
    return rule(waiting.gathered) if waiting is not None and waiting.gathered else missing
