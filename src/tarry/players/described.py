"""A player from plain words and numbers, as a command line or a request has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarry.domains import Ball, Box, Domain, Simplex
from tarry.learners import DWFTBL, DWFTRL
from tarry.players.recommended import FEEDBACK, Recommendation, recommended
from tarry.tracking import Player

DOMAINS = ("ball", "box", "simplex")


def make_domain(
    kind: str,
    dimension: int | None,
    *,
    radius: float = 1.0,
    lower: Any = None,
    upper: Any = None,
    scale: float = 1.0,
    mark: str = "",
) -> Domain:
    """Return a domain by its name; ``mark`` stands before the names of arguments in errors, as ``--`` does.

    ``lower`` and ``upper`` are numbers, or lists of one for every entry.
    """
    if kind == "box":
        if lower is None or upper is None:
            like = "a number each, or one for every entry, as in 0,0,-1"
            raise ValueError(f"a box needs {mark}lower and {mark}upper: {like}")
        ends = {"lower": lower, "upper": upper}
        return Box(*(_entries(end, f"{mark}{name}", dimension, mark) for name, end in ends.items()))
    if kind not in DOMAINS:
        raise ValueError(f"{mark}domain must be one of {', '.join(DOMAINS)}, got {kind!r}")
    if dimension is None:
        raise ValueError(f"a {kind} needs {mark}dimension")
    return Ball(dimension, radius) if kind == "ball" else Simplex(dimension, scale)


def _entries(given: Any, name: str, dimension: int | None, mark: str) -> Any:
    numbers = np.atleast_1d(np.asarray(given, float))
    if numbers.size == 1:
        return float(numbers[0]) if dimension is None else np.full(dimension, numbers[0])
    if dimension not in (None, numbers.size):
        raise ValueError(f"{name} has {numbers.size} entries, {mark}dimension is {dimension}")
    return numbers


def describe_player(
    domain: Domain,
    scheduler: Any,
    *,
    rate: float | None = None,
    smoothing: float | None = None,
    feedback: str = "gradient",
    mark: str = "",
    **known: Any,
) -> Recommendation:
    """Return the player with a constant rate and this scheduler, or the recommended one for what is ``known``."""
    if rate is None:
        return recommended(domain, feedback=feedback, **known)
    if feedback not in FEEDBACK:
        raise ValueError(f"{mark}feedback must be gradient or value, got {feedback!r}")
    if feedback != "gradient" and smoothing is None:
        raise ValueError(f"a bandit learner with a rate of yours also needs {mark}smoothing")
    learner = DWFTRL(domain, rate) if feedback == "gradient" else DWFTBL(domain, rate, smoothing)
    told = f"the constant rate {rate} you gave; no bound is claimed for it"
    return Recommendation(Player(learner, scheduler), told, False)
