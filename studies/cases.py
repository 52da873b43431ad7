"""The three cases from end to end: the stream, its figures, its pictures, its page, and its honest text.

The text says how labels come late, and what is known of the full run; what a run itself shows is read off its figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from studies.charts import bias_chart, busiest, precision_chart, timeline_chart
from studies.flights import flights
from studies.measure import SLICE, LearnerResult, Scores, believe, measure, other_learners, scheduler_for
from studies.streams import Stream, clinical, desk
from studies.tables import figures_table, findings, others_table
from tarry import schedulers
from tarry.cases import Spread
from tarry.charts import draw
from tarry.checks import as_int
from tarry.planning.policies import POLICIES, Policy
from tarry.reports.page import Page
from tarry.reports.page import save_page as write_page
from tarry.reports.style import Figure

# These need restarts, or to see delays, or shine without preemption only.
LEFT_OUT = ("Batching", "Thinning", "DoublingBernoulli", "Coin", "random evict")
USUAL = tuple(policy for policy in POLICIES if policy.name not in LEFT_OUT)
# The paper's Bernoulli with the longest delay in place of the largest backlog: what d_max-sized methods come to.
BY_LONGEST = Policy("Bernoulli (by d_max)", lambda given: schedulers.Bernoulli(max_backlog=given.max_delay))
CAPACITIES = (2, 4, 8, 16, 32, 64, 128, 256)
COMPARED = ("VarOpt", "Priority", "Bernoulli (calibrated)", "drop newest", "drop oldest", "time out")
SHOWN = 150  # rounds in the picture of the tracking set
LANES = 12  # and slots at most: more cannot be told apart

DEPARTURES = (
    "A flight that leaves on time tells its label at once; one that is three hours late holds a slot for three "
    "hours. Whatever drops what waits long hears of the punctual flights. Whatever stops listening when much waits "
    "hears too little of rush hours, when flights are late. Both predict a world of short delays. Weights undo that. "
)
ARRIVALS = (
    "Every label waits until its flight has landed, some hours after the decision, and a late flight's waits longer. "
    "With 64 slots for the 157 flights that are in the air on average, most cannot be followed to the end, and "
    "whatever drops what waits long hears of short and punctual flights only. Weights undo that. "
)
FLIGHTS = (
    "Known of the whole year of departures with 8 slots, and not to be read off a slice: VarOpt's progressive regret "
    "is 1.2 times that of no limit and its last model as good, drop newest ends 31 min² above. Known as well: a "
    "first-order learner whose step is tuned in hindsight can do better with drop newest, since the year drifts and a "
    "small backlog permits larger steps; and on a short stream a few labels of large weight can cost more than the "
    "bias they avoid."
)
CLINICAL = (
    "A death is reported on its day, survival only when the year is over: whoever cannot wait hears of deaths. Even "
    "without a limit the first labels are deaths, and the first year is predicted badly by everybody. Known of all "
    "2,189 patients with 32 slots: the naive policies overestimate mortality, all of them; weighted ones are right on "
    "average, and uncertain by some percentage points, since they rest on a few hundred patients. Drop newest errs by "
    "trend: early patients died more often, and it sees more of them. So few labels are also the honest argument "
    "against weights: on the way the model of drop newest, trained on a rate that is wrong, errs less in its squares "
    "than a weighted one. Ask which of the two you need: a rate to report, or a model to rank patients."
)
QUEUE = (
    "A few hard tickets stay open for weeks, so the longest delay is hundreds of times the usual one, and still "
    "only a couple of dozen are ever open at once. What is sized by the longest delay tracks almost nobody; what is "
    "sized by the backlog, or by nothing at all, does well. Known of all 50,000 tickets with 4 slots: drop newest "
    "comes off well, because tickets come steadily and who finds the set full has little to do with the ticket; it is "
    "dropping what is old, or slow, that distorts. These delays are generated, not recorded."
)

# Of the three pictures: a title, and a sentence under it.
CAPTIONS = {
    "bias": ("Bias", "The mean label as each policy believes it, with the range of most single runs."),
    "precision": ("Precision", "The typical error of the believed mean label against the number of slots."),
    "timeline": ("Who holds a slot", "A stretch of decisions, and until when each is followed."),
}

Tell = Callable[[str], None]


def quietly(_: str) -> None:
    """Tell nobody."""


class Case(NamedTuple):
    """A stream, and what is told of it besides its figures."""

    stream: Stream
    capacity: int
    story: str
    policies: tuple[Policy, ...] = USUAL

    def figures(self, seeds: int, policies: Iterable[Policy] | None = None, tell: Tell = quietly) -> list[Scores]:
        """Every policy in turn."""
        chosen, found = list(self.policies if policies is None else policies), []
        for i, policy in enumerate(chosen, 1):
            tell(f"{policy.name} ({i} of {len(chosen)} policies)")
            found.append(measure(self.stream, policy, self.capacity, seeds))
        return found

    def others(self, seeds: int, rounds: int = SLICE, tell: Tell = quietly) -> list[LearnerResult]:
        """Every other learner under four policies."""
        return list(other_learners(self.stream, self.capacity, seeds, rounds, tell))

    def precision(self, seeds: int, tell: Tell = quietly) -> list[tuple[str, int, Spread]]:
        """The believed mean label by policy and capacity, up to the largest backlog, beyond which nothing is lost."""
        d, found = self.stream.delays, []
        for policy in self.policies:
            for slots in [c for c in CAPACITIES if c <= d.max_backlog and policy.name in COMPARED]:
                tell(f"{policy.name}, {slots} slots")
                star = "" if scheduler_for(policy, self.stream, slots).is_unbiased else " *"
                found.append((f"{policy.name}{star}", slots, believe(self.stream, policy, slots, seeds)))
        return found

    def pictures(self, figures: list[Scores], seeds: int, tell: Tell = quietly) -> dict[str, Any]:
        """Bias of the label by policy, precision against capacity, timeline of the tracking set: as charts, by name."""
        shown = min(SHOWN, self.stream.horizon // 2)
        first = busiest(self.stream, shown)
        slots = min(self.capacity, LANES)
        return {
            "bias": bias_chart(self.stream, figures),
            "precision": precision_chart(self.stream, self.precision(2 * seeds, tell)),
            "timeline": timeline_chart(self.stream, slots, first, first + shown - 1),
        }


def save_pictures(pictures: dict[str, Any], folder: Path, kind: str = "svg") -> list[Path]:
    """Write charts as bias.svg, precision.svg, … (or .png) and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for name in pictures]
    for path, chart in zip(paths, pictures.values(), strict=True):
        path.write_bytes(draw(chart, kind))
    return paths


