"""A help desk: a few hard tickets take for ever, so the longest delay says nothing about how many are open.

Generated, not recorded. Tickets come one a round to a desk of a few agents; the work in each is heavy-tailed and
depends on the product; the longer it takes, the likelier the customer asks for the money back, which is the label.
σ_max, the most that are ever open, is far below d_max: what sizes itself by the longest delay wastes its slots.
"""

from __future__ import annotations

import numpy as np

from tarry import schedulers
from tarry.cases.policies import Policy
from tarry.cases.stream import Stream, first_rows
from tarry.delays import queue

HORIZON = 50_000
AGENTS = 24
PRODUCTS = 4
SHAPE = 1.4
LOAD = 0.5
RNG = 7

BY_LONGEST = Policy("Bernoulli (by d_max)", lambda delays, slots: schedulers.Bernoulli(max_backlog=delays.max_delay))
"""The paper's Bernoulli with the longest delay in place of the largest backlog: what d_max-sized methods come to."""


def desk(first: int | None = None) -> Stream:
    """The stream of tickets; ``first`` takes only so many. Features: 1, time of day, and one-hot product."""
    n = first_rows(first, HORIZON)
    rng = np.random.default_rng(RNG)
    product = rng.integers(PRODUCTS, size=HORIZON)
    hardness = np.array([0.5, 0.8, 1.2, 1.5])[product]
    # Lomax with mean 1, times what the product and the load ask for.
    work = LOAD * AGENTS * hardness * (SHAPE - 1) * rng.pareto(SHAPE, HORIZON)
    chance = 0.03 + 0.5 * (1 - np.exp(-work / (4 * LOAD * AGENTS)))
    refund = rng.random(HORIZON) < chance
    angle = 2 * np.pi * np.arange(HORIZON) / 288
    columns = [np.ones(HORIZON), np.sin(angle), np.cos(angle), *(product == p for p in range(PRODUCTS))]
    return Stream(
        name="queue, refunds of a help desk",
        features=np.column_stack(columns).astype(np.float64)[:n],
        labels=refund.astype(np.float64)[:n],
        delays=queue(horizon=n, servers=AGENTS, service=work[:n]),
        times=5.0 * np.arange(n, dtype=np.float64),
        unit="%",
        scale=100.0,
        event=0.5,
    )
