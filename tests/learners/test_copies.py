"""Interleaving and BOLD around every learner: equal to learners of their own, each playing its residue of the rounds."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
import poold
import pytest
from poold.learners import ReplicatedOnlineLearner

import tarry
from tarry.domains import Ball, Box, Simplex
from tarry.kernel import Parameters, Purpose, is_compiled, make_key
from tarry.kernel.heap import Heap, make_heap, push, top
from tarry.learners import (
    BOLD,
    DFTBL,
    DOGD,
    DOGDSC,
    DORM,
    DUB,
    DWFTBL,
    DWFTRL,
    FPL,
    FTL,
    GOLD,
    ODFTRL,
    OGD,
    SOLID,
    SOLO,
    AdaDelay,
    AdaFTRL,
    AdaHedgeD,
    Adaptive,
    AdaptiveRevision,
    Differences,
    DORMPlus,
    EntropicFTRL,
    Exp3,
    FTRLProximal,
    Interleaving,
    OnePoint,
    Power,
    Ridge,
    TsallisFTRL,
    TwoPoint,
    inverse_time,
)
from tarry.learners.actions import draw_action
from tarry.learners.base import (
    KeyedDirections,
    absorb,
    advance,
    allocate,
    direction,
    enter,
    forget,
    points_of,
    predict,
    queries_of,
    restart,
)
from tarry.learners.fpl import noise

RNG = np.random.default_rng(71)
HORIZON, K, SEED = 60, 3, 9
ROWS = RNG.normal(size=(HORIZON, K))
DELAYS = tarry.delays.array(RNG.integers(0, 9, HORIZON)).values
WEIGHTS = RNG.exponential(size=HORIZON) + 0.1
BALL, BOX = Ball(K, center=[0.3, 0.0, -0.2]), Box([-1.0, 0.0, -2.0], [1.0, 4.0, 2.0])
BASES = {
    "OGD": OGD(BALL, rate=Power(0.9, 0.5)),
    "DOGD": DOGD(BALL, rate=Power(0.9, 0.5), start=[0.1, 0.0, 0.2]),
    "DOGDSC": DOGDSC(BALL, strong_convexity=0.5),
    "DWFTRL": DWFTRL(BALL, rate=inverse_time(0.8)),
    "FTL": FTL(BALL, strong_convexity=0.8),
    "Adaptive": Adaptive(BALL, gradient_bound=2.0),
    "AdaptiveRevision": AdaptiveRevision(BOX, scale=0.5),
    "AdaDelay": AdaDelay(BALL, gradient_bound=2.0, max_delay=3),
    "SOLO": SOLO(BALL),
    "AdaFTRL": AdaFTRL(BOX),
    "FTRLProximal": FTRLProximal.tuned(BOX),
    "FPL": FPL(BOX, spread=2.0),
    "ODFTRL": ODFTRL(BALL, 2.0, hint="mean"),
    "ODFTRL.entropic": ODFTRL.entropic(K, 2.0, hint="recent"),
    "EntropicFTRL": EntropicFTRL(K, rate=Power(0.8, 0.5)),
    "DORM": DORM(K, hint="previous"),
    "DORMPlus": DORMPlus(K, hint="recent"),
    "AdaHedgeD": AdaHedgeD(K, hint="mean"),
    "DUB": DUB(K),
    "Ridge": Ridge(Ball(K, radius=50.0), penalty=0.5),
    "DWFTBL": DWFTBL(BALL, rate=Power(0.1, 0.5), smoothing=0.3),
    "Exp3": Exp3(K, rate=Power(0.8, 0.5)),
    "TsallisFTRL": TsallisFTRL(K),
    "OnePoint": OnePoint(OGD(BOX, rate=0.02), smoothing=0.4),
    "OnePoint of FTL": OnePoint(FTL(BALL, strong_convexity=0.8), smoothing=0.4),
    "TwoPoint": TwoPoint(DOGD(BALL, rate=Power(0.2, 0.5)), smoothing=0.1),
    "Differences": Differences(DWFTRL(BALL, rate=inverse_time(0.8)), smoothing=0.1),
    "DFTBL": DFTBL(BALL, rate=Power(0.1, 0.5), smoothing=0.4, block=3),
    "GOLD": GOLD(BALL, rate=0.02, smoothing=0.3),
}
COMPILED = ["AdaHedgeD", "TwoPoint", "DFTBL", "GOLD"]  # by slot, several values, blocks, a heap

wide = pytest.mark.skipif(is_compiled(), reason="a wide matrix: the JIT is off for it")


class Every(NamedTuple):
    """Draws for rounds ``first``, ``first + stride``, … of a game, as the rounds 1, 2, … of one's own."""

    key: np.uint64
    first: int
    stride: int


@direction.on(Every)
def _direction(source, n, out):
    direction(KeyedDirections(source.key), source.first + (n - 1) * source.stride, out)


@draw_action.on(Every)
def _draw(source, n, weights):
    return draw_action(KeyedDirections(source.key), source.first + (n - 1) * source.stride, weights)


