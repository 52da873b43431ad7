"""The tracking set over a stretch of time: who holds a slot, from when to when, and how it ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarry.cases.policies import DROP_NEWEST, DROP_OLDEST, VAROPT
from tarry.cases.stream import Stream
from tarry.game import replay

PANELS = (VAROPT, DROP_NEWEST, DROP_OLDEST)


def timeline(stream: Stream, capacity: int, first: int, last: int) -> dict[str, list[dict[str, Any]]]:
    """Stays in the set that touch rounds first..last, by policy: lane, start, stop, end, weight.

    Times are in minutes from the first round shown. A lane is a slot; stays in one lane do not overlap.
    """
    few = stream.head(last)
    clock = few.times - few.times[first - 1]
    return {
        policy.name: _stays(few, policy.make(few.delays, capacity), capacity, clock, first) for policy in PANELS
    }


def _stays(stream: Stream, scheduler: Any, capacity: int, clock: Any, first: int) -> list[dict[str, Any]]:
    events = replay(scheduler, stream.delays, capacity=capacity, keep_rounds=True).events()
    lanes, rows = list(range(capacity)), []
    inside: dict[int, tuple[int, int]] = {}
    for t, event, s, weight in events.iter_rows():
        if event == "entered":
            inside[s] = (lanes.pop(0), t)
        elif event in ("preempted", "feedback") and s in inside:
            lane, since = inside.pop(s)
            lanes.insert(0, lane)
            # An arrival in the last round may be later than the clock shows.
            if t >= first and t < stream.horizon:
                end = "heard" if event == "feedback" else "pushed out"
                rows.append(_stay(lane, clock[since - 1], clock[t - 1], end, weight))
    return rows


def _stay(lane: int, start: float, stop: float, end: str, weight: float) -> dict[str, Any]:
    return {"lane": lane, "start": max(0.0, float(start)), "stop": float(stop), "end": end, "weight": float(weight)}


def busiest(stream: Stream, rounds: int) -> int:
    """The first round of the stretch of so many rounds in which most labels wait."""
    waiting = np.cumsum(np.concatenate(([0.0], stream.delays.backlog().astype(np.float64))))
    return int(np.argmax(waiting[rounds:] - waiting[:-rounds])) + 1
