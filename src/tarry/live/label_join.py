"""LabelJoin: a bounded, weighted join of decisions with late labels, for any model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tarry.learners import Idle
from tarry.live import batches
from tarry.live.base import StoredObject, make_or_open
from tarry.live.configuration import JOIN, Configuration
from tarry.live.core import LARGEST
from tarry.live.encoding import as_id, brief
from tarry.live.status import Estimate, estimate_now
from tarry.live.stores import MAIN, POWER, Store
from tarry.outcomes import Answer
from tarry.tracking import Player

FIRST, SUM = "first", "sum"
# What the labels that have gathered come to; with "first" none gather.
RULES: dict[str, Callable[[tuple[Any, ...]], Any]] = {"last": lambda y: y[-1], SUM: sum, "all": list}
_NONE: dict[str, Callable[[], Any]] = {SUM: int, "all": list}  # what none of them come to; of "last" there is none
UNSAID: Any = object()
DROP, DELIVER = AT_END = ("drop", "deliver")  # labels after the last decision of a log
_DEEP = 20  # levels that are looked into: a list may contain itself
_NOTHING = np.zeros(1)


class Ticket(NamedTuple):
    """A decision on its way: ``released`` ids were tracked until now and need no label any more.

    Decided again, ``tracked`` is what it was at first; :meth:`LabelJoin.fate` tells what has become of it since.
    """

    id: Hashable
    tracked: bool
    released: tuple[Hashable, ...]


new_ticket = partial(tuple.__new__, Ticket)  # the first three fields of an item, without a Python call


class Row(NamedTuple):
    """One training row: weigh it by ``weight`` and every sum is unbiased; ``id`` is the decision's."""

    features: Any
    label: Any
    weight: float
    id: Hashable = None


_new_row = partial(tuple.__new__, Row)
_Told = tuple[Answer, Row | None]


class Outcome(NamedTuple):
    """What a call has made of a decision: its fate after it, the row that came out, if one did, and the answer.

    The answer is the call's own: of a label that comes again DUPLICATE, where the fate is still USED; PENDING where a
    label has been gathered.
    """

    id: Hashable
    fate: Answer
    row: Row | None
    answer: Answer


