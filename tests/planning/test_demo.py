"""What the demonstration claims: who is off, and who is not once a cause is taken away."""

from __future__ import annotations

import numpy as np
import pytest

from tarry import delays
from tarry.game.replay import replay
from tarry.planning.demo import AS_IT_IS, MOVED, PLAN, SHUFFLED, SLOTS, STEPS, Month, draw_month, play_plan
from tarry.planning.policies import Conditions, find_policy

SURE = 4  # standard errors
MONTHS = 12


def independent_coins(seed, world=None, horizon=20_000):
    """Half of the rounds are hard, whatever the time; these stay 19 times as long: as the demonstration once was."""
    generator = np.random.default_rng(seed)
    hard = generator.random(horizon) < 0.5
    return Month(hard, delays.array(generator.geometric(1.0 / np.where(hard, 381, 21)) - 1))


def off_by(policy, draw, world=AS_IT_IS):
    """Return how many standard errors a policy's rate is off, by replays without a learner."""
    errors = [error_of(policy, draw(seed, world), seed) for seed in range(MONTHS)]
    return np.mean(errors) / (np.std(errors, ddof=1) / MONTHS**0.5)


def error_of(policy, month, seed, first=None):
    scheduler = find_policy(policy).make(Conditions.of((first or month).delays, SLOTS))
    run = replay(scheduler, month.delays, capacity=SLOTS, seeds=[seed], keep_rounds=True)
    weights = run.heard(seed)
    return weights @ month.hard / weights.sum() - month.hard.mean()


def check(draw):
    """Fail unless policies err where the sentence on the page says so."""
    for policy in ("drop newest", "drop oldest", "time out"):
        assert off_by(policy, draw) < -SURE, f"{policy} is not off"
    assert abs(off_by("VarOpt", draw)) < SURE


@pytest.mark.jit(only=True)
def test_every_policy_without_weights_is_off():
    check(draw_month)


@pytest.mark.jit(only=True)
def test_coins_that_know_nothing_of_load_do_not_pass_for_a_world_in_which_drop_newest_errs():
    with pytest.raises(AssertionError, match="drop newest is not off"):
        check(independent_coins)


@pytest.mark.jit(only=True)
@pytest.mark.parametrize(("world", "wrong"), [(MOVED, {"drop oldest", "time out", "reservoir"}), (SHUFFLED, set())])
def test_controls_take_away_one_cause_each(world, wrong):
    policies = dict.fromkeys(name for name, capacity, _ in PLAN if capacity == SLOTS and "Bernoulli" not in name)
    assert {name for name in policies if abs(off_by(name, draw_month, world)) > SURE} == wrong


@pytest.mark.jit(only=True)
def test_results_are_those_of_replays_and_of_the_best_step():
    """Played months come after those of the trial; the time out is that of the first month."""
    results = {r.policy: r for r in play_plan(2, horizon=300) if r.world == AS_IT_IS and r.capacity in (SLOTS, None)}
    months = [draw_month(2 + i, horizon=300) for i in range(2)]
    assert results["unlimited"].truth == pytest.approx(np.mean([month.hard.mean() for month in months]))
    assert results["unlimited"].errors == pytest.approx([0.0, 0.0])
    assert 0 < months[0].hard.mean() < 1
    for policy in ("VarOpt", "drop newest", "time out"):
        expected = [error_of(policy, month, 2 + i, months[0]) for i, month in enumerate(months)]
        assert results[policy].errors == pytest.approx(expected)
    assert results["time out"].age == Conditions.of(months[0].delays, SLOTS).patience
    assert results["VarOpt"].age is None
    for r in results.values():
        assert list(r.by_step) == list(STEPS)
        assert all(r.by_step[r.step].mean() <= hours.mean() for hours in r.by_step.values())
        assert {hours.size for hours in r.by_step.values()} == {2}
