"""DW-FTRL: follow the regularised leader on delayed and weighted gradients."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from tarry.domains import as_domain, as_vector, contains
from tarry.kernel import Parameters, step
from tarry.learners.base import (
    GRADIENT,
    absorb,
    advance,
    allocate,
    closing_rate,
    feedback_size,
    notice,
    predict,
    rate_in_force,
    restart,
)
from tarry.learners.norms import as_norm, dual_size, project_in, raise_dual
from tarry.learners.rules import (
    MAGNITUDE,
    MEMORY,
    SUM,
    as_rule,
    check_length,
    count_tracked,
    first_rate,
    last_rate,
    next_rate,
)


class DWFTRL(Parameters, init=False):
    """Delayed-weighted FTRL for gradients.

        x_{t+1} = argmin_x ⟨x, Σ_{s∈O_{t+1}} w_s g_s⟩ + Σ_{s≤t} (α_s/2) ‖x − x_s‖²
                = Π( η_t ( Σ_{s≤t} α_s x_s − Σ_{s∈O_{t+1}} w_s g_s ) ),   α_1 + … + α_t = 1/η_t

    over O_{t+1}, what has arrived before round t + 1; so two running vectors are all it keeps.

    ``rate`` is a number, a sequence, a function of t or a rule; it may not increase.
    ``start`` defaults to the domain's centre. ``norm`` is Euclidean, or Mahalanobis on an ellipsoid
    of that norm. Without active projections it is delayed gradient descent with the step of the
    arrival round. The bound is (A) of docs/theory.md.

    Ryabchenko, Attias, Roy, *Capacity-Constrained Online Convex Optimization with Delayed Feedback*, 2026.

    >>> import numpy as np
    >>> from tarry import WeightedGame, delays, domains, losses, simulate
    >>> space, rows = domains.Ball(2), np.eye(2)[[0, 1, 0]]
    >>> game = WeightedGame(space, losses.Linear(rows), delays.fixed(horizon=3, delay=1), np.ones(3))
    >>> simulate(game, DWFTRL(space, rate=0.5), keep_rounds=True).plays()[-1].round(4).tolist()
    [-0.5, 0.0]
    """

    domain: Any
    rate: Any
    start: np.ndarray
    norm: Any

    feedback = GRADIENT

    def __new__(cls, domain: Any, rate: Any, *, start: ArrayLike | None = None, norm: Any = None) -> Self:
        as_domain(domain, "domain")
        measure = as_norm(norm, domain)
        return cls.make(domain, as_rule(rate, "rate"), starting_point(domain, start), measure)

    @property
    def dimension(self) -> int:
        return int(self.start.size)

    @property
    def needs_acknowledgements(self) -> bool:
        return getattr(self.rate, "needs_acknowledgements", False)

    def check_horizon(self, horizon: int | None) -> None:
        """Refuse games longer than the sequences given (None: a session, which has no end)."""
        check_length(self.rate, horizon, "rate")


class LeaderState(NamedTuple):
    """``point`` = the leader, ``anchor`` = Σ α_s x_s, ``total`` = Σ w_s g_s; ``before`` = rounds of earlier epochs.

    Every leader-following learner keeps this.
    """

    point: np.ndarray
    anchor: np.ndarray
    total: np.ndarray
    scratch: np.ndarray
    rate: np.ndarray
    inverse_rate: np.ndarray
    memory: np.ndarray
    changed: np.ndarray
    moved: np.ndarray
    before: np.ndarray


def starting_point(domain: Any, start: ArrayLike | None) -> np.ndarray:
    """The given start, or the domain's centre; it must lie in the domain."""
    point = as_vector(domain.center if start is None else start, "start", domain.dimension)
    if not contains(domain, point, 1e-9 * max(1.0, domain.diameter)):
        raise ValueError(f"start must lie in the domain, got {point}: use tarry.domains.nearest")
    return point


def reach_of(domain: Any, start: np.ndarray) -> float:
    """The most that |x − start| can be on the domain, or a bound on it."""
    away = float(np.linalg.norm(start - np.asarray(domain.center)))
    return float(min(domain.diameter, domain.outer_radius + away))


