"""What a live session or join can say about itself: status, ledger, and everything it keeps, as plain values."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Hashable
from copy import deepcopy
from math import isnan, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from tarry._version import __version__
from tarry.checks import as_choice, as_level, as_range
from tarry.errors import ArgumentError
from tarry.live import core
from tarry.live.books import Books, books_of
from tarry.live.configuration import JOIN, MISSING, RELEASE, WINDOW, plain_configuration
from tarry.live.encoding import Unreadable, pack, plain_id, unpack
from tarry.live.tracker import Tracker
from tarry.outcomes import WITHOUT_WEIGHTS, Certificate, Weights
from tarry.schedulers.base import arrive
from tarry.theory.intervals import (
    ROUNDING,
    Heard,
    deviation,
    mean_interval,
    student_interval,
    sum_interval,
)
from tarry.times import PER_SECOND
from tarry.tracking import bound_warnings, certificate_now, restart_warnings, room_warnings
from tarry.tracking.tally import (
    DRIFT,
    LABELLED,
    LEAST,
    LONGEST,
    MOST,
    SQUARE,
    THRESHOLD,
    UNIT,
    WEIGHT,
    size_of,
)

OFTEN = 0.01  # of the rounds or calls: below it a warning would be noise
MANY_OUT = 0.05  # of the labels: then the mean of the others may be wrong by about as much
UNSIZED = (
    "the sizes of decisions whose windows have ended are known by their rows alone, so their mean label has no "
    "interval: look at the anytime bounds, which are about all decisions"
)
ALL, AMONG_LABELLED = AMONG = ("all", "labelled")  # the decisions that an estimate is about
PER_SIZE, PER_DECISION = PER = ("size", "decision")  # what the range of labels is about, where decisions have sizes
BY_DECISION = "low and high bound each label, and anytime bounds need a range by size: ask for those with per='size'"
LABELLED_UNSIZED = (
    "the sizes of all labelled decisions together are known by their rows alone, so their mean label has no interval: "
    "look at the bounds without among, which are about all decisions"
)
PARTIAL = "this is about labelled decisions alone, and the anytime bounds are about all: ask for those without among"
NO_NUMBER = (
    "none of the {} labels that have come is a number, so they have no mean: a text such as '1' is none, and None is "
    "none; give numbers, as in label(id, 1), also as missing"
)


class Estimate(NamedTuple):
    """The mean label of all decisions so far, heard or not, with its intervals, and the naive mean of those seen.

    ``mean`` is Σwy/Σw over what has come, (Σwy/Σwb)·(Σb/n) where decisions have sizes b: right if what is awaited is
    like what has come. ``low`` to ``high`` is Wilson's interval on the effective sample size (Σwb)²/Σ(wb)². It lets
    what was not heard be anything in the range of labels, and so is never narrower than the share of it allows, never
    without width, and whole before the first label. It holds for one look, also for the mean of the source where
    decisions are drawn from one. ``sum`` is the mean times the number of decisions.

    ``left_out`` labels were used too, but are no numbers below 1e100 in size. ``outstanding`` is the share of all
    decisions, by weight and size, whose labels are still awaited: while large, both means lean towards the labels that
    come quickly; NaN where a scheduler does not know the share (VarOpt does).

    ``anytime_low`` and ``anytime_high`` bound the mean label of those same decisions, ``sum_low`` and ``sum_high`` the
    sum. With the probability asked for they do so at every time at once. All bounds need labels that lie in the range
    stated, for each unit of size; with ``per="decision"`` the range is that of labels themselves, and no bounds hold at
    every time. Where nothing can be said these are NaN, and ``caveat`` tells why; where the range is
    what fails, ``low`` and ``high`` are Student's, for labels like those that have come.

    Where rows come out at the ends of windows, ``is_settled``: then ``mean``, ``low``, ``high`` and ``sum`` are about
    the decisions whose windows have ended, none of which is awaited, and ``sum`` is Σwy. How large these are is not
    known where decisions have sizes: then ``mean`` is Σwy/Σw, without an interval. The anytime bounds are about all
    decisions still.
    """

    mean: float
    low: float
    high: float
    naive: float
    labels: int
    left_out: int = 0
    outstanding: float = nan
    anytime_low: float = nan
    anytime_high: float = nan
    sum_low: float = nan
    sum_high: float = nan
    caveat: str = ""
    sum: float = nan
    is_settled: bool = False

    def rows(self) -> dict[str, str]:
        """Return the same as text, for tables; where numbers are about different decisions each says about which."""
        numbers = {name: value for name, value in self._asdict().items() if name not in ("caveat", "is_settled")}
        about = {}
        if self.is_settled:
            about = dict.fromkeys(("mean", "low", "high", "sum"), " (settled decisions)")
            whole = ("outstanding", "anytime_low", "anytime_high", "sum_low", "sum_high")
            about |= dict.fromkeys(whole, " (all decisions)")
        shown = {name.replace("_", " ") + about.get(name, ""): f"{value:.6g}" for name, value in numbers.items()}
        shown["is settled"] = "yes" if self.is_settled else "no: all numbers are about all decisions"
        return shown | ({"caveat": self.caveat} if self.caveat else {})


class Status(NamedTuple):
    """What a session or join says of itself; docs/live.md has a table of the fields.

    ``fates`` sum to ``rounds``; ``answers`` count calls. ``certificate`` bounds the weighted regret over the rounds
    that have arrived; None before the first round, for joins, and for learners without a rate. ``sizes`` has, where
    rounds have them, how many do, the total over all rounds, and its part that is held; ``balance`` and ``weights`` are
    by size then. ``shards`` are the loads of a join that has them. ``is_numbered`` says whether rounds go by their
    numbers or by the caller's ids; None before the first.
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
    sizes: dict[str, float] | None = None
    shards: tuple[Load, ...] | None = None
    kind: str = JOIN
    capacity: int | None = None
    is_numbered: bool | None = None

    def rows(self) -> dict[str, str]:
        """Return the same as text, for tables."""
        shown = {"rounds": str(self.rounds), "pending": str(self.pending), "tracked": str(self.tracked)}
        shown |= {f"fate {name}": str(count) for name, count in self.fates.items() if count}
        shown |= {f"answered {name}": str(count) for name, count in self.answers.items() if count}
        shown |= {f"weights {name}": f"{number:.4g}" for name, number in self.weights._asdict().items()}
        shown |= {} if isnan(self.balance) else {"balance": f"{self.balance:.6g}"}
        shown |= {f"sizes {name}": f"{number:.6g}" for name, number in (self.sizes or {}).items()}
        for k, one in enumerate(self.shards or ()):
            slots = "no limit" if one.capacity is None else f"{one.capacity} slots"
            shown[f"shard {k}"] = f"{one.tracked} of {slots}, {one.rounds} decisions, held {one.held:.6g}"
        for name, part in (("certificate", self.certificate), ("estimate", self.estimate)):
            shown |= {} if part is None else {f"{name} {key}": text for key, text in part.rows().items()}
        return shown | {f"warning {i}": text for i, text in enumerate(self.warnings, 1)}