def save_page(
    case: Case, figures: list[Scores], others: list[LearnerResult], pictures: dict[str, Any], path: Path, rounds: int
) -> Path:
    """Write one self-contained page: story, pictures, tables; return its absolute path."""
    stream = case.stream
    drawn = [Figure(name, *CAPTIONS[name], chart) for name, chart in pictures.items()]
    tables = [figures_table(stream, figures), *([others_table(stream, others, rounds)] if others else [])]
    text = [f"{stream.facts}.", case.story, findings(stream, figures)]
    return write_page(Page(stream.name, text, parts=[*drawn, *tables]), path)


def flights_case(label: str = "departure", first: int | None = None, capacity: int | None = None) -> Case:
    """Flights out of New York in 2013; 8 slots for departures, 64 for arrivals, whose labels come hours later."""
    slots, story = (8, DEPARTURES) if label == "departure" else (64, ARRIVALS)
    return Case(flights(label, first), as_slots(capacity, slots), story + FLIGHTS)


def clinical_case(first: int | None = None, capacity: int | None = None) -> Case:
    """One-year mortality after a diagnosis of AIDS; 32 slots."""
    return Case(clinical(first), as_slots(capacity, 32), CLINICAL)


def queue_case(first: int | None = None, capacity: int | None = None) -> Case:
    """Refunds of a help desk; 4 slots."""
    return Case(desk(first), as_slots(capacity, 4), QUEUE, (*USUAL, BY_LONGEST))


def as_slots(capacity: int | None, usual: int) -> int:
    """The slots asked for, or the usual number; at least 2, since Morris never leaves a single one free."""
    return usual if capacity is None else as_int(capacity, "slots", 2)
