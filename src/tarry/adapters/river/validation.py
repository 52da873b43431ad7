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

from tarry.adapters.river.weights import check_weighted
from tarry.adapters.waiting import Slots
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
    still out after the last prediction are delivered, as River does, or dropped with ``at_end="drop"``. With a limit,
    reports have ``"Samples used"``.

    >>> from river import datasets, linear_model, metrics
    >>> model = linear_model.LogisticRegression()
    >>> for report in iter_progressive_val_score(
    ...     datasets.Phishing(), model, metrics.Accuracy(), delay=100, step=1250, capacity=20, seed=1
    ... ):
    ...     print(report)
    {'Accuracy': Accuracy: 69.76%, 'Step': 1250, 'Samples used': 230}
    """
    check_weighted(model)
    if at_end not in AT_END:
        raise ValueError(f"at_end must be one of {', '.join(map(repr, AT_END))}, got {at_end!r}")
    if not metric.works_with(model):
        raise ValueError(f"{type(metric).__name__} does not score what {model} predicts: choose another metric")
    discloses = getattr(scheduler, "needs_delays", False)
    slots = Slots(capacity, scheduler, seed, "clairvoyant" if discloses else "semi-clairvoyant")
    disclosed: list[int] = [-1]
    if discloses:
        delay = _told(moment, delay, disclosed)
    over: list[bool] = []
    rows = _watched(dataset, over) if at_end == "drop" else dataset

    by_probability = isinstance(model, base.Classifier) and not metric.requires_labels
    predict, learn = model.predict_proba_one if by_probability else model.predict_one, model.learn_one
    report = _Reports(model, metric, measure_time, measure_memory, yield_predictions, capacity is not None)
    predictions: dict[int, Any] = {}
    scored = used = last = 0
    for i, x, y, *extra in stream.simulate_qa(rows, moment, delay, copy=False):
        if over:
            break
        options = dict(extra[0]) if extra else {}
        own = options.pop("w", 1.0) if extra else 1.0
        if y is None:
            predictions[i] = predict(copy(x), **options)
            slots.open(disclosed[0])
            continue
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
        if self._limited:
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


def _told(moment: Any, delay: Any, disclosed: list[int]) -> Callable[[Any, Any], int]:
    """The same delays as a function that leaves each where the loop finds it when its question comes."""
    if moment is not None:
        raise ValueError(f"a scheduler that is told delays needs them in rounds: leave moment out, got {moment!r}")

    def tell(x: Any, y: Any) -> int:
        wait = delay(x, y) if callable(delay) else x[delay] if isinstance(delay, str) else delay or 0
        if int(wait) != wait or wait < 0:
            raise ValueError(f"a scheduler that is told delays needs whole numbers of rounds, got {wait!r}")
        disclosed[0] = max(int(wait) - 1, 0)
        return int(wait)

    return tell


def _watched(dataset: Iterable[Any], over: list[bool]) -> Iterator[Any]:
    yield from dataset
    over.append(True)
