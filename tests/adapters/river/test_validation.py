"""River's numbers where nothing is left out, and the truth where something is."""

import copy
import datetime as dt
import io

import numpy as np
import pytest
from latecomers import CAPACITY, assert_weights_matter, labels, wait
from marking import slow_but
from river import evaluate, linear_model, metrics
from river_models import PHISHING, TRUMP, Mean, Spy, classifier, regressor, trees

import tarry
from tarry.adapters import river as late


def date_of(x):
    return dt.datetime.fromordinal(x["ordinal_date"])


def weighted(dataset):
    return [(x, y, {"w": 1.0 + i % 3}) for i, (x, y) in enumerate(dataset)]


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


@pytest.mark.parametrize("capacity", slow_but([None, 500], {500}))
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
    limits = {
        "capacity": capacity,
        "scheduler": scheduler,
        "seed": seed,
        "weights": "unbiased",
        "split": None,
    } | options
    late.progressive_val_score(data, spy, metrics.Accuracy(), delay="d", **limits)
    return {x["i"]: w for x, _, w in spy.rows}


TOLD = [
    (tarry.schedulers.VarOpt(), "semi-clairvoyant"),
    (tarry.schedulers.Reservoir(), "semi-clairvoyant"),
    (tarry.schedulers.Coin(), "clairvoyant"),
]


@pytest.mark.parametrize(("scheduler", "information"), TOLD)
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
        if kind == "feedback" and s + ours[s - 1] <= 300  # the game cuts the others to its end
    }
    assert run(delays, scheduler, capacity=6, at_end="drop") == {i: w for i, w in came.items() if w}


def test_delays_that_are_told_are_whole_rounds():
    coin = {"scheduler": tarry.schedulers.Coin(), "capacity": 5}
    with pytest.raises(ValueError, match="leave moment out, got 'ordinal_date'"):
        late.progressive_val_score(TRUMP, regressor(), metrics.MAE(), moment="ordinal_date", delay=3, **coin)
    with pytest.raises(ValueError, match=r"whole numbers of rounds, got 2\.5"):
        late.progressive_val_score(TRUMP, regressor(), metrics.MAE(), delay=2.5, **coin)


def test_drop_leaves_out_what_comes_after_the_last_round():
    metric = metrics.Accuracy()
    late.progressive_val_score(PHISHING, Spy(), metric, delay=50, at_end="drop")
    assert metric.cm.n_samples == len(PHISHING) - 49
    with pytest.raises(ValueError, match="at_end must be one of 'drop', 'deliver', got 'wait'"):
        late.progressive_val_score(PHISHING, Spy(), metric, at_end="wait")


DAYS = [({"i": i, "day": dt.datetime(2020, 1, 1 + i)}, True) for i in range(10)]


@pytest.mark.parametrize(
    ("learnt", "times"),
    [
        (10, {}),
        (10, {"delay": 0}),
        (10, {"delay": 1}),
        (9, {"delay": 2}),
        (9, {"delay": lambda x, y: 2}),
        (10, {"scheduler": tarry.schedulers.Coin(), "capacity": 10_000}),
        (9, {"scheduler": tarry.schedulers.Coin(), "capacity": 10_000, "delay": 2}),
        (10, {"moment": "day", "delay": dt.timedelta(0)}),
        (9, {"moment": "day", "delay": dt.timedelta(days=1)}),
        (8, {"moment": "day", "delay": lambda x, y: dt.timedelta(days=1.5)}),
    ],
)
def test_no_delay_is_no_delay_however_it_is_written(learnt, times):
    spy = Spy()
    late.progressive_val_score(DAYS, spy, metrics.Accuracy(), at_end="drop", seed=1, **times)
    assert sorted(x["i"] for x, *_ in spy.rows) == list(range(learnt))


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
        late.progressive_val_score(data, model, metrics.MAE(), capacity=CAPACITY, seed=1, split=None, **times)
        return model.predict_one({})

    assert_weights_matter(learn)


def test_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "tarry.adapters.river")
    with pytest.raises(ImportError, match="pip install 'tarry\\[river\\]'"):
        import tarry.adapters.river  # noqa: F401


def test_a_model_that_waits_itself_is_refused():
    waits = late.LateLabels(linear_model.LogisticRegression(), 5)
    with pytest.raises(ValueError, match="give the bare model, and capacity=… beside it"):
        late.progressive_val_score(PHISHING, waits, metrics.Accuracy())


def test_with_room_for_all_the_output_is_river_s(capsys):
    texts = []
    for score, limit in ((evaluate.progressive_val_score, {}), (late.progressive_val_score, {"capacity": 200})):
        model = linear_model.LogisticRegression()
        score(PHISHING, model, metrics.Accuracy(), delay=100, print_every=500, **limit)
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != ""


def test_relative_weights_are_those_of_a_join():
    delays = np.random.default_rng(2).integers(0, 60, 300)
    log = {"d": np.arange(300.0), "l": np.arange(300) + np.maximum(delays - 1, 0) + 0.5, "y": np.zeros(300)}
    join = tarry.LabelJoin(6, rng=5)
    given = {row.id - 1: row.relative for row in join.stream(log, decided_at="d", labelled_at="l", label="y")}
    told = run(delays, None, capacity=6, at_end="drop", weights="relative")
    # River reveals the last labels in an order of its own.
    assert {i: w for i, w in told.items() if i < 250} == {i: w for i, w in given.items() if i < 250}
    assert max(given.values()) > 1.5
    assert np.mean(list(given.values())) < 1.5
