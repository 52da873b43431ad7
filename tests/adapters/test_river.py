"""River's numbers where nothing is left out, and the truth where something is."""

import copy
import datetime as dt
import io
import pickle
import random

import numpy as np
import pytest
from latecomers import CAPACITY, RATE, assert_weights_matter, events, labels, wait
from river import (
    base,
    checks,
    compose,
    datasets,
    ensemble,
    evaluate,
    feature_extraction,
    forest,
    imblearn,
    linear_model,
    metrics,
    multiclass,
    naive_bayes,
    optim,
    preprocessing,
    stats,
    tree,
)

import tarry
from tarry.adapters import river as late
from tarry.adapters.river.weights import FORWARDING, check_weighted
from tarry.kernel import is_compiled


class Spy(base.Classifier):
    """A classifier that remembers what it is taught."""

    def __init__(self, change=lambda w: w):
        self.change = change
        self.rows = []

    @property
    def _multiclass(self):
        return True

    def learn_one(self, x, y, w=1.0):
        self.rows.append((dict(x), y, w))

    def predict_proba_one(self, x, **kwargs):
        return {True: 0.6, False: 0.4}


class Mean(base.Regressor):
    """A weighted mean; ``change`` is what a careless adapter would do to the weights."""

    def __init__(self, change=lambda w: w):
        self.change = change
        self.weight = self.total = 0.0

    def learn_one(self, x, y, w=1.0):
        self.weight += self.change(w)
        self.total += self.change(w) * y

    def predict_one(self, x):
        return self.total / self.weight if self.weight else 0.0


def classifier():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def regressor():
    return preprocessing.StandardScaler() | linear_model.LinearRegression(optimizer=optim.SGD(0.01))


def trees():
    return tree.HoeffdingTreeClassifier(grace_period=50)


def date_of(x):
    return dt.datetime.fromordinal(x["ordinal_date"])


def weighted(dataset):
    return [(x, y, {"w": 1.0 + i % 3}) for i, (x, y) in enumerate(dataset)]


PHISHING, TRUMP = list(datasets.Phishing()), list(datasets.TrumpApproval())
CASES = {
    "no delay": (PHISHING, classifier, metrics.ROCAUC, {}),
    "zero delay": (PHISHING, classifier, metrics.Accuracy, {"delay": 0}),
    "one": (PHISHING, classifier, metrics.LogLoss, {"delay": 1}),
    "many": (PHISHING, trees, metrics.Accuracy, {"delay": 150}),
    "callable": (PHISHING, classifier, metrics.LogLoss, {"delay": lambda x, y: 3 + 40 * y}),
    "moment and int": (TRUMP, regressor, metrics.MAE, {"moment": "ordinal_date", "delay": 30}),
    "moment and feature": (TRUMP, regressor, metrics.MAE, {"moment": "ordinal_date", "delay": "gallup"}),
    "timedelta": (TRUMP, regressor, metrics.RMSE, {"moment": date_of, "delay": dt.timedelta(days=17)}),
    "callable timedelta": (
        TRUMP,
        regressor,
        metrics.MAE,
        {"moment": date_of, "delay": lambda x, y: dt.timedelta(days=int(y))},
    ),
    "weights of one's own": (weighted(PHISHING), classifier, metrics.LogLoss, {"delay": 7}),
    "two metrics": (TRUMP, regressor, lambda: metrics.MAE() + metrics.RMSE(), {"delay": 20}),
}


def told(reports):
    return [{name: repr(value) for name, value in report.items() if name != "Samples used"} for report in reports]


