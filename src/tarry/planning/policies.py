"""The policies that can be compared: one list, one spelling, for plans, the demonstration, studies and commands.

A policy is a scheduler under the name that tables show, made for what is known of the delays and for a capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarry import schedulers
from tarry.delays.base import Delays, backlog_of
from tarry.schedulers.named import FREE, is_name_of
from tarry.theory.calibrate import morris_tail, pareto_survival

TAIL = 0.01  # the share of rounds that may find the set full where a plan calibrates a scheduler
RARELY = 1e-3  # the same where a study does: the schedulers' own default
LARGEST_EPSILON = 8.0  # beyond it a second tracked round is hardly ever admitted
LARGEST_MORRIS = 512  # one coin calibrated to the same tail is the better choice there, and found at once


class Conditions(NamedTuple):
    """What a policy is made for: slots, the delays' figures, and how often the set may be full.

    ``patience`` is the number of rounds after which "time out" gives a label up.
    """

    capacity: int
    max_backlog: int
    max_delay: int
    patience: int
    saturation: float = RARELY

    @classmethod
    def of(
        cls, delays: Delays, capacity: int, *, patience: int | None = None, saturation: float = RARELY
    ) -> Conditions:
        """Return the conditions of recorded or modelled delays; patience is the mean delay unless it is given."""
        values = delays.values
        if patience is None:
            # Waiting as long as a label takes on average is what a window "long enough for most" comes to.
            patience = max(1, round(int(values.sum()) / int(values.size)))
        return cls(capacity, int(backlog_of(values).max()), int(values.max()), patience, saturation)


class Policy(NamedTuple):
    """A scheduler under the name that tables show, or a function that makes it for some conditions.

    ``has_chances``: the chance of each round to be tracked to its end, given room, is known in closed form.
    ``compared``: the values of ``preemption`` with which a plan compares it without being asked, None where a plan
    cannot. ``is_offered`` says whether a plan has a use for it under some conditions. ``is_random``: runs differ by
    their seed. ``is_limited``: it keeps to a capacity.
    """

    name: str
    scheduler: Any
    has_chances: bool = False
    compared: tuple[bool, ...] | None = ()
    is_offered: Callable[[Conditions], bool] | None = None
    is_random: bool = True
    is_limited: bool = True

    def make(self, conditions: Conditions) -> Any:
        """Return the scheduler for these conditions."""
        return self.scheduler(conditions) if callable(self.scheduler) else self.scheduler

    def offer(self, conditions: Conditions) -> Any:
        """Return the scheduler, or None where a plan has no use for it."""
        has_use = self.is_offered is None or self.is_offered(conditions)
        return self.make(conditions) if has_use else None


def chances_of(
    scheduler: schedulers.Pareto | schedulers.Bernoulli, capacity: int, delays: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the chance that each round is tracked to its end, given room, for Pareto and Bernoulli."""
    if not isinstance(scheduler, schedulers.Pareto):
        return np.asarray(scheduler.survival(1, delays, capacity))  # the same in every round
    survival = pareto_survival(capacity, safety=scheduler.safety)
    return np.asarray(survival(np.arange(1.0, delays.size + 1.0), delays.astype(np.float64)))


def _has_morris(given: Conditions) -> bool:
    if given.capacity > given.max_backlog:
        return True
    if not 2 <= given.capacity <= LARGEST_MORRIS:
        return False
    # Tails fall with ε: the smallest ε that is enough is at most this one if this one is enough.
    tail = morris_tail(epsilon=LARGEST_EPSILON, backlog=given.max_backlog, capacity=given.capacity)
    return tail <= given.saturation


def _morris(given: Conditions) -> schedulers.Morris:
    return schedulers.Morris.for_backlog(given.max_backlog, given.capacity, saturation=given.saturation)


def _calibrated(given: Conditions) -> schedulers.Bernoulli:
    return schedulers.Bernoulli.calibrated(given.max_backlog, given.capacity, saturation=given.saturation)


def _calibrated_pareto(given: Conditions) -> schedulers.Pareto:
    return schedulers.Pareto.calibrated(given.capacity, saturation=given.saturation)


def _free(name: str, **options: Any) -> Policy:
    return Policy(name, FREE[name], **options)


EVERY = (True, False)

