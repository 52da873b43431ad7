"""The two bounds on weighted regret against the worked cases."""

from __future__ import annotations

import pytest
from casework import agree

from tarry.theory import backlog_sums, bandit_weighted_regret_bound, weighted_regret_bound


@pytest.mark.cases("bounds")
def test_weighted_bounds(given, expected):
    if given["kind"] != "dw":
        pytest.skip("a case of the main theorems")
    own, pairs = backlog_sums(given["weights"], given["delays"], given["etas"])
    printed = weighted_regret_bound(
        diameter=given["D"],
        gradient_bound=given["G"],
        last_rate=given["etas"][-1],
        own=own,
        pairs=pairs,
        sharpened=False,
    )
    agree(printed, expected["dw_oco_convex"])
    bandit = bandit_weighted_regret_bound(
        weights=given["weights"],
        delays=given["delays"],
        rates=given["etas"],
        smoothing=given["deltas"],
        diameter=given["D"],
        gradient_bound=given["G"],
        value_bound=given["M"],
        inner_radius=given["r"],
        dimension=given["k"],
    )
    agree(bandit, expected["dw_bco_convex"])
