"""Arms: exponential weights (Exp3) and hybrid regularisers (TsallisFTRL) where only the played arm's loss is seen."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log, sqrt
from typing import Any, ClassVar, NamedTuple, Self

from tarry.checks import as_choice, as_int, as_nonnegative, as_positive
from tarry.domains import Simplex
from tarry.kernel import step, verb_with_default
from tarry.kernel.keyed import uniform
from tarry.learners import base as verbs
from tarry.learners.base import VALUE, Directions, RecordedDirections
from tarry.learners.dwftrl import LeaderState, restart_leader
from tarry.learners.entropic_ftrl import Exponential, OnSimplex, simplex_of
from tarry.learners.states import Array, IndexBySlot, Integer, NumberBySlot
from tarry.rates.base import SUM, Facts, as_rate

RARE = 2.0**-53  # draws come in steps of this size: an arm less probable is drawn by rounding if at all
STEPS = 100  # Newton needs about ten; a bisection that rounding forces needs up to fifty
CLOSE = 1e-14  # relative: a few units in the last place, below which steps only rattle
COUNTS = ("pending", "tracked")
TRACKED = 1


@verb_with_default
def draw_action(source: Any, t: int, weights: Array) -> int:
    """Return the action of round t, drawn from these weights, which add up to 1, or recorded."""
    left = uniform(source.key, t)
    action = 0
    for i in range(weights.size):
        if weights[i] > 0.0:
            action = i  # rounding may leave a little of the uniform: the last possible action takes it
            if left <= weights[i]:
                break
            left -= weights[i]
    return action


@draw_action.on(RecordedDirections)
def _by_record(source: RecordedDirections, t: int, weights: Array) -> int:
    action = 0  # a recorded direction is the vertex that was played
    for i in range(1, weights.size):
        if source.values[t - 1, i] > source.values[t - 1, action]:
            action = i
    return action


class ArmsState(NamedTuple):
    """Hold the leader, the arm drawn last, how many rounds are tracked; by slot the arm and its probability."""

    leader: LeaderState
    drawn: Integer
    tracked: Integer
    arm: IndexBySlot
    chance: NumberBySlot


class Arms(OnSimplex):
    """Draw one arm from the leader each round, play its vertex, and see only its loss."""

    feedback = VALUE
    state: ClassVar[Any] = ArmsState

    def doubts(self, facts: Facts) -> Iterator[str]:
        return verbs.warn_if_outside_unit_interval(type(self).__name__, facts)

    def restart(self, state: ArmsState, t: int, magnitude: float) -> None:
        restart_leader(self.start, state.leader, t, magnitude)
        state.tracked[0] = 0

    def predict(self, state: ArmsState, directions: Directions, t: int, play: Array) -> None:
        state.drawn[0] = draw_action(directions, t, state.leader.point)
        for i in range(play.size):
            play[i] = 0.0
        play[state.drawn[0]] = 1.0


@step
@verbs.enter.on(Arms)
def keep_arm(learner: Arms, state: ArmsState, slot: int, t: int) -> None:
    state.arm[slot] = state.drawn[0]
    # The probability of now: by the time the loss comes the leader has moved.
    state.chance[slot] = max(RARE, state.leader.point[state.drawn[0]])


@step
def add_loss(state: ArmsState, slot: int, weight: float, loss: float, exploration: float) -> None:
    """Add the loss of the arm in this slot, weighted by how seldom it would have been seen."""
    state.leader.total[state.arm[slot]] += weight * loss / (state.chance[slot] + exploration)
    state.leader.changed[0] = 1


class Exp3(Arms, Exponential, init=False):
    """Exponential weights over ``dimension`` arms, from delayed and weighted losses of the arms played.

        A_t ~ x_t, the play is the vertex e_{A_t}
        L_i = Σ_{s∈O_{t+1}} w_s f_s 1{A_s = i} / (x_{s,i} + γ),   x_{t+1} ∝ exp(−η_t L_i)

    over O_{t+1}, what has arrived before round t + 1; losses should not be negative. ``rate`` is η_t, which may not
    increase. For losses in [0, 1] and a constant rate the expected weighted regret is at most

        ln K/η + η Σ_t (K E[w_t²] + Σ_{s∈B_t} E[w_t w_s]) + γK Σ_t E[w_t],

    B_t the rounds out when t begins; ``Anytime(√(ln K), 1.0, own=K, waiting=1.0)`` follows the backlog. ``exploration``
    is γ: above 0 no estimate exceeds w_s f_s/γ, and regret seldom strays far from its mean (:meth:`exploring`).
    Cesa-Bianchi, Gentile and Mansour, Delay and Cooperation in Nonstochastic Bandits (JMLR 2019); exploration: György
    and Joulani, Adapting to Delays and Data in Adversarial Multi-Armed Bandits (ICML 2021); weights: docs/bounds.md.

    >>> round(Exp3.tuned(3, horizon=100, total_delay=400).rate.value, 4)
    0.0396
    """

    domain: Simplex
    rate: Any
    exploration: float
    start: Array

    def __new__(cls, dimension: int, rate: Any, *, exploration: float = 0.0) -> Self:
        domain = simplex_of(dimension)
        share = as_nonnegative(exploration, "exploration")
        return cls.make(domain, as_rate(rate, "rate"), share, domain.center)

    @classmethod
    def tuned(cls, dimension: int, *, horizon: int, total_delay: int, level: float = 1.0) -> Self:
        """Set η = √(ln K/(level·K·T + total delay)), ``level`` a bound on E[w_t²]: regret 2√(ln K·(level·K·T + …))."""
        actions = simplex_of(dimension).dimension
        rounds = as_positive(level, "level") * actions * as_int(horizon, "horizon", 1)
        return cls(actions, sqrt(log(actions) / (rounds + as_int(total_delay, "total_delay"))))

    @classmethod
    def exploring(cls, dimension: int, *, horizon: int, total_delay: int, level: float = 1.0) -> Self:
        """Set :meth:`tuned` with γ = η/2: the bound grows by ηK·T/2, and regret strays less from its mean."""
        rate = cls.tuned(dimension, horizon=horizon, total_delay=total_delay, level=level).rate
        return cls(dimension, rate, exploration=rate.value / 2)

    def absorb(
        self, state: ArmsState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        add_loss(state, slot, weight, feedback[0], self.exploration)


class TsallisFTRL(Arms, init=False):
    """Hybrid-regularised FTRL over ``dimension`` arms, from delayed and weighted losses of the arms played.

        x_t = argmin_x ⟨L, x⟩ − 2 a_t Σ_i √x_i + b_t Σ_i x_i ln x_i,   a_t = √(level·t),   b_t = √(2 Σ_{s≤t} σ_s / ln K)

    over the simplex, L_i = Σ w_s f_s 1{A_s = i}/x_{s,i} of the arms A_s heard, σ_s the backlog when round s begins; in
    an epoch the sum starts over, but rounds of earlier epochs count while they are out. Losses should lie in [0, 1];
    with unit weights the expected regret is at most 4√(KT) + √(8·total delay·ln K). ``level`` multiplies K·T there: the
    second moment of the weights (this project's reading; not proved). Where nothing acknowledges, VarOpt's held weight
    stands for σ_s (not proved either). ``counts="tracked"`` lets σ_s be the rounds tracked and needs no
    acknowledgements: with the scheduler ``Skipping`` the source's advanced tuning. Schedulers that hand a slot on to
    another round, and weights of 0, are then refused. Zimmert and Seldin, An Optimal Algorithm for Adversarial Bandits
    with Arbitrary Delays (AISTATS 2020), simple tuning.

    >>> TsallisFTRL(3, counts="tracked").needs_acknowledgements
    False
    """

    domain: Simplex
    level: float
    counts: int
    start: Array

    def __new__(cls, dimension: int, *, level: float = 1.0, counts: str = "pending") -> Self:
        domain = simplex_of(dimension)
        counted = COUNTS.index(as_choice(counts, "counts", COUNTS))
        return cls.make(domain, as_positive(level, "level"), counted, domain.center)

    @property
    def watches_tracked(self) -> bool:
        return self.counts == TRACKED

    @property
    def needs_acknowledgements(self) -> bool:
        return self.counts != TRACKED

    @property
    def takes_held_weight(self) -> bool:
        return self.counts != TRACKED

    @property
    def follows(self) -> tuple[str, str]:
        return "TsallisFTRL's regulariser", 'use counts="tracked" with the scheduler Skipping, or Exp3'

    def notice(self, state: ArmsState, t: int, tracked: int) -> None:
        state.tracked[0] = tracked

    def enter(self, state: ArmsState, slot: int, t: int) -> None:
        keep_arm(self, state, slot, t)
        state.tracked[0] += 1

    def absorb(
        self, state: ArmsState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
    ) -> None:
        add_loss(state, slot, weight, feedback[0], 0.0)
        state.tracked[0] -= 1

    def advance(self, state: ArmsState, t: int, pending: float) -> None:
        leader = state.leader
        leader.memory[SUM] += state.tracked[0] if self.counts == TRACKED else pending
        age = t + 1 - leader.before[0]  # of the next round, whose play this is
        b = sqrt(2.0 * leader.memory[SUM] / log(leader.point.size))
        mix_regularisers(leader.total, sqrt(self.level * age), b, leader.point)


@step
def weight_at(y: float, a: float, b: float) -> float:
    """Return the x in (0, 1] with b ln x − a/√x = y, where y ≤ −a, a > 0 and b ≥ 0."""
    # In z = ln x the left-hand side is concave and increasing. Each of its two terms alone would reach y at a z that
    # is too small, so Newton's steps from the larger of these never overshoot.
    z = -2.0 * log(-y / a)
    if b > 0.0:
        z = max(z, y / b)
    for _ in range(STEPS):
        drop = a * exp(-0.5 * z)
        ahead = (y - (b * z - drop)) / (b + 0.5 * drop)
        z += ahead
        if abs(ahead) <= CLOSE * max(1.0, abs(z)):
            break
    return exp(min(0.0, z))


@step
def mix_regularisers(total: Array, a: float, b: float, out: Array) -> None:
    """Write the minimiser of ⟨total, x⟩ − 2a Σ √x_i + b Σ x_i ln x_i over the simplex.

    There h(x_i) = ν − total_i with h(x) = b ln x − a/√x for one number ν.
    """
    # With ν measured from the smallest entry, Σ x_i(ν) is convex and increasing, ≥ 1 at h(1), ≤ 1 at h(1/K).
    # Newton's steps from the upper end stay above the root; one that rounding sends out of the bracket is replaced.
    low = total[0]
    for i in range(1, total.size):
        low = min(low, total[i])
    least, most = -b * log(total.size) - a * sqrt(total.size), -a
    multiplier = most
    for _ in range(STEPS):
        mass = 0.0
        slope = 0.0
        for i in range(total.size):
            out[i] = weight_at(multiplier - (total[i] - low), a, b)
            mass += out[i]
            slope += out[i] / (b + 0.5 * a / sqrt(out[i])) if out[i] > 0.0 else 0.0
        excess = (mass - 1.0) / slope
        if abs(excess) <= CLOSE * abs(multiplier):
            break
        if excess > 0.0:
            most = multiplier
        else:
            least = multiplier
        multiplier -= excess
        if not least < multiplier < most:
            multiplier = 0.5 * (least + most)
    # What is left of the excess is rounding: shares that add up to 1 are what arms are drawn from.
    for i in range(total.size):
        out[i] /= mass
