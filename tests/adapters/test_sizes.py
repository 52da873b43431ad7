"""``size=`` of every adapter: the decisions that a join with the same sizes would keep, with its weights."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tarry
from tarry.errors import NotGranted

SEED, CAPACITY, ROWS = 4, 3, 40
RNG = np.random.default_rng(0)
VALUES = np.exp(RNG.normal(0.0, 1.0, ROWS))


def expected():
    """The weights of all rows, labelled in order after the last decision."""
    join = tarry.LabelJoin(CAPACITY, rng=SEED)
    for value in VALUES:
        join.decide(size=value)
    return {t: row.weight for t in range(1, ROWS + 1) if (row := join.label(t, 0.0)) is not None}


def test_sklearn():
    from sklearn.base import clone
    from sklearn.linear_model import SGDRegressor

    from tarry.adapters.sklearn import LateLabels

    model = clone(
        LateLabels(SGDRegressor(), CAPACITY, random_state=SEED, size=lambda row: row[0], weights="unbiased", split=None)
    )
    ids = [ticket.id for ticket in model.decide(VALUES[:, None])]
    learnt = {}
    model.estimator_.partial_fit = lambda X, y, sample_weight: learnt.update(
        dict(zip(y.tolist(), sample_weight.tolist(), strict=True))
    )
    model.label(ids, np.array(ids, float))
    assert learnt == expected()
    with pytest.raises(NotGranted, match="takes no sizes"):
        LateLabels(SGDRegressor(), CAPACITY, scheduler=tarry.schedulers.Priority(), size=max).decide([[1.0]])


def by_name(row):
    return row["price"]


def test_sklearn_decides_all_rows_or_none():
    from sklearn.linear_model import SGDRegressor

    from tarry.adapters.sklearn import LateLabels

    model = LateLabels(SGDRegressor(), CAPACITY, random_state=SEED, size=lambda row: row[0])
    with pytest.raises(ValueError, match=r"row 2: size must be positive and finite, got .*-3\.0"):
        model.decide([[1.0], [2.0], [-3.0], [4.0]])
    assert sum(model.fates().values()) == 0
    assert [ticket.id for ticket in model.decide([[1.0], [2.0], [3.0], [4.0]])] == [1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"row 0: size fails with IndexError .* a row, whose columns go by .* x\[0\]"):
        LateLabels(SGDRegressor(), CAPACITY, size=by_name).decide([[1.0]])
    with pytest.raises(ValueError, match=r"such as lambda x: x\[0\], got 'price'"):
        LateLabels(SGDRegressor(), CAPACITY, size="price").decide([[1.0]])


def test_river():
    from river import linear_model

    from tarry.adapters.river import LateLabels

    model = LateLabels(
        linear_model.LinearRegression(),
        CAPACITY,
        on="t",
        seed=SEED,
        size=lambda x: x["value"],
        weights="unbiased",
        split=None,
    )
    model = model.clone()
    learnt = {}
    model.model.learn_one = lambda x, y, w: learnt.update({y: w})
    for t, value in enumerate(VALUES, 1):
        model.predict_one({"t": t, "value": value})
    for t in range(1, ROWS + 1):
        model.learn_one({"t": t}, t)
    assert learnt == expected()


def test_rivers_evaluation():
    from river import linear_model, metrics

    from tarry.adapters.river import progressive_val_score

    used, model = {}, linear_model.LinearRegression()
    model.learn_one = lambda x, y, w: used.update({y: w})
    rows = [({"value": value}, float(t)) for t, value in enumerate(VALUES, 1)]
    limits = {"capacity": CAPACITY, "seed": SEED, "size": lambda x: x["value"], "weights": "unbiased", "split": None}
    progressive_val_score(rows, model, metrics.MAE(), delay=ROWS + 1, **limits)
    assert used == expected()
    with pytest.raises(ValueError, match="row 0: size must be positive"):
        progressive_val_score([({"value": -1.0}, 1.0)], model, metrics.MAE(), **limits)


def test_torch():
    from tarry.adapters.torch import LateLabels

    optimiser = type("Optimiser", (), {"step": None, "zero_grad": None})()
    late = LateLabels(
        lambda x: x,
        optimiser,
        lambda a, b: a,
        CAPACITY,
        seed=SEED,
        collate=list,
        size=float,
        weights="unbiased",
        split=None,
    )
    learnt = {}
    late._learn = lambda batch: learnt.update({id: weight for id, _, _, weight in batch}) or 0.0
    ids = [late.decide(value).id for value in VALUES]
    for id in ids:
        late.label(id, 0.0)
    assert learnt == expected()


def test_games_take_functions_of_the_features_or_of_the_round():
    features = np.column_stack((VALUES, np.ones(ROWS)))
    box, waits = tarry.domains.Ball(2), tarry.delays.fixed(horizon=ROWS, delay=9)
    losses = tarry.losses.LeastSquares(features, np.zeros(ROWS))
    game = tarry.Game(box, losses, waits, capacity=3, sizes=lambda row: row[0] * row.size)
    assert np.array_equal(game.sizes, 2 * VALUES)
    assert "sizes" in game._repr_html_()
    plain = tarry.Game(box, tarry.losses.Linear(features), waits, capacity=3, sizes=lambda t: 1.0 + t)
    assert np.array_equal(plain.sizes, np.arange(2.0, ROWS + 2))
    for sizes, words in (
        (np.ones(3), "one entry for each of 40"),
        (np.r_[0.0, VALUES[1:]], "size of round 1 must be positive"),
        (np.r_[VALUES[1:], np.nan], "size of round 40 must be positive"),
        ("large", "must be real numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            tarry.Game(box, losses, waits, capacity=3, sizes=sizes)


def test_copies_from_before_sizes():
    """What a model was pickled with lacks what came later."""
    from sklearn.linear_model import SGDRegressor

    from tarry.adapters.sklearn import LateLabels
    from tarry.adapters.waiting import Waiting

    waiting = Waiting(CAPACITY, seed=SEED)
    del vars(waiting)["_size"]
    assert pickle.loads(pickle.dumps(waiting)).decide("row").tracked
    model = LateLabels(SGDRegressor(), CAPACITY, random_state=SEED)
    del vars(model)["size"]
    assert pickle.loads(pickle.dumps(model)).get_params()["size"] is None
