"""Wrong members: each is told in a sentence that names it, in debug mode with the line; none ends the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tarry
from tarry.delays.base import Delays
from tarry.domains import Domain, project
from tarry.errors import MemberError
from tarry.experiments.play import told
from tarry.kernel import entry
from tarry.learners.base import Learner, Starting, predict
from tarry.learners.states import AnyDomain, AnyPoint, Vector
from tarry.losses.base import Losses, gradient, value
from tarry.schedulers.base import SATURATED, Scheduler
from tarry.testing import LearnerContract, LossContract, SchedulerContract

HORIZON, CAPACITY = 300, 4
UNUSED = {"a": 1}
TABLE = np.arange(9)


class Coin(Scheduler):
    def admit(self, state, draws, request):
        return request.vacancy if request.vacancy >= 0 else SATURATED

    def arrive(self, state, slot, s, t):
        return 1.0


class SlotTooLarge(Coin):
    def admit(self, state, draws, request):
        return request.capacity  # wrong


class SlotOfAnother(tarry.schedulers.VarOpt):
    def admit(self, state, draws, request):
        return request.capacity  # wrong


class SlotHuge(Coin):
    def admit(self, state, draws, request):
        return request.t * 10**12  # wrong


class SlotNegative(Coin):
    def admit(self, state, draws, request):
        return -7  # wrong


class SlotHalf(Coin):
    def admit(self, state, draws, request):
        return 0.5  # wrong


class SlotNone(Coin):
    def admit(self, state, draws, request):
        if request.vacancy >= 0:
            return request.vacancy
        return None  # wrong


class ExpiresNobody(Coin):
    needs_preemption = True

    def expired(self, state, t, pending):
        return 3  # wrong


class WeightNan(Coin):
    def arrive(self, state, slot, s, t):
        return np.nan  # wrong


class WeightNegative(Coin):
    def arrive(self, state, slot, s, t):
        return -1.0  # wrong


class Raises(Coin):
    def admit(self, state, draws, request):
        if request.t > 50:
            raise ValueError("no more")  # wrong
        return request.vacancy


class StateOutside(Coin):
    def arrive(self, state, slot, s, t):
        state[slot + 1] += 1  # wrong
        return 1.0


class NoArrive(Scheduler):
    def admit(self, state, draws, request):
        return request.vacancy


class State(NamedTuple):
    point: Vector


class Still(Starting):
    domain: AnyDomain
    start: AnyPoint = None
    state = State

    def restart(self, state, t, magnitude):
        state.point[:] = self.start

    def absorb(self, state, directions, slot, s, weight, feedback):
        pass


class PastThePlay(Still):
    def predict(self, state, directions, t, play):
        for i in range(play.size + 1):
            play[i] = 0.0  # wrong


class FarPastThePlay(Still):
    def predict(self, state, directions, t, play):
        play[10**7 * t] = 0.0  # wrong


class PlayNan(Still):
    def absorb(self, state, directions, slot, s, weight, feedback):
        state.point[0] = np.sqrt(-weight)  # wrong


class Allocates(Still):
    def absorb(self, state, directions, slot, s, weight, feedback):
        state.point[0] += 0.0 * np.zeros(3)[0]  # wrong


class PythonObject(Still):
    def absorb(self, state, directions, slot, s, weight, feedback):
        state.point[0] += 0.0 * UNUSED["a"]  # wrong


class UnknownField(Still):
    def absorb(self, state, directions, slot, s, weight, feedback):
        state.point[0] += self.gain  # wrong


class WritesParameter(Still):
    def absorb(self, state, directions, slot, s, weight, feedback):
        self.start[0] = 1.0  # wrong


class ReturnsThePlay(Still):
    def predict(self, state, directions, t, play):  # wrong
        return state.point


class Multiplies(Still):
    def absorb(self, state, directions, slot, s, weight, feedback):
        state.point[0] += 0.0 * (feedback @ feedback)


class Subtracts(Still):
    def absorb(self, state, directions, slot, s, weight, feedback):
        state.point -= weight * feedback  # wrong


class NoState(Learner):
    domain: Any
    feedback = "gradient"

    def restart(self, state, t, magnitude):
        pass

    def absorb(self, state, directions, slot, s, weight, feedback):
        pass


class UnlikeSizes(Still):
    def predict(self, state, directions, t, play):
        play[:] = state.point[:0]  # wrong


class ScratchTooShort(Still):
    def advance(self, state, t, pending):
        project(self.domain, state.point, state.point[:0])  # wrong


class LeavesTheDomain(Still):
    def absorb(self, state, directions, slot, s, weight, feedback):
        state.point[0] += 1.0


class StateOfObjects(Still):
    def allocate(self, slots):
        return State(np.array([None, None]))


class StateIsADictionary(Still):
    def allocate(self, slots):
        return {"point": np.zeros(2)}


class Flat(Losses):
    @property
    def dimension(self):
        return 2


@value.on(Flat)
def _(loss, row, x):
    return 0.0


@gradient.on(Flat)
def _(loss, row, x, out):
    out[:] = 0.0


class LossNan(Flat):
    pass


@value.on(LossNan)
def _(loss, row, x):
    return np.log(x[0] - 7.0)  # wrong


class LossNothing(Flat):
    pass


@value.on(LossNothing)
def _(loss, row, x):
    pass  # wrong


class GradientShort(Flat):
    pass


@gradient.on(GradientShort)  # wrong
def _(loss, row, x, out):
    out[0] = 1.0


class NoGradient(Losses):
    dimension = 2


@value.on(NoGradient)
def _(loss, row, x):
    return 0.0


class Late(Delays):
    horizon = HORIZON
    truncated = 0

    def delay(self, t):
        return 5


class DelayNegative(Late):
    def delay(self, t):
        return -5  # wrong


class DelayHalf(Late):
    def delay(self, t):
        return 2.5  # wrong


class DelayOutside(Late):
    def delay(self, t):
        return TABLE[t]  # wrong


class Square(Domain):
    center = np.zeros(2)
    inner_radius = 1.0
    outer_radius = 2.0

    def linear_minimiser(self, g):
        return -np.sign(g)

    def project(self, x, scratch):
        pass


class ProjectsPast(Square):
    def project(self, x, scratch):
        x[2] = 0.0  # wrong


class NoProjection(Domain):
    center = np.zeros(2)
    inner_radius = 1.0
    outer_radius = 2.0


class ProjectsToNan(Square):
    def project(self, x, scratch):
        if x[0] != 0.0:
            x[0] = np.nan  # wrong


WRONG = {
    SlotTooLarge: "named a slot that is not there",
    SlotOfAnother: "named a slot that is not there",
    SlotHuge: "named a slot that is not there",
    SlotNegative: "named a slot that is not there",
    SlotHalf: "returns float64, and not a whole number",
    SlotNone: "returns .*, and not a whole number on every path",
    ExpiresNobody: "one to drop that has no round",
    WeightNan: "gave a weight in rounds",
    WeightNegative: "gave a weight in rounds .* negative",
    Raises: "raised ValueError: no more",
    StateOutside: "arrive reads or writes outside an array",
    NoArrive: r"has no arrive\(\)",
    PastThePlay: "predict reads or writes outside an array",
    FarPastThePlay: "predict reads or writes outside an array",
    PlayNan: "played .* which is not finite",
    Allocates: "allocates memory",
    PythonObject: "does not compile",
    UnknownField: "does not compile",
    WritesParameter: "does not compile",
    ReturnsThePlay: "returns an array",
    Multiplies: "multiplies arrays",
    Subtracts: "allocates memory",
    NoState: "has no state",
    UnlikeSizes: "predict reads or writes outside an array",
    LeavesTheDomain: "outside its domain",
    StateOfObjects: "got a ndarray in it of object",
    StateIsADictionary: "must be a named tuple of arrays",
    LossNan: "check the data or functions of LossNan",
    LossNothing: "value returns none",
    NoGradient: r"has no gradient\(\)",
    DelayNegative: "delay returns -5 in round 1",
    DelayOutside: "delay reads or writes outside an array|delay fails: IndexError",
    ProjectsPast: "project fails: IndexError",
    NoProjection: r"has no project\(\)",
    DelayHalf: "delay returns float64, and not a whole number",
    ProjectsToNan: "or project of ProjectsToNan",
}
# Python takes these as they are; and these are told before anybody plays.
ONLY_COMPILED = {Allocates, PythonObject, Multiplies}
BEFORE = {
    NoState,
    NoProjection,
    DelayNegative,
    NoArrive,
    StateOfObjects,
    StateIsADictionary,
    NoGradient,
    LeavesTheDomain,
}
ONLY_DEBUGGED = (GradientShort, ScratchTooShort)


def play(kind, **options):
    domain: Any = tarry.domains.Ball(2)
    losses: Any = tarry.losses.Linear(np.random.default_rng(0).uniform(-1, 1, (HORIZON, 2)))
    delays: Any = tarry.delays.fixed(horizon=HORIZON, delay=5)
    scheduler: Any = tarry.schedulers.VarOpt()
    if issubclass(kind, Domain):
        domain = kind()
    learner: Any = Still(domain) if domain.outer_radius == 1.0 else tarry.learners.OGD(domain, 0.1)
    if issubclass(kind, Losses):
        losses = kind(losses.rows)
    elif issubclass(kind, Delays):
        delays = kind()
    elif issubclass(kind, Scheduler):
        scheduler = kind()
    elif issubclass(kind, Learner):
        learner = kind(domain)
    game = tarry.Game(domain=domain, losses=losses, delays=delays, capacity=CAPACITY)
    return tarry.simulate(game, tarry.Player(learner, scheduler), **options)


def line_of(kind):
    """The number of the line that says it is wrong, in the class or in a function beside it."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"class {kind.__name__}("))
    return next(i + 1 for i in range(first, len(lines)) if lines[i].endswith("# wrong"))


@pytest.mark.jit
@pytest.mark.parametrize("kind", [*WRONG, *ONLY_DEBUGGED], ids=lambda kind: kind.__name__)
def test_debug_mode_names_the_member_and_the_line(kind):
    if kind in ONLY_COMPILED:
        assert np.isfinite(play(kind, debug=True).loss).all()
        return
    with pytest.raises((ValueError, TypeError), match=kind.__name__) as told:
        play(kind, debug=True)
    if kind not in BEFORE:
        assert isinstance(told.value, MemberError)
        assert f"line {line_of(kind)} of test_wrong_members.py" in str(told.value)
        assert len(str(told.value)) < 500


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.__name__)
def test_compiled_it_is_named_too(kind):
    with pytest.raises((ValueError, TypeError), match=f"(?s)(?=.*{kind.__name__}).*{WRONG[kind]}") as told:
        play(kind)
    assert str(told.value).count("\n") <= 4


