"""Plans over HTTP are the library's own."""

from __future__ import annotations

import pytest

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
