"""A River model whose labels come late: River's conventions, the truth, and what is refused."""

import math
import pickle
import re

import numpy as np
import pytest
from latecomers import CAPACITY, RATE, assert_weights_matter, events
from marking import slow_but
from river import base, checks, evaluate, linear_model, metrics, optim
from river_models import PHISHING, Mean, Spy, classifier, regressor, trees

import tarry
from tarry.adapters import river as late


def test_live_recovers_the_truth_only_with_weights():
    def learn(change):
        model = late.LateLabels(Mean(change), CAPACITY, on="i", seed=1, split=None)
        for i, y in events():
            if y is None:
                model.predict_one({"i": i})
            else:
                model.learn_one({"i": i}, y)
        return model.predict_one({"i": -1})

    assert_weights_matter(learn)


def test_a_linear_model_recovers_the_truth():
    model = late.LateLabels(
        linear_model.LinearRegression(optimizer=optim.SGD(0.0), intercept_lr=0.002), CAPACITY, seed=1
    )
    ids, found = {}, []
    for i, y in events():
        if y is None:
            ids[i] = model.decide({"a": 1.0}).id
        else:
            model.learn_one(ids[i], y)
            found.append(model.predict_one({"a": 0.0}))
    assert abs(np.mean(found[len(found) // 2 :]) - RATE) < 0.05


def name_of(x):
    return frozenset(x.items())


KINDS = {
    "classifier": lambda: late.LateLabels(linear_model.LogisticRegression(), None, seed=1),
    "regressor": lambda: late.LateLabels(regressor(), 200, on=name_of, seed=1),
    "unseeded": lambda: late.LateLabels(trees(), None),
    "scheduler": lambda: late.LateLabels(trees(), None, scheduler=tarry.schedulers.VarOpt()),
    "scheduler with parameters": lambda: late.LateLabels(
        regressor(), 200, on=name_of, scheduler=tarry.schedulers.Morris(0.5)
    ),
}


@pytest.mark.parametrize("kind", slow_but(KINDS, lambda kind: kind not in ("unseeded", "scheduler")))
def test_passes_river_s_own_checks(kind):
    model = KINDS[kind]()
    skipped = {"check_bounded_memory_growth"}  # slow; test_waiting bounds the memory
    done = 0
    for check in checks.yield_checks(model):
        if check.__name__ not in skipped:
            check(model.clone())
            done += 1
    assert done > 20


def test_is_what_it_wraps():
    assert isinstance(KINDS["classifier"](), base.Classifier)
    assert not isinstance(KINDS["classifier"](), base.Regressor)
    assert isinstance(KINDS["regressor"](), base.Regressor)
    assert not isinstance(KINDS["regressor"](), base.MiniBatchRegressor)


def test_drops_into_river_s_own_loop():
    data = [({"id": i, **x}, y) for i, (x, y) in enumerate(PHISHING)]
    plain = evaluate.progressive_val_score(PHISHING, classifier(), metrics.ROCAUC(), delay=100)
    roomy = late.LateLabels(classifier(), 200, on="id", seed=1)
    assert repr(evaluate.progressive_val_score(data, roomy, metrics.ROCAUC(), delay=100)) == repr(plain)
    small = late.LateLabels(classifier(), 10, on="id", seed=1)
    ours = evaluate.progressive_val_score(data, small, metrics.ROCAUC(), delay=100)
    again = late.progressive_val_score(PHISHING, classifier(), metrics.ROCAUC(), delay=100, capacity=10, seed=1)
    assert repr(ours) == repr(again)
    assert small.fates()["pending"] == 0
    assert small.moments().mean == pytest.approx(1.0)


def test_features_are_kept_as_they_were():
    spy = Spy()
    model = late.LateLabels(spy, 5, on=lambda x: x["id"])
    x = {"id": 1, "a": 2}
    model.predict_proba_one(x)
    x["a"] = 3
    model.learn_one({"id": 1}, True, w=2.0)
    assert spy.rows == [({"id": 1, "a": 2}, True, 2.0)]
    with pytest.raises(ValueError, match="no feature 'id' to name its decision, only \\['a'\\]"):
        late.LateLabels(Spy(), 5, on="id").predict_one({"a": 2})


def test_late_repeated_and_unknown_labels_are_ignored():
    model = late.LateLabels(spy := Spy(), 2, seed=1, weights="unbiased")
    ids = [model.decide({"a": i}).id for i in range(10)]
    for id in [*ids, *ids, 99, "nobody"]:
        model.learn_one(id, True)
    assert len({x["a"] for x, _, _ in spy.rows}) == 2
    assert sum(w for _, _, w in spy.rows) == pytest.approx(10)


def test_a_pickle_goes_on_as_the_original():
    def play(model, first, last):
        for i in range(first, last):
            model.predict_one({"id": i, "a": float(i % 7)})
            model.learn_one({"id": i - 30}, float(i % 5))
        return model

    def fresh():
        return late.LateLabels(linear_model.LinearRegression(), 6, on="id", seed=3)

    halfway = pickle.loads(pickle.dumps(play(fresh(), 0, 100)))
    assert play(halfway, 100, 200).model.weights == play(fresh(), 0, 200).model.weights


BAD = [math.nan, math.inf, -math.inf, np.float64("nan"), None]


@pytest.mark.parametrize("y", BAD, ids=repr)
@pytest.mark.parametrize("make", [classifier, regressor])
def test_a_label_that_is_none_is_refused_and_changes_nothing(make, y):
    model, twin = (late.LateLabels(make(), 2, on="id", seed=1) for _ in range(2))
    for one in (model, twin):
        for i in range(6):
            one.predict_one({"id": i, "a": float(i)})
    for i in (*range(6), 99):  # tracked, not tracked, unknown
        with pytest.raises(ValueError, match=rf"the decision {i} has the label {re.escape(repr(y))}"):
            model.learn_one({"id": i}, y)
    assert model.fates() == twin.fates()
    for one in (model, twin):
        for i in range(6):
            one.learn_one({"id": i}, 1)
    assert model.fates()["used"] == 2
    assert model.predict_one({"id": 7, "a": 1.0}) == twin.predict_one({"id": 7, "a": 1.0})


def test_what_a_label_may_be():
    for y in ("spam", True, 3, np.str_("ham"), np.bool_(True), np.int64(1), ("a", "b")):
        model = late.LateLabels(spy := Spy(), 2)
        model.learn_one(model.decide({"a": 1}).id, y)
        assert spy.rows[0][1] == y
    model = late.LateLabels(Mean(), 2)
    for y in (2, 2.0, np.float32(2), np.int64(2), True):
        model.learn_one(model.decide({"a": 1}).id, y)
    assert model.predict_one({}) == pytest.approx(9 / 5)
    with pytest.raises(ValueError, match="the decision 6 has the label '2', but it must be a finite number"):
        model.learn_one(model.decide({"a": 1}).id, "2")


def test_features_alone_answer_nothing_where_a_capacity_is_set():
    model = late.LateLabels(spy := Spy(), 3)
    with pytest.raises(ValueError, match=r"the capacity of 3 would not apply: name the feature .* \(on='id'\)"):
        model.learn_one({"a": 1}, True)
    with pytest.raises(ValueError, match="would not apply"):
        evaluate.progressive_val_score(PHISHING, late.LateLabels(classifier(), 3), metrics.Accuracy(), delay=5)
    assert model.fates()["pending"] == len(spy.rows) == 0
    roomy = late.LateLabels(spy := Spy(), None)
    roomy.learn_one({"a": 1}, True)
    assert spy.rows == [({"a": 1}, True, 1.0)]
    assert roomy.fates()["used"] == 1


def test_a_decision_the_model_fails_on_may_be_labelled_again():
    class Picky(Mean):
        def learn_one(self, x, y, w=1.0):
            if y > 5:
                raise RuntimeError("too much")
            super().learn_one(x, y, w)

    model = late.LateLabels(Picky(), 1, seed=1, weights="unbiased")
    ids = [model.decide({"a": i}).id for i in range(4)]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="too much") as told:
            list(map(model.learn_one, ids, [6.0] * 4))
        assert "label them again" in told.value.__notes__[0]
    for id in ids:
        model.learn_one(id, 2.0)
    assert model.model.weight == pytest.approx(4.0)


class Failing(Mean):
    fails = True

    def learn_one(self, x, y, w=1.0):
        if self.fails:
            raise RuntimeError("never")
        super().learn_one(x, y, w)


def test_failed_rows_are_at_most_capacity_and_none_is_lost():
    model = late.LateLabels(Failing(), 2, on="id", seed=1)
    failed = []
    for i in range(40):
        model.predict_one({"id": i, "a": 1})
        if i not in model._waiting._kept:
            continue
        kind, words = (
            (RuntimeError, "never") if len(failed) < 2 else (ValueError, "failed on 2 decisions, .* at most 2")
        )
        with pytest.raises(kind, match=words) as told:
            model.learn_one({"id": i}, 1.0)
        if kind is RuntimeError:
            failed.append(i)
            assert "forget(id)" in told.value.__notes__[0]
        assert len(model._waiting._returned) <= 2
        assert len(model._waiting._kept) <= 2
    assert len(failed) == 2
    fates = model.fates()
    assert (fates["used"], fates["pending"], sum(fates.values())) == (0, 4, 40)
    assert model.forget(failed[0])
    assert not model.forget(failed[0])
    assert not model.forget("nobody")
    model.model.fails = False
    for i in range(40):
        model.learn_one({"id": i}, 1.0)
    fates = model.fates()
    assert (fates["used"], fates["pending"], fates["expired"], sum(fates.values())) == (3, 0, 1, 40)


def test_without_a_limit_every_failed_row_is_held():
    model = late.LateLabels(Failing(), None)
    for i in range(1100):
        with pytest.raises(RuntimeError):
            model.learn_one(model.decide({"a": i}).id, 1.0)
    model.model.fails = False
    for i in range(1100):
        model.learn_one(i + 1, 1.0)
    assert model.model.weight == 1100.0


@pytest.mark.parametrize("wrong", [5, None, [1.0]])
@pytest.mark.parametrize("on", [None, "id", lambda x: x["id"]])
def test_features_that_are_none_are_refused_at_once(wrong, on):
    model = late.LateLabels(Spy(), 3, on=on)
    with pytest.raises(ValueError, match="features must be a dict of names to values, got"):
        model.decide(wrong)
    assert model.fates()["pending"] == 0


class Brittle(dict):
    def __copy__(self):
        raise ZeroDivisionError


@pytest.mark.parametrize("on", [None, "id"])
def test_a_copy_that_fails_registers_nothing(on):
    model = late.LateLabels(Spy(), 3, on=on)
    with pytest.raises(ZeroDivisionError):
        model.decide(Brittle(id=1))
    assert sum(model.fates().values()) == 0
    assert model.decide({"id": 1}).tracked


def test_documents_are_features_of_text_pipelines():
    from river import feature_extraction

    model = late.LateLabels(feature_extraction.BagOfWords() | linear_model.LogisticRegression(), 3)
    model.learn_one(model.decide("late again").id, True)
    assert model.predict_one("again") is True


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda model: model.learn_one(model.decide({"a": 1}), True), "this is its ticket: give ticket.id, here 1"),
        (lambda model: model.decide({"a": 1}, [3]), "an id must be hashable"),
        (lambda model: model.decide({"a": 1}, math.nan), "equal to itself, such as a string or a number, got nan"),
        (lambda model: (model.decide({"a": 1}), model.learn_one([3], True)), r"an id must be hashable .* got \[3\]"),
        (lambda model: model.learn_one(model.decide({"a": 1}).id, True, w=math.nan), "has the weight w=nan"),
        (lambda model: model.learn_one(model.decide({"a": 1}).id, True, w="2"), "has the weight w='2'"),
        (lambda model: model.learn_one(model.decide({"a": 1}).id, True, w=-1.0), "has the weight w=-1.0"),
    ],
)
def test_sentences(act, words):
    model = late.LateLabels(spy := Spy(), 3)
    with pytest.raises(ValueError, match=words):
        act(model)
    assert spy.rows == []
    assert model.decide({"a": 1}).tracked, "the next one goes on without an id"


def test_names_by_features():
    model = late.LateLabels(Spy(), 3, on="id")
    with pytest.raises(ValueError, match="a decision cannot be named None"):
        model.predict_one({"id": None, "a": 1})
    with pytest.raises(ValueError, match=r"features must be a dict of names to values, got \[1, 2\]"):
        model.predict_one([1, 2])
    with pytest.raises(ValueError, match=r"x has no feature 'id' to name its decision, only \['a'\]"):
        model.predict_one({"a": 1})
    with pytest.raises(ValueError, match="LogisticRegression is a class"):
        late.progressive_val_score(PHISHING, linear_model.LogisticRegression, metrics.Accuracy())
