"""Geometric delays: every round the feedback is equally likely to come now."""

from __future__ import annotations

from math import inf, log, log1p
from typing import Any, Self

import numpy as np

from tarry.checks import as_positive
from tarry.delays.base import as_horizon
from tarry.delays.generated import Generated, uncut, whole_rounds
from tarry.errors import ArgumentError
from tarry.kernel import Parameters, Purpose, keyed, make_key, make_seed


class Geometric(Parameters, Generated, init=False):
    """Independent delays, P(d = j) = (1 − p)^j p for j = 0, 1, …: failures before a success.

    That is Geom(p) − 1 where Geom(p) counts trials; the mean is (1 − p)/p.
    """

    horizon: int
    probability: float
    log_failure: float
    key: np.uint64

    def __new__(cls, horizon: int, probability: float, rng: Any = None) -> Self:
        p = as_positive(probability, "probability")
        if p > 1.0:
            raise ArgumentError("probability", "must be in (0, 1]", probability)
        log_failure = log1p(-p) if p < 1.0 else -inf
        return cls.make(as_horizon(horizon), p, log_failure, make_key(make_seed(rng), Purpose.DELAYS))

    @property
    def mean(self) -> float:
        """The mean delay before the cut, (1 − p)/p."""
        return (1.0 - self.probability) / self.probability


@uncut.on(Geometric)
def _uncut(delays: Any, t: Any) -> Any:
    # P(d >= j) = P(U <= (1 - p)^j) with U on (0, 1].
    return whole_rounds(log(keyed.uniform(delays.key, t)) / delays.log_failure)


def geometric(
    *, horizon: int, mean: float | None = None, probability: float | None = None, rng: Any = None
) -> Geometric:
    """Geometric delays by their mean, or by the probability p that feedback comes in a given round.

    P(d = j) = (1 − p)^j p for j ≥ 0, with mean (1 − p)/p ≥ 0 and p in (0, 1]; give one of the two.
    Geom(1/200) − 1 is ``probability=1/200`` or ``mean=199``.

    >>> geometric(horizon=1000, probability=1 / 200, rng=1).mean
    199.0
    """
    if (mean is None) == (probability is None):
        raise ValueError(f"give either mean or probability, got mean={mean} and probability={probability}")
    if probability is None:
        probability = 1.0 if mean == 0 else 1.0 / (1.0 + as_positive(mean, "mean"))
    return Geometric(horizon, probability, rng)
