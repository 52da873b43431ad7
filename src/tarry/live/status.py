"""What a live session or join can say about itself."""

from __future__ import annotations

from math import isnan
from typing import NamedTuple

from tarry.live.configuration import JOIN
from tarry.live.estimates import Estimate, estimate_now
from tarry.live.holdings import ANSWERED, ANSWERS
from tarry.live.tracker import Tracker
from tarry.results import Answer, Certificate, Weights
from tarry.tracking import bound_warnings, certificate_now, restart_warnings
from tarry.tracking.table import TRACKED
from tarry.tracking.tally import balance, weights_of

OFTEN = 0.01
MANY_OUT = 0.05  # of the labels: then the mean of the others may be wrong by about as much


class Status(NamedTuple):
    """``pending`` rounds have no outcome yet, ``tracked`` ones among them hold a slot.

    ``weights`` are the moments over settled rounds (all but tracked ones; unseen ones weigh zero); their
    mean tends to 1. ``fates`` sum to ``rounds``; ``answers`` count calls; ``balance`` is arrived plus held weight per
    round, exactly 1 for VarOpt, NaN for schedulers without that identity. ``certificate`` bounds the weighted regret
    over the rounds that have arrived; None before the first round, for joins, and for learners without a rate.
    ``estimate`` is a join's, None for sessions. docs/live.md has a table of all of them.
    """

    rounds: int
    pending: int
    tracked: int
    fates: dict[str, int]
    answers: dict[str, int]
    weights: Weights
    balance: float
    certificate: Certificate | None
    warnings: tuple[str, ...]
    estimate: Estimate | None = None

    def rows(self) -> dict[str, str]:
        """The same as text, for tables."""
        shown = {"rounds": str(self.rounds), "pending": str(self.pending), "tracked": str(self.tracked)}
        shown |= {f"fate {name}": str(count) for name, count in self.fates.items() if count}
        shown |= {f"answered {name}": str(count) for name, count in self.answers.items() if count}
        shown |= {f"weights {name}": f"{number:.4g}" for name, number in self.weights._asdict().items()}
        shown |= {} if isnan(self.balance) else {"balance": f"{self.balance:.6g}"}
        for name, part in (("certificate", self.certificate), ("estimate", self.estimate)):
            shown |= {} if part is None else {f"{name} {key}": text for key, text in part.rows().items()}
        return shown | {f"warning {i}": text for i, text in enumerate(self.warnings, 1)}


def status_of(tracker: Tracker) -> Status:
    """Read a tracker's books."""
    with tracker.vault.lock, tracker.vault.reading:
        return read_status(tracker)


def read_status(tracker: Tracker) -> Status:
    """The same, to be called within a change."""
    tally, tracked = tracker.state.tally, int(tracker.state.table.counts[TRACKED])
    weights = weights_of(tally, tracker.rounds - tracked)
    estimate = estimate_now(tracker) if tracker.configuration.kind == JOIN else None
    warnings = (
        *_warnings(tracker),
        *_estimate_warnings(estimate),
        *restart_warnings(tracker.player, weights.mean),
        *bound_warnings(tracker.terms, tally.sums),
    )
    return Status(
        rounds=tracker.rounds,
        pending=tracker.rounds - tracker.vault.counts[ANSWERED],
        tracked=tracked,
        fates=tracker.ledger(),
        answers={answer.name.lower(): tracker.vault.counts[ANSWERS + answer] for answer in Answer},
        weights=weights,
        balance=balance(tracker.player, tracker.state, tracker.rounds),
        certificate=certificate_now(tracker.player, tracker.state, tracker.terms, tracker.rounds),
        warnings=warnings,
        estimate=estimate,
    )


def _warnings(tracker: Tracker) -> tuple[str, ...]:
    fates, scheduler, found = tracker.ledger(), tracker.player.scheduler, []
    if not scheduler.is_unbiased:
        found.append(
            f"{type(scheduler).__name__} weighs nothing: sums are biased where delays and outcomes are related"
        )
    if fates["saturated"] > OFTEN * tracker.rounds:
        found.append(
            f"{fates['saturated']} of {tracker.rounds} rounds found no room and are not made up for by weights: "
            "raise the capacity, track with a lower chance where the scheduler has one, or use VarOpt"
        )
    seen = fates["used"] + fates["expired"]
    if seen and fates["expired"] > OFTEN * seen:
        given = "give it as the label" if tracker.configuration.kind == JOIN else "tell it as a value"
        found.append(
            f"{fates['expired']} of {seen} tracked rounds expired without an outcome: if no outcome means "
            f"something (no conversion), {given} at the end of its window, or sums are biased"
        )
    calls = sum(tracker.vault.counts[ANSWERS + answer] for answer in Answer)
    unknown = tracker.vault.counts[ANSWERS + Answer.UNKNOWN]
    if unknown > OFTEN * calls:
        found.append(
            f"{unknown} of {calls} calls named an id that nobody decided under: an id is the same only if its type is, "
            "7 is not '7'"
        )
    return tuple(found)


def _estimate_warnings(estimate: Estimate | None) -> tuple[str, ...]:
    """What may mislead; where no label is a number there is no estimate to be misled by."""
    if estimate is None or not estimate.labels:
        return ()
    found, used = [], estimate.labels + estimate.left_out
    if estimate.outstanding > MANY_OUT:
        found.append(
            f"about {estimate.outstanding:.0%} of the labels are still awaited, so the estimate leans towards those "
            "that come quickly: wait until few are"
        )
    if estimate.left_out > MANY_OUT * used:
        found.append(
            f"{estimate.left_out} of {used} labels are no numbers (None, say) and so not in the estimate: if they "
            "stand for one, give it as the label, or as missing"
        )
    return tuple(found)