class Load(NamedTuple):
    """A shard of a join: its slots, how many are taken, its decisions so far, and the weight that it holds.

    ``held`` is what its pending decisions come to; NaN where the scheduler does not know it.
    """

    capacity: int | None
    tracked: int
    rounds: int
    held: float


class Waiting(NamedTuple):
    """A tracked round, what it would weigh if it were answered now, and when its window ends, if it has one."""

    round: int
    id: Hashable
    weight: float
    ends: float | None


def estimate_now(
    tracker: Tracker,
    level: float = 0.95,
    low: float = 0.0,
    high: float = 1.0,
    among: str = ALL,
    per: str = PER_SIZE,
) -> Estimate:
    """Return the estimate of a join's books, where labels lie between ``low`` and ``high``."""
    return estimate_of(books_of(tracker), level, low, high, among, per)


def estimate_of(
    books: Books,
    level: float = 0.95,
    low: float = 0.0,
    high: float = 1.0,
    among: str = ALL,
    per: str = PER_SIZE,
) -> Estimate:
    """Return the estimate that books give, where labels lie between ``low`` and ``high``."""
    level, (low, high), is_whole = as_level(level), as_range(low, high), as_choice(among, "among", AMONG) == ALL
    missing = books.configuration.options.get(MISSING)
    if not is_whole and isinstance(missing, (int, float)):
        problem = f"cannot leave out decisions without a label: each has counted as the label {missing!r} (missing)"
        raise ArgumentError("among", problem, among, "begin the join with missing=None, or ask without among")
    n, scheduler = books.rounds, books.configuration.player.scheduler
    sums, strays, sample, sizes = books.labels, books.strays, books.sample, books.sizes
    total, labels = sizes.get("total", float(n)), int(sums[core.LABELS])
    naive, left_out = float(sums[core.NAIVE]) if sums[core.WEIGHTS] else nan, books.fates["used"] - labels
    each, mean = total / n if n else nan, sample.mean
    is_plain = as_choice(per, "per", PER) == PER_DECISION and bool(sizes)
    doubt = _doubt(books, low, high, is_plain)
    if labels:
        mean = min(strays[MOST], max(strays[LEAST], mean))  # where it lies, but for rounding
    is_settled = books.configuration.options.get(RELEASE) == WINDOW and scheduler.is_unbiased
    is_unsized = bool(sizes) and (is_settled or not is_whole)
    unheard = 0.0
    if is_whole:
        unheard = max(0.0, books.ended_mass - sample.mass) if is_settled else books.unheard
    if is_unsized:
        each, ends = books.mean_size, (nan, nan)
    elif doubt:
        ends = student_interval(sample, labels, level)
    elif is_plain:
        # A label of a small decision may be large for each unit of size; one of a large decision may be near 0.
        unit, (bottom, top) = _range_unit(books), (min(0.0, low), max(0.0, high))
        lower, upper = mean_interval(sample, unheard, books.heaviest, level, bottom * unit, top * unit)
        # Unheard decisions of small sizes may bring more than their share of all sizes allows for.
        rest = max(0.0, n - float(books.moments[WEIGHT]) - unheard * unit) / total if unheard else 0.0
        ends = max(low / each, lower + rest * bottom), min(high / each, upper + rest * top)
        mean = min(high / each, max(low / each, mean)) if labels else nan
    else:
        ends = mean_interval(sample, unheard, books.heaviest, level, low, high)
    mean, lower, upper = (float(number * each) for number in (mean, *ends))
    if left_out and not labels:
        caveat = NO_NUMBER.format(left_out)
    elif not is_whole:
        caveat = LABELLED_UNSIZED if is_unsized else doubt or PARTIAL
    else:
        caveat = doubt or (UNSIZED if is_unsized and is_plain else BY_DECISION if is_plain else _drift_doubt(books))
    is_sum_of_rows = is_settled or not is_whole or not n
    out, summed = _outstanding(books, total), float(sample.weighted if is_sum_of_rows else mean * n)
    found = Estimate(mean, lower, upper, naive, labels, left_out, out, sum=summed, is_settled=is_settled)
    if caveat:
        return found._replace(caveat=caveat)
    found = found._replace(caveat=UNSIZED if is_unsized else "")
    heard = Heard(sums[core.LABELS], sums[core.LABELS] * sums[core.NAIVE], sample.mass, sample.weighted)
    unit = 1.0
    if sizes:
        unit = strays[UNIT] or 1.0
        heard = heard._replace(labels=strays[LABELLED] or heard.labels)
    reach = float(deviation(strays[DRIFT], strays[THRESHOLD], level, unit))
    lower, upper = map(float, sum_interval(heard, total, reach, low, high))
    return found._replace(anytime_low=lower / n, anytime_high=upper / n, sum_low=lower, sum_high=upper)


