"""The tracking set over a stretch of time: who holds a slot, from when to when, and how it ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarry.cases.policies import DROP_NEWEST, DROP_OLDEST, VAROPT
from tarry.cases.stream import Stream, Vector
from tarry.game import replay

PANELS = (VAROPT, DROP_NEWEST, DROP_OLDEST)


def timeline(stream: Stream, capacity: int, first: int, last: int) -> dict[str, list[dict[str, Any]]]:
    """Stays in the set that touch rounds first..last, by policy: lane, start, stop, end, weight.

    Times are in minutes from the first round shown; what lasts longer is cut, and its weight, not yet known, is 0. A
    lane is a slot; stays in one lane do not overlap.
    """
    few = stream.head(last + stream.delays.max_delay)  # far enough to know how every stay ends
    clock = np.clip(few.times - few.times[first - 1], 0.0, few.times[last - 1] - few.times[first - 1])
    found = {p.name: _stays(few, p.make(few.delays, capacity), capacity, clock) for p in PANELS}
    return {name: [row for row in rows if row["stop"] > row["start"]] for name, rows in found.items()}


def _stays(stream: Stream, scheduler: Any, capacity: int, clock: Vector) -> list[dict[str, Any]]:
    events = replay(scheduler, stream.delays, capacity=capacity, keep_rounds=True).events()
    lanes, rows = list(range(capacity)), []
    inside: dict[int, tuple[int, int]] = {}
    for t, event, s, weight in events.iter_rows():
        if event == "entered":
            inside[s] = (lanes.pop(0), t)
        elif event in ("preempted", "feedback") and s in inside:
            lane, since = inside.pop(s)
            lanes.insert(0, lane)
            start, stop = float(clock[since - 1]), float(clock[t - 1])
            end = "heard" if event == "feedback" else "pushed out"
            told = float(weight) if stop < clock[-1] else 0.0
            rows.append({"lane": lane, "start": start, "stop": stop, "end": end, "weight": told})
    return rows


def busiest(stream: Stream, rounds: int) -> int:
    """The first round of the stretch of so many rounds in which most labels wait."""
    waiting = np.cumsum(np.concatenate(([0.0], stream.delays.backlog().astype(np.float64))))
    return int(np.argmax(waiting[rounds:] - waiting[:-rounds])) + 1
