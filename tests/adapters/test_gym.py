"""The environments are the game that simulation plays, and Gymnasium takes them for its own."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils import seeding
from gymnasium.utils.env_checker import check_env
from latecomers import CAPACITY, Average, assert_weights_matter, labels, wait
from marking import jit_for

import tarry
from tarry.adapters.gym import DelayedGame
from tarry.schedulers.base import Scheduler, admit, arrive

NAMES = ["tarry/DelayedOCO-v0", "tarry/DelayedBCO-v0"]


def some_game(feedback="gradient", capacity=5, information="semi-clairvoyant", horizon=120):
    draw = np.random.default_rng(4)
    return tarry.Game(
        tarry.domains.Ball(3),
        tarry.losses.Quadratic(draw.normal(0.2, 0.3, (horizon, 3)), strong_convexity=1.0),
        tarry.delays.array(draw.integers(0, 25, horizon)),
        feedback=feedback,
        capacity=capacity,
        information=information,
    )


def seed_within(seed):
    """The seed of the draws in the first episode after reset(seed=…)."""
    return int(seeding.np_random(seed)[0].integers(2**62))


def play(env, plays, seed=3):
    _, first = env.reset(seed=seed)
    steps = [env.step(play) for play in plays]
    assert [step[3] for step in steps] == [False] * (len(steps) - 1) + [True]
    return [first, *(step[4] for step in steps)], [step[1] for step in steps]


@pytest.mark.parametrize("name", NAMES)
def test_passes_gymnasium_s_check(name):
    env = gymnasium.make(name, horizon=40, capacity=3, mean_delay=6.0)
    check_env(env.unwrapped)


MATRIX = [
    ("gradient", 5, "semi-clairvoyant", tarry.schedulers.VarOpt()),
    ("value", 5, "non-clairvoyant", tarry.schedulers.Pareto()),
    ("gradient", 4, "clairvoyant", tarry.schedulers.Coin()),
    ("gradient", None, "semi-clairvoyant", tarry.schedulers.Always()),
]


@pytest.mark.parametrize(("feedback", "capacity", "information", "scheduler"), jit_for(MATRIX, (), MATRIX[:1]))
def test_is_the_game_that_simulation_plays(feedback, capacity, information, scheduler):
    game = some_game(feedback, capacity, information)
    if feedback == "gradient":
        learner = tarry.learners.DWFTRL(game.domain, rate=0.05)
    else:
        learner = tarry.learners.DWFTBL(game.domain, rate=0.01, smoothing=0.3)
    seed = seed_within(3)
    record = tarry.simulate(game, tarry.Player(learner, scheduler), seeds=[seed], keep_rounds=True)
    log = record._log(seed)
    infos, rewards = play(DelayedGame(game, scheduler, reveal_loss=True), log.plays)

    assert [info["loss"] for info in infos[1:]] == log.losses.tolist()
    expected = {name: [[] for _ in range(game.horizon + 1)] for name in ("feedback", "expired", "preempted", "entered")}
    delays = {}
    for t, kind, s, weight in record.events().iter_rows():
        if kind == "delay":
            delays[t] = int(weight)
        elif kind != "feedback" or weight != 0.0:
            expected[kind][t].append((s, weight) if kind == "feedback" else s)
    assert [[(s, w) for s, _, w in info["feedback"]] for info in infos] == expected["feedback"]
    assert [info["expired"] for info in infos] == expected["expired"]
    assert [info["released"] for info in infos[1:]] == expected["preempted"][1:]
    assert [info["tracked"] for info in infos[1:]] == [bool(entered) for entered in expected["entered"][1:]]
    assert {info["round"] + 1: info["delay"] for info in infos if "delay" in info} == delays
    owed = [-sum(w * log.losses[s - 1] for s, _, w in info["feedback"]) for info in infos[1:]]
    assert rewards == pytest.approx(owed)
    for info in infos:
        for s, given, _ in info["feedback"]:
            if feedback == "value":
                assert given == log.losses[s - 1]
            else:
                assert np.allclose(given, log.plays[s - 1] - game.losses.rows.values[s - 1])


def test_an_agent_outside_learns_as_the_learner_inside():
    game = some_game(horizon=300)
    seed = seed_within(3)
    player = tarry.Player(tarry.learners.DWFTRL(game.domain, rate=0.05))
    record = tarry.simulate(game, player, seeds=[seed], keep_rounds=True)
    env, total = DelayedGame(game), np.zeros(3)
    env.reset(seed=3)
    for t in range(300):
        action = tarry.domains.base.nearest(game.domain, -0.05 * total)
        *_, info = env.step(action)
        assert np.allclose(action, record._log(seed).plays[t])
        for _, gradient, weight in info["feedback"]:
            total += weight * gradient


def test_recovers_the_truth_only_with_weights():
    outcomes = labels()
    horizon = len(outcomes)
    # f_t(1) = y_t, and the smaller it is the later it is told.
    game = tarry.Game(
        tarry.domains.Box([-1.0], [1.0]),
        tarry.losses.Linear(np.array(outcomes, float)[:, None]),
        tarry.delays.array([wait(y) for y in outcomes]),
        feedback="value",
        capacity=CAPACITY,
    )
    env = DelayedGame(game)
    infos, rewards = play(env, np.ones((horizon, 1)), seed=1)
    told = [(value, weight) for info in infos for _, value, weight in info["feedback"]]

    def learn(change):
        average = Average()
        for value, weight in told:
            average.tell(value, change(weight))
        return average.mean

    assert_weights_matter(learn)
    assert -sum(rewards) / horizon == pytest.approx(np.mean(outcomes), abs=0.05)


def batched(seed, delays, horizon=8, capacity=2, max_delay=4):
    """The rounds told at each step, and the return, where every play loses 1."""
    losses, waits = tarry.losses.Linear(np.ones((horizon, 1))), tarry.delays.array(delays)
    env = DelayedGame(
        tarry.Game(tarry.domains.Ball(1), losses, waits, capacity=capacity), tarry.schedulers.Batching(max_delay)
    )
    infos, rewards = play(env, np.ones((horizon, 1)), seed)
    assert not env._owed, "everything was heard of"
    return infos[1:], sum(rewards)


def test_what_is_withheld_is_told_when_its_batch_ends():
    for seed in range(20):
        infos, total = batched(seed, [0] * 8)
        for first in (1, 5):
            batch = infos[first - 1 : first + 3]
            chosen = [info["round"] for info in batch if info["tracked"]]
            assert [[s for s, *_ in info["feedback"]] for info in batch] == [[], [], [], chosen]
        assert total == -8.0


def test_the_last_round_lets_go_of_everything():
    """A batch that the end cuts: six rounds in batches of four. Over all that is drawn the mean return is theirs."""
    returns = [batched(seed, [0] * 6, horizon=6)[1] for seed in range(300)]
    assert set(returns) == {-4.0, -8.0}
    assert np.mean(returns) == pytest.approx(-6.0, abs=0.4)


def test_there_is_room_for_what_is_withheld_beside_all_that_arrives():
    for seed in range(40):
        infos, _ = batched(seed, [4, 0, 0, 0, 0, 0, 0, 0], max_delay=2)
        told = [s for info in infos for s, *_ in info["feedback"]]
        assert sorted(told) == [info["round"] for info in infos if info["tracked"]]


class _Worthless(Scheduler):
    """Tracks while there is room; every other round weighs nothing."""


def test_what_weighs_nothing_is_owed_nothing(monkeypatch):
    monkeypatch.setitem(admit.members, _Worthless, lambda scheduler, state, draws, request: request.vacancy)
    monkeypatch.setitem(arrive.members, _Worthless, lambda scheduler, state, slot, s, t: float(s % 2))
    game = tarry.Game(
        tarry.domains.Ball(1), tarry.losses.Linear(np.ones((9, 1))), tarry.delays.array([1] * 8 + [0]), capacity=5
    )
    env = DelayedGame(game, _Worthless())
    infos, rewards = play(env, np.ones((9, 1)))
    assert [s for info in infos for s, *_ in info["feedback"]] == [1, 3, 5, 7, 9]
    assert sum(rewards) == -5.0
    assert not env._owed


def test_the_nearest_point_is_played():
    env = DelayedGame(some_game())
    env.reset(seed=1)
    observation, *_, info = env.step(np.array([1.0, 1.0, 1.0]))
    assert np.linalg.norm(info["play"]) == pytest.approx(1.0)
    assert np.array_equal(observation, info["play"])
    assert env.observation_space.contains(observation)
    assert np.allclose(env.action_space.low, -1)
    assert np.allclose(env.action_space.high, 1)


def test_seeds_decide():
    env = gymnasium.make(NAMES[0], horizon=60, capacity=3, mean_delay=9.0).unwrapped

    def tracked(seed):
        return [info.get("tracked") for info in play(env, np.zeros((60, 5)), seed)[0]]

    assert tracked(1) == tracked(1) != tracked(2)
    assert tracked(None) != tracked(None), "without a seed episodes go on drawing"


def test_sentences():
    env = DelayedGame(some_game(horizon=1))
    env.reset(seed=1)
    env.step(np.zeros(3))
    with pytest.raises(ValueError, match=r"over after 1 rounds: call reset\(\)"):
        env.step(np.zeros(3))
    with pytest.raises(tarry.errors.NotGranted, match="Coin needs each delay"):
        DelayedGame(some_game(), tarry.schedulers.Coin())
    env.reset()
    with pytest.raises(ValueError, match="the point has 2 entries, the domain has 3"):
        env.step(np.zeros(2))


def test_what_cannot_be_a_game():
    with pytest.raises(ValueError, match="a function from a seed to one, got 'chess'"):
        DelayedGame("chess")
    with pytest.raises(ValueError, match="a function from a seed to one, got 7"):
        DelayedGame(lambda seed: 7)
    losses = tarry.losses.LeastSquares(np.ones((5, 2)), np.ones(5))
    game = tarry.Game(tarry.domains.Ball(2), losses, tarry.delays.array([0] * 5), feedback="example")
    with pytest.raises(ValueError, match="gives 'gradient' or 'value' feedback, got 'example'"):
        DelayedGame(game)
    for name, value in (("horizon", -5), ("horizon", "long"), ("dimension", 0), ("dimension", 2.5)):
        with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1, got {value!r}"):
            gymnasium.make(NAMES[0], **{name: value})


def test_a_step_needs_a_game_and_a_point():
    env = DelayedGame(some_game())
    with pytest.raises(ValueError, match=r"call reset\(\) before step\(\)"):
        env.step(np.zeros(3))
    env.reset(seed=1)
    for action in ("left", {"x": 1}):
        with pytest.raises(ValueError, match="an action is a point of the domain"):
            env.step(action)
    with pytest.raises(ValueError, match="the point must be finite, got nan at entry 1"):
        env.step(np.array([0.0, np.nan, 0.0]))
    assert env.step(np.zeros(3))[-1]["round"] == 1, "none of these was a round"


def test_the_loss_of_a_round_is_told_only_on_request():
    for reveal in (False, True):
        env = gymnasium.make(NAMES[0], horizon=5, capacity=2, mean_delay=3.0, reveal_loss=reveal)
        env.reset(seed=1)
        assert ("loss" in env.step(env.action_space.sample())[-1]) is reveal


def test_an_unknown_option_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="there is no option 'foo': the options are dimension, horizon, capacity"):
        gymnasium.make(NAMES[0], foo=1)
