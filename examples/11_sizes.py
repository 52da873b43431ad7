"""Revenue that is known late: orders differ in value, and a join is told the value of each basket when it decides.

An order is paid, or sent back, some time after it was made. With ``size=`` large baskets are kept more surely, and
weigh less when they are. Of a sum of labels about as large as the baskets b the variance then falls by E b²/(E b)²,
which is e = 2.72 for log-normal baskets with σ = 1: so for what is paid against a forecast, half of each basket. What
is paid gains more, since sizes add up exactly: they tell its mean too.
"""

import numpy as np

import tarry
from tarry.game import replay

ORDERS, SLOTS, RUNS = 6_000, 4, 60
rng = np.random.default_rng(2)
baskets = np.exp(rng.normal(3.0, 1.0, ORDERS))
is_paid = rng.random(ORDERS) < 0.5
waits = np.minimum(rng.geometric(1 / 100, ORDERS), np.arange(ORDERS)[::-1])
due: dict[int, list[int]] = {}
for s, wait in enumerate(waits.tolist(), 1):
    due.setdefault(s + wait, []).append(s)


def paid(sized: bool) -> float:
    """The sum of what is paid, as a join with a few slots estimates it."""
    join = tarry.LabelJoin(SLOTS, rng=1)
    total = 0.0
    for t in range(1, ORDERS + 1):
        join.decide(size=baskets[t - 1] if sized else None)
        for s in due.get(t, []):
            row = join.label(s, float(is_paid[s - 1] * baskets[s - 1]))
            total += 0.0 if row is None else row.weight * row.label
    return total


print(f"{ORDERS} orders, about {waits.mean():.0f} of them waiting, {SLOTS} slots")
print(f"paid {is_paid @ baskets:,.0f}; estimated {paid(False):,.0f} without sizes, {paid(True):,.0f} with sizes")

# The same rounds many times over, from their delays and sizes alone: what each label would have weighed.
errors = {}
for name, sizes in (("without", None), ("with", baskets)):
    run = replay(
        tarry.schedulers.VarOpt(), tarry.delays.array(waits), capacity=SLOTS, sizes=sizes, seeds=RUNS, keep_rounds=True
    )
    excess = np.array([run.heard(seed) - 1 for seed in run.seeds]) * baskets
    # Who pays is a fair coin: its variance is 1/4 of the squares, and half of the excess comes on top where it is paid.
    squares = np.mean(np.sum(excess**2, axis=1)) / 4
    errors[name] = squares, squares + np.mean(np.sum(excess, axis=1) ** 2) / 4
for i, what in enumerate(("against the forecast", "of what is paid")):
    plain, sized = errors["without"][i], errors["with"][i]
    print(
        f"error {what:20} {plain**0.5:7,.0f}, with sizes {sized**0.5:6,.0f}: variance {plain / sized:.2f} times smaller"
    )
print(f"E b²/(E b)² of these baskets: {np.mean(baskets**2) / np.mean(baskets) ** 2:.2f}")
