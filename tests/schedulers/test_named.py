"""Schedulers go by the names that tables show, wherever one can be given."""

from __future__ import annotations

import pytest

from tarry import LabelJoin, Player
from tarry.adapters.waiting import Waiting
from tarry.errors import ArgumentError
from tarry.learners import Idle
from tarry.planning.policies import find_policy, name_of
from tarry.schedulers import Bernoulli, DropNewest
from tarry.schedulers.named import FREE


@pytest.mark.parametrize("name", FREE)
def test_a_name_means_the_scheduler_of_the_policy(name):
    wanted = find_policy(name).scheduler
    assert Player(Idle(), name).scheduler == wanted
    if name != "reservoir":  # which needs acknowledgements, and models have none
        assert Waiting(8, name).slots.player.scheduler == wanted
    assert name_of(wanted) == name


def test_a_join_by_name_is_the_join_by_scheduler(tmp_path):
    store = f"sqlite:///{tmp_path}/state.db"
    with LabelJoin(2, scheduler="drop newest", store=store, rng=1):
        pass
    with LabelJoin(2, scheduler=DropNewest(), store=store, rng=1) as join:  # another scheduler would be refused
        assert [join.decide(i).tracked for i in range(3)] == [True, True, False]


def test_other_names_are_refused_with_the_list():
    with pytest.raises(ArgumentError, match=r"must be one of VarOpt, .*drop newest.*got 'Morris'"):
        LabelJoin(2, scheduler="Morris")


def test_a_scheduler_with_constants_keeps_its_own_name():
    assert name_of(Bernoulli(probability=0.5)) == "Bernoulli"
