"""VarOpt tracking: every slot in use, exact weights, nothing to tune. This project's own.

Members of S carry weights W; a newcomer has W = b, its size, 1 unless one is given. When S overflows, let θ solve
Σ_i min(1, W_i/θ) = C over the C+1 candidates; lose one of them, i with probability 1 − min(1, W_i/θ); every survivor
gets W ← max(W, θ). Feedback of a round of size b weighs W/b.

Layout. Members of equal weight form a *run*; runs stand in one array in decreasing weight, so a newcomer of size 1 is
appended and an overflow merges runs at the end: a run enters the stack once and is merged once. A departure leaves a
gap at the end of its run, filled when that run is merged with its neighbour, each gap once; when gaps use up the array
it is compacted. So a round costs O(1) amortised plus a binary search over runs for each departure. A newcomer whose
size exceeds the lightest weight is inserted: that costs another binary search, and a step for each lighter run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tarry.kernel import Indices, step, verb
from tarry.schedulers import base


class VarOptState(NamedTuple):
    """Slots by decreasing weight, in runs of equal weight."""

    members: Indices  # slots, run after run
    place: Indices  # of a slot among the members, or -1
    start: Indices  # of a run
    size: Indices  # of a run; what lies between its end and the next start is a gap
    weight: np.ndarray  # of a run
    rounds: np.ndarray  # of a slot, for those who look for a round: without room, none are noted
    top: np.ndarray  # the number of runs


class VarOpt(base.Scheduler):
    """Variance-optimal tracking (the default, this project's own): unbiased for delays fixed in advance.

    E[w_t | past] = 1 without a saturation term, and after every round the weights that arrived plus the weights still
    held equal the round's number. Preempts; needs no delays, no acknowledgements, no constants. The sampling step is
    Chao's (1982); its use for late feedback is ours.

    Rounds may have sizes, known when they begin: rounds that count for more are kept more surely. Then sizes are
    conserved, and the variance of a weighted sum of labels as large as the sizes falls by E b²/(E b)².

    >>> from tarry import Game, Player, delays, domains, learners, losses, simulate
    >>> space, waits = domains.Ball(2), delays.fixed(horizon=100, delay=20)
    >>> game = Game(space, losses.Linear([[1.0, 0.0]] * 100), waits, capacity=5)
    >>> record = simulate(game, Player(learners.DWFTRL(space, rate=0.1), VarOpt()))
    >>> float(record.observed[0]), round(float(record.weights.mean[0]), 9)  # the share heard, and its weight
    (0.21, 1.0)
    """

    needs_preemption = True
    conserves_weight = True
    takes_sizes = True
    grows = True
    shrinks = True
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

    def without_unused(self, state: VarOptState, draws: base.DrawSource) -> VarOptState:
        return state if isinstance(draws, base.RecordedLosers) else state._replace(rounds=state.rounds[:0])

    def admit(self, state: VarOptState, draws: base.DrawSource, request: base.Request) -> int:
        if request.vacancy >= 0:
            enter(state, request)
            return request.vacancy
        slot = lose_one(state, draws, request.t, request.size)
        if slot >= 0:
            note_round(state, slot, request.t)
            if state.place[slot] < 0:  # the newcomer does not weigh θ: it is no member of the loser's run
                make_room(state)
                insert(state, slot, request.size)
        return slot

    def arrive(self, state: VarOptState, slot: int, s: int, t: int) -> float:
        return leave(state, slot)

    def held(self, state: VarOptState) -> float:
        total = 0.0
        for run in range(state.top[0]):
            total += state.size[run] * state.weight[run]
        return total

    def threshold(self, state: VarOptState) -> float:
        return state.weight[state.top[0] - 1]  # an overflow leaves its θ to the last run

    def shrink(self, state: VarOptState, draws: base.DrawSource, members: int) -> int:
        # A newcomer of infinite size is never lost: an overflow by it is one of the members alone.
        return lose_one(state, draws, members, np.inf)

    def resettle(self, state: VarOptState, fresh: VarOptState, slots: Indices) -> None:
        # Without a limit nobody asks for the order of runs, so it is made here.
        for run in sorted(range(state.top[0]), key=lambda run: -state.weight[run]):
            for i in range(state.start[run], state.start[run] + state.size[run]):
                slot = state.members[i]
                at = base.Request(state.rounds[slot], slots[slot], 0, base.UNLIMITED, -1, -1, state.weight[run])
                enter(fresh, at)


@step
def lose_one(state: VarOptState, draws: base.DrawSource, t: int, size: float) -> int:
    """Lose one of the members and a newcomer of this size, by the draw of t; return its slot, -1 if it is the newcomer.

    A newcomer below θ has then the loser's place; for any other, the loser has left its run.
    """
    # Candidates from the lightest, until θ reaches the next one's weight. The newcomer is the first if its size is 1.
    count = 0
    total = 0.0
    first = state.top[0]
    theta = np.inf
    is_light = False
    while (theta > size and not is_light) or (first > 0 and theta > state.weight[first - 1]):
        if not is_light and (first == 0 or size <= state.weight[first - 1]):
            is_light = True
            total += size
            count += 1
        else:
            first -= 1
            total += state.size[first] * state.weight[first]
            count += state.size[first]
        if count > 1:
            theta = total / (count - 1)
    place = choose_loser(draws, state, t, first, theta, size)
    slot = -1
    if place >= 0:
        slot = state.members[place]
        if not is_light:
            leave(state, slot)
    while state.top[0] > first + 1:
        merge_last_two(state)
    state.weight[first] = theta
    return slot


@step
def note_round(state: VarOptState, slot: int, t: int) -> None:
    """Note the round of a slot."""
    if state.rounds.size > 0:
        state.rounds[slot] = t


@step
def compact(state: VarOptState) -> None:
    """Close all gaps and drop empty runs."""
    end = 0
    length = 0
    for run in range(state.top[0]):
        first = state.start[run]
        size = state.size[run]
        if size == 0:
            continue
        for i in range(size):
            slot = state.members[first + i]
            state.members[end + i] = slot
            state.place[slot] = end + i
        state.start[length] = end
        state.size[length] = size
        state.weight[length] = state.weight[run]
        end += size
        length += 1
    state.top[0] = length


@step
def make_room(state: VarOptState) -> None:
    """Let there be a place behind the last run, and room for another run."""
    # Members that were inserted use up gaps, of runs that fell empty too: so there may be as many runs as places.
    last = state.top[0] - 1
    if last < 0:
        return
    if state.start[last] + state.size[last] == state.members.size or last + 1 == state.start.size:
        compact(state)


@step
def enter(state: VarOptState, request: base.Request) -> None:
    """Let a newcomer join in a free slot, with its size as weight."""
    slot = request.vacancy
    note_round(state, slot, request.t)
    make_room(state)
    top = state.top[0]
    # Where nobody is ever lost, nobody asks for the order.
    if top > 0 and request.size > state.weight[top - 1] and request.capacity < base.UNLIMITED:
        insert(state, slot, request.size)
        return
    end = state.start[top - 1] + state.size[top - 1] if top > 0 else 0
    if top > 0 and state.weight[top - 1] == request.size:
        state.size[top - 1] += 1
    else:
        state.start[top] = end
        state.size[top] = 1
        state.weight[top] = request.size
        state.top[0] = top + 1
    state.members[end] = slot
    state.place[slot] = end


@step
def insert(state: VarOptState, slot: int, weight: float) -> None:
    """Put a member among the runs, in a run of its own unless one has its weight; there is room for both."""
    top = state.top[0]
    run = 0
    high = top
    while run < high:  # the first run that is lighter
        middle = (run + high) >> 1
        if state.weight[middle] < weight:
            high = middle
        else:
            run = middle + 1
    at = state.start[run - 1] + state.size[run - 1] if run > 0 else 0
    # Lighter runs make way up to the first gap: each moves by one, its first member to its end.
    end = run
    edge = at
    while end < top and state.start[end] == edge:
        edge += state.size[end]
        end += 1
    for moved in range(end - 1, run - 1, -1):
        first = state.start[moved]
        if state.size[moved] > 0:
            behind = first + state.size[moved]
            state.members[behind] = state.members[first]
            state.place[state.members[first]] = behind
        state.start[moved] = first + 1
    if run > 0 and state.weight[run - 1] == weight:
        state.size[run - 1] += 1
    else:
        for moved in range(top, run, -1):
            state.start[moved] = state.start[moved - 1]
            state.size[moved] = state.size[moved - 1]
            state.weight[moved] = state.weight[moved - 1]
        state.start[run] = at
        state.size[run] = 1
        state.weight[run] = weight
        state.top[0] = top + 1
    state.members[at] = slot
    state.place[slot] = at


@step
def leave(state: VarOptState, slot: int) -> float:
    """Take a member out of its run and return its weight."""
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
    # The last run is never empty: a newcomer joins there, stands right behind, or before.
    while state.top[0] > 0 and state.size[state.top[0] - 1] == 0:
        state.top[0] -= 1
    return weight


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
def choose_loser(source: base.DrawSource, state: VarOptState, t: int, first: int, theta: float, size: float) -> int:
    """Return the place that loses, among the runs from ``first`` on and, below θ, the newcomer of this size (-1)."""


@choose_loser.on(base.Keyed, base.Sealed, base.RecordedUniforms)
def _by_uniform(source: base.DrawSource, state: VarOptState, t: int, first: int, theta: float, size: float) -> int:
    # The newcomer stands first on the line [0, 1]; the runs follow from the lightest.
    left = base.draw(source, t) - max(0.0, 1.0 - size / theta)
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
def _by_record(source: base.RecordedLosers, state: VarOptState, t: int, first: int, theta: float, size: float) -> int:
    lost = source.values[t - 1]
    if lost == t and size < theta:
        return -1
    for run in range(first, state.top[0]):
        for i in range(state.size[run]):
            place = state.start[run] + i
            if state.rounds[state.members[place]] == lost:
                return place
    source.values[t - 1] = -1  # a step cannot raise: whoever plays looks for the mark
    return -1
