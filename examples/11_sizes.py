"""Revenue that is known late: baskets differ in value, and the join is told the value when it decides.

Orders are paid, or sent back, some time after they were made. The sum of what is paid comes out of a join with a few
slots; with ``size=`` large baskets are kept more surely and weigh less when they are. What is paid against a forecast
(half of each basket) varies as the baskets do, so its error has a variance E b²/(E b)² times smaller; b is log-normal
with σ = 1, for which that is e = 2.72. What is paid gains more, since sizes tell its mean too.
"""

import numpy as np

import tarry

ORDERS, SLOTS, RUNS = 6_000, 16, 24
rng = np.random.default_rng(3)
baskets = np.exp(rng.normal(3.0, 1.0, ORDERS))
waits = rng.geometric(1 / 200, ORDERS)
due: dict[int, list[int]] = {}
for s, wait in enumerate(waits):
    due.setdefault(s + int(wait), []).append(s)


def weights(seed: int, sized: bool) -> np.ndarray:
    """What each order's label weighs when it comes, 0 where the order lost its slot."""
    join = tarry.LabelJoin(SLOTS, rng=seed)
    found = np.zeros(ORDERS)
    for t in range(max(due) + 1):
        if t < ORDERS:
            join.decide(size=baskets[t] if sized else None)
        for s in due.get(t, []):
            row = join.label(s + 1, baskets[s])
            found[s] = 0.0 if row is None else row.weight
    return found


drawn = {sized: np.array([weights(seed, sized) for seed in range(RUNS)]) for sized in (False, True)}
# Who pays is drawn anew many times: which orders were seen does not depend on it.
pays = rng.random((400, ORDERS)) < 0.5
labels = {"against forecast": (pays - 0.5) * baskets, "paid": pays * baskets}
print(f"{ORDERS} orders worth {baskets.sum():,.0f}, about {waits.mean():.0f} waiting, {SLOTS} slots")
for name, values in labels.items():
    plain, sized = (float(np.mean(((drawn[way] - 1) @ values.T) ** 2)) for way in (False, True))
    print(f"{name:16} standard error {plain**0.5:6,.0f}, with sizes {sized**0.5:6,.0f}: variance {plain / sized:.1f} times")
print(f"E b²/(E b)² of these baskets: {np.mean(baskets**2) / np.mean(baskets) ** 2:.1f}")
