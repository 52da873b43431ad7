"""The policies a case compares: no limit, ours, the paper's as printed and calibrated, and what people do today."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tarry import schedulers


class Policy(NamedTuple):
    """A way to choose who is tracked: ``make(delays, capacity)`` builds its scheduler.

    ``is_limited``: it keeps to the capacity. ``is_random``: runs differ by their seed.
    """

    name: str
    make: Callable[[Any, int], Any]
    is_random: bool = True
    is_limited: bool = True


def _mean_delay(delays: Any) -> int:
    return max(1, round(int(delays.total_delay) / int(delays.horizon)))


UNLIMITED = Policy("unlimited", lambda delays, slots: schedulers.Always(), is_random=False, is_limited=False)
VAROPT = Policy("VarOpt", lambda delays, slots: schedulers.VarOpt())
DROP_NEWEST = Policy("drop newest", lambda delays, slots: schedulers.DropNewest(), is_random=False)
DROP_OLDEST = Policy("drop oldest", lambda delays, slots: schedulers.DropOldest(), is_random=False)

POLICIES = (
    UNLIMITED,
    VAROPT,
    Policy("Priority", lambda delays, slots: schedulers.Priority()),
    Policy("Morris", lambda delays, slots: schedulers.Morris.for_backlog(delays.max_backlog, slots)),
    Policy("Bernoulli (calibrated)", lambda delays, slots: schedulers.Bernoulli.calibrated(delays.max_backlog, slots)),
    Policy("Bernoulli (paper)", lambda delays, slots: schedulers.Bernoulli(max_backlog=delays.max_backlog)),
    Policy("Pareto (calibrated)", lambda delays, slots: schedulers.Pareto.calibrated(slots)),
    Policy("Pareto (paper)", lambda delays, slots: schedulers.Pareto()),
    DROP_NEWEST,
    DROP_OLDEST,
    # Waiting as long as a label takes on average is what a window "long enough for most" comes to.
    Policy("time out", lambda delays, slots: schedulers.Timeout(_mean_delay(delays)), is_random=False),
    Policy("reservoir", lambda delays, slots: schedulers.Reservoir()),
)


def choose(names: Iterable[str] | None) -> list[Policy]:
    """The policies of these names, or all of them; without a limit always comes first."""
    if names is None:
        return list(POLICIES)
    known = {policy.name.lower(): policy for policy in POLICIES}
    wanted = [name.lower() for name in names]
    strange = [name for name in wanted if name not in known]
    if strange:
        raise ValueError(f"there is no policy {strange[0]!r}: take some of {', '.join(p.name for p in POLICIES)}")
    return [UNLIMITED, *(known[name] for name in dict.fromkeys(wanted) if name != UNLIMITED.name)]
