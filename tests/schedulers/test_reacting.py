"""Delays that react to who is tracked: the mean weight by exact enumeration, in rational numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from paths import overflow

HORIZON = 5
RULES = {
    "the newest": lambda t, tracked: {max(tracked)},
    "all, if the first is out": lambda t, tracked: set(tracked) if 1 not in tracked else set(),
    "the oldest, if another waits": lambda t, tracked: {min(tracked)} if len(tracked) > 1 else set(),
    "the heavy": lambda t, tracked: {s for s, weight in tracked.items() if weight > 1},
    "the light": lambda t, tracked: {s for s, weight in tracked.items() if weight == 1 and s < t},
}


def mean_weights(capacity, leaves, renew=max):
    """Return E[w_s] of VarOpt where the rounds ``leaves(t, tracked)`` arrive in round t, and all in the last."""
    means = dict.fromkeys(range(1, HORIZON + 1), Fraction(0))

    def walk(t, members, probability):
        if t > HORIZON:
            return
        members = {**members, t: Fraction(1)}
        branches = [(Fraction(1), members)]
        if len(members) > capacity:
            theta, chances = overflow(members, capacity)
            branches = [
                (chance, {s: renew(w, theta) for s, w in members.items() if s != lost})
                for lost, chance in chances.items()
                if chance > 0
            ]
        for chance, tracked in branches:
            due = set(tracked) if t == HORIZON else leaves(t, tracked)
            for s in due:
                means[s] += probability * chance * tracked[s]
            walk(t + 1, {s: w for s, w in tracked.items() if s not in due}, probability * chance)

    walk(1, {}, Fraction(1))
    return list(means.values())


@pytest.mark.parametrize("capacity", [1, 2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_varopt_is_unbiased_whatever_delays_react_to(rule, capacity):
    assert mean_weights(capacity, RULES[rule]) == [1] * HORIZON


def test_weights_that_do_not_follow_the_threshold_are_biased():
    assert mean_weights(2, RULES["the heavy"], renew=lambda weight, theta: weight) != [1] * HORIZON