# In order of preference: of those that serve a plan equally well the first is recommended.
POLICIES = (
    Policy("unlimited", schedulers.Always(), compared=None, is_random=False, is_limited=False),
    _free("VarOpt", compared=EVERY),
    # At two slots Priority's weights have no fourth moment: no number of replays settles the second.
    _free("Priority", compared=EVERY, is_offered=lambda given: given.capacity > 2),
    Policy("Bernoulli (calibrated)", _calibrated, has_chances=True, compared=EVERY),
    Policy("Morris", _morris, compared=EVERY, is_offered=_has_morris),
    Policy(
        "Batching",
        lambda given: schedulers.Batching(given.max_delay),
        compared=(False,),  # else by name only: with preemption VarOpt needs no bound on delays
        is_offered=lambda given: given.capacity > 1 or given.max_delay == 0,
    ),
    Policy(
        "Bernoulli (paper)", lambda given: schedulers.Bernoulli(given.max_backlog), has_chances=True, compared=EVERY
    ),
    Policy("Pareto (calibrated)", _calibrated_pareto),
    _free("Pareto (paper)", has_chances=True, compared=EVERY),
    Policy("Thinning", schedulers.Thinning()),
    Policy("DoublingBernoulli", schedulers.DoublingBernoulli(), compared=None),  # its guess moves by restarts
    Policy("Coin", schedulers.Coin(), compared=None),  # it must see delays
    _free("drop newest", compared=EVERY, is_random=False),
    _free("drop oldest", compared=EVERY, is_random=False),
    Policy("time out", lambda given: schedulers.Timeout(given.patience), is_random=False),
    _free("random evict"),
    _free("reservoir"),
)


def find_policy(name: str, among: Iterable[Policy] = POLICIES) -> Policy:
    """Return the policy of this name; case, blanks and punctuation do not count, nor does "(paper)".

    Raise ValueError if there is none.

    >>> [find_policy(name).name for name in ("varopt", "DropNewest", "pareto", "Bernoulli (calibrated)")]
    ['VarOpt', 'drop newest', 'Pareto (paper)', 'Bernoulli (calibrated)']
    """
    listed = list(among)
    for policy in listed:
        if is_name_of(name, policy.name):
            return policy
    raise ValueError(f"there is no policy {name!r}: take some of {', '.join(repr(policy.name) for policy in listed)}")


def name_of(scheduler: Any) -> str:
    """Return the name under which tables show a scheduler: its policy's, else its type's.

    >>> name_of(schedulers.DropNewest()), name_of(schedulers.Timeout(30)), name_of(schedulers.Morris(0.5))
    ('drop newest', 'time out', 'Morris')
    """
    kind = type(scheduler)
    ours = POLICIES if kind.__module__.startswith("tarry.") else ()  # one's own may have any name
    same = (one.name for one in ours if type(one.scheduler) is kind or is_name_of(one.name, kind.__name__))
    return next(same, kind.__name__)


def choose_policies(
    chosen: Iterable[str | Policy] | Mapping[str, Any] | None, *, preemption: bool = True
) -> list[Policy]:
    """Return a plan's policies: those named or given, the usual ones, or one's own.

    One's own are schedulers, or functions of (max_backlog, capacity). Raise ValueError for a name that no plan can
    compare, TypeError for what is no policy.
    """
    planned = [policy for policy in POLICIES if policy.compared is not None]
    if chosen is None:
        return [policy for policy in planned if preemption in (policy.compared or ())]
    if isinstance(chosen, Mapping):
        made = [_own(str(name), scheduler) for name, scheduler in chosen.items()]
    else:
        listed = [chosen] if isinstance(chosen, str) else chosen
        made = [one if isinstance(one, Policy) else find_policy(one, planned) for one in listed]
    if not made:
        raise ValueError("schedulers is empty: leave it out to compare all of them")
    return made


def _own(name: str, scheduler: Any) -> Policy:
    if not isinstance(scheduler, type) and hasattr(scheduler, "needs_preemption"):
        return Policy(name, scheduler)
    if not isinstance(scheduler, type) and callable(scheduler):
        return Policy(name, lambda given: scheduler(given.max_backlog, given.capacity))
    raise TypeError(f"a policy is a scheduler or a function of (max_backlog, capacity), got {scheduler!r}")
