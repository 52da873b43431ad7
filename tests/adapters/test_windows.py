"""Windows of adapters: the rows that a join with the same windows gives, learnt by each library's model."""

from __future__ import annotations

import copy
import inspect
import pickle
import random

import autograd_stand_in
import numpy as np
import pytest
from river import linear_model
from river_models import Spy
from sklearn.linear_model import SGDClassifier, SGDRegressor

import tarry
from tarry.adapters import river as for_river
from tarry.adapters import sklearn as for_sklearn
from tarry.adapters import torch as for_torch
from tarry.adapters.waiting import Waiting, Window
from tarry.live.weighing import Weighing

DAY = 86400.0


@pytest.mark.parametrize("release", ["window", "arrival"])
@pytest.mark.parametrize("capacity", [3, None])
def test_rows_are_those_of_a_join(release, capacity):
    window = Window.of("9s", 0, release)
    waiting = Waiting(capacity, seed=2, window=window, weighing=Weighing("relative"))
    join = tarry.LabelJoin(capacity, rng=2, window="9s", missing=0, release=release)
    draw, rows = random.Random(5), 0
    for now in range(1, 400):
        assert waiting.decide(f"x{now}", now, at=now)[:2] == join.decide(f"x{now}", now, at=now)[:2]
        for _ in range(2):
            id, y = draw.randint(max(1, now - 14), now), draw.randint(1, 3)
            row = join.label(id, y, at=now)
            assert waiting.label(id, y, at=now) == ((row.features, row.relative) if row else (None, 0.0))
        if now % 4 == 0:
            ended = [(row.id, row.features, row.relative, row.label) for row in join.advance(now)]
            assert list(waiting.ended(now)) == ended
            rows += len(ended)
        if now % 100 == 0:
            waiting = pickle.loads(pickle.dumps(copy.deepcopy(waiting)))
    assert rows > 20
    assert waiting.fates() == join.status().fates
    assert waiting.slots.answers()["outside"] > 3
    assert len(waiting._labels) <= waiting.slots.tracked


def test_river():
    model = for_river.LateLabels(Spy(), 8, on="id", seed=1, window="30d", missing=False).clone()
    spy = model.model
    for i in range(3):
        model.predict_proba_one({"id": i, "a": i}, at=i * DAY)
    model.learn_one({"id": 1}, True, at=5 * DAY)
    model.learn_one({"id": 2}, True, at=33 * DAY)  # too late
    assert spy.rows == []
    assert model.advance(31 * DAY) == 2
    assert model.advance(40 * DAY) == 1
    assert [(x["a"], y, w) for x, y, w in spy.rows] == [(0, False, 1.0), (1, True, 1.0), (2, False, 1.0)]
    assert model.advance(90 * DAY) == 0
    with pytest.raises(ValueError, match="decisions of this process had at=…, and this call says no at"):
        model.learn_one({"id": 1}, True)
    at_once = for_river.LateLabels(Spy(), 8, seed=1, window="30d", missing=False, release="arrival")
    ticket = at_once.decide({"a": 1}, at="2026-01-01")
    at_once.learn_one(ticket.id, True, at="2026-01-02")
    assert len(at_once.model.rows) == 1


def test_scikit_learn():
    late = for_sklearn.LateLabels(SGDClassifier(), 8, classes=[0, 1], random_state=1, window="30d", missing=0)
    ids = [ticket.id for ticket in late.decide(np.arange(6.0).reshape(3, 2), at=0)]
    seen = []
    late.estimator_.partial_fit = lambda X, y, sample_weight, classes: seen.append((X[:, 0].tolist(), y.tolist()))
    assert late.label(ids[1:2], [1], at=DAY) == 0
    assert late.advance(29 * DAY) == 0
    assert seen == []
    assert late.advance(30 * DAY) == 3
    assert seen == [([0.0, 2.0, 4.0], [0, 1, 0])]
    assert late.fates()["used"] == 3


@pytest.mark.parametrize("told_again", [False, True])
def test_scikit_learn_fails_on_a_window(told_again):
    late = for_sklearn.LateLabels(SGDRegressor(), 8, random_state=1, window=1, missing=0)
    ids = [ticket.id for ticket in late.decide([[1.0], [2.0], [3.0]], at=0)]
    late.label(ids[1:], [4.0, 5.0], at=1)
    late.estimator_.partial_fit = None
    with pytest.raises(TypeError) as told:
        late.advance(9)
    assert f"{ids}: advance() tries again" in told.value.__notes__[0]
    assert late.fates()["pending"] == 3
    seen = []
    late.estimator_.partial_fit = lambda X, y, sample_weight: seen.append(y.tolist())
    assert late.label(ids[:told_again], [7.0][:told_again], at=9) == told_again  # beats the label that was held
    assert late.advance(9) == 3 - told_again
    assert [y for labels in seen for y in labels] == ([7.0, 4.0, 5.0] if told_again else [0.0, 4.0, 5.0])
    assert late.advance(9) == 0


