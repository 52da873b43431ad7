"""VarOpt tracking: every slot in use, exact weights, nothing to tune. This project's own.

Members of S carry weights W ≥ 1; a newcomer has W = 1. When S overflows, let θ solve Σ_i min(1, W_i/θ) = C over the
C+1 candidates; lose one of them, i with probability 1 − min(1, W_i/θ); every survivor gets W ← max(W, θ).

Layout. Members of equal weight form a *run*; runs stand in one array in decreasing weight, so a newcomer is appended
and an overflow merges runs at the end: a run enters the stack once and is merged once. A departure leaves a gap at the
end of its run, filled when that run is merged with its neighbour, each gap once; when gaps use up the array it is
compacted. So a round costs O(1) amortised plus a binary search over runs for each departure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tarry.kernel import step, verb
from tarry.schedulers import base


class VarOptState(NamedTuple):
    """Slots by decreasing weight, in runs of equal weight."""

    members: np.ndarray  # slots, run after run
    place: np.ndarray  # of a slot among the members, or -1
    start: np.ndarray  # of a run
    size: np.ndarray  # of a run; what lies between its end and the next start is a gap
    weight: np.ndarray  # of a run
    rounds: np.ndarray  # of a slot
    top: np.ndarray  # the number of runs


class VarOpt(base.Scheduler):
    """Variance-optimal tracking (the default, this project's own): unbiased for delays fixed in advance.

    E[w_t | past] = 1 without a saturation term, and after every round the weights that arrived plus the weights still
    held equal the round's number. Preempts; needs no delays, no acknowledgements, no constants. The sampling step is
    Chao's (1982); its use for late feedback is ours.

    >>> from tarry import Game, Player, delays, domains, learners, losses, simulate
    >>> space, waits = domains.Ball(2), delays.fixed(horizon=100, delay=20)
    >>> game = Game(space, losses.Linear([[1.0, 0.0]] * 100), waits, capacity=5)
    >>> record = simulate(game, Player(learners.DWFTRL(space, rate=0.1), VarOpt()))
    >>> float(record.observed[0]), round(float(record.weights.mean[0]), 9)  # the share heard, and its weight
    (0.21, 1.0)
    """

    needs_preemption = True
    conserves_weight = True
    recorded_draws = ("uniforms", "lost")

    def allocate(self, slots: int, capacity: int) -> VarOptState:
        # Twice the members: compaction, a pass over all of them, is then paid for by the gaps it closes.
        length = 2 * slots + 2
        return VarOptState(
            members=np.zeros(length, np.int64),
            place=np.full(slots, -1, np.int64),
            start=np.zeros(length, np.int64),
            size=np.zeros(length, np.int64),
            weight=np.zeros(length),
            rounds=np.zeros(slots, np.int64),
            top=np.zeros(1, np.int64),
        )

    def admit(self, state: VarOptState, draws: base.DrawSource, request: base.Request) -> int:
        if request.vacancy >= 0:
            append(state, request.vacancy, request.t)
            return request.vacancy
        # Overflow: the newcomer (weight 1) and the lightest runs until θ reaches the next run's weight.
        total = 1.0
        size = 1
        first = state.top[0]
        theta = np.inf
        while first > 0 and theta > state.weight[first - 1]:
            first -= 1
            total += state.size[first] * state.weight[first]
            size += state.size[first]
            if size > 1:
                theta = total / (size - 1)
        place = choose_loser(draws, state, request.t, first, theta)
        slot = -1
        if place >= 0:
            slot = state.members[place]
            state.rounds[slot] = request.t
        while state.top[0] > first + 1:
            merge_last_two(state)
        state.weight[first] = theta
        return slot

    def arrive(self, state: VarOptState, slot: int, s: int, t: int) -> float:
        # The run that covers the slot's place is the last one to start there or before.
        place = state.place[slot]
        run = 0
        high = state.top[0] - 1
        while run < high:
            middle = (run + high + 1) >> 1
            if state.start[middle] <= place:
                run = middle
            else:
                high = middle - 1
        weight = state.weight[run]
        # The run's last member takes the place, so that the gap stays at the run's end.
        last = state.start[run] + state.size[run] - 1
        moved = state.members[last]
        state.place[slot] = -1
        if place != last:
            state.members[place] = moved
            state.place[moved] = place
        state.size[run] -= 1
        # The last run is never empty: a newcomer joins there or stands right behind.
        while state.top[0] > 0 and state.size[state.top[0] - 1] == 0:
            state.top[0] -= 1
        return weight

    def held(self, state: VarOptState) -> float:
        total = 0.0
        for run in range(state.top[0]):
            total += state.size[run] * state.weight[run]
        return total

    def threshold(self, state: VarOptState) -> float:
        return state.weight[state.top[0] - 1]  # an overflow leaves its θ to the last run


@step
def compact(state: VarOptState) -> None:
    """Close all gaps and drop empty runs."""
    end = 0
    kept = 0
    for run in range(state.top[0]):
        first = state.start[run]
        size = state.size[run]
        if size == 0:
            continue
        for i in range(size):
            slot = state.members[first + i]
            state.members[end + i] = slot
            state.place[slot] = end + i
        state.start[kept] = end
        state.size[kept] = size
        state.weight[kept] = state.weight[run]
        end += size
        kept += 1
    state.top[0] = kept


@step
def append(state: VarOptState, slot: int, t: int) -> None:
    """Let a newcomer join with weight 1, the smallest there is."""
    top = state.top[0]
    end = state.start[top - 1] + state.size[top - 1] if top > 0 else 0
    if end == state.members.size:  # no room behind the last run, so there are gaps before
        compact(state)
        top = state.top[0]
        end = state.start[top - 1] + state.size[top - 1]
    if top > 0 and state.weight[top - 1] == 1.0:
        state.size[top - 1] += 1
    else:
        state.start[top] = end
        state.size[top] = 1
        state.weight[top] = 1.0
        state.top[0] = top + 1
    state.members[end] = slot
    state.place[slot] = end
    state.rounds[slot] = t


@step
def merge_last_two(state: VarOptState) -> None:
    """Join the last run to the one before it, filling the gap between them from its end."""
    upper = state.top[0] - 1
    lower = upper - 1
    end = state.start[lower] + state.size[lower]
    gap = state.start[upper] - end
    size = state.size[upper]
    moves = min(gap, size)  # only so many: the others already stand where the joined run ends
    for i in range(moves):
        slot = state.members[state.start[upper] + size - 1 - i]
        state.members[end + i] = slot
        state.place[slot] = end + i
    state.size[lower] += size
    state.top[0] = upper


@verb
def choose_loser(source: base.DrawSource, state: VarOptState, t: int, first: int, theta: float) -> int:
    """Return the place that loses, among the runs from ``first`` on and the newcomer (-1)."""


@choose_loser.on(base.Keyed, base.RecordedUniforms)
def _by_uniform(source: base.DrawSource, state: VarOptState, t: int, first: int, theta: float) -> int:
    # The newcomer stands first on the line [0, 1]; the runs follow from the lightest.
    left = base.draw(source, t) - (1.0 - 1.0 / theta)
    if left <= 0.0:
        return -1
    run = state.top[0] - 1
    place = -1
    while True:
        chance = 1.0 - state.weight[run] / theta
        share = chance * state.size[run]
        if state.size[run] > 0:
            index = min(np.int64(left / chance), state.size[run] - 1) if chance > 0.0 else 0
            place = state.start[run] + index
        # Rounding may leave a crumb beyond the last run: the last member met takes it.
        if left <= share or run == first:
            return place
        left -= share
        run -= 1


@choose_loser.on(base.RecordedLosers)
def _by_record(source: base.RecordedLosers, state: VarOptState, t: int, first: int, theta: float) -> int:
    lost = source.values[t - 1]
    if lost == t:
        return -1
    for run in range(first, state.top[0]):
        for i in range(state.size[run]):
            place = state.start[run] + i
            if state.rounds[state.members[place]] == lost:
                return place
    source.values[t - 1] = -1  # a step cannot raise: whoever plays looks for the mark
    return -1
