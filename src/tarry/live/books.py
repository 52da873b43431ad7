"""Books: the sums and counts that a status and an estimate are made of, of one tracker or of all shards of a join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from math import nan
from typing import NamedTuple

import numpy as np

from tarry.live import core
from tarry.live.configuration import WINDOW, Configuration
from tarry.live.tracker import Tracker
from tarry.outcomes import Weights
from tarry.schedulers.base import arrive, held
from tarry.theory.intervals import Sample
from tarry.tracking.tally import (
    ARRIVED,
    BEGUN,
    FORFEITED,
    FULL_ROUNDS,
    LABELLED,
    LARGEST,
    LEAST,
    LONGEST,
    MASS,
    MOST,
    OTHER_SIZES,
    THRESHOLD,
    UNIT,
    WEIGHT,
    weights_by_size,
)


class Books(NamedTuple):
    """Rounds by fate, calls by answer, and sums, by the names of ``live.core`` (``labels``) and ``tracking.tally``.

    ``held`` is the weight, by size, in the slots, below 0 where the scheduler does not know it; ``waiting`` the weight
    that tracked rounds would have if they were answered now, where sums are unbiased; ``out`` the sizes of
    tracked rounds and their squares; ``overdue`` how many of them hold slots after their windows.
    """

    configuration: Configuration
    rounds: int
    answered: int
    tracked: int
    full_rounds: int
    overdue: int
    held: float
    waiting: float
    fates: dict[str, int]
    answers: dict[str, int]
    labels: np.ndarray
    moments: np.ndarray
    strays: np.ndarray
    sized: np.ndarray
    out: np.ndarray

    @property
    def sizes(self) -> dict[str, float]:
        """How many rounds have a size, the sum over all rounds, and the part that is held; nothing if none."""
        if not self.sized.size or not self.sized[OTHER_SIZES]:
            return {}
        return {"rounds": int(self.sized[OTHER_SIZES]), "total": float(self.sized[BEGUN]), "held": self.held}

    @property
    def weights(self) -> Weights:
        """The moments of the weights over settled rounds, by size where there are sizes; the mean tends to 1."""
        return weights_by_size(self.moments, self.sized, self.rounds - self.tracked, self.out)

    @property
    def balance(self) -> float:
        """Arrived, forfeited and held weight per round, by size where there are sizes; NaN where no identity holds."""
        if not self.rounds or self.held < 0:
            return nan
        return (self.ended_mass + self.held) / self.sizes.get("total", float(self.rounds))

    @property
    def ended_mass(self) -> float:
        """The weight, by size, of all decisions that have ended, with a row or without."""
        return float((self.sized[ARRIVED] if self.sizes else self.moments[WEIGHT]) + self.moments[FORFEITED])

    @property
    def unheard(self) -> float:
        """The weight, by size, of all decisions whose labels are not known, which other rows do not stand for."""
        scheduler = self.configuration.player.scheduler
        if scheduler.is_unbiased and not scheduler.conserves_weight:
            return max(0.0, self.ended_mass + self.waiting - self.sample.mass)
        return max(0.0, self.sizes.get("total", float(self.rounds)) - self.sample.mass)

    @property
    def heaviest(self) -> float:
        """The largest weight, by size, that an unheard decision may have."""
        conserves = self.configuration.player.scheduler.conserves_weight
        return float(self.strays[THRESHOLD] if conserves else self.moments[LARGEST])

    @property
    def mean_size(self) -> float:
        """The mean size of decisions that have given rows, by their weights: Σwb/Σw; NaN before the first."""
        weight = float(self.moments[WEIGHT])
        return float(self.sized[ARRIVED]) / weight if weight else nan

    @property
    def sample(self) -> Sample:
        """The labels that were heard, as their sums."""
        return sample_of(self.labels)


def books_of(tracker: Tracker) -> Books:
    """Return the books of a tracker, as they are now."""
    slots, configuration = tracker.slots, tracker.configuration
    play = slots.state
    overdue = slots.ended(slots.marks[core.NOW]) if WINDOW in configuration.options else []
    return Books(
        configuration=configuration,
        rounds=tracker.rounds,
        answered=slots.counts[core.ANSWERED],
        tracked=slots.tracked,
        full_rounds=int(play.tally.counts[FULL_ROUNDS]),
        overdue=len(overdue),
        held=float(held(configuration.player.scheduler, play.scheduler)),
        waiting=_waiting(tracker),
        fates=slots.fates(),
        answers=slots.answers(),
        labels=np.array(slots.sums),
        moments=play.tally.sums.copy(),
        strays=play.tally.strays.copy(),
        sized=play.tally.sized.copy(),
        out=slots.sizes_out(),
    )


def _waiting(tracker: Tracker) -> float:
    slots, scheduler = tracker.slots, tracker.configuration.player.scheduler
    if not slots.tracked or not scheduler.is_unbiased:
        return 0.0
    if scheduler.conserves_weight:
        return float(held(scheduler, slots.state.scheduler))
    rounds, state = slots.state.table.rounds, deepcopy(slots.state.scheduler)  # an arrival takes its member out
    return sum(
        float(arrive(scheduler, state, slot, int(rounds[slot]), tracker.rounds))
        for slot in sorted(np.flatnonzero(rounds).tolist(), key=rounds.__getitem__)
    )


def sample_of(sums: np.ndarray | memoryview) -> Sample:
    """Return the labels that were heard, as their sums."""
    weighted = sums[core.WEIGHTED] + sums[core.LOST]
    spread = max(0.0, sums[core.SPREAD])  # below 0 it is rounding
    return Sample(sums[core.WEIGHTS], weighted, sums[core.SQUARES], sums[core.CENTRE], spread)


def merged(parts: Sequence[Books], configuration: Configuration) -> Books:
    """Return the books of shards taken together, under the configuration of the join that they are of.

    Their draws are independent, so variances add: Λ, the sum of the variances of overflows, is the sum over shards.
    """
    whole = {name: sum(getattr(part, name) for part in parts) for name in ("rounds", "answered", "tracked")}
    whole |= {name: sum(getattr(part, name) for part in parts) for name in ("full_rounds", "overdue")}
    moments, strays = (np.sum([getattr(part, name) for part in parts], axis=0) for name in ("moments", "strays"))
    for largest in (LARGEST, LONGEST):
        moments[largest] = max(part.moments[largest] for part in parts)
    heard = [part.strays for part in parts if part.labels[core.LABELS]]
    strays[LEAST] = min((one[LEAST] for one in heard), default=0.0)
    strays[MOST] = max((one[MOST] for one in heard), default=0.0)
    strays[THRESHOLD] = max(part.strays[THRESHOLD] for part in parts)
    strays[UNIT] = max(part.strays[UNIT] for part in parts)  # no shard's first θ depends on a draw
    if strays[LABELLED]:  # shards whose labels were all of size 1 have not begun to count these
        counted = [part for part in parts if not part.strays[LABELLED]]
        strays[LABELLED] += sum(part.labels[core.LABELS] for part in counted)
        strays[MASS] = sum(part.labels[core.WEIGHTS] for part in parts)
    return Books(
        configuration=configuration,
        **whole,
        waiting=sum(part.waiting for part in parts),
        held=-1.0 if any(part.held < 0 for part in parts) else sum(part.held for part in parts),
        fates=_added([part.fates for part in parts]),
        answers=_added([part.answers for part in parts]),
        labels=_merged_labels([part.labels for part in parts]),
        moments=moments,
        strays=strays,
        sized=np.sum([part.sized for part in parts], axis=0),
        out=np.sum([part.out for part in parts], axis=0),
    )


def _added(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return {name: total[name] for name in counts[0]}


def _merged_labels(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return sums of labels taken together: means by their weights, and spreads about the common mean."""
    total: np.ndarray = np.sum(parts, axis=0)
    labels, squares = total[core.LABELS], total[core.SQUARES]
    total[core.NAIVE] = sum(one[core.LABELS] * one[core.NAIVE] for one in parts) / labels if labels else 0.0
    centre = sum(one[core.SQUARES] * one[core.CENTRE] for one in parts) / squares if squares else 0.0
    total[core.SPREAD] += sum(one[core.SQUARES] * (one[core.CENTRE] - centre) ** 2 for one in parts)
    total[core.CENTRE] = centre
    return total
