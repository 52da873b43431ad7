"""What a live session or join can say about itself."""

from __future__ import annotations

from typing import NamedTuple

from tarry.live.tracker import Tracker
from tarry.results import Answer
from tarry.tracking.balance import balance
from tarry.tracking.tally import LARGEST, SQUARE, WEIGHT

OFTEN = 0.01


class Weights(NamedTuple):
    """Health of the weights so far; ``mean`` counts every answered round and should be near 1."""

    mean: float
    second_moment: float
    max: float
    effective_sample_size: float


class Status(NamedTuple):
    """``pending`` rounds have no outcome yet, ``tracked`` ones among them hold a slot.

    ``fates`` sum to ``rounds``; ``answers`` count calls; ``balance`` is arrived plus held weight per
    round, exactly 1 for VarOpt, NaN for schedulers without that identity.
    """

    rounds: int
    pending: int
    tracked: int
    fates: dict[str, int]
    answers: dict[str, int]
    weights: Weights
    balance: float
    warnings: tuple[str, ...]

    def rows(self) -> dict[str, str]:
        """The same as text, for tables."""
        shown = {"rounds": str(self.rounds), "pending": str(self.pending), "tracked": str(self.tracked)}
        shown |= {f"fate {name}": str(count) for name, count in self.fates.items() if count}
        shown |= {f"weights {name}": f"{number:.4g}" for name, number in self.weights._asdict().items()}
        return shown | {f"warning {i}": text for i, text in enumerate(self.warnings, 1)}


def status_of(tracker: Tracker) -> Status:
    """Read a tracker's books."""
    tally = tracker.state.tally
    total, squares = float(tally.sums[WEIGHT]), float(tally.sums[SQUARE])
    answered = tracker.answered
    weights = Weights(
        mean=total / answered if answered else float("nan"),
        second_moment=squares / answered if answered else float("nan"),
        max=float(tally.sums[LARGEST]),
        effective_sample_size=total * total / squares if squares else 0.0,
    )
    return Status(
        rounds=tracker.rounds,
        pending=tracker.rounds - answered,
        tracked=int(tracker.state.table.counts[0]),
        fates=tracker.ledger(),
        answers={answer.name.lower(): tracker.answers[answer] for answer in Answer},
        weights=weights,
        balance=balance(tracker.player, tracker.state, tracker.rounds),
        warnings=_warnings(tracker),
    )


def _warnings(tracker: Tracker) -> tuple[str, ...]:
    fates = tracker.ledger()
    seen = fates["used"] + fates["expired"]
    if seen and fates["expired"] > OFTEN * seen:
        return (
            f"{fates['expired']} of {seen} tracked rounds expired without an outcome: if no outcome means "
            "something (no conversion), tell it as a value at the end of its window, or sums are biased",
        )
    return ()
