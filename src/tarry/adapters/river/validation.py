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
from typing import Any

from river import base, metrics, stream, utils

from tarry.adapters.river.late_labels import LateLabels
from tarry.adapters.river.rows import Rows
from tarry.adapters.river.weights import check_weighted
from tarry.adapters.waiting import make_slots
from tarry.checks import as_int
from tarry.live.core import Slots
from tarry.live.streams import AT_END


def iter_progressive_val_score(
    dataset: Iterable[Any],
    model: Any,
    metric: Any,
    moment: str | Callable[..., Any] | None = None,
    delay: str | int | dt.timedelta | Callable[..., Any] | None = None,
    step: int = 1,
    measure_time: bool = False,
    measure_memory: bool = False,
    yield_predictions: bool = False,
    *,
    capacity: int | None = None,
    scheduler: Any = None,
    seed: Any = None,
    at_end: str = "deliver",
) -> Iterator[dict[str, Any]]:
    """River's ``evaluate.iter_progressive_val_score`` with at most ``capacity`` labels awaited (None: no limit).

    The metric is told every label, as River's is; the model learns from the tracked ones, with their weights. Labels
    still out when the last round ends are delivered, as River does, or dropped with ``at_end="drop"``: the last round
    ends before a prediction that would come next, so delays of None, 0 and 1 lose nothing, or, where rows have a
    ``moment``, with the last of these. Once a label was not used, reports have ``"Samples used"``. A row whose label is
    None, NaN or infinite, or whose delay is negative, is refused by its number before the model sees it.

    >>> from river import datasets, linear_model, metrics
    >>> model = linear_model.LogisticRegression()
    >>> for report in iter_progressive_val_score(
    ...     datasets.Phishing(), model, metrics.Accuracy(), delay=100, step=1250, capacity=20, seed=1
    ... ):
    ...     print(report)
    {'Accuracy': Accuracy: 69.76%, 'Step': 1250, 'Samples used': 230}
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
    rows = Rows(dataset, moment, delay, is_number=isinstance(model, base.Regressor), is_told=is_told)
    report = _Reports(model, metric, measure_time, measure_memory, yield_predictions, capacity is not None)
    return _play(rows, model, metric, slots, step, report, at_end == "drop")


def _play(
    rows: Rows, model: Any, metric: Any, slots: Slots, step: int, report: _Reports, drops: bool
) -> Iterator[dict[str, Any]]:
    by_probability = isinstance(model, base.Classifier) and not metric.requires_labels
    predict, learn = model.predict_proba_one if by_probability else model.predict_one, model.learn_one
    predictions: dict[int, Any] = {}
    due: dict[int, Any] = {}
    scored = used = last = 0
    for i, x, y, *extra in stream.simulate_qa(rows, rows.moment, rows.delay, copy=False):
        if rows.is_over and i in due and due[i] > rows.end:
            continue
        options = dict(extra[0]) if extra else {}
        own = options.pop("w", 1.0) if extra else 1.0
        if y is None:
            predictions[i] = predict(copy(x), **options)
            slots.prepare()
            slots.open(rows.wait)
            if drops and rows.delay is not None:
                due[i] = rows.due
            continue
        due.pop(i, None)
        prediction = predictions.pop(i)
        if prediction is not None and prediction != {}:
            metric.update(y_true=y, y_pred=prediction)
        weight = slots.answer(i + 1) * own
        if weight != 0.0:
            used += 1
            learn(x, y, w=weight, **options)
        scored += 1
        if step and scored % step == 0:
            last = scored
            yield report.at(scored, used, prediction)
    if last not in (0, scored):
        yield report.at(scored, used, None)


class _Reports:
    """River's reports: the metrics by name, the step, and what else was asked for."""

    def __init__(self, model: Any, metric: Any, timed: bool, weighed: bool, predicted: bool, limited: bool) -> None:
        self._model, self._timed, self._weighed, self._predicted = model, timed, weighed, predicted
        several = metric if isinstance(metric, metrics.base.Metrics) else [metric]
        self._metrics, self._limited = {type(one).__name__: one for one in several}, limited
        self._started = time.perf_counter()

    def at(self, step: int, used: int, prediction: Any) -> dict[str, Any]:
        state: dict[str, Any] = self._metrics | {"Step": step}
        if self._limited and used < step:
            state["Samples used"] = used
        if self._timed:
            state["Time"] = dt.timedelta(seconds=time.perf_counter() - self._started)
        if self._weighed:
            state["Memory"] = self._model._raw_memory_usage
        return state | {"Prediction": prediction} if self._predicted else state


def progressive_val_score(
    dataset: Iterable[Any],
    model: Any,
    metric: Any,
    moment: str | Callable[..., Any] | None = None,
    delay: str | int | dt.timedelta | Callable[..., Any] | None = None,
    print_every: int = 0,
    show_time: bool = False,
    show_memory: bool = False,
    *,
    capacity: int | None = None,
    scheduler: Any = None,
    seed: Any = None,
    at_end: str = "deliver",
    **print_kwargs: Any,
) -> Any:
    """River's ``evaluate.progressive_val_score`` with at most ``capacity`` labels awaited (None: no limit).

    See :func:`iter_progressive_val_score`. Without a limit, or with one that is never reached, the numbers are River's.

    >>> from river import datasets, linear_model, metrics
    >>> progressive_val_score(datasets.Phishing(), linear_model.LogisticRegression(), metrics.ROCAUC(), delay=100)
    ROCAUC: 85.59%
    """
    limits = {"capacity": capacity, "scheduler": scheduler, "seed": seed, "at_end": at_end}
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
        print(" – ".join(parts), **print_kwargs)  # noqa: T201 (River's print_every)
    return metric
