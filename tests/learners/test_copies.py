"""Interleaving and BOLD around every learner: equal to learners of their own, each on its own rounds."""

from __future__ import annotations

import numpy as np
import poold
import pytest
from copied import BASES, DELAYS, HORIZON, SEED, WEIGHTS, K, heard, losses_for, plays, separate
from marking import slow_but
from poold.learners import ReplicatedOnlineLearner

import tarry
from tarry.domains import Ball, Simplex
from tarry.kernel import Purpose, make_key
from tarry.learners import BOLD, DFTBL, DORM, DUB, OGD, SOLID, AdaHedgeD, DORMPlus, Interleaving
from tarry.learners.base import KeyedDirections, absorb, advance, allocate, enter, forget, predict

COMPILED = ["TwoPoint", "GOLD"]  # several values, and a heap


@pytest.mark.parametrize("delay", slow_but([0, 1, 4], {4}))
@pytest.mark.parametrize("name", BASES)
def test_interleaving_is_separate_learners(name, delay):
    found = plays(Interleaving(BASES[name], delay), np.full(HORIZON, delay))
    np.testing.assert_allclose(found, separate(BASES[name], delay), rtol=1e-9, atol=1e-9)
    assert np.ptp(found, axis=0).max() > 1e-3, "plays that never move would prove nothing"


@pytest.mark.parametrize("name", BASES)
def test_without_delay_copies_are_their_base(name):
    base, none = BASES[name], np.zeros(HORIZON, int)
    alone = plays(base, none)
    for learner in (Interleaving(base, 0), BOLD(base)):
        assert np.array_equal(alone, plays(learner, none))


@pytest.mark.parametrize("name", BASES)
def test_with_a_fixed_delay_bold_is_interleaving(name):
    fixed = np.full(HORIZON, 4)
    assert np.array_equal(plays(BOLD(BASES[name]), fixed), plays(Interleaving(BASES[name], 4), fixed))


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_copies_are_separate_learners(name):
    for delay in (0, 4):
        found = plays(Interleaving(BASES[name], delay), np.full(HORIZON, delay))
        np.testing.assert_allclose(found, separate(BASES[name], delay), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name, base in BASES.items() if base.feedback == "gradient"])
def test_without_delay_solid_is_its_base(name):
    none = np.zeros(HORIZON, int)
    assert np.array_equal(plays(SOLID(BASES[name]), none), plays(BASES[name], none))


@pytest.mark.parametrize("name", [name for name, base in BASES.items() if base.feedback == "gradient"])
def test_solid_is_its_base_on_the_arrivals(name):
    """Gradients are of the points played, but the base believes that it stood where it stands."""
    base, found = BASES[name], plays(SOLID(BASES[name]))
    directions, state, play = KeyedDirections(make_key(SEED, Purpose.DIRECTIONS)), allocate(BASES[name], 1), np.zeros(K)
    with np.errstate(over="ignore"):
        predict(base, state, directions, 1, play)
        for t in range(1, HORIZON + 1):
            np.testing.assert_allclose(found[t - 1], play, atol=1e-12)
            for n, s in enumerate((s for s in range(1, t + 1) if s + DELAYS[s - 1] == t), start=1):
                now = n + sum(r + DELAYS[r - 1] < t for r in range(1, t))
                enter(base, state, 0, now)
                absorb(base, state, directions, 0, now, WEIGHTS[s - 1], heard(base, directions, s, s, found[s - 1]))
                advance(base, state, now, 0)
                predict(base, state, directions, now + 1, play)


def replay_bold(base, weights):
    """BOLD with a state of its own for each copy; a slot is the round's own."""
    directions, states, turns, busy = KeyedDirections(make_key(SEED, Purpose.DIRECTIONS)), [], [], {}
    found, shown, told = np.zeros((HORIZON, base.dimension)), [], {}
    with np.errstate(over="ignore"):
        for t in range(1, HORIZON + 1):
            i = next(i for i in range(len(states) + 1) if i not in busy.values())
            if i == len(states):
                states.append(allocate(base, HORIZON))
                shown.append(np.zeros(base.dimension))
                turns.append(0)
            predict(base, states[i], directions, t, shown[i])
            found[t - 1] = shown[i]
            told[t] = heard(base, directions, t, t, shown[i])
            if weights[t - 1] > 0:
                enter(base, states[i], t - 1, t)
                busy[t] = i
            for s in [s for s in sorted(busy) if s + DELAYS[s - 1] == t]:
                i = busy.pop(s)
                turns[i] += 1
                absorb(base, states[i], directions, s - 1, s, weights[s - 1], told[s])
                advance(base, states[i], turns[i], 0)
    return found


