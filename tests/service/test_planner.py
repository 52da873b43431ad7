"""Plans and explorations over HTTP are the library's own."""

from __future__ import annotations

import pytest

from tarry import delays
from tarry.live.plain import plain
from tarry.planning.explore import explore, labels_of

DECIDED = list(range(60))
FEEDBACK = [t + 3 + t % 7 for t in DECIDED]


@pytest.mark.parametrize("form", ["csv", "lists"])
def test_a_plan(served, form):
    if form == "csv":
        lines = [f"{a},{b}" for a, b in zip(DECIDED, FEEDBACK, strict=True)]
        log = {"csv": "\n".join(["click_time,conversion_time", *lines])}
    else:
        log = {"decided_at": DECIDED, "feedback_at": FEEDBACK}
    status, found = served.call("POST", "/v1/plan", log | {"schedulers": ["VarOpt"], "target": 0.3, "precision": 1})
    assert status == 200, found
    assert found["backlog"]["horizon"] == 60
    assert found["scheduler"] == "VarOpt"
    assert 1 <= found["capacity"] <= found["backlog"]["max_backlog"]
    assert found["recommendation"].startswith(str(found["capacity"]))


@pytest.mark.parametrize(
    "log",
    [{}, {"csv": "a,b\n1,2\n"}, {"decided_at": [1]}, {"decided_at": [1, 2], "feedback_at": [3]}, {"csv": "x"}],
)
def test_logs_that_make_no_sense(served, log):
    status, problem = served.call("POST", "/v1/plan", log)
    assert status == 422
    assert "/tmp" not in problem["detail"]


def drawn(lean, mean, horizon, first=0):
    def draw(i):
        waits = delays.geometric(horizon=horizon, mean=mean, rng=first + i)
        return waits, labels_of(waits, lean, first + i)

    return draw


def test_an_exploration_is_the_librarys(served):
    asked = {"law": "geometric", "parameters": {"mean": 10}, "capacity": 3, "horizon": 150, "streams": 4, "seed": 5}
    status, found = served.call("POST", "/v1/explore", asked)
    assert status == 200, found
    assert found == plain(explore(drawn("slow", 10, 150, 5), capacity=3, streams=4))


def test_what_is_given_up_by_age_is_missed():
    """Time out misses slow labels, which are 1 more often; VarOpt makes up for what it loses, by weights."""
    ours, newest, late = explore(drawn("slow", 20, 300), capacity=8, streams=12).lines
    assert (ours.policy, newest.policy, late.policy) == ("VarOpt", "drop newest", "time out")
    assert abs(ours.bias) < 4 * ours.bias_error
    assert late.bias < -4 * late.bias_error
    assert late.bias < -0.03
    none = explore(drawn("neither", 20, 300), capacity=8, streams=12).lines
    assert all(abs(line.bias) < 4 * line.bias_error for line in none)


@pytest.mark.parametrize("asked", [{"law": "nothing"}, {"policies": ["unlimited"]}, {"parameters": {"mean": -1}}])
def test_explorations_that_make_no_sense(served, asked):
    assert served.call("POST", "/v1/explore", {"horizon": 20, **asked})[0] == 422
