"""The worked cases and how their words become ours."""

from __future__ import annotations

from typing import Any

import numpy as np

import tarry

INFORMATION = {"clairvoyant": "clairvoyant", "semi": "semi-clairvoyant", "non": "non-clairvoyant"}


def agree(ours: Any, expected: Any) -> None:
    """Equality to 1e-9 · max(1, |value|)."""
    expected = np.asarray(expected, dtype=float)
    np.testing.assert_array_less(np.abs(np.asarray(ours) - expected), 1e-9 * np.maximum(1, np.abs(expected)) + 1e-300)


def domain_of(spec: dict[str, Any]) -> Any:
    kind = spec["kind"]
    if kind == "ball":
        return tarry.domains.Ball(len(spec["center"]), radius=spec["radius"], center=spec["center"])
    if kind == "box":
        return tarry.domains.Box(spec["lo"], spec["hi"])
    if kind == "simplex":
        return tarry.domains.Simplex(spec["k"], scale=spec["scale"])
    return tarry.domains.Ellipsoid(spec["A"], radius=spec["rho"], center=spec["center"])


def losses_of(specs: list[dict[str, Any]]) -> Any:
    offsets = [spec["b"] for spec in specs]
    if specs[0]["kind"] == "linear":
        return tarry.losses.Linear([spec["g"] for spec in specs], offsets=offsets)
    constants = {spec["lam"] for spec in specs}
    assert len(constants) == 1
    return tarry.losses.Quadratic([spec["a"] for spec in specs], strong_convexity=constants.pop(), offsets=offsets)


def proxies_of(dprime: list[Any]) -> np.ndarray:
    return np.array([np.inf if d == "inf" else d for d in dprime], dtype=float)


def scheduler_of(case: dict[str, Any]) -> Any:
    name = case["scheduler"]
    if name == "bernoulli":
        return tarry.schedulers.Bernoulli(max_backlog=case["sigma_max"])
    return {"pareto": tarry.schedulers.Pareto, "pareto_bernoulli": tarry.schedulers.Coin}[name]()


def sets_before_admission(record: Any) -> list[list[int]]:
    """S_t after preemption, before admission, from the record's events."""
    current: set[int] = set()
    listed: list[list[int]] = []
    rows = record.events().iter_rows(named=True)
    events = [(row["t"], row["event"], row["s"]) for row in rows]
    position = 0
    for t in range(1, record.horizon + 1):
        today = []
        while position < len(events) and events[position][0] == t:
            today.append(events[position])
            position += 1
        current -= {s for _, event, s in today if event == "preempted"}
        listed.append(sorted(current))
        current |= {s for _, event, s in today if event == "entered"}
        current -= {s for _, event, s in today if event == "feedback"}
    return listed
