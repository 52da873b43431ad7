"""What models are told of weights: relative and tempered, in several calls, cut, with a warning of long steps."""

from __future__ import annotations

import logging
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier, SGDRegressor

import tarry
from tarry.adapters import sklearn as for_sklearn
from tarry.adapters.waiting import Waiting
from tarry.live.weighing import WEIGHTS, Weighing


def told(weights, capacity=2, decisions=120, seed=3, **options):
    """What a model is told of the weights of labels that come seven decisions late, beside the weights themselves."""
    weighing = Weighing(weights, **options)
    waiting, join = Waiting(capacity, seed=seed, weighing=weighing), tarry.LabelJoin(capacity, rng=seed)
    rows = []
    for i in range(1, decisions + 1):
        waiting.decide(i)
        join.decide(i)
        row, (_, weight) = join.label(i - 7, 0), waiting.label(i - 7)
        if row is not None:
            rows.append((row.weight, weight))
    return np.array(rows).T, weighing


def test_what_each_way_tells_of_a_weight():
    (w, unbiased), _ = told("unbiased")
    assert np.array_equal(w, unbiased)
    assert w.std() > 0.3
    means, squares = np.cumsum(w) / np.arange(1, w.size + 1), np.cumsum(w * w) / np.cumsum(w)
    assert told("relative")[0][1] == pytest.approx(w / means, rel=1e-12)
    assert told("tempered")[0][1] == pytest.approx(w / np.sqrt(squares), rel=1e-12)


def regret_bound(weights, distance, bound, step):
    """Of online gradient descent: D²/(2η) + (η/2) Σ w² G² (Zinkevich, 2003), in units of the weights."""
    return distance**2 / (2 * step) + step / 2 * np.sum((weights * bound) ** 2)


def test_a_step_tuned_for_all_labels_has_the_least_regret_with_tempered_weights():
    """Tuned for Σw labels of weight 1; dividing weights by c is the step over c. No divisor does better."""
    w = np.random.default_rng(2).pareto(1.5, 500) + 1
    distance, bound = 3.0, 2.0
    tuned = distance / (bound * np.sqrt(w.sum()))
    tempered = np.sqrt(np.sum(w * w) / w.sum())
    least = regret_bound(w, distance, bound, tuned / tempered)
    assert least == pytest.approx(distance * bound * np.sqrt(np.sum(w * w)))  # the best of all steps
    for divisor in (1.0, w.mean(), *(tempered * np.array([0.5, 0.9, 1.1, 2.0]))):
        assert regret_bound(w, distance, bound, tuned / divisor) > least


def test_joins_tell_the_steps_that_models_are_told():
    (_, tempered), weighing = told("tempered")
    join, rows = tarry.LabelJoin(2, rng=3), []
    for i in range(1, 121):
        join.decide(i)
        row = join.label(i - 7, 0)
        if row is not None:
            rows.append(join.steps(row))
    assert [sum(steps) for steps in rows] == pytest.approx(tempered, rel=1e-12)
    assert [len(steps) for steps in rows] == [weighing.calls(weight) for weight in tempered]
    assert max(map(len, rows)) > 1
    with pytest.raises(ValueError, match="this join has given out no row yet"):
        tarry.LabelJoin(2).steps(tarry.live.Row(None, 0, 1.0))


def test_models_are_told_tempered_weights_unless_asked_otherwise():
    """One slot for sixteen decisions: weight 16, told as 16/√16 in four calls of 1."""
    model, heard = for_sklearn.LateLabels(SGDRegressor(), 1, random_state=0), []
    ids = [ticket.id for ticket in model.decide(np.ones((16, 1)))]
    model.estimator_.partial_fit = lambda X, y, sample_weight: heard.extend(sample_weight)
    model.label(ids, np.ones(16))
    assert heard == pytest.approx([1.0] * 4)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_with_room_for_all_every_way_tells_one_and_in_one_call(weights):
    (_, found), weighing = told(weights, capacity=None)
    assert found.size > 100
    assert set(found) == {1.0}
    assert weighing.calls(1.0) == 1


@given(st.lists(st.floats(1.0, 1e4), min_size=1, max_size=30), st.floats(0.1, 5.0))
def test_calls_have_between_one_and_two_splits_and_cost_no_more_than_every_label(weights, split):
    weighing = Weighing("unbiased", split=split)
    for weight in weights:
        each = weight / weighing.calls(weight)
        assert each < 2 * split + 1e-9
        assert each >= min(weight, split) * (1 - 1e-12)
    # Weights add up to the decisions that they stand for.
    assert sum(map(Weighing("unbiased").calls, weights)) <= sum(weights)
    assert all(Weighing(split=None).calls(weight) == 1 for weight in weights)


