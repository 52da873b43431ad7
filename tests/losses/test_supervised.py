"""Supervised losses against NumPy formulas over random data, their bounds and their errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry import losses
from tarry.domains import Ball
from tarry.losses import Absolute, Hinge, Huber, LeastSquares, Logistic, Quantile
from tarry.losses.supervised import Supervised

REAL = st.floats(-4, 4, allow_subnormal=False)
REGRESSIONS = {
    "LeastSquares": (LeastSquares, lambda z, y: 0.5 * (z - y) ** 2),
    "Absolute": (Absolute, lambda z, y: abs(z - y)),
    "Quantile": (
        lambda f, y, ridge: Quantile(f, y, 0.8, ridge=ridge),
        lambda z, y: max(0.8 * (y - z), -0.2 * (y - z)),
    ),
    "Huber": (
        lambda f, y, ridge: Huber(f, y, 0.7, ridge=ridge),
        lambda z, y: 0.5 * (z - y) ** 2 if abs(z - y) <= 0.7 else 0.7 * abs(z - y) - 0.245,
    ),
}
CLASSIFIERS = {
    "Logistic": (Logistic, lambda z, y: np.log1p(np.exp(-y * z))),
    "Hinge": (Hinge, lambda z, y: max(0.0, 1 - y * z)),
}


def test_every_loss_of_a_prediction_has_a_formula():
    exported = {
        name
        for name in losses.__all__
        if isinstance(made := getattr(losses, name), type) and issubclass(made, Supervised)
    }
    forgotten = exported ^ (REGRESSIONS.keys() | CLASSIFIERS.keys())
    assert not forgotten, f"{forgotten}: a line for each loss of a prediction in REGRESSIONS or CLASSIFIERS"


@pytest.mark.parametrize("name", REGRESSIONS)
@given(phi=st.tuples(REAL, REAL), x=st.tuples(REAL, REAL), y=REAL, ridge=st.sampled_from([0.0, 0.5]))
def test_regression_values(name, phi, x, y, ridge):
    make, formula = REGRESSIONS[name]
    loss = make([phi], [y], ridge=ridge)
    expected = formula(np.dot(phi, x), y) + ridge / 2 * np.dot(x, x)
    assert loss.value(x, 1) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", CLASSIFIERS)
@given(phi=st.tuples(REAL, REAL), x=st.tuples(REAL, REAL), y=st.sampled_from([-1, 1]))
def test_classification_values(name, phi, x, y):
    make, formula = CLASSIFIERS[name]
    expected = formula(np.dot(phi, x), y)
    assert make([phi], [y]).value(x, 1) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("make", [Logistic, Hinge])
def test_zero_and_one_become_signs(make):
    features = np.eye(4)
    assert make(features, [0, 1, 1, 0]) == make(features, [-1, 1, 1, -1])


def test_logistic_is_stable_far_out():
    loss = Logistic([[1.0]], [1])
    assert loss.value([-1e5], 1) == 1e5
    assert loss.gradient([-1e5], 1).tolist() == [-1.0]
    assert 0.0 <= loss.value([1e5], 1) < 1e-300
    assert loss.value([40.0], 1) == pytest.approx(np.exp(-40.0), rel=1e-12)


@pytest.mark.parametrize("smoothing", [2.0, 0.3])
@pytest.mark.parametrize(("make", "slopes"), [(Absolute, (-1, 1)), (Quantile, (-0.5, 0.5))])
def test_smoothing_is_the_dual_maximum(make, slopes, smoothing):
    s = np.linspace(*slopes, 20001)
    for r in (-3.0, -0.4, 0.0, 0.2, 5.0):
        made = make([[1.0]], [0.0]).smoothed(smoothing).value([r], 1)
        assert made == pytest.approx(np.max(s * r - smoothing / 2 * s**2), abs=1e-6)


@pytest.mark.parametrize("name", [*REGRESSIONS, *CLASSIFIERS])
def test_bounds_are_attained_on_a_ball(name):
    rng = np.random.default_rng(3)
    features, labels = rng.normal(size=(6, 2)), rng.normal(size=6)
    domain = Ball(2, radius=1.3, center=[0.5, -0.2])
    make, _ = (REGRESSIONS | CLASSIFIERS)[name]
    loss = make(features, np.sign(labels) if name in CLASSIFIERS else labels, ridge=0.0)
    angle = np.linspace(0, 2 * np.pi, 2000)
    rim = domain.center + 1.3 * np.column_stack((np.cos(angle), np.sin(angle)))
    values = max(loss.value(x, t) for x in rim[::4] for t in range(1, 7))
    slopes = max(np.linalg.norm(loss.gradient(x, t)) for x in rim[::4] for t in range(1, 7))
    assert values == pytest.approx(loss.value_bound(domain), rel=1e-3)
    assert slopes == pytest.approx(loss.gradient_bound(domain), rel=1e-3)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: LeastSquares(np.eye(3), [1.0, 2.0]), r"labels need one number for each of 3 rounds, got"),
        (lambda: LeastSquares(np.eye(2), [1.0, np.nan]), r"labels must be finite, got nan in round 2"),
        (
            lambda: LeastSquares([[1.0, np.inf]], [1.0]),
            r"features must be finite, got inf in round 1, entry 1",
        ),
        (lambda: LeastSquares([1.0, 2.0], [1.0, 2.0]), r"features must be an array with one row per round"),
        (
            lambda: Logistic(np.eye(3), [1, 0, 2]),
            r"labels must be -1 and \+1 \(or 0 and 1\), got 2.0 in round 3",
        ),
        (
            lambda: Hinge(np.eye(3), [1, -1, 0]),
            r"labels must be -1 and \+1 \(or 0 and 1\), got 0.0 in round 3",
        ),
        (
            lambda: Hinge(np.eye(2), [1, np.nan]),
            r"labels must be -1 and \+1 \(or 0 and 1\), got nan in round 2",
        ),
        (lambda: Quantile(np.eye(1), [1.0], level=1.0), r"level must lie strictly between 0 and 1, got 1.0"),
        (lambda: Huber(np.eye(1), [1.0], width=0.0), r"width must be positive and finite, got 0.0"),
        (lambda: Absolute(np.eye(1), [1.0], ridge=-1.0), r"ridge must be finite and not negative, got -1.0"),
        (lambda: Absolute(np.eye(1), [1.0]).smoothed(-1.0), r"smoothing must be finite and not negative"),
        (lambda: Absolute(np.eye(1), [1.0]).value([1.0, 2.0], 1), r"x must be a vector of 1 entries, got"),
        (lambda: Absolute(np.eye(1), [1.0]).value([1.0], 2), r"t must be a round from 1 of at most 1, got 2"),
    ],
)
def test_errors_are_sentences(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()