@pytest.mark.parametrize("capacity", [None, 500])
@pytest.mark.parametrize("case", CASES)
def test_gives_river_s_numbers(case, capacity):
    data, model, metric, times = CASES[case]
    theirs = evaluate.iter_progressive_val_score(
        copy.deepcopy(data), model(), metric(), step=7, yield_predictions=True, **times
    )
    ours = late.iter_progressive_val_score(
        data, model(), metric(), step=7, yield_predictions=True, capacity=capacity, seed=1, **times
    )
    expected = told(theirs)
    assert told(ours) == expected
    assert len(expected) == -(-len(data) // 7)


def test_prints_what_river_prints():
    def printed(score, **limit):
        out = io.StringIO()
        score(PHISHING, classifier(), metrics.ROCAUC(), delay=20, print_every=100, file=out, **limit)
        return out.getvalue()

    assert printed(late.progressive_val_score) == printed(evaluate.progressive_val_score)
    assert " samples used\n" in printed(late.progressive_val_score, capacity=5, seed=1)
    timed, out = {"show_time": True, "show_memory": True}, io.StringIO()
    late.progressive_val_score(PHISHING[:10], classifier(), metrics.ROCAUC(), print_every=5, file=out, **timed)
    assert all(line.count(" – ") == 2 and line.endswith("B") for line in out.getvalue().splitlines())


def test_reports_nothing_without_a_step_and_the_rest_at_the_end():
    assert list(late.iter_progressive_val_score(PHISHING, classifier(), metrics.Accuracy(), step=0)) == []
    steps = [r["Step"] for r in late.iter_progressive_val_score(PHISHING, classifier(), metrics.Accuracy(), step=400)]
    assert steps == [400, 800, 1200, 1250]


def run(delays, scheduler, *, capacity, seed=5, **options):
    """The weights that reach a model, by row, when row i waits ``delays[i]`` of River's steps."""
    data = [({"i": i, "d": int(d)}, bool(i % 2)) for i, d in enumerate(delays)]
    spy = Spy()
    limits = {"capacity": capacity, "scheduler": scheduler, "seed": seed}
    late.progressive_val_score(data, spy, metrics.Accuracy(), delay="d", **limits, **options)
    return {x["i"]: w for x, _, w in spy.rows}


TOLD = [
    (tarry.schedulers.VarOpt(), "semi-clairvoyant"),
    (tarry.schedulers.Reservoir(), "semi-clairvoyant"),
    (tarry.schedulers.Coin(), "clairvoyant"),
]


@pytest.mark.parametrize(("scheduler", "information"), TOLD[:1] if is_compiled() else TOLD)
def test_a_delay_of_theirs_is_one_less_of_ours(scheduler, information):
    delays = np.random.default_rng(2).integers(0, 60, 300)
    ours = np.maximum(delays - 1, 0)
    game = tarry.Game(
        tarry.domains.Ball(1),
        tarry.losses.Linear(np.zeros((300, 1))),
        tarry.delays.array(ours),
        capacity=6,
        information=information,
    )
    player = tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.1), scheduler)
    record = tarry.simulate(game, player, seeds=[5], keep_rounds=True)
    came = {
        s - 1: w
        for t, kind, s, w in record.events().select("t", "event", "s", "weight").iter_rows()
        if kind == "feedback" and t < 300
    }
    assert run(delays, scheduler, capacity=6, at_end="drop") == {i: w for i, w in came.items() if w}


def test_delays_that_are_told_are_whole_rounds():
    coin = {"scheduler": tarry.schedulers.Coin(), "capacity": 5}
    with pytest.raises(ValueError, match="leave moment out, got 'ordinal_date'"):
        late.progressive_val_score(TRUMP, regressor(), metrics.MAE(), moment="ordinal_date", delay=3, **coin)
    with pytest.raises(ValueError, match=r"whole numbers of rounds, got 2\.5"):
        late.progressive_val_score(TRUMP, regressor(), metrics.MAE(), delay=2.5, **coin)


def test_drop_leaves_out_what_comes_after_the_last_prediction():
    metric = metrics.Accuracy()
    late.progressive_val_score(PHISHING, Spy(), metric, delay=50, at_end="drop")
    assert metric.cm.n_samples == len(PHISHING) - 50
    with pytest.raises(ValueError, match="at_end must be one of 'drop', 'deliver', got 'wait'"):
        late.progressive_val_score(PHISHING, Spy(), metric, at_end="wait")


def test_weights_multiply_and_zero_never_reaches_the_model():
    data = [({"i": i}, True, {"w": float(i % 3)}) for i in range(30)]
    spy = Spy()
    late.progressive_val_score(data, spy, metrics.Accuracy(), delay=2, capacity=100)
    assert [w for _, _, w in spy.rows] == [float(i % 3) for i in range(30) if i % 3]
    assert data[1][2] == {"w": 1.0}, "the caller's rows are left alone"


def test_evaluation_recovers_the_truth_only_with_weights():
    data = [({"i": i}, y) for i, y in enumerate(labels())]

    def learn(change):
        model = Mean(change)
        times = {"delay": lambda x, y: wait(y)}
        late.progressive_val_score(data, model, metrics.MAE(), capacity=CAPACITY, seed=1, **times)
        return model.predict_one({})

    assert_weights_matter(learn)


def test_live_recovers_the_truth_only_with_weights():
    def learn(change):
        model = late.LateLabels(Mean(change), CAPACITY, on="i", seed=1)
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


KINDS = {
    "classifier": lambda: late.LateLabels(linear_model.LogisticRegression(), 200, seed=1),
    "regressor": lambda: late.LateLabels(regressor(), 200, seed=1),
    "unseeded": lambda: late.LateLabels(trees(), 200),
    "scheduler": lambda: late.LateLabels(trees(), 200, scheduler=tarry.schedulers.VarOpt()),
    "scheduler with parameters": lambda: late.LateLabels(trees(), 200, scheduler=tarry.schedulers.Morris(0.5)),
}
if is_compiled():  # nothing in the checks depends on the compiler
    KINDS = {name: KINDS[name] for name in ("classifier", "regressor")}


@pytest.mark.parametrize("kind", KINDS)
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
    assert small.weights().mean == pytest.approx(1.0)


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
    model = late.LateLabels(spy := Spy(), 2, seed=1)
    ids = [model.decide({"a": i}).id for i in range(10)]
    for id in [*ids, *ids, 99, "nobody"]:
        model.learn_one(id, True)
    assert len(spy.rows) == 2
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


def test_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "tarry.adapters.river")
    with pytest.raises(ImportError, match="pip install 'tarry\\[river\\]'"):
        import tarry.adapters.river  # noqa: F401