class Picky(Spy):
    """A classifier that learns nothing from rows with a negative feature."""

    def learn_one(self, x, y, w=1.0):
        if x["a"] < 0:
            raise ZeroDivisionError
        super().learn_one(x, y, w)


def test_what_cannot_be_learnt_does_not_keep_others_waiting():
    model = for_river.LateLabels(Picky(), 3, seed=1, window=10, missing=False)
    for i in (-1, 1, 2):
        model.learn_one(model.decide({"a": i}, at=0).id, True, at=1)
    with pytest.raises(ZeroDivisionError):
        model.advance(10)
    for i in (3, 4, 5):
        model.decide({"a": i}, at=100)
    failures = 0
    for _ in range(5):
        try:
            model.advance(200)
        except ZeroDivisionError:
            failures += 1
    assert failures == 5  # it is tried again, after the others
    assert len(model.model.rows) == 3  # as many as there were slots
    assert model.fates()["pending"] == 1
    assert model.forget(1)
    assert model.advance(200) == 0
    assert model.fates()["expired"] == 1


def test_a_weight_of_the_callers_is_held_with_its_label():
    for release, moment in (("window", 10), ("arrival", 1)):
        model = for_river.LateLabels(Spy(), 8, seed=1, window=10, missing=False, release=release)
        model.learn_one(model.decide({"a": 1}, at=0).id, True, w=3.0, at=1)
        model.learn_one(model.decide({"a": 2}, at=0).id, True, w=0.0, at=1)
        model.advance(moment)
        assert model.model.rows == [({"a": 1}, True, 3.0)]


def test_torch():
    bias = autograd_stand_in.Tensor([0.0])
    late = for_torch.LateLabels(
        lambda x: x * bias,
        autograd_stand_in.SGD([bias], 0.5),
        lambda out, y: (out - y) * (out - y),
        8,
        collate=autograd_stand_in.collate,
        window=60,
        missing=np.array([0.0]),
        seed=1,
    )
    ids = [late.decide(np.array([1.0]), at=0).id for _ in range(2)]
    assert late.label(ids[1], np.array([1.0]), at=10) is None
    assert bias.data.item() == 0.0
    assert late.advance(60) == 2
    assert bias.data.item() == pytest.approx(1.0)  # from 0 by 2 · 0.5 · (1 − 0)
    assert late.advance(60) == 0


def test_torch_takes_all_parts_of_a_bad_label_back():
    bias = autograd_stand_in.Tensor([0.0])
    optimiser, loss = autograd_stand_in.SGD([bias], 0.01), lambda out, y: (out - y) * (out - y)
    stand_in = {"collate": autograd_stand_in.collate, "weights": "unbiased"}
    late = for_torch.LateLabels(lambda x: x * bias, optimiser, loss, 1, seed=1, **stand_in)
    tickets = [late.decide(np.array([1.0])) for _ in range(5)]
    id = next(ticket.id for ticket in reversed(tickets) if ticket.tracked)
    with pytest.raises(ValueError, match="not finite"):
        late.label(id, np.array([np.nan]))
    assert late.label(id, np.array([1.0])) is not None
    assert late._batch == []
    assert bias.data.item() == pytest.approx(1 - (1 - 2 * 0.01) ** 5)  # five steps of weight 1


def test_sentences():
    river = linear_model.LinearRegression
    with pytest.raises(ValueError, match=r"window='30d' ends also where no label came.* give missing=…"):
        for_river.LateLabels(river(), 8, window="30d")
    with pytest.raises(ValueError, match=r"missing is about windows, got 0: give a window too"):
        for_river.LateLabels(river(), 8, missing=0)
    with pytest.raises(ValueError, match="a decision without one has the label 'none', but it must be a finite number"):
        for_river.LateLabels(river(), 8, window="30d", missing="none")
    with pytest.raises(ValueError, match="must be one of the classes"):
        for_sklearn.LateLabels(SGDClassifier(), 8, classes=[0, 1], window="30d", missing=2).decide([[1.0]])
    with pytest.raises(ValueError, match="release must be one of 'arrival', 'window', got 'late'"):
        for_sklearn.LateLabels(SGDRegressor(), 8, window="30d", missing=2, release="late").decide([[1.0]])
    model = for_river.LateLabels(river(), 8)
    with pytest.raises(ValueError, match="this model has no window, so a moment means nothing to it, got 3"):
        model.decide({"a": 1}, at=3)
    with pytest.raises(ValueError, match="this model has no window, so none can end"):
        model.advance()


@pytest.mark.parametrize("kind", [for_river.LateLabels, for_river.LateClassifier, for_river.LateRegressor])
def test_signatures_say_what_may_be_given(kind):
    found = inspect.signature(kind).parameters
    assert list(found) == list(inspect.signature(kind.__init__).parameters)[1:]
    assert found["weights"].default == "tempered"
    assert found["capacity"].default is inspect.Parameter.empty