@pytest.mark.parametrize("name", BASES)
def test_bold_is_its_description(name):
    np.testing.assert_allclose(plays(BOLD(BASES[name])), replay_bold(BASES[name], WEIGHTS), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", BASES)
def test_under_a_capacity_only_tracked_rounds_keep_a_copy(name):
    base = BASES[name]
    game = tarry.Game(
        base.domain,
        losses_for(base),
        tarry.delays.array(DELAYS),
        capacity=4,
        preemption=False,
        feedback=base.feedback,
        queries=base.queries,
    )
    player = tarry.Player(BOLD(base), tarry.schedulers.Bernoulli(probability=0.5))
    record = tarry.simulate(game, player, seeds=[SEED], keep_rounds=True)
    weights = record.rounds()["weight"].to_numpy()
    assert 0 < np.count_nonzero(weights) < HORIZON
    np.testing.assert_allclose(record.plays(), replay_bold(base, weights), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "scheduler", slow_but([tarry.schedulers.VarOpt(), tarry.schedulers.RandomEvict()], [tarry.schedulers.VarOpt()])
)
@pytest.mark.parametrize("name", BASES)
def test_preemption_never_runs_out_of_copies(name, scheduler):
    base = BASES[name]
    game = tarry.Game(
        base.domain,
        losses_for(base),
        tarry.delays.array(DELAYS),
        capacity=2,
        feedback=base.feedback,
        queries=base.queries,
    )
    for learner in (BOLD(base), Interleaving(base, 3)):
        assert np.all(np.isfinite(tarry.simulate(game, tarry.Player(learner, scheduler), seeds=2).regret))


@pytest.mark.parametrize("make", [BOLD, lambda base: Interleaving(base, 3)])
@pytest.mark.parametrize("name", ["AdaHedgeD", "GOLD", "DFTBL", "OnePoint of FTL", "TwoPoint"])
def test_growth_keeps_the_copies(name, make):
    """A session without a limit grows in the middle of a run, pools in the copies with it; plays do not notice."""
    learner, directions = make(BASES[name]), KeyedDirections(make_key(SEED, Purpose.DIRECTIONS))
    unlimited = plays(learner, DELAYS, np.ones(HORIZON))
    session = tarry.Session(tarry.Player(learner, tarry.schedulers.Always()), capacity=None, rng=SEED)
    for t in range(1, HORIZON + 1):
        assert session.ask().play == pytest.approx(unlimited[t - 1], abs=1e-9)
        for s in range(1, t + 1):
            if s + DELAYS[s - 1] == t:
                with np.errstate(over="ignore"):
                    feedback = heard(learner, directions, s, s, unlimited[s - 1])
                session.tell(s, **{learner.feedback: feedback if feedback.size > 1 else float(feedback[0])})


def test_a_block_does_not_wait_for_a_round_whose_slot_another_copy_took():
    learner, play = Interleaving(DFTBL(Ball(1), rate=0.1, smoothing=0.5, block=1), 1), np.zeros(1)
    state = allocate(learner, 2)
    with np.errstate(over="ignore"):
        for t, slot in ((1, 0), (2, 1), (3, 1), (4, 0)):  # round 2 and then round 1 are dropped
            predict(learner, state, KeyedDirections(np.uint64(1)), t, play)
            enter(learner, state, slot, t)
        assert state.states.out.sum() == 2, "rounds 3 and 4, one a copy"
        assert [state.states.out[copy].sum() for copy in (0, 1)] == [1, 1]
        for s, slot in ((3, 1), (4, 0)):
            absorb(learner, state, KeyedDirections(np.uint64(1)), slot, s, 1.0, np.ones(1))
    assert np.all(state.states.base.point != 0.0), "both blocks are settled"
    assert not state.states.out.any()


def test_without_a_copy_forgetting_is_nothing():
    learner = OGD(Ball(1), 0.1)
    assert forget(learner, allocate(learner, 1), 0) is None


@pytest.mark.parametrize(
    ("name", "ours"), [("dorm", DORM), ("dormplus", DORMPlus), ("adahedged", AdaHedgeD), ("dub", DUB)]
)
@pytest.mark.parametrize("delay", slow_but([0, 1, 5], {5}))
def test_interleaving_is_the_replicated_learner_of_poold(name, ours, delay):
    rows = np.random.default_rng(delay).normal(size=(120, 4)) + np.outer(np.sin(np.arange(120) / 12), [2, -1, 0.5, 0])
    single = poold.create(name, model_list=list("abcd"), T=len(rows))
    learner, theirs = ReplicatedOnlineLearner(single, replicates=delay + 1), []
    for t in range(len(rows)):
        s = t - 1 - delay
        loss = {"fun": lambda w, s=s: float(rows[s] @ w), "grad": lambda w, s=s: rows[s]}
        theirs.append(np.array(learner.update_and_play([(s, loss)] if s >= 0 else [], hint=None)))
    game = tarry.WeightedGame(
        Simplex(4), tarry.losses.Linear(rows), tarry.delays.fixed(horizon=len(rows), delay=delay), np.ones(len(rows))
    )
    found = tarry.simulate(game, Interleaving(ours(4), delay), keep_rounds=True).plays()
    np.testing.assert_allclose(found, theirs, atol=1e-9)


def test_queries_are_the_bases():
    assert [make(BASES["Differences"]).queries for make in (BOLD, lambda base: Interleaving(base, 2))] == [4, 4]
    assert BOLD(BASES["OGD"]).queries == 1