def fresh_leader(start: np.ndarray) -> LeaderState:
    """The state before the first round."""
    k = start.size
    return LeaderState(
        point=np.array(start),
        anchor=np.zeros(k),
        total=np.zeros(k),
        scratch=np.zeros(k),
        rate=np.zeros(1),
        inverse_rate=np.zeros(1),
        memory=np.zeros(MEMORY),
        changed=np.zeros(1, np.int64),
        moved=np.ones(1, np.int64),
        before=np.zeros(1, np.int64),
    )


@step
def restart_leader(start: Any, state: LeaderState, t: int, magnitude: float) -> None:
    """Forget everything: round t is the first."""
    for i in range(state.point.size):
        state.point[i] = start[i]
        state.anchor[i] = 0.0
        state.total[i] = 0.0
    state.rate[0] = 0.0
    state.inverse_rate[0] = 0.0
    state.memory[SUM] = 0.0
    state.memory[MAGNITUDE] = magnitude
    state.changed[0] = 0
    state.moved[0] = 1
    state.before[0] = t - 1


@step
def show_play(state: LeaderState, play: Any) -> None:
    """Write the leader as the play, unless it stands there already."""
    if state.moved[0] == 0:
        return
    for i in range(play.size):
        play[i] = state.point[i]
    state.moved[0] = 0


@step
def leading_rate(rule: Any, state: LeaderState, t: int) -> Any:
    """η_{t−1}, the rate that made x_t."""
    return first_rate(rule, state.memory) if t <= state.before[0] + 1 else state.rate[0]


@step
def final_rate(rule: Any, state: LeaderState, t: int) -> Any:
    """η_t if the game ended after round t."""
    return last_rate(rule, state.memory, leading_rate(rule, state, t), t - state.before[0])


@step
def follow(domain: Any, norm: Any, rule: Any, state: LeaderState, t: int, pending: int) -> None:
    """Move the leader to its place after round t."""
    rate = next_rate(rule, state.memory, t - state.before[0], pending)
    if rate != state.rate[0]:
        increment = 1.0 / rate - state.inverse_rate[0]
        state.rate[0] = rate
        state.inverse_rate[0] = 1.0 / rate
        for i in range(state.point.size):
            state.anchor[i] += increment * state.point[i]
    elif state.changed[0] == 0:
        return  # same rate, no news: the leader stands
    for i in range(state.point.size):
        state.point[i] = rate * (state.anchor[i] - state.total[i])
    project_in(norm, domain, state.point, state.scratch)
    state.changed[0] = 0
    state.moved[0] = 1


@allocate.on(DWFTRL)
def _allocate(learner: DWFTRL, slots: int) -> LeaderState:
    return fresh_leader(learner.start)


@restart.on(DWFTRL)
def _restart(learner: Any, state: Any, t: Any, magnitude: Any) -> None:
    restart_leader(learner.start, state, t, magnitude)


@predict.on(DWFTRL)
def _predict(learner: Any, state: Any, directions: Any, t: Any, play: Any) -> None:
    show_play(state, play)


@notice.on(DWFTRL)
def _notice(learner: Any, state: Any, t: Any, tracked: Any) -> None:
    count_tracked(learner.rate, state.memory, tracked)


@absorb.on(DWFTRL)
def _absorb(learner: Any, state: Any, directions: Any, slot: Any, s: Any, weight: Any, feedback: Any) -> None:
    raise_dual(learner.norm, feedback, weight, state.total)
    state.changed[0] = 1


@advance.on(DWFTRL)
def _advance(learner: Any, state: Any, t: Any, pending: Any) -> None:
    follow(learner.domain, learner.norm, learner.rate, state, t, pending)


@rate_in_force.on(DWFTRL)
def _in_force(learner: Any, state: Any, t: Any) -> Any:
    return leading_rate(learner.rate, state, t)


@closing_rate.on(DWFTRL)
def _closing(learner: Any, state: Any, t: Any) -> Any:
    return final_rate(learner.rate, state, t)


@feedback_size.on(DWFTRL)
def _size(learner: Any, feedback: Any) -> Any:
    return dual_size(learner.norm, feedback)
