"""Which models are refused because weights would be lost on them."""

import random

import pytest
from river import (
    base,
    compose,
    ensemble,
    feature_extraction,
    forest,
    imblearn,
    linear_model,
    metrics,
    multiclass,
    naive_bayes,
    preprocessing,
    stats,
)
from river_models import PHISHING, classifier, trees

from tarry.adapters import river as late
from tarry.adapters.river.late_labels import FORWARDING, check_weighted

WEIGHTLESS = {
    "GaussianNB": naive_bayes.GaussianNB,
    "PAClassifier": linear_model.PAClassifier,
    "SoftmaxRegression": linear_model.SoftmaxRegression,
    "ARFClassifier": forest.ARFClassifier,
    "SRPClassifier": lambda: ensemble.SRPClassifier(trees(), n_models=2),
    "HardSamplingClassifier": lambda: imblearn.HardSamplingClassifier(classifier(), size=5, p=0.1),
    "AdaBoostClassifier": lambda: ensemble.AdaBoostClassifier(trees(), n_models=2),
    "MultinomialNB": lambda: preprocessing.StandardScaler() | naive_bayes.MultinomialNB(),
    "BernoulliNB": lambda: ensemble.BaggingClassifier(
        preprocessing.Binarizer() | naive_bayes.BernoulliNB(), n_models=2
    ),
    "TargetAgg": lambda: feature_extraction.TargetAgg("a", stats.Mean()) | linear_model.LinearRegression(),
    "ComplementNB": lambda: multiclass.OneVsRestClassifier(naive_bayes.ComplementNB()),
}


@pytest.mark.parametrize("name", WEIGHTLESS)
def test_a_model_without_weights_is_refused_by_name(name):
    model = WEIGHTLESS[name]()
    with pytest.raises(ValueError, match=f"^{name}.learn_one takes no weight w"):
        late.progressive_val_score(PHISHING, model, metrics.Accuracy(), capacity=5)
    with pytest.raises(ValueError, match=f"^{name}.learn_one takes no weight w"):
        late.LateLabels(model, 5)


def test_a_supervised_step_in_a_union_is_refused_too():
    union = feature_extraction.TargetAgg("a", stats.Mean()) + compose.Select("b")
    with pytest.raises(ValueError, match=r"^TargetAgg"):
        check_weighted(union | linear_model.LinearRegression())


def test_what_learns_from_no_labels_is_refused():
    from river import active, anomaly, cluster

    for model in (anomaly.HalfSpaceTrees(), cluster.KMeans()):
        with pytest.raises(ValueError, match="learns from no labels"):
            check_weighted(model)
    with pytest.raises(ValueError, match="chooses its labels itself"):
        check_weighted(active.EntropySampler(classifier()))
    with pytest.raises(ValueError, match="classifier or a regressor"):
        late.LateLabels("a model", 5)
    with pytest.raises(ValueError, match="MAE does not score"):
        late.progressive_val_score(PHISHING, classifier(), metrics.MAE())


def _wrapped(name):
    from river import drift, ensemble, multiclass, preprocessing

    kind = next(getattr(room, name) for room in (drift, ensemble, multiclass, preprocessing) if hasattr(room, name))
    if name in ("OutputCodeClassifier", "OneVsOneClassifier"):
        return kind(Binary(), **({"code_size": 4, "seed": 1} if name.startswith("Output") else {}))
    if name == "PredClipper":
        return kind(Taught(), 0, 1)
    if name == "BaggingRegressor":
        return kind(Taught(), n_models=2, seed=1)
    return kind(Binary(), **({"n_models": 2, "seed": 1} if "Bagging" in name else {}))


class Binary(base.Classifier):
    seen: list = []

    def __init__(self):
        pass

    def learn_one(self, x, y, w=1.0):
        Binary.seen.append(w)

    def predict_proba_one(self, x, **kwargs):
        return {True: 0.6, False: 0.4}


class Taught(base.Regressor):
    def __init__(self):
        pass

    def learn_one(self, x, y, w=1.0):
        Binary.seen.append(w)

    def predict_one(self, x, **kwargs):
        return 0.5


@pytest.mark.parametrize("name", FORWARDING)
def test_forwarding_models_hand_the_weight_on(name):
    model, draw = _wrapped(name), random.Random(1)
    check_weighted(model)
    Binary.seen.clear()
    for _ in range(200):
        x, y = {"a": draw.random()}, draw.choice([0, 1])
        model.predict_one(x)
        model.learn_one(x, y, w=3.0)
    assert set(Binary.seen) == {3.0}