class LabelJoin(StoredObject):
    """Keep at most ``capacity`` decisions waiting for labels; return each label with its weight.

    The weight has mean 1, given all that came before the decision, so weighted sums, means and
    gradients over the rows that come out are unbiased for all decisions, also when the delay depends
    on the label. ``decide(size=…)`` says what a decision counts for, such as the value of a basket: sums of labels of
    about that size come out with less variance. Features are stored for tracked decisions only: anything in memory,
    JSON values or bytes in a durable ``store`` (see :class:`tarry.Session` for ``store``, ``name``, ``durability``).

    ``labels`` says what happens when a decision may have several: ``"first"`` ends it (default); with ``"last"``,
    ``"sum"`` or ``"all"`` labels gather until :meth:`finish` gives the row.

    >>> join = LabelJoin(capacity=64, rng=1)
    >>> ticket = join.decide({"age": 41})
    >>> join.label(ticket.id, 1)
    Row(features={'age': 41}, label=1, weight=1.0, id=1)
    """

    _kind = JOIN

    def __init__(
        self,
        capacity: int | None,
        *,
        scheduler: Any = None,
        information: str = "non-clairvoyant",
        preemption: bool = True,
        labels: str = "first",
        store: str | Store = "memory:",
        name: str = MAIN,
        durability: str = POWER,
        rng: Any = None,
        memory: int = 1_000_000,
    ) -> None:
        if not (isinstance(labels, str) and (labels == FIRST or labels in RULES)):
            raise ValueError(f"labels must be {FIRST!r}, {', '.join(map(repr, RULES))}, got {labels!r}")
        if getattr(scheduler, "withholds_feedback", False):
            raise ValueError(
                f"a LabelJoin hands each row out when its label comes, and {type(scheduler).__name__} must withhold "
                "some until their batch ends: use VarOpt or Morris, or a Session"
            )
        player, options = Player(Idle(), scheduler), {"labels": labels}
        wanted = Configuration(JOIN, player, capacity, information, preemption, 0, memory, options)
        self._take(make_or_open(wanted, rng, store=store, name=name, durability=durability))

    def _look_up(self) -> None:
        self._labels = self._tracker.configuration.options["labels"]
        self._rule = RULES.get(self._labels)

    def decide(
        self, features: Any = None, id: Hashable = None, *, delay: int | None = None, size: float | None = None
    ) -> Ticket:
        """Register a decision; whether it is tracked is known at once.

        An id decided before gives its ticket again and leaves the features and the size first given. ``size`` is a
        positive number, for VarOpt alone; a decision without one counts 1.
        """
        work = self._tracker.open if size is None else partial(self._tracker.open, size=size)
        return new_ticket(self._turns.change(work, id, delay, features)[:3])

    def decide_many(
        self,
        features: Any,
        *,
        ids: Iterable[Any] | None = None,
        delays: Iterable[Any] | None = None,
        sizes: Iterable[Any] | None = None,
    ) -> list[Ticket]:
        """Register several decisions in one transaction.

        ``features`` is a frame, whose rows become dictionaries (a column id gives the ids), or a list. ``delays``
        are required in the clairvoyant model and refused elsewhere; ``sizes`` are one for each decision.
        """
        if batches.is_frame(features):
            if "id" in batches.names_of(features):
                batches.check_alone("id", ids=ids)
                ids = batches.column(features, "id")
            features = batches.records(features, without=("id",))
        rows = batches.as_list(features, "decisions")
        names = batches.as_names(None, ids) if ids is not None else [None] * len(rows)
        if len(names) != len(rows):
            raise ValueError(f"there are {len(rows)} decisions and {len(names)} ids: give one each")
        waits = [None] * len(rows) if delays is None else batches.as_list(delays, "delays")
        try:
            listed = None if sizes is None else batches.as_list(sizes, "sizes")
            opened = self._turns.change(partial(self._tracker.open_many, sizes=listed), names, waits, rows)
        except ValueError:
            check_features(rows, self._tracker.items.pack)  # which names the row, if that was it
            raise
        return [new_ticket(one[:3]) for one in opened]

    def label(self, id: Hashable, label: Any, *, key: Hashable = None) -> Row | None:
        """Return the decision's row with its weight, or None if it is not tracked (any more); :meth:`fate` tells why.

        Where labels gather, always None: :meth:`finish` gives the row, and a label given twice counts twice, unless
        it has a ``key`` (a text, a whole number or bytes): of each key a decision takes one label. A number that is
        not finite is refused, and where labels are added up, whatever is no number.
        """
        kind = type(label)
        if self._rule is not None or (kind is not int and (kind is not float or not isfinite(label))):
            label = self._checked(id, label)
        if key is not None:
            key = as_id(key)
        return self._turns.change(self._label, id, label, key)[1]

    def label_many(
        self, ids: Any, labels: Iterable[Any] | None = None, *, keys: Iterable[Any] | None = None
    ) -> list[Outcome]:
        """Return what several labels, in one transaction, have made of their decisions: an outcome for each.

        ``ids`` may be a frame with id, label and key. The row that a label completes is its outcome's ``row``, None
        where the decision is not tracked; the fate is the one when all labels are in.
        """
        if batches.is_frame(ids):
            batches.check_alone("label", labels=labels, keys=keys)
            keys = batches.column(ids, "key") if "key" in batches.names_of(ids) else None
            ids, labels = batches.column(ids, "id"), batches.column(ids, "label")
        names, values = batches.as_ids(ids), batches.as_list([] if labels is None else labels, "labels")
        if len(names) != len(values):
            raise ValueError(f"there are {len(names)} ids and {len(values)} labels: give one each")
        given = [None] * len(names) if keys is None else batches.as_list(keys, "keys")
        marks = [None if batches.is_missing(key) else as_id(key) for key in given]
        if len(names) != len(marks):
            raise ValueError(f"there are {len(names)} ids and {len(marks)} keys: give one each")
        checked = [self._checked(*pair) for pair in zip(names, values, strict=True)]
        return self._turns.change(self._each, self._label, names, zip(checked, marks, strict=True))

    def _each(
        self, step: Callable[..., _Told], names: list[Hashable], given: Iterable[tuple[Any, ...]]
    ) -> list[Outcome]:
        told = [step(id, *rest) for id, rest in zip(names, given, strict=True)]
        # The fates are those when all of it is done.
        return [Outcome(id, self._tracker.fate(id), row, answer) for id, (answer, row) in zip(names, told, strict=True)]

    def _checked(self, id: Hashable, label: Any) -> Any:
        """Return a label that can be used, or kept with others, before anything is changed."""
        if self._rule is not None:
            return as_gathered(id, label, self._labels, self._tracker.items.pack_label)
        check_label(id, label)
        return label

    def _label(self, id: Hashable, label: Any, key: Hashable) -> _Told:
        if self._rule is None:
            return self._end(id, label)
        return self._tracker.gather(id, label, key), None

    def finish(self, id: Hashable, missing: Any = UNSAID) -> Row | None:
        """End the window of a decision; return its row, with the labels gathered.

        If there are none the label is ``missing``; unsaid, 0 where labels are added up, [] where all are kept, None
        where the last one counts.
        """
        return self.finish_many([id], missing)[0].row

    def finish_many(self, ids: Any, missing: Any = UNSAID) -> list[Outcome]:
        """End the windows of several decisions (a list, a frame with id) in one transaction: an outcome for each."""
        if self._rule is None:
            raise ValueError("this join ends a decision with its first label: call label(id, …), or expire(id)")
        names = batches.as_ids(ids)
        instead = [(as_missing(id, missing, self._labels),) for id in names]
        return self._turns.change(self._each, self._finish, names, instead)

    def _finish(self, id: Hashable, label: Any) -> _Told:
        t = self._tracker.find(id)
        waiting = None if t is None else self._tracker.item(t)
        if waiting is not None and waiting.gathered:
            label = RULES[self._labels](waiting.gathered)
        return self._end(id, label)

    def _end(self, id: Hashable, label: Any) -> _Told:
        (status, weight), item = self._tracker.answer(id, _NOTHING, label)
        if status is not Answer.USED or item is None:
            return status, None
        return status, _new_row((self._tracker.items.unpack(item.payload), label, weight, item.id))

    def resize(self, *, capacity: int | None = UNSAID, memory: int = UNSAID) -> list[Hashable]:
        """Change the capacity (None: no limit) or the memory while decisions wait; return the ids that lost slots.

        VarOpt gives slots up by its own step, so that weights stay unbiased and add up. With other schedulers a
        capacity may only rise, with some not at all (NotGranted). In a store all of it is one transaction, and other
        processes go on under the new rules with their next call.

        >>> join = LabelJoin(capacity=4, rng=1)
        >>> tickets = [join.decide() for _ in range(4)]
        >>> len(join.resize(capacity=2)), sum(row.weight for row in map(join.label, range(1, 5), [0] * 4) if row)
        (2, 4.0)
        """
        given = {"capacity": capacity, "memory": memory}
        changes = {name: value for name, value in given.items() if value is not UNSAID}
        if not changes:
            raise ValueError(f"say what is to change: {', '.join(f'{name}=…' for name in given)}")
        return self._reconfigure({}, **changes)

    def estimate(self, level: float = 0.95, *, low: float = 0.0, high: float = 1.0) -> Estimate:
        """Return the mean label over all settled decisions, with a confidence interval, and the naive mean beside it.

        While labels are awaited it leans towards the quick ones; ``outstanding`` says how many are. Where all labels,
        heard or not, lie between ``low`` and ``high``, for each unit of size, ``anytime_low`` to ``anytime_high``
        covers the mean of all decisions so far, however often one looks.
        """
        return self._turns.look(estimate_now, self._tracker, level, low, high)

    def stream(
        self,
        frame: Any,
        *,
        decided_at: str,
        labelled_at: str,
        label: str,
        at_end: str = DROP,
        size: str | None = None,
    ) -> Iterator[Row]:
        """Go through a log in the order of time and yield the rows as labels come.

        A label comes after all decisions up to its time; an empty time means never. Labels that come after the last
        decision are dropped, or delivered with ``at_end="deliver"``. A column id gives the ids, ``size`` names one of
        sizes; that one, and the columns that are not named here, are the features. Labels must not gather: a log has
        no windows that end. A log that makes no sense somewhere is refused before its first decision.
        """
        if self._rule is not None:
            raise ValueError(
                "this join gathers labels until finish(id), and a log does not say when that is: "
                "stream with labels='first', or call decide, label and finish"
            )
        if at_end not in AT_END:
            raise ValueError(f"at_end must be one of {', '.join(map(repr, AT_END))}, got {at_end!r}")
        log = read_log(frame, decided_at, labelled_at, label, at_end)
        check_features(log.features, self._tracker.items.pack)
        sizes: list[Any] = [None] * len(log.ids) if size is None else batches.column(frame, size)
        for i, one in enumerate(sizes if size is not None else ()):
            self._tracker.slots.as_size(one, f"row {i}: size")
        return self._stream(log, sizes)

    def _stream(self, log: Log, sizes: list[Any]) -> Iterator[Row]:
        ids: dict[int, Hashable] = {}
        for i, is_label in log.events:
            if not is_label:
                ids[i] = self.decide(log.features[i], log.ids[i], size=sizes[i]).id
                continue
            row = self.label(ids.pop(i), log.labels[i])
            if row is not None:
                yield row


