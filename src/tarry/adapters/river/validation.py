"""Progressive validation as in River, with a bounded number of pending labels.

The order of events is River's own: it comes from ``stream.simulate_qa``. River reveals the labels due at time t before
it predicts at t, so a delay of d there ends with our round s + d − 1; that is what a scheduler is told where delays
are disclosed.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from inspect import Parameter, signature
from typing import Any

from river import base, metrics, stream, utils

from tarry.adapters.river.late_labels import LateLabels, check_label, check_weight, check_weighted, step_of
from tarry.adapters.waiting import Seed, Sizer, check_sizer, make_slots
from tarry.checks import as_int
from tarry.live.core import Slots
from tarry.live.logs import AT_END
from tarry.live.weighing import DEFAULT, SPLIT, Weighing
from tarry.schedulers.base import Scheduler

Moment = str | Callable[..., Any] | None
Delay = str | int | dt.timedelta | Callable[..., Any] | None
Report = dict[str, Any]

_WHERE = "dataset[{}]"
KEYWORD = Parameter.KEYWORD_ONLY


def iter_progressive_val_score(
    dataset: Iterable[Any],
    model: Any,
    metric: metrics.base.Metric,
    moment: Moment = None,
    delay: Delay = None,
    step: int = 1,
    measure_time: bool = False,
    measure_memory: bool = False,
    yield_predictions: bool = False,
    *,
    capacity: int | None = None,
    scheduler: Scheduler | str | None = None,
    seed: Seed = None,
    at_end: str = "deliver",
    size: Sizer = None,
    weights: str = DEFAULT,
    split: float | None = SPLIT,
    max_weight: float | None = None,
) -> Iterator[Report]:
    """Return the reports of River's function of this name, with at most ``capacity`` labels awaited (None: no limit).

    The metric is told every label, as River's is; the model learns from the tracked ones, with their weights. Labels
    still out when the last round ends are delivered, as River does, or dropped with ``at_end="drop"``: the last round
    ends before a prediction that would come next, so delays of None, 0 and 1 lose nothing, or, where rows have a
    ``moment``, with the last of these. Once a label was not used, reports have ``"Samples used"``. A row whose label is
    None, NaN or infinite, or whose delay is negative, is refused by its number before the model sees it. ``size``, a
    function of x, says what a row counts for. ``weights``, ``split`` and ``max_weight`` are those of
    :class:`LateLabels`.

    >>> from river import datasets, linear_model, metrics
    >>> model = linear_model.LogisticRegression()
    >>> for report in iter_progressive_val_score(
    ...     datasets.Phishing(), model, metrics.Accuracy(), delay=100, step=1250, capacity=20, seed=1
    ... ):
    ...     print(report)
    {'Accuracy': Accuracy: 61.28%, 'Step': 1250, 'Samples used': 230}
    """
    if isinstance(model, LateLabels):
        raise ValueError("the evaluation does the waiting itself: give the bare model, and capacity=… beside it")
    check_weighted(model)
    if at_end not in AT_END:
        raise ValueError(f"at_end must be one of {', '.join(map(repr, AT_END))}, got {at_end!r}")
    if not isinstance(metric, metrics.base.Metric):
        raise ValueError(f"metric must be one of River's, such as metrics.Accuracy(), got {metric!r}")
    if not metric.works_with(model):
        raise ValueError(f"{type(metric).__name__} does not score what {model} predicts: choose another metric")
    step = as_int(step, "step (0 for no reports)")
    is_told = getattr(scheduler, "needs_delays", False)
    slots = make_slots(capacity, scheduler, seed, "clairvoyant" if is_told else "semi-clairvoyant")
    weighing = Weighing(weights, split, max_weight)
    rows = Rows(dataset, moment, delay, is_number=isinstance(model, base.Regressor), is_told=is_told)
    started = time.perf_counter()
    several = metric if isinstance(metric, metrics.base.Metrics) else [metric]
    named = {type(one).__name__: one for one in several}

    def report(scored: int, used: int, prediction: object) -> Report:
        """Return what River reports: the metrics by name, the step, and what else was asked for."""
        state: Report = named | {"Step": scored}
        if capacity is not None and used < scored:
            state["Samples used"] = used
        if measure_time:
            state["Time"] = dt.timedelta(seconds=time.perf_counter() - started)
        if measure_memory:
            state["Memory"] = model._raw_memory_usage
        return state | {"Prediction": prediction} if yield_predictions else state

    return _play(rows, model, metric, slots, step, report, at_end == "drop", check_sizer(size, slots), weighing)


def _play(
    rows: Rows,
    model: Any,
    metric: metrics.base.Metric,
    slots: Slots,
    step: int,
    report: Callable[[int, int, object], Report],
    drops: bool,
    sizer: Sizer,
    weighing: Weighing,
) -> Iterator[Report]:
    by_probability = isinstance(model, base.Classifier) and not metric.requires_labels  # type: ignore[attr-defined]
    predict, learn = model.predict_proba_one if by_probability else model.predict_one, model.learn_one
    predictions: dict[int, Any] = {}
    due: dict[int, Any] = {}  # by row, in River's time; kept only where late labels are dropped
    scored = used = last = 0
    for i, x, y, *extra in stream.simulate_qa(rows, rows.moment, rows.delay, copy=False):
        if rows.is_over and i in due and due[i] > rows.end:
            continue
        options = dict(extra[0]) if extra else {}
        own = options.pop("w", 1.0) if extra else 1.0
        if y is None:  # River's question: predict now, the answer comes later
            size = 1.0 if sizer is None else slots.as_size(sizer(x), f"row {i}: size")
            predictions[i] = predict(copy(x), **options)
            slots.open(rows.wait, size)
            if drops and rows.delay is not None:
                due[i] = rows.due
            continue
        due.pop(i, None)
        prediction = predictions.pop(i)
        if prediction is not None and prediction != {}:
            metric.update(y_true=y, y_pred=prediction)
        weight = weighing.of(slots, slots.answer(i + 1))
        if weight != 0.0 and own != 0.0:
            used += 1
            calls = weighing.calls(weight, step_of, model)
            for _ in range(calls):
                learn(x, y, w=weight * own / calls, **options)
        scored += 1
        if step and scored % step == 0:
            last = scored
            yield report(scored, used, prediction)
    if last not in (0, scored):
        yield report(scored, used, None)


LIMITS = [name for name, option in signature(iter_progressive_val_score).parameters.items() if option.kind is KEYWORD]


def progressive_val_score(
    dataset: Iterable[Any],
    model: Any,
    metric: metrics.base.Metric,
    moment: Moment = None,
    delay: Delay = None,
    print_every: int = 0,
    show_time: bool = False,
    show_memory: bool = False,
    **options: Any,
) -> metrics.base.Metric:
    """Return the metric, as River's function of this name, with at most ``capacity`` labels awaited (None: no limit).

    ``options`` are those of :func:`iter_progressive_val_score` from ``capacity`` on, and others of ``print``. Without a
    limit, or with one that is never reached, the numbers are River's.

    >>> from river import datasets, linear_model, metrics
    >>> progressive_val_score(datasets.Phishing(), linear_model.LogisticRegression(), metrics.ROCAUC(), delay=100)
    ROCAUC: 85.59%
    """
    limits = {name: options.pop(name) for name in LIMITS if name in options}
    reports = iter_progressive_val_score(
        dataset, model, metric, moment, delay, print_every, show_time, show_memory, **limits
    )
    for report in reports:
        parts = [f"[{report['Step']:,d}] {metric}"]
        if "Samples used" in report:
            parts.append(f"{report['Samples used']:,d} samples used")
        if show_time:
            minutes, seconds = divmod(report["Time"].seconds, 60)
            parts.append(f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}")
        if show_memory:
            parts.append(utils.pretty.humanize_bytes(report["Memory"]))
        print(" – ".join(parts), **options)  # noqa: T201 (River's print_every)
    return metric


class Rows:
    """A data set on its way to ``stream.simulate_qa``, with ``moment`` and ``delay`` to hand it along.

    Of the last row: its label comes at ``due``, in River's time; with ``is_told``, ``wait`` is its delay as a scheduler
    is told it: River reveals before it predicts, so d steps of River's are d − 1 of our rounds. Once there are no more
    rows ``is_over``, and ``end`` is River's time at the end of the last round: before a next row, or the last moment.
    """

    def __init__(self, dataset: Iterable[Any], moment: Moment, delay: Delay, *, is_number: bool, is_told: bool) -> None:
        if not hasattr(dataset, "__iter__"):
            raise ValueError(f"dataset must be an iterable of rows (x, y), got {dataset!r}")
        if is_told and moment is not None:
            raise ValueError(f"a scheduler that is told delays needs them in rounds: leave moment out, got {moment!r}")
        self._dataset, self._moment, self._delay = dataset, moment, delay
        self._is_number, self._is_told = is_number, is_told
        self._time: Any = 0
        self._latest: Any = 0 if is_told and delay is None else delay
        self.wait, self.is_over = -1, False
        self.moment = None if moment is None else lambda _x: self._time
        self._varies = is_told or callable(delay) or isinstance(delay, str)
        # One delay for all rows stays one: River then keeps labels in the order of their rows.
        self.delay = (lambda _x, _y: self._latest) if self._varies else delay
        if moment is None and delay is not None and not self._varies:
            self._check_wait(delay, "delay is")

    def __iter__(self) -> Iterator[Any]:
        for i, row in enumerate(self._dataset):
            here = _WHERE.format(i)
            if not isinstance(row, tuple | list) or len(row) not in (2, 3):
                raise ValueError(f"{here} must be (x, y) or (x, y, keywords), got {row!r}")
            check_label(row[1], self._is_number, _WHERE, i)
            if len(row) == 3 and row[2] and "w" in row[2]:
                check_weight(row[2]["w"], _WHERE, i)
            self._time = i if self._moment is None else _read(self._moment, here, "moment", row[0])
            if self._varies:
                if callable(self._delay) or isinstance(self._delay, str):
                    self._latest = _read(self._delay, here, "delay", *row[:2])
                self._check_wait(self._latest, f"the delay of {here} is")
            elif self._moment is not None:
                self._check_wait(self._delay, f"with the moment {self._time!r} of {here}, delay is")
            if self._is_told:
                if int(self._latest) != self._latest:
                    raise ValueError(
                        f"a scheduler that is told delays needs whole numbers of rounds, got {self._latest!r}"
                    )
                self.wait = max(int(self._latest) - 1, 0)
            yield row
        self.is_over = True

    @property
    def due(self) -> Any:
        return self._time + self._latest

    @property
    def end(self) -> Any:
        return self._time + 1 if self._moment is None else self._time

    def _check_wait(self, wait: Any, words: str) -> None:
        try:
            if self._time + wait >= self._time:  # false for what is negative and for NaN
                return
        except TypeError:
            needed = "a number of rows" if self._moment is None else "what can be added to a moment"
            raise ValueError(f"{words} {wait!r}, but it must be {needed}: a number, or a timedelta for dates") from None
        raise ValueError(f"{words} {wait!r}, but a label cannot come before its row: give a delay of at least 0")


def _read(source: Any, here: str, what: str, x: Any, *label: Any) -> Any:
    """Return what a function of the row tells, or the feature of this name."""
    if callable(source):
        return source(x, *label)
    try:
        return x[source]
    except (KeyError, TypeError):
        raise ValueError(f"{here} has no feature {source!r} to tell its {what}, only {list(x)}") from None
