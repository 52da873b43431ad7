"""Finitely many actions under capacity: estimates enumerated through each scheduler, and regret below bounds."""

from __future__ import annotations

from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from marking import slow_but

import tarry
from tarry import theory
from tarry.game.grants import setting_of
from tarry.game.rounds import CLAIRVOYANT, acknowledge, begin, deliver
from tarry.learners import EntropicFTRL, Exp3, TsallisFTRL
from tarry.learners.base import RecordedDirections
from tarry.outcomes import Fate
from tarry.players import finite_actions
from tarry.schedulers import Batching, Coin, Pareto, VarOpt
from tarry.schedulers.base import RecordedUniforms
from tarry.tracking import Draws, Player, fresh_state
from tarry.tracking.buffer import flush_buffer
from tarry.tracking.table import find

LOSSES = np.random.default_rng(71).uniform(size=(4, 2))


def play(player, uniforms, arms, delays, capacity, information):
    """The probability of these arms and the learner's sum of losses when all is in, by the game's own steps."""
    horizon = len(delays)
    setting = setting_of(player, capacity, information, certify=False)
    draws = Draws(RecordedUniforms(np.array(uniforms)), RecordedDirections(np.eye(2)[list(arms)]))
    state, chance = fresh_state(player, min(capacity, horizon), capacity), 1.0
    leader = getattr(state.learner, "leader", state.learner)
    for t in range(1, horizon + 1):
        disclosed = int(delays[t - 1]) if setting.information == CLAIRVOYANT else -1
        begin(player, setting, draws, state, t, disclosed)
        chance *= leader.point[arms[t - 1]]
        for s in [s for s in range(1, t + 1) if s + delays[s - 1] == t]:
            slot = find(state.table, s)
            if slot < 0:
                acknowledge(state)
                continue
            row = LOSSES[s - 1]
            told = row if player.learner.feedback == "gradient" else row[[arms[s - 1]]]
            deliver(player, setting, draws, state, s, t, slot, told)
    flush_buffer(state.buffer, player, draws, state, horizon, False)
    assert state.tally.fates[Fate.SATURATED] == 0
    return chance, leader.total.copy()


def outcomes(scheduler, delays, capacity):
    """All that the scheduler's draws can come to: (probability, uniforms)."""
    horizon = len(delays)
    if isinstance(scheduler, Batching):
        b = scheduler.batch(capacity)
        places = [[(1 / b, (j + 0.5) / b) for j in range(b)] if t % b == 0 else [(1.0, 0.5)] for t in range(horizon)]
    else:
        kept = [float(scheduler.survival(t + 1, delays[t], capacity)) for t in range(horizon)]
        places = [[(q, q / 2), (1 - q, (1 + q) / 2)] for q in kept]
    for combination in product(*places):
        yield float(np.prod([p for p, _ in combination])), [u for _, u in combination]


SCHEDULERS = {
    "Batching": (Batching(2), (2, 2, 1, 0), 2, "non-clairvoyant"),
    "Batching, within": (Batching(2), (0, 2, 1, 0), 2, "non-clairvoyant"),
    "Pareto": (Pareto(8.0), (3, 0, 1, 0), 5, "non-clairvoyant"),
    "Coin": (Coin(8.0), (3, 2, 0, 0), 5, "clairvoyant"),
}
LEARNERS = {
    "EntropicFTRL": EntropicFTRL(2, rate=0.9),
    "Exp3": Exp3(2, rate=0.9),
    "TsallisFTRL": TsallisFTRL(2, level=2.0),
    "TsallisFTRL, tracked": TsallisFTRL(2, counts="tracked"),
}


PAIRS = [
    (name, kind)
    for name, kind in product(LEARNERS, SCHEDULERS)
    if not (name.endswith("tracked") and kind.startswith("Batching"))  # refused
]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_sums_of_weighted_losses_have_the_right_mean_exactly(name, kind):
    """Over everything that can be drawn: who is tracked, and for arms who is played."""
    scheduler, delays, capacity, information = SCHEDULERS[kind]
    learner = LEARNERS[name]
    if getattr(learner, "needs_acknowledgements", False) and information == "non-clairvoyant":
        information = "semi-clairvoyant"
    player = Player(learner, scheduler)
    mean, mass = np.zeros(2), 0.0
    for odds, uniforms in outcomes(scheduler, delays, capacity):
        for arms in product(range(2), repeat=4) if learner.feedback == "value" else [(0, 0, 0, 0)]:
            chance, total = play(player, uniforms, arms, delays, capacity, information)
            share = odds * (chance if learner.feedback == "value" else 1.0)
            mean, mass = mean + share * total, mass + share
    assert mass == pytest.approx(1.0, abs=1e-12)
    assert mean == pytest.approx(LOSSES.sum(axis=0), abs=1e-12)


def one_good(horizon, k, delays, **options):
    losses = np.ones((horizon, k))
    losses[:, k - 1] = 0.0
    return tarry.Game(tarry.domains.Simplex(k), tarry.losses.Linear(losses), delays, **options)


