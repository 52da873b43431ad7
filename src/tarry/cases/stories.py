"""The three cases, each with its honest text: how labels come late, and what is known of the full run.

What a run itself shows is read off its figures (:mod:`tarry.cases.findings`).
"""

from __future__ import annotations

from tarry.cases.clinical import clinical
from tarry.cases.desk import BY_LONGEST, desk
from tarry.cases.flights import flights
from tarry.cases.policies import POLICIES
from tarry.cases.report import Case
from tarry.checks import as_int

DEPARTURES = (
    "A flight that leaves on time tells its label at once; one that is three hours late holds a slot for three "
    "hours. Whatever drops what waits long, or stops listening when much waits, hears of the punctual flights: it "
    "believes in a world of short delays and predicts one. Weights undo that. "
)
ARRIVALS = (
    "Every label waits until its flight has landed, some hours after the decision, and a late flight's waits longer. "
    "With 64 slots for the 157 flights that are in the air on average, most cannot be followed to the end, and "
    "whatever drops what waits long hears of short and punctual flights only. Weights undo that. "
)
FLIGHTS = (
    "Known of the whole year of departures with 8 slots, and not to be read off a slice: VarOpt's progressive regret "
    "is 1.3 times that of no limit and its last model as good, drop newest ends 31 min² above. Known as well: a "
    "first-order learner whose step is tuned in hindsight can do better with drop newest, since the year drifts and a "
    "small backlog permits larger steps; and on a short stream a few labels of large weight can cost more than the "
    "bias they avoid."
)
CLINICAL = (
    "A death is reported on its day, survival only when the year is over: whoever cannot wait hears of deaths. Even "
    "without a limit the first labels are deaths, and the first year is predicted badly by everybody. Known of all "
    "2,189 patients with 32 slots: the naive policies overestimate mortality, all of them; weighted ones are right on "
    "average, and uncertain by some percentage points, since they rest on a few hundred patients. So few labels are "
    "also the honest argument against weights: the model of drop newest, trained on a rate that is wrong, errs less "
    "in its squares than a weighted one, whose variance costs more than the bias it avoids. Ask which of the two you "
    "need: a rate to report, or a model to rank patients."
)
QUEUE = (
    "A few hard tickets stay open for weeks, so the longest delay is hundreds of times the usual one, and still "
    "only a couple of dozen are ever open at once. What is sized by the longest delay tracks almost nobody; what is "
    "sized by the backlog, or by nothing at all, does well. Known of all 50,000 tickets with 4 slots: drop newest "
    "comes off well, because tickets come steadily and who finds the set full has little to do with the ticket; it is "
    "dropping what is old, or slow, that distorts. These delays are generated, not recorded."
)


def flights_case(label: str = "departure", first: int | None = None, capacity: int | None = None) -> Case:
    """Flights out of New York in 2013; 8 slots for departures, 64 for arrivals, whose labels come hours later."""
    slots, story = (8, DEPARTURES) if label == "departure" else (64, ARRIVALS)
    return Case(flights(label, first), as_slots(capacity, slots), story + FLIGHTS)


def clinical_case(first: int | None = None, capacity: int | None = None) -> Case:
    """One-year mortality after a diagnosis of AIDS; 32 slots."""
    return Case(clinical(first), as_slots(capacity, 32), CLINICAL)


def queue_case(first: int | None = None, capacity: int | None = None) -> Case:
    """Refunds of a help desk; 4 slots."""
    return Case(desk(first), as_slots(capacity, 4), QUEUE, (*POLICIES, BY_LONGEST))


def as_slots(capacity: int | None, usual: int) -> int:
    """The slots asked for, or the usual number; at least 2, since Morris never leaves a single one free."""
    return usual if capacity is None else as_int(capacity, "slots", 2)
