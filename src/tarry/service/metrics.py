"""Figures for Prometheus: requests and groups as they were counted here, the rest as objects say of themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import nan
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_SHARED = "PROMETHEUS_MULTIPROC_DIR"  # where several workers put their figures together


class Metrics:
    """The figures of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        requests = ("route", "method", "status")
        self._requests = Histogram(
            "tarry_request_seconds",
            "Requests, by the time they took.",
            requests,
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._groups = Histogram(
            "tarry_group_calls", "Calls written with one commit.", buckets=_SIZES, registry=self._registry
        )
        self._errors = Counter("tarry_store_errors", "Calls that a store refused.", registry=self._registry)
        self._known: dict[tuple[str, str, int], Any] = {}

    def group(self, calls: int, refused: int) -> None:
        """Count calls that were written together, and those among them that the store refused."""
        self._groups.observe(calls)
        self._errors.inc(refused)

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        found = self._known.get((route, method, status))
        if found is None:
            found = self._known[route, method, status] = self._requests.labels(route, method, status)
        found.observe(seconds)

    def text(self, statuses: dict[tuple[str, str], dict[str, Any] | None]) -> bytes:
        """Return all figures, with those of these objects, by kind and name; None for one that cannot be read."""
        if _SHARED in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        else:
            registry = self._registry
        return generate_latest(registry) + generate_latest(_Objects(statuses))


class _Objects(CollectorRegistry):
    """What joins and sessions say of themselves: counts from their stores, the same whichever process is asked."""

    def __init__(self, statuses: dict[tuple[str, str], dict[str, Any] | None]) -> None:
        super().__init__()
        self._statuses = statuses

    def collect(self) -> Iterator[Metric]:
        label = ["kind", "name"]
        rounds = CounterMetricFamily("tarry_decisions", "Decisions or rounds begun.", labels=label)
        answers = CounterMetricFamily("tarry_answers", "Calls by what they were answered.", labels=[*label, "answer"])
        fates = GaugeMetricFamily("tarry_fates", "Rounds by fate.", labels=[*label, "fate"])
        labels = CounterMetricFamily("tarry_labels", "Labels and feedback that were used.", labels=label)
        readable = GaugeMetricFamily("tarry_readable", "1, or 0 where its status cannot be told.", labels=label)
        gauges = {
            "tracked": "Slots taken.",
            "capacity": "Slots there are.",
            "pending": "Rounds without an answer.",
            "weight_mean": "The mean weight, which tends to 1.",
            "weight_max": "The largest weight.",
            "effective_sample_size": "(Σw)²/Σw².",
            "warnings": "Sentences of warning.",
        }
        families = {name: GaugeMetricFamily(f"tarry_{name}", text, labels=label) for name, text in gauges.items()}
        for key, status in self._statuses.items():
            readable.add_metric(key, status is not None)
            if status is None:
                continue
            rounds.add_metric(key, status["rounds"])
            labels.add_metric(key, status["fates"]["used"])
            for word, number in status["answers"].items():
                answers.add_metric([*key, word], number)
            for word, number in status["fates"].items():
                fates.add_metric([*key, word], number)
            weights, capacity = status["weights"], status["capacity"]
            figures = {
                "tracked": status["tracked"],
                "capacity": float("inf") if capacity is None else capacity,
                "pending": status["pending"],
                "weight_mean": _figure(weights["mean"]),
                "weight_max": _figure(weights["max"]),
                "effective_sample_size": _figure(weights["effective_sample_size"]),
                "warnings": len(status["warnings"]),
            }
            for name, figure in figures.items():
                families[name].add_metric(key, figure)
        yield from (readable, rounds, labels, answers, fates, *families.values())


def _figure(number: float | None) -> float:
    return nan if number is None else number