def test_the_parts_of_a_row_reach_scikit_learn_in_one_call():
    model = for_sklearn.LateLabels(SGDRegressor(), 2, random_state=1, weights="unbiased")
    ids = [ticket.id for ticket in model.decide(np.arange(9.0)[:, None])]
    heard = []
    model.estimator_.partial_fit = lambda X, y, sample_weight: heard.append((X, y, sample_weight))
    assert model.label(ids, np.arange(9.0)) == 2
    ((X, y, weights),) = heard
    assert np.array_equal(X[:, 0], y)
    assert weights.sum() == pytest.approx(9.0)
    assert len(set(y)) == 2
    assert len(y) > 6
    assert weights.max() < 2.0


def test_several_small_steps_stay_where_one_long_one_overshoots():
    """Squared loss, one feature: a step of 0.3 with weight 12 ends beyond the label, twelve of weight 1 before it."""

    def learnt(split):
        late = for_sklearn.LateLabels(
            SGDRegressor(learning_rate="constant", eta0=0.3, alpha=0.0, fit_intercept=False, shuffle=False),
            capacity=1,
            random_state=0,
            weights="unbiased",
            split=split,
        )
        late.label([ticket.id for ticket in late.decide(np.ones((12, 1)))], np.ones(12))
        return late.predict([[1.0]])[0]

    assert learnt(None) == pytest.approx(12 * 0.3)
    assert learnt(1.0) == pytest.approx(1 - 0.7**12)


def test_max_weight_cuts_says_how_much_and_warns_once(caplog):
    (w, whole), _ = told("unbiased", capacity=2, decisions=900)
    with caplog.at_level(logging.WARNING, "tarry"):
        (_, found), weighing = told("unbiased", capacity=2, decisions=900, max_weight=2.5)
    assert np.array_equal(found, np.minimum(whole, 2.5))
    assert weighing.cut == pytest.approx(1 - found.sum() / w.sum())
    assert weighing.cut > 0.01
    (warning,) = caplog.records
    assert f"max_weight=2.5 has cut {100 * weighing.cut:.0f}"[:24] in warning.message
    caplog.clear()
    (_, same), weighing = told("unbiased", capacity=2, decisions=900, max_weight=1e6)
    assert np.array_equal(same, whole)
    assert weighing.cut == 0.0
    assert not caplog.records


def heavy(model, capacity=1, decisions=40, **options):
    late = for_sklearn.LateLabels(model, capacity, random_state=0, weights="unbiased", **options)
    late.label([ticket.id for ticket in late.decide(np.ones((decisions, 1)))], np.ones(decisions))
    late.label([ticket.id for ticket in late.decide(np.ones((decisions, 1)))], np.ones(decisions))


def test_a_long_step_is_warned_of_once_and_only_where_it_is_long(caplog):
    heavy(SGDRegressor(), split=None)  # eta0 = 0.01, weight 40
    assert len(caplog.records) == 1
    assert "a label of weight 40 is told in one call to a model whose step is 0.01: together 0.4" in caplog.text
    caplog.clear()
    heavy(SGDRegressor(eta0=0.001), split=None)
    heavy(SGDRegressor(eta0=1.0))  # in calls of weight 1: as without weights
    assert not caplog.records


def test_steps_are_read_from_models():
    from river import compose, linear_model, optim, preprocessing, tree

    from tarry.adapters import torch as for_torch
    from tarry.adapters.river.late_labels import step_of

    assert step_of(preprocessing.StandardScaler() | linear_model.LogisticRegression(optim.SGD(0.25))) == 0.25
    assert step_of(compose.Pipeline(linear_model.LinearRegression())) == 0.01
    assert step_of(tree.HoeffdingTreeClassifier()) is None
    assert for_sklearn.step_of(SGDRegressor(eta0=0.5)) == 0.5
    first = SGDClassifier(loss="log_loss")
    first.partial_fit([[1.0]], [1], classes=[0, 1])  # of 10 · (1/2) from margin 0, at the first step of its schedule
    assert for_sklearn.step_of(SGDClassifier()) == pytest.approx(2 * first.coef_[0, 0], rel=0.01)
    optimiser = SimpleNamespace(param_groups=[{"lr": 0.1}, {"lr": 0.3}, {}])
    assert for_torch.step_of(optimiser) == 0.3
    assert for_torch.step_of(object()) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": "raw"}, "weights must be one of 'relative', 'tempered', 'unbiased', got 'raw'"),
        ({"split": 0}, "split must be positive and finite, got 0"),
        ({"max_weight": math.inf}, "max_weight must be positive and finite, got inf"),
    ],
)
def test_sentences(options, words):
    with pytest.raises(ValueError, match=words):
        Weighing(**options)
