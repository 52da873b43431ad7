"""scikit-learn's conventions, its models, and weights that reach them."""

import pickle

import numpy as np
import pytest
from latecomers import CAPACITY, Average, assert_weights_matter, events
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB

import tarry
from tarry.adapters.sklearn import LateLabels


class Mean(RegressorMixin, BaseEstimator):
    """A weighted mean; ``change`` is what a careless adapter would do to the weights."""

    def __init__(self, change=None):
        self.change = change

    def partial_fit(self, X, y, sample_weight=None):
        self.average_ = getattr(self, "average_", None) or Average()
        for label, weight in zip(y, sample_weight, strict=True):
            self.average_.tell(label, self.change(weight))
        return self

    def predict(self, X):
        return np.full(len(X), self.average_.mean)


class Unweighted(SGDClassifier):
    def partial_fit(self, X, y, classes=None):
        return self


def play(late, size=1):
    """Labels are told ``size`` at a time."""
    ids, come = {}, []
    for i, y in events():
        if y is None:
            ids[i] = late.decide([[1.0, float(i % 7)]])[0].id
        else:
            come.append((ids.pop(i), y))
            if len(come) == size:
                late.label(*zip(*come, strict=True))
                come = []
    if come:
        late.label(*zip(*come, strict=True))
    return late


def test_recovers_the_truth_only_with_weights():
    def learn(change):
        return float(play(LateLabels(Mean(change), CAPACITY, random_state=1), 3).predict([[0.0]])[0])

    assert_weights_matter(learn)


def test_a_real_model_recovers_the_truth():
    late = play(LateLabels(GaussianNB(var_smoothing=0.1), CAPACITY, classes=[0, 1], random_state=1))
    assert late.estimator_.class_prior_[1] == pytest.approx(0.25, abs=0.05)


def test_equals_partial_fit_when_everything_is_tracked():
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(300, 3)), draw.integers(0, 2, 300)
    late = LateLabels(SGDClassifier(random_state=0), 400, classes=[0, 1])
    plain = SGDClassifier(random_state=0)
    for part in np.split(np.arange(300), 30):
        assert late.label([t.id for t in late.decide(X[part])], y[part]) == 10
        plain.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=np.ones(10))
    assert np.array_equal(late.decision_function(X), plain.decision_function(X))
    assert late.classes_.tolist() == [0, 1]
    assert late.score(X, y) == plain.score(X, y)
    assert late.fates()["used"] == 300
    assert late.weights().mean == 1.0


def test_rows_of_weight_zero_never_reach_the_model():
    draw = np.random.default_rng(0)
    X, y, w = draw.normal(size=(60, 2)), draw.normal(size=60), draw.integers(0, 3, 60)
    late = LateLabels(SGDRegressor(random_state=0), 4).partial_fit(X, y, sample_weight=w)
    plain = SGDRegressor(random_state=0).partial_fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert np.array_equal(late.predict(X), plain.predict(X))
    clock = late.estimator_.t_
    late.partial_fit(X, y, sample_weight=np.zeros(60))
    assert late.estimator_.t_ == clock == 1 + np.count_nonzero(w)


def test_parameters_clone_and_pickle():
    late = LateLabels(SGDRegressor(alpha=0.5), 7, scheduler=tarry.schedulers.VarOpt(), random_state=3)
    assert late.get_params()["estimator__alpha"] == 0.5
    assert late.set_params(estimator__alpha=0.1, capacity=9).estimator.alpha == 0.1
    copied = clone(late)
    assert copied.get_params(deep=False).keys() == late.get_params(deep=False).keys()
    assert (copied.capacity, copied.scheduler, copied.random_state) == (9, tarry.schedulers.VarOpt(), 3)
    assert not hasattr(copied, "waiting_")

    def go(late, first, last):
        for i in range(first, last):
            late.decide([[float(i % 5), 1.0]], ids=[i])
            late.label([i - 20], [float(i % 3)])
        return late

    halfway = pickle.loads(pickle.dumps(go(clone(late), 0, 100)))
    assert np.array_equal(go(halfway, 100, 200).predict([[1, 1]]), go(clone(late), 0, 200).predict([[1, 1]]))


@pytest.mark.parametrize("state", [1, np.random.RandomState(1), np.random.default_rng(1), None])
def test_random_states(state):
    late = LateLabels(SGDRegressor(), 2, random_state=state)
    assert sum(t.tracked for t in late.decide(np.ones((20, 1)))) >= 2


def test_the_seed_decides():
    def tracked(state):
        return [t.tracked for t in LateLabels(SGDRegressor(), 3, random_state=state).decide(np.ones((40, 1)))]

    assert tracked(1) == tracked(1) != tracked(2)
    join = tarry.LabelJoin(3, rng=1)
    assert tracked(1) == [join.decide().tracked for _ in range(40)]


def test_is_what_it_wraps():
    assert is_classifier(LateLabels(SGDClassifier()))
    assert is_regressor(LateLabels(SGDRegressor()))
    assert hasattr(LateLabels(GaussianNB()), "predict_proba")
    assert not hasattr(LateLabels(SGDRegressor()), "predict_proba")
    assert LateLabels(GaussianNB(), 5, classes=[0, 1]).fit([[0.0], [1.0]], [0, 1]).predict_proba([[1.0]]).shape == (
        1,
        2,
    )


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LogisticRegression(), "^LogisticRegression has no partial_fit"),
        (Unweighted(), "^Unweighted.partial_fit takes no sample_weight"),
    ],
)
def test_a_model_without_weights_is_refused_by_name(model, words):
    with pytest.raises(ValueError, match=words):
        LateLabels(model, 5).decide([[1.0]])


def test_sentences():
    late = LateLabels(SGDRegressor(), 5)
    with pytest.raises(NotFittedError):
        late.predict([[1.0]])
    with pytest.raises(ValueError, match="X has 1 rows and there are 2 ids"):
        late.decide([[1.0]], ids=[1, 2])
    with pytest.raises(ValueError, match="there are 1 ids and 2 labels"):
        late.label([1], [1.0, 2.0])
    assert late.label([77], [1.0]) == 0


def test_fit_begins_afresh():
    late = LateLabels(SGDRegressor(random_state=0), 5)
    late.decide([[1.0]])
    late.fit([[1.0], [2.0]], [1.0, 2.0])
    assert late.fates()["pending"] == 0


def test_labels_that_the_model_refuses_may_come_again():
    late = LateLabels(SGDRegressor(random_state=0), capacity=2, random_state=1)
    ids = [ticket.id for ticket in late.decide(np.arange(10.0).reshape(5, 2))]
    twin = LateLabels(SGDRegressor(random_state=0), capacity=2, random_state=1)
    twin.decide(np.arange(10.0).reshape(5, 2))
    for _ in range(2):
        with pytest.raises(ValueError, match="NaN") as told:
            late.label(ids, [np.nan] * 5)
        assert "label them again" in told.value.__notes__[0]
    assert late.label(ids, np.ones(5)) == twin.label(ids, np.ones(5)) == 2
    assert late.predict([[1.0, 2.0]]) == twin.predict([[1.0, 2.0]])
    assert late.label(ids, np.ones(5)) == 0
