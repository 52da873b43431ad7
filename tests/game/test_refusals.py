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
        (
            lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), seeds=[1.5]),
            "whole numbers from 0 to 2⁶³ - 1, got 1.5",
        ),
        (lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), threads=-1), "threads must be"),
        (lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), checkpoints=0), "checkpoints must be"),
        (lambda: tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1), games=game), "and not both"),
        (lambda: game(capacity=float("nan")), "got nan"),
        (lambda: game(capacity="many"), "got 'many'"),
        (lambda: game(preemption="no"), "preemption must be True or False, got 'no'"),
        (lambda: tarry.LabelJoin(capacity=2, preemption="False"), "preemption must be True or False, got 'False'"),
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
        (lambda: game(delays=LOSSES), "tarry.delays"),
        (lambda: tarry.simulate("game", tarry.learners.DWFTRL(BALL, 0.1)), "must be a Game"),
        (lambda: tarry.Player("DWFTRL"), "learner must be a learner"),
        (lambda: tarry.Player(tarry.learners.DWFTRL), "learner must be a learner"),
        (lambda: tarry.Player(tarry.learners.DWFTRL(BALL, 0.1), tarry.schedulers.VarOpt), "scheduler must be"),
        (lambda: game(losses=ROWS), "tarry.losses"),
        (lambda: game(domain=2), "tarry.domains"),
        (lambda: tarry.learners.DWFTRL(3, 0.1), "must be a domain"),
        (lambda: tarry.schedulers.Proxy(lambda age: 1.0), r"survival\(t, age\)"),
        (lambda: tarry.Player(tarry.learners.DWFTRL(BALL, 0.1), 3), "scheduler must be a scheduler"),
        (lambda: BALL._replace(radius=-1.0), "build a new Ball"),
        (lambda: tarry.Session(tarry.Player(tarry.learners.DWFTRL(BALL, 0.1)), capacity=1, rng="x"), "rng"),
    ],
)
def test_types(make, sentence):
    with pytest.raises(TypeError, match=sentence):
        make()


def test_whole_numbers_are_stored():
    assert isinstance(game(feedback="value", queries=2.0).queries, int)


def test_errors_lose_nothing():
    """A refused call in the middle leaves the next run as it was."""
    first = tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1)).regret
    with pytest.raises(ValueError, match="capacity"):
        game(capacity=0)
    assert np.array_equal(first, tarry.simulate(game(), tarry.learners.DWFTRL(BALL, 0.1)).regret)


SIMPLEX = tarry.domains.Simplex(2)
RECENT = tarry.learners.ODFTRL(BALL, 1.0, hint="recent")


@pytest.mark.parametrize(
    ("changes", "learner", "sentence"),
    [
        (
            {"information": "non-clairvoyant"},
            RECENT,
            "the hint 'recent' follows the backlog and needs acknowledgements, .*use hint='previous'",
        ),
        (
            {"information": "non-clairvoyant", "domain": SIMPLEX, "feedback": "value"},
            tarry.Player(tarry.learners.TsallisFTRL(2), tarry.schedulers.Priority()),
            'TsallisFTRL\'s regulariser follows .*use counts="tracked" with the scheduler Skipping, or Exp3, use Var',
        ),
        (
            {"information": "non-clairvoyant"},
            tarry.Player(tarry.learners.DWFTRL(BALL, tarry.rates.Anytime(2.0, 1.0)), tarry.schedulers.Priority()),
            "the learner's rate follows the backlog .*: use a rate that does not, use VarOpt, whose held weight tells",
        ),
        ({"domain": SIMPLEX}, tarry.learners.Exp3(2, 0.1), "this game gives gradient: use EntropicFTRL, or feedback="),
        ({"domain": SIMPLEX, "feedback": "value"}, tarry.learners.DORM(2), "this game gives value: use Exp3, or"),
        ({"feedback": "value"}, tarry.learners.DOGD(BALL, 0.1), r"use OnePoint\(DOGD\(…\), smoothing\) or DWFTBL, or"),
        ({"feedback": "value"}, tarry.learners.FPL(BALL, 1.0), r"use DWFTBL \(over arms, Exp3\), or"),
        (
            {"feedback": "value", "queries": 2},
            tarry.learners.Differences(tarry.learners.DOGD(BALL, 0.1), 0.1),
            "asks for 3 values a round, this game or session grants 2: use TwoPoint, or queries=3",
        ),
        (
            {"feedback": "value"},
            tarry.learners.Differences(tarry.learners.DOGD(BALL, 0.1), 0.1),
            "grants 1: use OnePoint or DWFTBL, or queries=3",
        ),
    ],
)
def test_what_is_not_granted_has_an_apt_way_out(changes, learner, sentence):
    with pytest.raises(tarry.errors.NotGranted, match=sentence):
        tarry.simulate(game(**changes), learner)


@pytest.mark.parametrize("learner", [tarry.learners.DORM(2), tarry.learners.BOLD(tarry.learners.DORM(2))])
def test_experts_need_a_simplex(learner):
    with pytest.raises(ValueError, match=r"the game is on Ball\(.*DORM is for experts or arms, .*Simplex\(2\), or use"):
        tarry.simulate(game(), learner)