@noise.on(Every)
def _noise(source, i):
    return noise(KeyedDirections(source.key), i)


def losses_for(learner):
    return tarry.losses.LeastSquares(ROWS, np.cos(np.arange(HORIZON))) if learner.feedback == "example" else LOSSES


LOSSES = tarry.losses.Linear(ROWS, ridge=0.5)


def plays(learner, delays=DELAYS, weights=WEIGHTS):
    game = tarry.WeightedGame(
        learner.domain,
        losses_for(learner),
        tarry.delays.array(delays),
        weights,
        feedback=learner.feedback,
        queries=queries_of(learner),
    )
    return tarry.simulate(game, learner, seeds=[SEED], keep_rounds=True).plays()


def heard(learner, directions, n, t, play):
    """What a learner is told of round t, which is its own n-th."""
    losses = losses_for(learner)
    if learner.feedback == "example":
        return np.array(losses.row(t))
    if learner.feedback == "gradient":
        return np.array(losses.gradient(play, t))
    points = points_of(learner, directions, n, play)
    return np.array([losses.value(point, t) for point in points])


def separate(learner, delay, weights=WEIGHTS):
    """The plays of ``delay`` + 1 learners, each alone on its residue class, hearing at once."""
    found = np.zeros((HORIZON, learner.dimension))
    key = make_key(SEED, Purpose.DIRECTIONS)
    with np.errstate(over="ignore"):
        for residue in range(delay + 1):
            state, play = allocate(learner, 1), np.zeros(learner.dimension)
            directions = Every(key, residue + 1, delay + 1)
            for n, t in enumerate(range(residue + 1, HORIZON + 1, delay + 1), start=1):
                predict(learner, state, directions, n, play)
                found[t - 1] = play
                enter(learner, state, 0, n)
                feedback = heard(learner, directions, n, t, play)
                absorb(learner, state, directions, 0, n, weights[t - 1], feedback)
                advance(learner, state, n, 0)
    return found


@wide
@pytest.mark.parametrize("delay", [0, 1, 4])
@pytest.mark.parametrize("name", BASES)
def test_interleaving_is_separate_learners(name, delay):
    found = plays(Interleaving(BASES[name], delay), np.full(HORIZON, delay))
    np.testing.assert_allclose(found, separate(BASES[name], delay), rtol=1e-9, atol=1e-9)
    assert np.ptp(found, axis=0).max() > 1e-3, "plays that never move would prove nothing"


@wide
@pytest.mark.parametrize("name", BASES)
def test_without_delay_copies_are_their_base(name):
    base, none = BASES[name], np.zeros(HORIZON, int)
    alone = plays(base, none)
    for learner in (Interleaving(base, 0), BOLD(base)):
        assert np.array_equal(alone, plays(learner, none))


@wide
@pytest.mark.parametrize("name", BASES)
def test_with_a_fixed_delay_bold_is_interleaving(name):
    fixed = np.full(HORIZON, 4)
    assert np.array_equal(plays(BOLD(BASES[name]), fixed), plays(Interleaving(BASES[name], 4), fixed))


@pytest.mark.compiled
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_copies_are_separate_learners(name):
    for delay in (0, 4):
        found = plays(Interleaving(BASES[name], delay), np.full(HORIZON, delay))
        np.testing.assert_allclose(found, separate(BASES[name], delay), rtol=1e-9, atol=1e-9)


@wide
@pytest.mark.parametrize("name", [name for name, base in BASES.items() if base.feedback == "gradient"])
def test_without_delay_solid_is_its_base(name):
    none = np.zeros(HORIZON, int)
    assert np.array_equal(plays(SOLID(BASES[name]), none), plays(BASES[name], none))


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


@wide
@pytest.mark.parametrize("name", BASES)
def test_bold_is_its_description(name):
    np.testing.assert_allclose(plays(BOLD(BASES[name])), replay_bold(BASES[name], WEIGHTS), rtol=1e-9, atol=1e-9)


@wide
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
        queries=queries_of(base),
    )
    player = tarry.Player(BOLD(base), tarry.schedulers.Bernoulli(probability=0.5))
    record = tarry.simulate(game, player, seeds=[SEED], keep_rounds=True)
    weights = record.rounds()["weight"].to_numpy()
    assert 0 < np.count_nonzero(weights) < HORIZON
    np.testing.assert_allclose(record.plays(), replay_bold(base, weights), rtol=1e-9, atol=1e-9)


@wide
@pytest.mark.parametrize("scheduler", [tarry.schedulers.VarOpt(), tarry.schedulers.RandomEvict()])
@pytest.mark.parametrize("name", BASES)
def test_preemption_never_runs_out_of_copies(name, scheduler):
    base = BASES[name]
    game = tarry.Game(
        base.domain,
        losses_for(base),
        tarry.delays.array(DELAYS),
        capacity=2,
        feedback=base.feedback,
        queries=queries_of(base),
    )
    for learner in (BOLD(base), Interleaving(base, 3)):
        assert np.all(np.isfinite(tarry.simulate(game, tarry.Player(learner, scheduler), seeds=2).regret))


