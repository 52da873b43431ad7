"""Models as people train them on the rows that a join hands out: River's, scikit-learn's, refits, boosted trees.

Each has its own defaults but for one setting, a multiple of its step, penalty or learning rate. Those that take steps
are taught as an adapter teaches them, with tempered weights in several calls; those that are fitted anew with the
weights of all rows so far over their mean. Labels 0 and 1 make a classifier, others a regression.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from tarry.cases.log import Vector
from tarry.checks import as_choice

STEP = 0.01  # of River, and of scikit-learn's regressor
STEPS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
GRIDS = {"river": STEPS, "sgd": STEPS, "logistic": (1.0, 4.0, 16.0, 64.0, 256.0), "lightgbm": (0.03, 0.1, 0.3, 1.0)}
"""What a model's step, penalty (logistic) or learning rate (LightGBM) may be, in multiples of its default."""


class Model(Protocol):
    """What learns from rows: numbers for features, a label and a weight each.

    ``refits``: it is fitted anew now and then, and not taught row by row.
    """

    refits: bool

    def predict(self, features: Vector) -> Vector:
        """Return a prediction for each row: a probability where labels are 0 and 1."""

    def learn(self, features: Vector, labels: Vector, weights: Vector) -> None:
        """Learn from rows."""


class River:
    """River's linear model, one row at a time."""

    refits = False

    def __init__(self, is_binary: bool, setting: float) -> None:
        try:
            from river import linear_model, optim
        except ImportError as error:
            raise ImportError("this model needs river: pip install 'tarry[river]'") from error
        self._is_binary, step = is_binary, STEP * setting
        kind = linear_model.LogisticRegression if is_binary else linear_model.LinearRegression
        self._model: Any = kind(optimizer=optim.SGD(step), intercept_lr=step)

    def predict(self, features: Vector) -> Vector:
        rows = map(_dictionary, features)
        if self._is_binary:
            return np.array([self._model.predict_proba_one(row)[True] for row in rows])
        return np.array([self._model.predict_one(row) for row in rows])

    def learn(self, features: Vector, labels: Vector, weights: Vector) -> None:
        for row, label, weight in zip(features, labels.tolist(), weights.tolist(), strict=True):
            self._model.learn_one(_dictionary(row), bool(label) if self._is_binary else label, w=weight)


def _dictionary(row: Vector) -> dict[int, float]:
    return dict(enumerate(row.tolist()))


class SGD:
    """scikit-learn's linear model by stochastic gradient descent, one row at a time."""

    refits = False

    def __init__(self, is_binary: bool, setting: float) -> None:
        linear = _sklearn("linear_model")
        self._is_binary, self._has_learnt = is_binary, False
        kind = partial(linear.SGDClassifier, loss="log_loss") if is_binary else linear.SGDRegressor
        # The regressor's own step, also for the classifier: the default of that begins with steps of 10.
        self._model = kind(learning_rate="invscaling", eta0=STEP * setting, power_t=0.25, shuffle=False)

    def predict(self, features: Vector) -> Vector:
        if not self._has_learnt:
            return np.full(len(features), 0.5 if self._is_binary else 0.0)
        if self._is_binary:
            return np.asarray(self._model.predict_proba(features)[:, 1])
        return np.asarray(self._model.predict(features))

    def learn(self, features: Vector, labels: Vector, weights: Vector) -> None:
        classes = {"classes": np.array([0.0, 1.0])} if self._is_binary else {}
        self._model.partial_fit(features, labels, sample_weight=weights, **classes)
        self._has_learnt = True


class Refitted:
    """A model that is fitted anew to all rows so far; before it can be, their weighted mean, from ½ on."""

    refits = True

    def __init__(self, make: Callable[[], Any], is_binary: bool) -> None:
        self._make, self._is_binary, self._fitted = make, is_binary, None
        self._rows: list[tuple[Vector, Vector, Vector]] = []
        self._mean = 0.5 if is_binary else 0.0

    def predict(self, features: Vector) -> Vector:
        if self._fitted is None:
            return np.full(len(features), self._mean)
        if self._is_binary:
            return np.asarray(self._fitted.predict_proba(features)[:, 1])
        return np.asarray(self._fitted.predict(features))

    def learn(self, features: Vector, labels: Vector, weights: Vector) -> None:
        self._rows.append((features, labels, weights))
        rows, y, w = (np.concatenate(parts) for parts in zip(*self._rows, strict=True))
        # A penalty keeps its meaning where weights have mean 1. The mean is that of all rows so far: the mean of each
        # row's predecessors grows while rows come, so that late labels would count for less.
        w = w / w.mean()
        # One row's weight of prior, at ½ or 0: what one would say knowing nothing.
        self._mean = float((w @ y + (0.5 if self._is_binary else 0.0)) / (w.sum() + 1.0))
        if not self._is_binary or 0.0 < y.mean() < 1.0:
            from threadpoolctl import threadpool_limits  # comes with scikit-learn

            with threadpool_limits(1):  # threads wait by spinning, which is dear where others are at work
                self._fitted = self._make().fit(rows, y, sample_weight=w)


def _logistic(is_binary: bool, setting: float) -> Model:
    linear = _sklearn("linear_model")
    return Refitted(lambda: linear.LogisticRegression(C=1 / setting) if is_binary else linear.Ridge(setting), is_binary)


def _lightgbm(is_binary: bool, setting: float) -> Model:
    try:
        import lightgbm
    except ImportError as error:
        raise ImportError("this model needs lightgbm: pip install lightgbm") from error
    kind = lightgbm.LGBMClassifier if is_binary else lightgbm.LGBMRegressor
    return Refitted(lambda: kind(n_jobs=1, verbosity=-1, learning_rate=0.1 * setting), is_binary)


def _sklearn(name: str) -> Any:
    try:
        return import_module(f"sklearn.{name}")
    except ImportError as error:
        raise ImportError("this model needs scikit-learn: pip install 'tarry[sklearn]'") from error


MODELS: dict[str, Callable[[bool, float], Model]] = {
    "river": River,
    "sgd": SGD,
    "logistic": _logistic,
    "lightgbm": _lightgbm,
}


def make_model(name: str, is_binary: bool, setting: float = 1.0) -> Model:
    """Return a model of this name that knows nothing yet, with so many times its default step or penalty."""
    return MODELS[as_choice(name, "model", tuple(MODELS))](is_binary, setting)
