"""One game, four capacities: regret and what was seen."""

import numpy as np

import tarry

HORIZON = 10_000
domain = tarry.domains.Ball(10)
losses = tarry.losses.Quadratic(tarry.losses.Drawn.drifting_targets(10, rng=3), strong_convexity=1.0)
delays = tarry.delays.geometric(horizon=HORIZON, mean=200, rng=1)
player = tarry.Player(tarry.learners.DWFTRL(domain, rate=tarry.rates.inverse_time(1.0)))

print(f"mean backlog {delays.total_delay / HORIZON:.0f}, peak {delays.max_backlog}")
for capacity in (8, 32, 128, None):
    record = tarry.simulate(tarry.Game(domain, losses, delays, capacity=capacity), player, seeds=8)
    regret, seen, weight = (np.mean(x) for x in (record.regret, record.observed, record.weights.mean))
    print(f"capacity {capacity!s:>4}: regret {regret:6.1f}, {seen:6.1%} of labels, mean weight {weight:.3f}")
