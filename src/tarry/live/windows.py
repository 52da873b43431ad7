"""Windows: how long a decision waits, what no label by then means, and when its row comes out."""

from __future__ import annotations

from typing import Any

from tarry.live.configuration import MISSING, RELEASE, WINDOW
from tarry.live.labels import FIRST, UNSAID, as_json, as_missing
from tarry.times import AT_ARRIVAL, AT_END_OF_WINDOW, PER_SECOND, as_length, as_moment, as_release, now


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


def moment_of(at: Any, window: int, whose: str, name: str = "at") -> int:
    """Return the moment of an event, now if it is not said; refuse one where there is no window."""
    if window:
        return now() if at is None else as_moment(at, name)
    raise ValueError(f"{whose} has no window, so a moment means nothing to it, got {at!r}: make it with a window")
