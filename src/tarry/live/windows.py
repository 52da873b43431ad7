"""The rules of a join, and of these its windows: how long a decision waits, and when its row comes out."""

from __future__ import annotations

from typing import Any

from tarry.checks import as_choice
from tarry.learners import Idle
from tarry.live.configuration import JOIN, KEEP, LABELS, MISSING, OUTBOX, RELEASE, WINDOW, Configuration
from tarry.live.labels import FIRST, RULES, UNSAID, as_json, as_missing
from tarry.times import AT_ARRIVAL, AT_END_OF_WINDOW, PER_SECOND, Micros, as_length, as_moment, as_release, now
from tarry.tracking import Player


def configuration_of(
    capacity: int | None,
    *,
    scheduler: Any = None,
    information: str = "non-clairvoyant",
    preemption: bool = True,
    labels: str = "first",
    window: Any = None,
    missing: Any = UNSAID,
    release: str | None = None,
    outbox: bool = False,
    memory: int = 1_000_000,
    keep: str | None = None,
) -> Configuration:
    """Return what a join is that is made with these arguments, without a seed."""
    options = {LABELS: as_choice(labels, LABELS, RULES)} | window_options(labels, window, missing, release)
    if outbox:
        options[OUTBOX] = True
    if keep is not None:
        options[KEEP] = keep if keep == "all" else as_length(keep, KEEP) / PER_SECOND
    if getattr(scheduler, "withholds_feedback", False):
        raise ValueError(
            f"a LabelJoin hands each row out when its label comes, and {type(scheduler).__name__} must withhold "
            "some until their batch ends: use VarOpt or Morris, or a Session"
        )
    return Configuration(JOIN, Player(Idle(), scheduler), capacity, information, preemption, 0, memory, options)


def window_options(labels: str, window: Any, missing: Any, release: str | None) -> dict[str, Any]:
    """Return what a join keeps of its window, as stores have it: seconds, a label and when rows come out."""
    if window is None:
        check_windowless(missing=(missing, UNSAID), release=(release, None))
        return {}
    chosen = as_release(release)
    if chosen == AT_ARRIVAL and labels != FIRST:
        raise ValueError(
            f"labels={labels!r} gathers labels until the window ends, so release must be {AT_END_OF_WINDOW!r}, "
            f"got {release!r}: leave it out"
        )
    return {
        WINDOW: as_length(window, WINDOW) / PER_SECOND,
        MISSING: as_missing("a decision without one", missing, labels, as_json),
        RELEASE: chosen,
    }


def check_windowless(**given: tuple[Any, Any]) -> None:
    """Refuse what is about windows where there is none; each is a value and what it is when it was not said."""
    for name, (value, unsaid) in given.items():
        if value is not unsaid:
            raise ValueError(
                f"{name} is about windows, got {value!r}: give a window too, such as '30d', or leave it out"
            )


class Clock:
    """Whether decisions said when they were made: calls about them must then say when, too."""

    is_said = False

    def check(self, name: str = "at") -> None:
        """Refuse a call without a moment where decisions have one: the present may be years after a log."""
        if self.is_said:
            raise ValueError(
                f"decisions of this process had at=…, and this call says no {name}, so that it would be about the "
                f"present: give {name} too, as in {name}='2026-01-31', or at in no call"
            )

    def note(self, at: Any) -> None:
        """Keep in mind that a decision had a moment; not of a log that is streamed, which live calls may follow."""
        self.is_said |= at is not None and type(at) is not Micros


def moment_of(at: Any, window: int, whose: str, name: str = "at", clock: Clock | None = None) -> int:
    """Return the moment of an event, now if it is not said; refuse one where there is no window."""
    if window:
        if at is not None:
            return as_moment(at, name)
        if clock is not None:
            clock.check(name)
        return now()
    raise ValueError(f"{whose} has no window, so a moment means nothing to it, got {at!r}: make it with a window")