def is_endless(label: Any, deep: int = 0) -> bool:
    """Return whether this is a number that is not finite, or holds one."""
    if isinstance(label, (float, np.floating)):
        return not isfinite(label)
    if isinstance(label, (complex, np.complexfloating)):
        return not (isfinite(label.real) and isfinite(label.imag))
    if isinstance(label, Decimal):
        return not label.is_finite()
    if isinstance(label, np.ndarray) and label.dtype.kind in "fc":
        return not np.isfinite(label).all()
    parts = label.values() if isinstance(label, dict) else label.ravel() if isinstance(label, np.ndarray) else label
    if isinstance(label, (list, tuple, dict, np.ndarray)):
        return deep < _DEEP and any(is_endless(part, deep + 1) for part in parts)
    return label is not None and batches.is_missing(label)


def check_label(id: Hashable, label: Any) -> None:
    """Refuse a number that is not finite: it is a mistake somewhere, and would be used up as a label."""
    if is_endless(label):
        shown = float(label) if isinstance(label, (float, np.floating)) else brief(label)
        where = "and something in it" if isinstance(label, (list, tuple, dict, np.ndarray)) else "which"
        raise ValueError(
            f"the label of {id!r} is {shown}, {where} is not finite: give a finite number, or, where "
            "there is none yet, make no call; nothing was changed"
        )


