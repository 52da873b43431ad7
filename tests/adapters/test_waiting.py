"""The same draws, weights and books as LabelJoin; copied and pickled on the way."""

import copy
import math
import pickle
import random

import pytest

import tarry
from tarry.adapters.waiting import RECENT, Waiting, make_slots
from tarry.live.weighing import Weighing


@pytest.mark.parametrize("capacity", [1, 4, None])
def test_equals_the_label_join(capacity):
    waiting, join = Waiting(capacity, seed=3, weighing=Weighing("relative")), tarry.LabelJoin(capacity, rng=3)
    draw = random.Random(1)
    for i in range(1, 1200):
        assert waiting.decide(f"x{i}") == join.decide(f"x{i}")
        for s in {draw.randint(max(1, i - 20), i + 1) for _ in range(2)}:
            row, (payload, weight) = join.label(s, 1.0), waiting.label(s)
            assert (payload, weight) == ((row.features, row.relative) if row else (None, 0.0))
        if i % 300 == 0:
            waiting = pickle.loads(pickle.dumps(copy.deepcopy(waiting)))
    status = join.status()
    assert waiting.slots.fates() == status.fates
    assert waiting.slots.weights() == status.weights
    assert capacity is None or waiting.slots.tracked <= capacity


@pytest.mark.parametrize("capacity", [2, None])
def test_the_mean_weight_is_that_of_the_rows_given_out(capacity):
    waiting, given = Waiting(capacity, seed=3, weighing=Weighing("unbiased")), []
    assert math.isnan(waiting.slots.mean_weight())
    for i in range(1, 200):
        waiting.decide("x")
        given += [weight for _, weight in [waiting.label(i - i % 7)] if weight]
        waiting = pickle.loads(pickle.dumps(waiting)) if i == 100 else waiting
        assert not given or waiting.slots.mean_weight() == pytest.approx(sum(given) / len(given), rel=1e-14)
    assert waiting.slots.mean_weight() == 1.0 if capacity is None else waiting.slots.mean_weight() > 2.0


def test_memory_is_bounded_by_capacity_and_recency():
    waiting = Waiting(5, seed=1)
    for i in range(3 * RECENT):
        waiting.decide(object(), f"id{i}")
        assert len(waiting._kept) == len(waiting._ids) == waiting.slots.tracked <= 5
    assert len(waiting._recent) == RECENT


def test_a_repeated_id_is_the_same_decision():
    waiting = Waiting(2, seed=1)
    tickets = [waiting.decide("x", id) for id in "abcdef"]
    for ticket in tickets:
        again = waiting.decide("y", ticket.id)
        assert (again.id, again.released) == (ticket.id, ())
    assert waiting.slots.rounds == 6
    kept = [payload for payload, _ in map(waiting.label, "abcdef") if payload]
    assert kept == ["x", "x"]
    assert [waiting.label(id) for id in "abcdefg"] == [(None, 0.0)] * 7


def test_ids_always_or_never():
    waiting = Waiting(2)
    waiting.decide("x")
    with pytest.raises(ValueError, match="always or never"):
        waiting.decide("x", 1)


def test_refuses_what_is_not_granted():
    with pytest.raises(tarry.errors.NotGranted, match="Coin needs each delay"):
        make_slots(4, tarry.schedulers.Coin(), 1)
    with pytest.raises(ValueError, match="capacity"):
        Waiting(0)


def test_draws_are_the_seed_s():
    def tracked(seed):
        slots = make_slots(3, None, seed)
        return [slots.open() >= 0 for _ in range(50)]

    assert tracked(1) == tracked(1) != tracked(2)


def test_a_call_cut_short_in_the_middle_of_a_round_is_the_last(monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    waiting = Waiting(1, seed=1)
    monkeypatch.setattr(waiting.slots, "released", interrupt)
    with pytest.raises(KeyboardInterrupt):
        list(map(waiting.decide, "x" * 100, range(100)))
    for call in (waiting.decide, waiting.label):
        with pytest.raises(tarry.errors.TarryError, match="cut short in the middle of a round"):
            call("y")


def test_features_may_change_until_the_label_comes():
    waiting, features = Waiting(capacity=2, seed=1), {"a": 1.0}
    waiting.decide(features)
    features["a"] = 2.0
    assert waiting.label(1) == ({"a": 1.0}, 1.0)