GAMES = {
    "fixed": {"information": "non-clairvoyant", "preemption": False},
    "bounded": {"information": "non-clairvoyant", "preemption": False},
    "preemptive": {"information": "non-clairvoyant"},
    "coin": {"information": "clairvoyant", "preemption": False},
}
EXPECTED = {"fixed": Batching, "bounded": Batching, "preemptive": VarOpt, "coin": Coin}


def named_game(kind, feedback, capacity, horizon):
    delays = np.full(horizon, 6) if kind == "fixed" else np.random.default_rng(5).integers(0, 7, horizon)
    return one_good(horizon, 3, tarry.delays.array(delays), capacity=capacity, feedback=feedback, **GAMES[kind])


def bound_of(kind, game, player):
    """The expert's or the arm's bound, which the player's own rate attains."""
    summary, k, rate = game.delays.summary(), game.dimension, player.learner.rate.value
    sizes = {"horizon": game.horizon, "capacity": game.capacity}
    if isinstance(player.scheduler, Batching):
        most = {"max_delay": player.scheduler.max_delay}
        costs = theory.batching_costs(total_delay=summary.total_delay, is_fixed=kind == "fixed", **most, **sizes)
    elif isinstance(player.scheduler, VarOpt):
        costs = theory.varopt_costs(game.delays.values, game.capacity)
    else:
        costs = theory.pareto_costs(total_delay=summary.total_delay, **sizes)
    cost, second, _ = costs
    if game.feedback == "gradient":
        assert log(k) / rate + rate * cost == pytest.approx(theory.experts_tuning(actions=k, cost=cost).bound)
        return theory.experts_tuning(actions=k, cost=cost).bound
    sizes = {"actions": k, "second_moments": second, "total_delay": summary.total_delay}
    assert log(k) / rate + rate * (k * second + summary.total_delay) == pytest.approx(theory.arms_tuning(**sizes).bound)
    return theory.arms_tuning(**sizes).bound


@pytest.mark.parametrize("kind", GAMES)
@pytest.mark.parametrize("feedback", slow_but(["gradient", "value"], {"value"}))
def test_regret_is_below_the_bound_where_playing_at_random_is_not(kind, feedback):
    horizon = 1500
    game = named_game(kind, feedback, {"coin": 60, "preemptive": 1}.get(kind, 3), horizon)
    player = finite_actions(game)
    assert isinstance(player.scheduler, EXPECTED[kind])
    record = tarry.simulate(game, player, seeds=2)
    refused = record.ledger["saturated"].to_numpy() if kind == "coin" else 0
    bound = bound_of(kind, game, player)
    assert np.all(record.regret <= bound + refused)
    assert bound < horizon * 2 / 3, "else no learner could fail"


@pytest.mark.parametrize("kind", ["fixed", "preemptive"])
def test_the_hybrid_takes_the_moments_as_its_level(kind):
    game = named_game(kind, "value", 3, 400)
    game = tarry.Game(
        game.domain, game.losses, game.delays, feedback="value", capacity=game.capacity, preemption=game.preemption
    )
    player = finite_actions(game, regulariser="hybrid")
    if kind == "fixed":
        assert player.learner == TsallisFTRL(3, level=3.0)
    assert np.all(np.isfinite(tarry.simulate(game, player, seeds=2).regret))


def test_what_is_no_such_game_is_refused():
    game = named_game("fixed", "gradient", 3, 20)
    with pytest.raises(ValueError, match="is for arms"):
        finite_actions(game, regulariser="hybrid")
    with pytest.raises(ValueError, match="regulariser must be one of"):
        finite_actions(game, regulariser="tsallis")
    unlimited = named_game("fixed", "gradient", None, 20)
    with pytest.raises(ValueError, match="give capacity"):
        finite_actions(unlimited)
    for kind in ("fixed", "bounded"):
        with pytest.raises(ValueError, match=r"one slot that keeps its round for up to 6 more .* preemption=True"):
            finite_actions(named_game(kind, "gradient", 1, 20))
    on_ball = tarry.Game(tarry.domains.Ball(3), game.losses, game.delays, capacity=3)
    with pytest.raises(ValueError, match="corners of Simplex"):
        finite_actions(on_ball)


def test_one_slot_is_enough_where_it_may_be_given_up():
    delays = tarry.delays.fixed(horizon=40, delay=6)
    player = finite_actions(one_good(40, 3, delays, capacity=1, information="non-clairvoyant"))
    assert isinstance(player.scheduler, VarOpt)
    unhurried = one_good(40, 3, tarry.delays.fixed(horizon=40, delay=0), capacity=1, preemption=False)
    assert finite_actions(unhurried).scheduler == Batching(0)


def test_rates_are_the_best_of_their_bounds():
    rate = theory.experts_tuning(actions=5, cost=300.0).rate
    assert log(5) / rate + rate * 300 == pytest.approx(theory.experts_tuning(actions=5, cost=300.0).bound)
    game = {"actions": 5, "second_moments": 70.0, "total_delay": 40.0}
    assert theory.arms_tuning(**game).bound == pytest.approx(2 * sqrt(log(5) * (5 * 70 + 40)))
    assert theory.arms_tuning(**game).rate == pytest.approx(sqrt(log(5) / 390))
