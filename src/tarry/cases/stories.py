"""The three cases, each with its honest text."""

from __future__ import annotations

from tarry.cases.clinical import clinical
from tarry.cases.desk import BY_LONGEST, desk
from tarry.cases.flights import flights
from tarry.cases.policies import POLICIES
from tarry.cases.report import Case

FLIGHTS = (
    "A flight that leaves on time tells its label at once; one that is three hours late holds a slot for three "
    "hours. Whatever drops what waits long, or stops listening when much waits, hears of the punctual flights: it "
    "believes in a world of short delays and predicts one. Weights undo that. Two things this does not show. A "
    "first-order learner whose step is tuned in hindsight can do better with drop newest: the year drifts, and a "
    "small backlog permits larger steps. And on a short stream a few labels of large weight can cost more than the "
    "bias they avoid."
)
CLINICAL = (
    "A death is reported on its day, survival only when the year is over: whoever cannot wait hears of deaths. With "
    "few slots the naive policies overestimate mortality, by a third up to twofold; weighted ones are right on "
    "average, and uncertain by the percentage points shown, since they rest on a few hundred patients. So few "
    "labels are also the honest argument against weights: with some 2,000 patients the model of drop newest, "
    "trained on a rate that is wrong, errs less in its squares than a weighted one, whose variance costs more than "
    "the bias it avoids. Ask which of the two you need: a rate to report, or a model to rank patients. Even without "
    "a limit the first labels are deaths, and the first year is predicted badly by everybody."
)
QUEUE = (
    "A few hard tickets stay open for weeks, so the longest delay is hundreds of times the usual one, and still "
    "only a couple of dozen are ever open at once. What is sized by the longest delay tracks almost nobody; what is "
    "sized by the backlog, or by nothing at all, does well. Drop newest comes off well here, because tickets come "
    "steadily and who finds the set full has little to do with the ticket: it is dropping what is old, or slow, "
    "that distorts. These delays are generated, not recorded."
)


def flights_case(label: str = "departure", first: int | None = None, capacity: int | None = None) -> Case:
    """Flights out of New York in 2013; 8 slots for departures, 64 for arrivals, whose labels come hours later."""
    return Case(flights(label, first), capacity or (8 if label == "departure" else 64), FLIGHTS)


def clinical_case(first: int | None = None, capacity: int | None = None) -> Case:
    """One-year mortality after a diagnosis of AIDS; 32 slots."""
    return Case(clinical(first), capacity or 32, CLINICAL)


def queue_case(first: int | None = None, capacity: int | None = None) -> Case:
    """Refunds of a help desk; 4 slots."""
    return Case(desk(first), capacity or 4, QUEUE, (*POLICIES, BY_LONGEST))