def as_gathered(id: Hashable, label: Any, rule: str, pack: Callable[[Any, str], Any]) -> Any:
    """Return a label that can be kept with the others, packed: of NumPy's numbers the same as Python's."""
    what = f"the label of {id!r}"
    if isinstance(label, (list, tuple, dict)):
        label = pack(label, what)  # which says where in it something is wrong
    check_label(id, label)
    plain = _plain(label)
    if rule == SUM and not (isinstance(plain, (int, float)) and abs(plain) < LARGEST):
        raise ValueError(
            f"this join adds labels up, so each must be a finite number below 1e100 in size, and that of {id!r} "
            f"is {brief(label)}: nothing was changed"
        )
    return plain if isinstance(plain, (list, tuple, dict)) else pack(plain, what)


def as_missing(id: Hashable, missing: Any, rule: str) -> Any:
    """Return what stands for a decision without labels: None, what could have been one, or what none come to."""
    if missing is UNSAID:
        return _NONE.get(rule, lambda: None)()
    return None if missing is None else as_gathered(id, missing, rule, lambda label, _: label)


def _plain(label: Any) -> Any:
    if isinstance(label, np.ndarray) and not label.ndim:
        label = label[()]
    if isinstance(label, np.floating):
        return float(label)  # also of the long ones, whose item() is their own kind
    return label.item() if isinstance(label, np.generic) else label


