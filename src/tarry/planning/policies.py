"""The schedulers a plan compares, each made for a capacity and a largest backlog, or a longest delay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry import schedulers, theory

TAIL = 0.01  # the share of rounds that may find the set full where a scheduler is calibrated
LARGEST_EPSILON = 8.0  # beyond it a second tracked round is hardly ever admitted
LARGEST_MORRIS = 512  # one coin calibrated to the same tail is the better choice there, and found at once

Survivals = NDArray[np.float64]
Make = Callable[[int, int], Any]
Known = Callable[[int, int, NDArray[np.int64]], Survivals]


class Policy(NamedTuple):
    """A scheduler under the name the table shows.

    ``make(max_backlog, capacity)`` builds it, None where it has nothing to offer; ``make(max_delay, capacity)`` where
    ``of_delay``. ``survivals(max_backlog, capacity, delays)``, where known, are the chances that each round is tracked
    to its end, given room. ``unnamed``: the values of ``preemption`` with which it is compared without being named.
    """

    name: str
    make: Make
    survivals: Known | None = None
    of_delay: bool = False
    unnamed: tuple[bool, ...] = (True, False)

    def build(self, max_backlog: int, max_delay: int, capacity: int) -> Any:
        """The scheduler for these delays and slots, or None."""
        return self.make(max_delay if self.of_delay else max_backlog, capacity)


def _morris(max_backlog: int, capacity: int) -> Any:
    if capacity > max_backlog:
        return schedulers.Morris(0)  # admit all
    if not 2 <= capacity <= LARGEST_MORRIS:
        return None
    epsilon = theory.morris_epsilon(max_backlog=max_backlog, capacity=capacity, target=TAIL)
    return schedulers.Morris(epsilon) if epsilon <= LARGEST_EPSILON else None


def _batching(max_delay: int, capacity: int) -> Any:
    return schedulers.Batching(max_delay) if capacity > 1 or max_delay == 0 else None


def _calibrated(max_backlog: int, capacity: int) -> float:
    return theory.calibrated_probability(max_backlog=max_backlog, capacity=capacity, target=TAIL)


def _printed_chances(max_backlog: int, capacity: int, delays: NDArray[np.int64]) -> Survivals:
    return schedulers.Bernoulli(max_backlog=max_backlog).survival(1, delays, capacity)


def _calibrated_chances(max_backlog: int, capacity: int, delays: NDArray[np.int64]) -> Survivals:
    return np.full(delays.size, _calibrated(max_backlog, capacity))


def _pareto_chances(max_backlog: int, capacity: int, delays: NDArray[np.int64]) -> Survivals:
    return np.asarray(theory.pareto_survival(capacity)(np.arange(1.0, delays.size + 1.0), delays.astype(np.float64)))


POLICIES = (
    Policy("VarOpt", lambda peak, capacity: schedulers.VarOpt()),
    # At two slots its weights have no fourth moment: no number of replays settles the second.
    Policy("Priority", lambda peak, capacity: schedulers.Priority() if capacity > 2 else None),
    Policy(
        "Bernoulli (calibrated)",
        lambda peak, capacity: schedulers.Bernoulli(probability=_calibrated(peak, capacity)),
        _calibrated_chances,
    ),
    Policy("Morris", _morris),
    Policy("Batching", _batching, of_delay=True, unnamed=(False,)),
    Policy("Bernoulli (paper)", lambda peak, capacity: schedulers.Bernoulli(max_backlog=peak), _printed_chances),
    Policy("Pareto (paper)", lambda peak, capacity: schedulers.Pareto(), _pareto_chances),
    Policy("Thinning", lambda peak, capacity: schedulers.Thinning(), unnamed=()),
    Policy("drop newest", lambda peak, capacity: schedulers.DropNewest()),
    Policy("drop oldest", lambda peak, capacity: schedulers.DropOldest()),
)


def choose_policies(chosen: Iterable[str] | Mapping[str, Any] | None, *, preemption: bool = True) -> list[Policy]:
    """The policies by name, the usual ones, or one's own: schedulers, or functions of (max_backlog, capacity)."""
    if chosen is None:
        return [policy for policy in POLICIES if preemption in policy.unnamed]
    if isinstance(chosen, Mapping):
        made = [Policy(str(name), _maker(scheduler)) for name, scheduler in chosen.items()]
    else:
        made = [_named(name) for name in ([chosen] if isinstance(chosen, str) else chosen)]
    if not made:
        raise ValueError("schedulers is empty: leave it out to compare all of them")
    return made


def _named(name: str) -> Policy:
    for policy in POLICIES:
        if policy.name.lower() == str(name).lower():
            return policy
    known = ", ".join(repr(policy.name) for policy in POLICIES)
    raise ValueError(f"there is no policy {name!r}: take some of {known}")


def _maker(scheduler: Any) -> Make:
    if hasattr(scheduler, "needs_preemption") and not isinstance(scheduler, type):
        return lambda peak, capacity: scheduler
    if callable(scheduler) and not isinstance(scheduler, type):
        return lambda peak, capacity: scheduler(peak, capacity)
    raise TypeError(f"a policy is a scheduler or a function of (max_backlog, capacity), got {scheduler!r}")
