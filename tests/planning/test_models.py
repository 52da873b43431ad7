"""Models of delays by name, with parameters in decisions or in lengths of time."""

from __future__ import annotations

import numpy as np
import pytest

import tarry
from tarry.planning import plan, plan_model
from tarry.planning.sources import MODELS, model_delays

QUICK = {"schedulers": ["VarOpt"], "seeds": 2, "precision": 1.0}
PARAMETERS = {
    "fixed": {"delay": 9},
    "uniform": {"low": 2, "high": 9},
    "geometric": {"mean": 9.5},
    "pareto": {"shape": 1.5, "scale": 8},
    "lognormal": {"median": 8, "spread": 0.5},
    "bursts": {"length": 20, "slow": 15, "fast": 1},
    "queue": {"servers": 3, "load": 0.8, "service": "exponential"},
}


@pytest.mark.parametrize("kind", MODELS)
def test_models_are_the_delays_of_that_name(kind):
    made = model_delays(kind, horizon=200, rng=3, **PARAMETERS[kind])
    more = {} if kind in ("fixed", "bursts") else {"rng": 3}
    expected = getattr(tarry.delays, kind)(horizon=200, **PARAMETERS[kind], **more)
    assert np.array_equal(made.values, expected.values)
    as_text = {name: str(value) for name, value in PARAMETERS[kind].items()}
    assert np.array_equal(model_delays(kind, horizon=200, rng=3, **as_text).values, expected.values)


@pytest.mark.parametrize(("length", "decisions"), [("2d", 480), ("3h", 30), ("12 min", 2), ("360s", 1), ("7", 7)])
def test_lengths_of_time(length, decisions):
    assert model_delays("fixed", horizon=2000, per_day=240, delay=length).values[0] == decisions


def test_a_plan_from_a_model_is_that_of_its_delays():
    made = plan_model("geometric", {"mean": "1h"}, horizon=300, per_day=240, **QUICK)
    delays = tarry.delays.geometric(horizon=300, mean=10.0, rng=0)
    assert made.to_dict() == plan(delays, per_day=240, **QUICK).to_dict()
    assert made.backlog.mean_delay_days == pytest.approx(delays.total_delay / 300 / 240)


@pytest.mark.parametrize(
    ("kind", "parameters", "sentence"),
    [
        ("gamma", {}, "there is no model 'gamma': take one of fixed"),
        ("fixed", {"mean": 3}, "mean is no parameter of the model 'fixed': it takes delay"),
        ("fixed", {}, "delay is missing: the model 'fixed' takes delay"),
        ("fixed", {"delay": "3d"}, "delay is a length of time, got '3d': say how many"),
        ("fixed", {"delay": "soon"}, "delay must be a number, or a length of time such as 3d"),
        ("fixed", {"delay": -1}, "delay must be a whole number"),
    ],
)
def test_refusals(kind, parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        model_delays(kind, horizon=10, **parameters)