class Log(NamedTuple):
    """A log that makes sense: rows in the order of time, each for its decision or its label (True), and columns."""

    events: list[tuple[int, bool]]
    labels: list[Any]
    features: list[dict[str, Any]]
    ids: list[Hashable]


def read_log(frame: Any, decided_at: str, labelled_at: str, label: str, at_end: str) -> Log:
    """Return a log; raise ValueError if any row makes no sense."""
    if not batches.is_frame(frame):
        way = ": read the file first, for example with polars.read_csv" if isinstance(frame, (str, Path)) else ""
        raise ValueError(f"a log must be a frame or a dict of columns, got {brief(frame)}{way}")
    times, come, labels = (batches.column(frame, name) for name in (decided_at, labelled_at, label))
    features = batches.records(frame, without=(decided_at, labelled_at, label, "id"))
    ids: list[Hashable] = batches.as_ids(frame) if "id" in batches.names_of(frame) else [None] * len(times)
    for i, (time, y) in enumerate(zip(times, labels, strict=True)):
        if batches.is_missing(time):
            raise ValueError(f"row {i} has no time in {decided_at!r}: every decision needs one")
        if not batches.is_missing(come[i]) and (batches.is_missing(y) or is_endless(y)):
            said = "no label" if batches.is_missing(y) else f"the label {brief(y)}, which is not finite"
            raise ValueError(f"row {i} has {said}: leave {labelled_at!r} empty where no label came")
    first: dict[Hashable, int] = {}
    for i, id in enumerate(ids):
        if id is not None and first.setdefault(id, i) != i:  # it would be taken for the first decision, repeated
            raise ValueError(f"rows {first[id]} and {i} have the same id {id!r}: each decision needs its own")
    try:
        order = sorted(range(len(times)), key=times.__getitem__)
        arrivals = [i for i in order if not batches.is_missing(come[i])]
        early = next((i for i in arrivals if come[i] < times[i]), None)
        # A label comes after all decisions up to its time.
        moments = [(times[i], False, i) for i in order] + [(come[i], True, i) for i in arrivals]
        moments.sort(key=itemgetter(0, 1))
    except TypeError as error:
        raise ValueError(
            f"the times in {decided_at!r} and {labelled_at!r} cannot be compared with each other ({error}): give "
            "all of them one type"
        ) from error
    if early is not None:
        raise ValueError(f"row {early} is labelled at {come[early]}, before it was decided at {times[early]}")
    while at_end == DROP and moments and moments[-1][1]:
        moments.pop()
    return Log([(i, is_label) for _, is_label, i in moments], labels, features, ids)


def check_features(features: list[Any], pack: Callable[[Any], Any]) -> None:
    """Refuse features that cannot be packed for their store, naming the row."""
    for i, given in enumerate(features):
        try:
            pack(given)
        except ValueError as error:
            raise ValueError(f"row {i}: {error}") from error
