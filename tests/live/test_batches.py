"""Arguments and answers of calls about many rounds, and how faces show themselves."""

from __future__ import annotations

import pytest
from scenario import PLAYER

import tarry


def test_arguments_beside_a_frame_are_refused():
    join, session = tarry.LabelJoin(4, rng=1), tarry.Session(PLAYER, capacity=4, rng=1)
    frame = {"id": ["a"], "label": [1], "gradient": [[1.0, 0.0]]}
    for call in (
        lambda: join.decide_many(frame, ids=["b"]),
        lambda: join.label_many(frame, [5]),
        lambda: join.label_many(frame, keys=["k"]),
        lambda: session.tell_many(frame, gradients=[[2.0, 0.0]]),
        lambda: session.tell_many(frame, values=[2.0]),
    ):
        with pytest.raises(ValueError, match=r"the frame has a column '\w+' already, so leave \w+ out"):
            call()
    assert join.status().rounds == session.status().rounds == 0


def test_too_many_rounds_at_once():
    with pytest.raises(ValueError, match="at most 100000000 rounds can begin in one call, got 1000000000000000"):
        tarry.Session(PLAYER, capacity=4).ask_many(10**15)


def test_receipts_of_ids_of_several_kinds():
    join = tarry.LabelJoin(4, rng=1)
    assert join.expire_many(["c", 5, b"x"]).to_polars()["id"].to_list() == ["c", "5", "eA=="]
    assert join.expire_many([3, 2**70]).to_polars()["id"].to_list() == ["3", str(2**70)]
    assert join.expire_many([3, 5]).to_polars()["id"].to_list() == [3, 5]
    assert join.expire_many([b"x"]).to_polars()["id"].to_list() == [b"x"]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_what_was_closed_can_still_be_shown(kind, tmp_path):
    join = tarry.LabelJoin(4, store="memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'a.db'}")
    assert repr(join) == "LabelJoin(0 decisions, 0 pending, 0 tracked of 4)"
    join.decide()
    assert repr(join) == "LabelJoin(1 decisions, 1 pending, 1 tracked of 4)"
    join.close()
    assert repr(join).startswith("LabelJoin(")
    assert kind == "memory" or "was closed: open it again" in repr(join)
    assert repr(tarry.Session(PLAYER, capacity=3)) == "Session(0 rounds, 0 pending, 0 tracked of 3)"