def _outstanding(books: Books, total: float) -> float:
    """Return the share of all decisions, by weight and size, whose labels are awaited; NaN where it is not known."""
    if not books.rounds or not books.configuration.player.scheduler.is_unbiased:
        return nan
    if not books.configuration.player.scheduler.conserves_weight:
        total = books.ended_mass + books.waiting
    return min(1.0, books.waiting / total) if total else 0.0


def _doubt(books: Books, low: float, high: float, is_plain: bool) -> str:
    """Return why labels are not known to lie in their range; nothing where they do."""
    strays = books.strays
    if not books.rounds:
        return "nothing has been decided yet"
    if not books.labels[core.LABELS]:
        return ""
    slack, least, most = ROUNDING * max(abs(low), abs(high)), float(strays[LEAST]), float(strays[MOST])
    limits = f"none may lie outside of {low:.6g} to {high:.6g}"
    remedy = "state the range of all labels, estimate(low=…, high=…), or low and high leave out what is awaited"
    if is_plain:  # of labels themselves the longest is known, and their signs
        longest = float(books.moments[LONGEST])
        is_out = longest > slack + max(high if most > 0.0 else 0.0, -low if least < 0.0 else 0.0)
        is_out = is_out or (least < -slack and low >= 0.0) or (most > slack and high <= 0.0)
        return f"labels are up to {longest:.6g} in size, and {limits}: {remedy}" if is_out else ""
    for label in (least, most):
        if not low - slack <= label <= high + slack:
            each = " for each unit of size" if books.sizes else ""
            more = "; where they bound each label whatever its size, say per='decision'" if books.sizes else ""
            return f"a label was {label:.6g}{each}, and {limits}: {remedy}{more}"
    return ""


