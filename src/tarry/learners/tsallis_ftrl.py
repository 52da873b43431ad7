"""Follow the leader over arms under two regularisers at once, Tsallis' for seeing one arm and Shannon's for waiting."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Self

from tarry.checks import as_positive
from tarry.domains import Simplex
from tarry.kernel import step
from tarry.learners.actions import even_weights, simplex_of
from tarry.learners.base import Directions, absorb, advance, enter, notice, restart
from tarry.learners.dwftrl import restart_leader
from tarry.learners.exp3 import Arms, ArmsState, add_loss, keep_arm
from tarry.learners.states import Array
from tarry.rates.base import SUM

STEPS = 100  # Newton needs about ten; a bisection that rounding forces needs up to fifty
CLOSE = 1e-14  # relative: a few units in the last place, below which steps only rattle


COUNTS = ("pending", "tracked")
TRACKED = 1


class TsallisFTRL(Arms, init=False):
    """Hybrid-regularised FTRL over ``dimension`` arms, from delayed and weighted losses of the arms played.

        x_t = argmin_x ⟨L, x⟩ − 2 a_t Σ_i √x_i + b_t Σ_i x_i ln x_i,   a_t = √(level·t),   b_t = √(2 Σ_{s≤t} σ_s / ln K)

    over the simplex, L_i = Σ w_s f_s 1{A_s = i}/x_{s,i} of the arms A_s heard, σ_s the backlog when round s begins, or
    its tracked part. At the minimum h(x_i) = ν − L_i with h(x) = b ln x − a/√x for one number ν, which makes the
    entries add up to 1.

    Needs neither the horizon nor the delays, only the backlog, so acknowledgements. Plays are vertices; losses should
    lie in [0, 1]. With unit weights the expected regret is at most 4√(KT) + √(8·total delay·ln K). ``level`` is the
    second moment of the weights that a scheduler under capacity causes, near (mean backlog + 1)/C for VarOpt; it
    multiplies K·T there (this project's reading; not proved). Zimmert and Seldin, An Optimal Algorithm for
    Adversarial Bandits with Arbitrary Delays (AISTATS 2020), simple tuning.

    ``counts="tracked"`` lets σ_s be the rounds tracked when round s begins, and needs no acknowledgements: with the
    scheduler ``Skipping``, which gives up rounds that wait too long, this is the source's advanced tuning. Schedulers
    that hand a slot on to another round are refused, since the count would not notice, and so are weights of 0.

    Behind ``epochs=Doubling(…)`` the sum of σ_s starts over with each epoch, but the backlog that it adds up is the
    game's: rounds of earlier epochs, of which nothing will be heard any more, count while they are out.

    >>> import numpy as np
    >>> x = np.zeros(2)
    >>> mix_regularisers(np.array([0.0, 1.0]), 1.0, 1.0, x)  # L = (0, 1), a = b = 1
    >>> x.round(4).tolist()
    [0.641, 0.359]
    """

    domain: Simplex
    level: float
    counts: int
    start: Array

    def __new__(cls, dimension: int, *, level: float = 1.0, counts: str = "pending") -> Self:
        domain = simplex_of(dimension)
        if counts not in COUNTS:
            raise ValueError(f"counts must be one of {', '.join(map(repr, COUNTS))}, got {counts!r}")
        return cls.make(domain, as_positive(level, "level"), COUNTS.index(counts), even_weights(domain.dimension))

    @property
    def watches_tracked(self) -> bool:
        return self.counts == TRACKED

    @property
    def needs_acknowledgements(self) -> bool:
        return self.counts != TRACKED

    @property
    def follows(self) -> tuple[str, str]:
        return "TsallisFTRL's regulariser", 'use counts="tracked" with the scheduler Skipping, or Exp3'


@step
def weight_at(y: float, a: float, b: float) -> float:
    """Return the x in (0, 1] with b ln x − a/√x = y, where y ≤ −a, a > 0 and b ≥ 0.

    In z = ln x the left-hand side is concave and increasing. Each of its two terms alone would reach y at a z that is
    too small, so Newton's steps from the larger of these never overshoot.
    """
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

    With ν measured from the smallest entry, Σ x_i(ν) is convex and increasing; it is at least 1 at h(1) and at most 1
    at h(1/K). Newton's steps from the upper end stay above the root; one that rounding sends out of the bracket is
    replaced by its middle.
    """
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


@restart.on(TsallisFTRL)
def _restart(learner: TsallisFTRL, state: ArmsState, t: int, magnitude: float) -> None:
    restart_leader(learner.start, state.leader, t, magnitude)
    state.tracked[0] = 0


@notice.on(TsallisFTRL)
def _notice(learner: TsallisFTRL, state: ArmsState, t: int, tracked: int) -> None:
    state.tracked[0] = tracked


@enter.on(TsallisFTRL)
def _enter(learner: TsallisFTRL, state: ArmsState, slot: int, t: int) -> None:
    keep_arm(state, slot)
    state.tracked[0] += 1


@absorb.on(TsallisFTRL)
def _absorb(
    learner: TsallisFTRL, state: ArmsState, directions: Directions, slot: int, s: int, weight: float, feedback: Array
) -> None:
    add_loss(state, slot, weight, feedback[0], 0.0)
    state.tracked[0] -= 1


@advance.on(TsallisFTRL)
def _advance(learner: TsallisFTRL, state: ArmsState, t: int, pending: int) -> None:
    leader = state.leader
    leader.memory[SUM] += state.tracked[0] if learner.counts == TRACKED else pending
    age = t + 1 - leader.before[0]  # of the next round, whose play this is
    b = sqrt(2.0 * leader.memory[SUM] / log(leader.point.size))
    mix_regularisers(leader.total, sqrt(learner.level * age), b, leader.point)