@pytest.mark.parametrize(
    "kind",
    [SlotTooLarge, SlotHuge, SlotNegative, ExpiresNobody, WeightNan, WeightNegative, PlayNan],
    ids=lambda kind: kind.__name__,
)
def test_slots_weights_and_plays_are_looked_at_in_any_play(kind):
    with pytest.raises(ValueError, match=f"{kind.__name__}.*{WRONG[kind]}"):
        play(kind)


@pytest.mark.parametrize("kind", [SlotTooLarge, ExpiresNobody], ids=lambda kind: kind.__name__)
def test_sessions_refuse_slots_that_are_not_there(kind, tmp_path):
    player = tarry.Player(tarry.learners.OGD(tarry.domains.Ball(2), 0.1), kind())
    session = tarry.Session(player, capacity=CAPACITY, store=f"sqlite:///{tmp_path}/state.db", rng=1)
    with pytest.raises(MemberError, match=kind.__name__):
        session.ask("a")
    assert session.status().rounds == 0  # nothing of it was stored


class ThatAllocates(LearnerContract):
    def learner(self):
        return Allocates(tarry.domains.Ball(2))


class ThatIsHalf(SchedulerContract):
    scheduler = SlotHalf()


class ThatIsNothing(LossContract):
    def loss(self):
        return LossNothing(tarry.losses.Linear(np.ones((20, 2))).rows)

    def domain(self):
        return tarry.domains.Ball(2)


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("suite", [ThatAllocates, ThatIsHalf, ThatIsNothing], ids=lambda suite: suite.__name__)
def test_contracts_compile_the_member(suite):
    with pytest.raises(MemberError, match=r"(Allocates.absorb|SlotHalf.admit|LossNothing.value) (allocates|returns)"):
        suite().test_it_plays_compiled()


