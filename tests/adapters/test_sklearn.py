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


@pytest.mark.slow
def test_recovers_the_truth_only_with_weights():
    def learn(change):
        return float(
            play(LateLabels(Mean(change), CAPACITY, random_state=1, weights="unbiased", split=None), 3).predict(
                [[0.0, 0.0]]
            )[0]
        )

    assert_weights_matter(learn)


@pytest.mark.slow
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
    assert late.moments().mean == 1.0


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


def test_is_made_without_a_look_as_scikit_learn_wants_it():
    for model in (LogisticRegression(), Unweighted(), SGDClassifier(), None):
        late = clone(LateLabels(model, capacity="many"))
        assert late.get_params(deep=False)["capacity"] == "many"


@pytest.mark.parametrize("act", ["decide", "fit", "partial_fit"])
def test_what_cannot_learn_is_refused_by_the_first_call(act):
    for model, words in (
        (LogisticRegression(), "^LogisticRegression has no partial_fit"),
        (Unweighted(), "^Unweighted.partial_fit takes no sample_weight"),
        (SGDClassifier, "^SGDClassifier is a class: give a model"),
        (None, "^NoneType has no partial_fit"),
    ):
        late = LateLabels(model, 5)
        with pytest.raises(ValueError, match=words):
            getattr(late, act)(*([X2] if act == "decide" else [X2, [0, 1]]))
        assert not hasattr(late, "waiting_")


X2 = np.array([[0.0, 1.0], [1.0, 0.0]])


def test_a_classifier_without_classes_is_refused_before_any_decision():
    late = LateLabels(SGDClassifier(random_state=0), 5)
    for act in (lambda: late.decide(X2), lambda: late.label([1], [0]), lambda: late.partial_fit(X2, [0, 1])):
        with pytest.raises(ValueError, match=r"^SGDClassifier must know its classes before its labels come"):
            act()
    assert late.partial_fit(X2, [0, 1], classes=[0, 1]).fates()["pending"] == 0
    assert len(late.decide(X2)) == 2, "the classes are known by now"
    with pytest.raises(ValueError, match="classes must be a list of all classes, got 'ab'"):
        LateLabels(SGDClassifier(), 5, classes="ab").decide(X2)


BAD = {
    "regressor": (SGDRegressor, None, [np.nan, np.inf, None, "1.0"], "a finite number"),
    "numbers": (SGDClassifier, [0, 1], [np.nan, 2, None, "1"], r"one of the classes \[0, 1\]"),
    "names": (SGDClassifier, ["a", "b"], ["c", None, 1], r"one of the classes \['a', 'b'\]"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("whose", ["tracked", "untracked", "unknown"])
def test_a_bad_label_is_refused_whoever_is_tracked_and_changes_nothing(kind, whose):
    model, classes, bad, wanted = BAD[kind]
    late = LateLabels(model(random_state=0), 2, classes=classes, random_state=1)
    tickets = late.decide(np.arange(12.0).reshape(6, 2))
    gone = {id for ticket in tickets for id in ticket.released}
    tracked = [ticket.id for ticket in tickets if ticket.tracked and ticket.id not in gone]
    id = {"tracked": tracked[0], "untracked": next(iter(gone)), "unknown": 77}[whose]
    good = 1.0 if classes is None else classes[0]
    for y in bad:
        with pytest.raises(ValueError, match=rf"the decision {id} has the label {y!r}, but it must be {wanted}"):
            late.label([tracked[1], id], np.array([good, y], dtype=object))
    assert late.fates()["pending"] == 2
    with pytest.raises(ValueError, match="row 1 has the label"):
        late.partial_fit(X2, np.array([good, bad[0]], dtype=object), sample_weight=[1, 0])
    assert late.label(tracked, np.array([good, good])) == 2


def test_sentences():
    late = LateLabels(SGDRegressor(), 5)
    with pytest.raises(NotFittedError, match="learnt from no label yet"):
        late.predict([[1.0]])
    with pytest.raises(NotFittedError):
        late.fates()
    with pytest.raises(ValueError, match="X has 1 rows and there are 2 ids"):
        late.decide([[1.0]], ids=[1, 2])
    with pytest.raises(ValueError, match="there are 1 ids and 2 labels"):
        late.label([1], [1.0, 2.0])
    assert late.label([77], [1.0]) == late.label([], []) == 0
    tickets = late.decide([[1.0]])
    with pytest.raises(NotFittedError, match="learnt from no label yet"):
        late.predict([[1.0]])
    for ids, y, words in (
        (1, [1.0], "ids must be a list of ids, got 1"),
        ("ab", [1.0], "ids must be a list of ids, got 'ab'"),
        ([1], 1.0, "y must be a list of labels, got 1.0"),
        (tickets, [1.0], "this is its ticket: give ticket.id, here 1"),
        ([1, [2]], [1.0, 1.0], r"an id must be hashable .* got \[2\]"),
    ):
        with pytest.raises(ValueError, match=words):
            late.label(ids, y)
    with pytest.raises(ValueError, match="row 1 has no id: give ids always or never"):
        LateLabels(SGDRegressor(), 5).decide(X2, ids=["a", None])
    with pytest.raises(ValueError, match="X has 2 features, but LateLabels is expecting 1"):
        late.decide(X2)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 1, 2\]"):
        LateLabels(SGDRegressor(), 5).partial_fit(X2, [1.0])
    for weight in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"sample_weight must be finite and at least 0, got {weight}"):
            LateLabels(SGDRegressor(), 5).partial_fit(X2, [1.0, 2.0], sample_weight=[1.0, weight])
    assert late.label([1], [1.0]) == 1, "none of this lost the decision"


def test_frames_keep_their_columns_in_order():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    late = LateLabels(SGDRegressor(random_state=0), 5)
    assert late.label([ticket.id for ticket in late.decide(frame)], [1.0, 2.0]) == 2
    assert late.predict(frame).shape == (2,), "and no warning about names"
    with pytest.raises(ValueError, match="feature names should match"):
        late.predict(frame[["b", "a"]])


def test_fit_begins_afresh():
    late = LateLabels(SGDRegressor(random_state=0), 5)
    late.decide([[1.0]])
    late.fit([[1.0], [2.0]], [1.0, 2.0])
    assert late.fates()["pending"] == 0
