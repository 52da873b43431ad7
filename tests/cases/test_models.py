"""Models as they are taught, and before there is anything to learn from."""

from __future__ import annotations

import numpy as np
import pytest

from tarry.cases.models import MODELS, make_model


@pytest.fixture(scope="module")
def rows():
    draw = np.random.default_rng(0)
    features = draw.normal(size=(400, 2))
    return features, (features[:, 0] + 0.3 * draw.normal(size=400) > 0).astype(float)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("is_binary", [True, False])
def test_a_model_learns(name, is_binary, rows):
    features, labels = rows
    if not is_binary:
        labels = 3.0 * features[:, 0]
    model = make_model(name, is_binary)
    start = model.predict(features[:5])
    assert np.allclose(start, 0.5 if is_binary else 0.0)
    model.learn(features[:300], labels[:300], np.ones(300))
    said = model.predict(features[300:])
    assert said.shape == (100,)
    assert np.corrcoef(said, labels[300:])[0, 1] > 0.6
    assert not is_binary or (said.min() >= 0 and said.max() <= 1)


@pytest.mark.parametrize("name", MODELS)
def test_weights_count(name, rows):
    """Of two kinds of rows that contradict each other the heavier is believed."""
    features = np.zeros((400, 2))
    labels = np.tile([0.0, 1.0], 200)
    said = []
    for heavy in (0, 1):
        model = make_model(name, True)
        model.learn(features, labels, np.where(labels == heavy, 1.9, 0.1))
        said.append(float(model.predict(features[:1])[0]))
    assert said[0] < 0.45 < 0.55 < said[1]


@pytest.mark.parametrize("name", ["logistic", "lightgbm"])
def test_before_both_labels_are_known_a_refit_says_a_cautious_mean(name):
    model = make_model(name, True)
    model.learn(np.zeros((3, 1)), np.ones(3), np.array([1.0, 1.0, 2.0]))
    assert model.predict(np.zeros((2, 1))).tolist() == [3.5 / 4] * 2