def test_wrong_weights_are_told_to_sessions(tmp_path):
    player = tarry.Player(tarry.learners.OGD(tarry.domains.Ball(2), 0.1), WeightNegative())
    session = tarry.Session(player, capacity=CAPACITY, store=f"sqlite:///{tmp_path}/state.db", rng=1)
    asked = session.ask("a")
    with pytest.raises(MemberError, match="WeightNegative gave a weight in round 1"):
        session.tell(asked.id, gradient=np.ones(2))
    assert session.status().tracked == 1  # as if nobody had told


class BoundFails(Flat):
    def gradient_bound(self, domain):
        return 1.0 / (self.dimension - 2)  # wrong


def test_failed_cells_name_the_member():
    with pytest.raises(ZeroDivisionError) as raised:
        BoundFails(np.ones((1, 2))).gradient_bound(None)
    said = f"BoundFails.gradient_bound fails: ZeroDivisionError: float division by zero (line {line_of(BoundFails)}"
    assert told(raised.value).startswith(said)


def test_wrong_arguments_are_told_where_they_are_written():
    with pytest.raises(TypeError, match=r"has 7 arguments, .*Few.absorb\(self, state\) in line \d+"):

        class Few(Still):
            def absorb(self, state):
                pass


@entry
def _predict(learner, state, t, play):
    predict(learner, state, t, t, play)


