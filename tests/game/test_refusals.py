"""Bad input gets a sentence with the value and the way out."""

from __future__ import annotations

import numpy as np
import pytest

import tarry

BALL = tarry.domains.Ball(2)
ROWS = np.ones((10, 2))
LOSSES = tarry.losses.Linear(ROWS)
DELAYS = tarry.delays.fixed(horizon=10, delay=1)


def game(**changes):
    return tarry.Game(**{"domain": BALL, "losses": LOSSES, "delays": DELAYS, "capacity": 2, **changes})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: game(capacity=0), r"capacity \(None for no limit\) must be a whole number of at least 1, got 0"),
        (lambda: game(capacity=2.5), "got 2.5"),
        (lambda: game(capacity=True), "got True"),
        (lambda: game(feedback="gradients"), "feedback must be one of 'gradient', 'value', 'example', got 'gradients'"),
        (lambda: game(information="psychic"), "got 'psychic'"),
        (lambda: game(losses=tarry.losses.Linear(np.ones((10, 3)))), "3 entries a round, the domain has 2"),
        (lambda: game(losses=tarry.losses.Linear(np.ones((9, 2)))), "losses for 9 rounds and delays for 10"),
        (lambda: tarry.losses.Linear([[1.0, np.inf]]), "finite, got inf in round 1, entry 1"),
        (lambda: tarry.delays.array([1, -2]), "negative, got -2 in round 2"),
        (lambda: tarry.delays.array([0.5]), "whole"),
        (lambda: tarry.domains.Ball(2, radius=-1), "radius must be positive and finite, got -1"),
        (lambda: tarry.domains.Ball(0), "dimension"),
        (lambda: tarry.WeightedGame(BALL, LOSSES, DELAYS, np.ones(3)), "one entry for each of 10 rounds"),
        (lambda: tarry.WeightedGame(BALL, LOSSES, DELAYS, -np.ones(10)), "not negative, got -1.0 in round 1"),
        (lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), seeds=0), "at least 1, got 0"),
        (lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), seeds=1.5), "seeds must be a whole"),
        (lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), seeds=[1.5]), "whole numbers, got 1.5"),
        (lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), threads=-1), "threads must be"),
        (lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), checkpoints=0), "checkpoints must be"),
        (lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), games=game), "and not both"),
        (lambda: game(capacity=float("nan")), "got nan"),
        (lambda: game(capacity="many"), "got 'many'"),
        (lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), seeds=[1, 1]), "repeat"),
        (lambda: tarry.simulate(game(), tarry.learners.DWFTRL(tarry.domains.Ball(3), 0.1)), "R\\^3, the game in R\\^2"),
        (
            lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), draws=tarry.Recorded(uniforms=[0.5])),
            "uniforms need one entry for each of 10 rounds",
        ),
        (
            lambda: tarry.simulate(
                game(), tarry.learners.DWFTRL(BALL, 0.1), draws=tarry.Recorded(uniforms=np.zeros(10))
            ),
            r"\(0, 1\]",
        ),
        (
            lambda: tarry.simulate(
                game(), tarry.learners.DWFTRL(BALL, 0.1), draws=tarry.Recorded(proxy_delays=np.zeros(10))
            ),
            "VarOpt draws no proxy delays",
        ),
    ],
)
def test_values(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: game(delays=[1, 2]), "tarry.delays"),
        (lambda: tarry.simulate("game", tarry.learners.DWFTRL(BALL, 0.1)), "must be a Game"),
        (lambda: tarry.Player("DWFTRL"), "learner must be a learner"),
        (lambda: tarry.Player(tarry.learners.DWFTRL), "learner must be a learner"),
        (lambda: tarry.Player(tarry.learners.DWFTRL(BALL, 0.1), tarry.schedulers.VarOpt), "scheduler must be"),
        (lambda: game(losses=ROWS), "tarry.losses"),
        (lambda: game(domain=2), "tarry.domains"),
        (lambda: tarry.learners.DWFTRL(3, 0.1), "must be a domain"),
        (lambda: tarry.schedulers.Proxy(lambda age: 1.0), r"survival\(t, age\)"),
        (lambda: tarry.Player(tarry.learners.DWFTRL(BALL, 0.1), "VarOpt"), "scheduler must be a scheduler"),
        (lambda: BALL._replace(radius=-1.0), "build a new Ball"),
        (lambda: tarry.Session(tarry.Player(tarry.learners.DWFTRL(BALL, 0.1)), capacity=1, rng="x"), "rng"),
    ],
)
def test_types(make, sentence):
    with pytest.raises(TypeError, match=sentence):
        make()


def test_errors_lose_nothing():
    """A refused call in the middle leaves the next run as it was."""
    first = tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1)).regret
    with pytest.raises(ValueError, match="capacity"):
        game(capacity=0)
    assert np.array_equal(first, tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1)).regret)
