"""The hand-written C loop plays the same game as the compiled round, to the last bit."""

from __future__ import annotations

import pytest
from marking import slow_but

c_loop = pytest.importorskip("benchmarks.c_loop")
rounds = pytest.importorskip("benchmarks.rounds")

pytestmark = [
    pytest.mark.jit(only=True),
    pytest.mark.skipif(c_loop.compiler() is None, reason="there is no C compiler"),
]


@pytest.mark.parametrize("kind", slow_but(["fixed", "geometric"], {"geometric"}))
@pytest.mark.parametrize("scheduler", slow_but(["bernoulli", "pareto", "varopt"], {"varopt"}))
def test_c_loop_leaves_the_same_sums(scheduler: str, kind: str) -> None:
    ours = rounds.stage(scheduler, kind, horizon=6000)
    theirs = c_loop.CStage(ours)
    assert rounds.sums_of_c(theirs.ready()()) == rounds.sums_of_ours(*ours.ready()())