@pytest.mark.jit(only=True)
def test_compiled_verbs_stay_within_arrays_and_numbas_words_are_few():
    """Without a whole game, which takes longer to compile."""
    ball, play = tarry.domains.Ball(2), np.zeros(2)
    for kind in (PastThePlay, FarPastThePlay, UnlikeSizes):
        learner = kind(ball)
        with pytest.raises(MemberError, match=f"{kind.__name__}.predict reads .* .line {line_of(kind)} of "):
            _predict.dispatcher_for(learner)(learner, State(np.zeros(2)), 3, play)

    class Unknown(Still):
        def predict(self, state, directions, t, play):
            play[0] = self.gain

    learner = Unknown(ball)
    with pytest.raises(
        MemberError, match=r"(?s)Unknown.predict does not compile.*Numba: Unknown attribute 'gain'"
    ) as told:
        _predict.dispatcher_for(learner)(learner, State(np.zeros(2)), 3, play)
    assert str(told.value).count("\n") <= 3


def crowd_of(tracked):
    """A helper of a user's without the decorator."""
    return tracked + 1.0


@pytest.mark.jit(only=True)
def test_a_helper_that_is_no_step_is_named_with_the_way_out():
    class Helped(Still):
        def predict(self, state, directions, t, play):
            play[0] = crowd_of(0.0)

    learner = Helped(tarry.domains.Ball(2))
    sentence = r"Helped.predict calls crowd_of, which is not compiled .*: write @tarry.kernel.step above def crowd_of$"
    with pytest.raises(MemberError, match=sentence):
        _predict.dispatcher_for(learner)(learner, State(np.zeros(2)), 3, np.zeros(2))


@pytest.mark.jit(only=True)
def test_a_verb_of_the_library_that_does_not_compile_is_named_like_a_users(monkeypatch):
    class Allocating(Still):
        def predict(self, state, directions, t, play):
            play[0] = np.zeros(3)[0]

    monkeypatch.setattr("tarry.kernel.pipeline.is_foreign", lambda file: False)
    learner = Allocating(tarry.domains.Ball(2))
    with pytest.raises(MemberError, match=r"Allocating.predict allocates memory, which verbs cannot"):
        _predict.dispatcher_for(learner)(learner, State(np.zeros(2)), 3, np.zeros(2))


def test_debug_mode_plays_the_same_game():
    ball = tarry.domains.Ball(3)
    losses = tarry.losses.Linear(tarry.losses.drifting(3, rng=1))
    game = tarry.Game(ball, losses, tarry.delays.geometric(horizon=200, mean=9, rng=2), capacity=4)
    for player in (tarry.Player(tarry.learners.DWFTRL(ball, rate=0.1)), tarry.players.recommended(game)):
        one, other = (tarry.simulate(game, player, seeds=2, debug=debug) for debug in (False, True))
        np.testing.assert_allclose(one.loss, other.loss, rtol=1e-12)
        assert np.array_equal(one.fates, other.fates)
    with pytest.raises(ValueError, match="debug plays in plain Python"):
        tarry.simulate(game, tarry.learners.DWFTRL(ball, rate=0.1), debug=True, device="cuda")
