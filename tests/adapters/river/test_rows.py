"""What is wrong with a data set is said by row, before the model sees it."""

import datetime as dt
import math

import pytest
from river import metrics
from river_models import PHISHING, Mean, Spy, classifier

import tarry
from tarry.adapters import river as late

DAY = dt.timedelta(days=1)
GOOD = [({"d": 2, "at": dt.datetime(2020, 1, 1 + i), "i": i}, bool(i % 2)) for i in range(6)]


def taught(data, *, model=None, metric=None, **options):
    """The rows that reach a model before the sentence."""
    spy = Spy() if model is None else model
    late.progressive_val_score(data, spy, metrics.Accuracy() if metric is None else metric, capacity=4, **options)
    return spy


def with_row(row, at=3):
    return [*GOOD[:at], row, *GOOD[at:]]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (({"i": 3}, None), r"dataset\[3\] has the label None, which to River means that it is still a question"),
        (({"i": 3}, math.nan), r"dataset\[3\] has the label nan, but it must be a class"),
        (({"i": 3}, -math.inf), r"dataset\[3\] has the label -inf"),
        (({"i": 3}, True, {"w": math.nan}), r"dataset\[3\] has the weight w=nan"),
        (({"i": 3}, True, {"w": -2}), r"dataset\[3\] has the weight w=-2"),
        ({"i": 3}, r"dataset\[3\] must be \(x, y\) or \(x, y, keywords\), got {'i': 3}"),
    ],
)
def test_a_bad_row_is_named_and_never_learnt_from(row, words):
    spy = Spy()
    with pytest.raises(ValueError, match=words):
        taught(with_row(row), model=spy)
    assert [x["i"] for x, _, _ in spy.rows] == [0, 1, 2]


def test_regressors_want_numbers():
    for bad in ("2", math.nan, None):
        with pytest.raises(ValueError, match=rf"dataset\[1\] has the label {bad!r}"):
            taught([({"i": 0}, 1.0), ({"i": 1}, bad)], model=Mean(), metric=metrics.MAE())


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ({"delay": -3}, "^delay is -3, but a label cannot come before its row"),
        ({"delay": math.nan}, "^delay is nan"),
        ({"delay": DAY}, r"^delay is datetime.timedelta\(days=1\), but it must be a number of rows"),
        ({"delay": [1, 2]}, r"^delay is \[1, 2\]"),
        ({"delay": lambda x, y: -1 if x["i"] == 3 else 1}, r"^the delay of dataset\[3\] is -1"),
        ({"delay": lambda x, y: math.nan if x["i"] == 3 else 1}, r"^the delay of dataset\[3\] is nan"),
        ({"delay": lambda x, y: DAY if x["i"] == 3 else 1}, r"^the delay of dataset\[3\] is datetime.timedelta"),
        ({"delay": lambda x, y: None}, r"^the delay of dataset\[0\] is None, but it must be a number of rows"),
        ({"delay": "wait"}, r"^dataset\[0\] has no feature 'wait' to tell its delay, only \['d', 'at', 'i'\]"),
        ({"delay": "at"}, r"^the delay of dataset\[0\] is datetime.datetime"),
        ({"moment": "when", "delay": 1}, r"^dataset\[0\] has no feature 'when' to tell its moment"),
        ({"moment": "at", "delay": 3}, r"^with the moment datetime.* of dataset\[0\], delay is 3"),
        (
            {"moment": "at", "delay": -DAY},
            r"^with the moment datetime.* of dataset\[0\], .* cannot come before its row",
        ),
        ({"moment": "at", "delay": lambda x, y: DAY - x["i"] * DAY}, r"^the delay of dataset\[2\] .* cannot"),
        ({"moment": "at"}, "delay is None, but it must be what can be added to a moment"),
        ({"delay": -1, "scheduler": tarry.schedulers.Coin()}, r"^the delay of dataset\[0\] is -1"),
    ],
)
def test_delays_that_cannot_be(times, words):
    with pytest.raises(ValueError, match=words):
        taught(GOOD, **times)


@pytest.mark.parametrize(
    "times",
    [{"delay": 2.5}, {"delay": 0}, {"delay": "d"}, {"moment": "i", "delay": 2}, {"moment": "at", "delay": DAY}, {}],
)
def test_delays_that_can_be(times):
    assert len(taught(GOOD, **times).rows) >= 4


def test_arguments_are_looked_at_when_the_call_is_made():
    def call(data=PHISHING, model=None, metric=None, **options):
        return late.iter_progressive_val_score(data, model or classifier(), metric or metrics.Accuracy(), **options)

    for options, words in (
        ({"step": -1}, "step .* got -1"),
        ({"step": 2.5}, "step .* got 2.5"),
        ({"data": 3}, "dataset must be an iterable of rows"),
        ({"metric": "accuracy"}, r"metric must be one of River's, such as metrics.Accuracy\(\), got 'accuracy'"),
        ({"metric": metrics.Accuracy}, "metric must be one of River's"),
        ({"capacity": 0}, "capacity .* got 0"),
        ({"delay": -1}, "delay is -1"),
    ):
        with pytest.raises(ValueError, match=words):
            call(**options)