@wide
@pytest.mark.parametrize("make", [BOLD, lambda base: Interleaving(base, 3)])
@pytest.mark.parametrize("name", ["AdaHedgeD", "GOLD", "DFTBL", "OnePoint of FTL"])
def test_growth_keeps_the_copies(name, make):
    """A session without a limit grows in the middle of a run, pools in the copies with it; plays do not notice."""
    learner = make(BASES[name])
    unlimited = plays(learner, DELAYS, np.ones(HORIZON))
    session = tarry.Session(tarry.Player(learner, tarry.schedulers.Always()), capacity=None, rng=SEED)
    kind = "gradient" if learner.feedback == "gradient" else "value"
    for t in range(1, HORIZON + 1):
        assert session.ask().play == pytest.approx(unlimited[t - 1], abs=1e-9)
        for s in range(1, t + 1):
            if s + DELAYS[s - 1] == t:
                feedback = heard(learner, None, s, s, unlimited[s - 1])
                session.tell(s, **{kind: feedback if kind == "gradient" else float(feedback[0])})


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


@wide
@pytest.mark.parametrize(("name", "ours"), [("dorm", DORM), ("dormplus", DORMPlus), ("adahedged", AdaHedgeD), ("dub", DUB)])
@pytest.mark.parametrize("delay", [0, 1, 5])
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


class _LatestFields(NamedTuple):
    domain: Any


class Latest(Parameters, _LatestFields):
    """A user's own: against the latest of the largest gradients heard, and where the last tracked round played."""

    __slots__ = ()

    feedback = "gradient"

    def __new__(cls, domain):
        return cls.make(domain)

    @property
    def dimension(self):
        return self.domain.dimension


class LatestState(NamedTuple):
    seen: Heap
    kept: np.ndarray
    own: np.ndarray
    moved: np.ndarray


@allocate.on(Latest)
def _allocate(learner, slots):
    k = learner.dimension
    return LatestState(make_heap(slots), np.zeros((slots, k)), np.zeros(k), np.ones(1, np.int64))


@restart.on(Latest)
def _restart(learner, state, t, magnitude):
    state.own[:] = 0.0
    state.moved[0] = 1


@predict.on(Latest)
def _predict(learner, state, directions, t, play):
    if state.moved[0] == 1:  # else it stands there already
        for i in range(play.size):
            play[i] = state.own[i]
    state.moved[0] = 0


@enter.on(Latest)
def _enter(learner, state, slot, t):
    for i in range(state.own.size):
        state.kept[slot, i] = state.own[i]
    if top(state.seen) < 0:
        push(state.seen, 0, float(t))


@absorb.on(Latest)
def _absorb(learner, state, directions, slot, s, weight, feedback):
    for i in range(state.own.size):
        state.own[i] = 0.5 * state.kept[slot, i] - 0.1 * feedback[i]


@advance.on(Latest)
def _advance(learner, state, t, pending):
    state.moved[0] = 1


@pytest.mark.parametrize("delay", [0, 3])
def test_a_learner_of_ones_own(delay):
    """It keeps something by slot, a heap that is not, and shows its play only when it has moved."""
    base, fixed = Latest(BALL), np.full(HORIZON, delay)
    expected = separate(base, delay)
    np.testing.assert_allclose(plays(Interleaving(base, delay), fixed), expected, atol=1e-12)
    if not is_compiled():
        np.testing.assert_allclose(plays(pickle.loads(pickle.dumps(BOLD(base))), fixed), expected, atol=1e-12)


class Loose(Latest):
    __slots__ = ()


@allocate.on(Loose)
def _allocate_loosely(learner, slots):
    return [np.zeros(1)]


class Watching(Latest):
    __slots__ = ()


@tarry.learners.base.notice.on(Watching)
def _notice(learner, state, t, tracked):
    pass


@pytest.mark.parametrize(
    ("base", "sentence"),
    [
        (Loose(BALL), "a named tuple of arrays, nested or not, got a list"),
        (Watching(BALL), "cannot count the tracked ones"),
        (TsallisFTRL(K, counts="tracked"), "cannot count the tracked ones"),
        (tarry.learners.Idle(), "must be a learner of gradients or values or examples"),
        (OnePoint(SOLID(OGD(BALL, 0.1)), 0.2), "wraps another"),
        (TwoPoint(DOGD(BALL, tarry.learners.Anytime(2.0, 1.0)), 0.2), "cannot follow the game as Anytime does"),
        (GOLD(BALL, 0.1, Power(0.5, 0.25)), "one radius for all rounds"),
        (DWFTRL(BALL, tarry.learners.Doubled(2.0, 1.0)), "cannot follow the game as Doubled does"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("make", [BOLD, lambda base: Interleaving(base, 2)])
def test_what_cannot_be_copied_is_refused(make, base, sentence):
    with pytest.raises(TypeError, match=sentence):
        make(base)


def test_queries_are_the_bases():
    assert [queries_of(make(BASES["Differences"])) for make in (BOLD, lambda base: Interleaving(base, 2))] == [4, 4]
    assert queries_of(BOLD(BASES["OGD"])) == 1