def _range_unit(books: Books) -> float:
    """Return what the range of labels is over that of labels for each unit of size, for the rows on average.

    With p the mean of y/b, labels y of 0 and 1 give Σwy at most the variance pΣw²b − p²Σ(wb)². As Σw²b is at most
    √(Σw²·Σ(wb)²), this is at most that of labels for each unit of size between 0 and √(Σw²/Σ(wb)²).
    """
    sample, moments = books.sample, books.moments
    if not sample.mass:
        return 1.0
    return float(max(sqrt(moments[SQUARE] / sample.squares), moments[WEIGHT] / sample.mass))


def _drift_doubt(books: Books) -> str:
    """Return why no interval is known to hold at every time at once; nothing where one is."""
    if books.configuration.player.scheduler.conserves_weight and (not books.full_rounds or books.strays[DRIFT]):
        return ""
    return "how far sums may stray is known for VarOpt alone: use it, it is the default"


def status_of(tracker: Tracker) -> Status:
    """Return the status of a tracker."""
    books, player = books_of(tracker), tracker.configuration.player
    found = status_from(books)
    warnings = (
        *found.warnings,
        *restart_warnings(player, found.weights.mean),
        *bound_warnings(tracker.terms, tracker.slots.state.tally),
    )
    certificate = certificate_now(player, tracker.slots.state, tracker.terms, tracker.rounds)
    return found._replace(warnings=warnings, certificate=certificate, is_numbered=tracker.is_numbered)


def status_from(books: Books) -> Status:
    """Return what books tell of a session or join: all but certificates."""
    estimate = estimate_of(books) if books.configuration.kind == JOIN else None
    return Status(
        rounds=books.rounds,
        pending=books.rounds - books.answered,
        tracked=books.tracked,
        fates=books.fates,
        answers=books.answers,
        weights=books.weights,
        balance=books.balance,
        certificate=None,
        warnings=tuple(_warnings(books, estimate)),
        estimate=estimate,
        sizes=books.sizes or None,
        kind=books.configuration.kind,
        capacity=books.configuration.capacity,
    )


def _warnings(books: Books, estimate: Estimate | None) -> list[str]:
    """Return what may mislead: biased sums, ids that nobody knows, an estimate from too few labels."""
    fates, scheduler = books.fates, books.configuration.player.scheduler
    found = []
    if not scheduler.is_unbiased:
        name = type(scheduler).__name__
        found.append(f"{name} weighs nothing: {WITHOUT_WEIGHTS}")
    found += room_warnings(fates["saturated"], fates["untracked"], books.full_rounds, books.rounds)
    seen = fates["used"] + fates["expired"]
    if seen and fates["expired"] > OFTEN * seen:
        given = "give it as the label" if books.configuration.kind == JOIN else "tell it as a value"
        problem = f"{fates['expired']} of {seen} tracked rounds expired without an outcome"
        remedy = f"if no outcome means something (no conversion), {given} at the end of its window, or sums are biased"
        found.append(f"{problem}: {remedy}")
    if books.overdue:
        problem = f"the windows of {books.overdue} decisions have ended, and they hold their slots"
        found.append(f"{problem}: call advance() (tarry join advance)")
    calls, unknown = sum(books.answers.values()), books.answers["unknown"]
    if books.answers["outside"] > MANY_OUT * calls:
        problem = f"{books.answers['outside']} of {calls} calls told a label after the window of its decision"
        found.append(f"{problem}: if decisions say when they were made (at), labels must say so too")
    if unknown > OFTEN * calls:
        problem = f"{unknown} of {calls} calls named an id that nobody decided under"
        found.append(f"{problem}: an id is the same only if its type is, 7 is not '7'")
    if estimate is None or not estimate.labels:  # where no label is a number there is no estimate to be misled by
        return found
    used = estimate.labels + estimate.left_out
    if estimate.outstanding > MANY_OUT and not estimate.is_settled:
        problem = f"about {estimate.outstanding:.0%} of the labels are still awaited"
        found.append(f"{problem}, so the mean leans towards those that come quickly: look at low and high, or wait")
    if estimate.left_out > MANY_OUT * used:
        problem = f"{estimate.left_out} of {used} labels are no numbers (None, say) and so not in the estimate"
        remedy = "if they stand for one, give it as the label, or as missing"
        found.append(f"{problem}: {remedy}; estimate(among='labelled') is the mean of the others")
    return found


