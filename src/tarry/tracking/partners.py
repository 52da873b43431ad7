"""Which learners, schedulers and epochs go together: what each assumes of the others, checked when a player is made."""

from __future__ import annotations

from math import inf
from typing import Any

from tarry.errors import NotGranted
from tarry.learners.base import notice, rules_of
from tarry.rates import EnergyRadius, EnergyRate
from tarry.rates.base import counts_tracked
from tarry.schedulers import DoublingBernoulli


def check_partners(learner: Any, scheduler: Any, epochs: Any) -> None:
    """Raise ValueError for a player whose parts contradict each other."""
    rules = rules_of(learner)
    over = getattr(epochs, "over", "")
    if any(rule.follows_backlog for rule in rules) and over != "backlog":
        raise ValueError(
            "the learner's rules follow a guess of the backlog, which nobody makes: give "
            'epochs=Doubling("backlog"), or max_backlog=… to the rules'
        )
    for member in (scheduler, *rules):
        kinds = getattr(member, "follows_epochs", ())
        if kinds and over not in kinds:
            fixes = " or ".join(f'epochs=Doubling("{kind}")' for kind in kinds)
            got = f"{epochs!r} does not make" if over else "nobody makes"
            raise ValueError(
                f"{type(member).__name__} follows a guess that {got}: give {fixes} to the Player, or a member that "
                "follows none"
            )
    if getattr(scheduler, "withholds_feedback", False) and _looks_at_the_set(learner, rules):
        raise ValueError(
            f"{type(scheduler).__name__} withholds feedback so that plays do not know who of a batch was drawn, but "
            "the learner's rate counts the tracked rounds, which tells: use another rate, or another scheduler"
        )
    if learner.watches_tracked:
        _check_counted(learner, scheduler)
    if any(isinstance(rule, (EnergyRate, EnergyRadius)) for rule in rules):
        _check_energy(rules, scheduler)


def check_room(learner: Any, capacity: int | None) -> None:
    """Raise NotGranted for rules that were tuned to another capacity than this."""
    room = inf if capacity is None else capacity
    for rule in rules_of(learner):
        if rule.tuned_capacity not in (None, room):
            raise NotGranted(
                f"{type(rule).__name__} is tuned to a capacity of {rule.tuned_capacity:g}, this game or session has "
                f"{room:g}: give it that capacity"
            )


def _looks_at_the_set(learner: Any, rules: list[Any]) -> bool:
    """Return whether plays depend on how many rounds are tracked: those of learners with rates do where a rule does."""
    if learner.watches_tracked is not None:
        return bool(learner.watches_tracked)
    if learner.rate is not None or learner.base is not None:
        return any(counts_tracked(rule) for rule in rules)
    return isinstance(learner, tuple(notice.members))


def _check_counted(learner: Any, scheduler: Any) -> None:
    """Raise ValueError where a learner that counts entries and arrivals by itself would miss one."""
    name = type(learner).__name__
    if scheduler.needs_preemption and not scheduler.announces_preemption:
        raise ValueError(
            f"{name} counts the tracked rounds, and does not notice when {type(scheduler).__name__} hands a slot on to "
            'another round: use Skipping or a scheduler that never preempts, or counts="pending"'
        )
    if scheduler.has_zero_weights:
        raise ValueError(
            f"{name} counts the tracked rounds, and does not hear of rounds that weigh 0, but some do: "
            'use positive weights, or counts="pending"'
        )


def _check_energy(rules: list[Any], scheduler: Any) -> None:
    """Raise ValueError unless radius, rate and scheduler of the conditional-energy tuning share one coin."""
    tunings = {rule.tuning if isinstance(rule, (EnergyRate, EnergyRadius)) else None for rule in rules}
    if len(rules) != 2 or len(tunings) != 1:
        raise ValueError(
            "EnergyRate and EnergyRadius are tuned to each other: give the learner smoothing=radius and "
            "rate=EnergyRate(diameter, gradient_bound, radius)"
        )
    safety = rules[0].safety
    if scheduler != DoublingBernoulli(safety):
        raise ValueError(
            f"the conditional-energy rules assume the coin min{{1, C/({safety:g}·guess)}}, got {scheduler!r}: "
            f"use DoublingBernoulli({safety:g}), or give the radius safety=…"
        )