def ledger_of(tracker: Tracker, last: int) -> dict[str, Any]:
    """Return rounds by fate with their sum, and the fates of the last rounds, newest first."""
    fates = tracker.slots.fates()
    told: dict[str, Any] = {"rounds": tracker.rounds, "fates": fates, "sum": sum(fates.values())}
    if last:
        told["last"] = []
        oldest = max(tracker.forgotten, tracker.rounds - last)
        for t in range(tracker.rounds, oldest, -1):
            id = tracker.id_of(t)
            name = plain_id(t if id is None and tracker.is_numbered else id)
            fate = "pending" if t in tracker.tracked else tracker.fates.fate(t).name.lower()
            told["last"].append({"round": t, "id": name, "fate": fate, "answered": tracker.fates.was_answered(t)})
    return told


def tracked_of(tracker: Tracker) -> list[Waiting]:
    """Return the tracked rounds in their order, and what each would weigh if it were answered now."""
    slots, scheduler = tracker.slots, tracker.configuration.player.scheduler
    table, now, waiting = slots.state.table, tracker.rounds, []
    state = deepcopy(slots.state.scheduler)  # an arrival takes its member out
    for slot in sorted(np.flatnonzero(table.rounds).tolist(), key=table.rounds.__getitem__):
        t = int(table.rounds[slot])
        id, weight = tracker.id_of(t), float(arrive(scheduler, state, slot, t, now))
        end = slots.due[slot] / PER_SECOND if WINDOW in tracker.configuration.options else None
        waiting.append(Waiting(t, t if id is None else id, weight / float(size_of(slots.state.tally, slot)), end))
    return waiting


def export_of(tracker: Tracker, payloads: bool, after: int = 0, limit: int | None = None) -> dict[str, Any]:
    """Return configuration without its seed, status, and tracked rounds after one of them, at most so many."""
    status = status_of(tracker)._asdict().items()
    configuration = plain_configuration(tracker.configuration)
    del configuration["seed"]
    tracked = [t for t in sorted(tracker.tracked) if t > after][:limit]
    return {
        "version": __version__,
        "configuration": configuration,
        "is_numbered": tracker.is_numbered,
        "status": {name: part._asdict() if hasattr(part, "_asdict") else part for name, part in status},
        "tracked": [_kept(tracker, t, payloads) for t in tracked],
    }


def _kept(tracker: Tracker, t: int, payloads: bool) -> dict[str, Any]:
    """Return what is kept of a tracked round; of one that cannot be read, why."""
    item = tracker.items[t]
    try:
        payload = unpack(item.payload)
        gathered = [unpack(label) for label in item.gathered]
    except Unreadable as error:
        return {"round": t, "id": plain_id(item.id), "unreadable": str(error)}
    kept: dict[str, Any] = {"round": t, "id": plain_id(item.id)}
    if item.play is not None and item.play.size:
        kept["play"] = item.play.tolist()
    if payloads:
        kept["payload"] = {"bytes": b64encode(payload).decode()} if isinstance(payload, bytes) else payload
    else:
        try:
            data = payload if isinstance(payload, bytes) else pack(payload)
            kept["payload_bytes"] = 0 if data is None else len(data)
        except ValueError:
            kept["payload_bytes"] = None  # an object that could not be stored
    return kept | {"gathered": gathered, "keys": [plain_id(key) for key in item.keys]}
