"""Late labels whose delay depends on the label: what a bounded join estimates, and what naive ones do.

Drop newest is right here because traffic is steady, without trend or runs, whatever the delays; it errs where load or
time tells something of outcomes. Drop oldest and the time-out err by the delay.
"""

import numpy as np

import tarry

DECISIONS, SLOTS, WINDOW = 20_000, 32, 400
rng = np.random.default_rng(0)
converts = rng.random(DECISIONS) < 0.1
# Conversions are told when they happen; "no conversion" is known only when the window ends.
waits = np.where(converts, rng.geometric(1 / 80, DECISIONS), WINDOW)

due: dict[int, list[int]] = {}
for s, wait in enumerate(waits):
    due.setdefault(s + int(wait), []).append(s)


def estimate(scheduler: object) -> tuple[float, int]:
    """The conversion rate as seen through a join with a few slots, and the labels it saw."""
    join = tarry.LabelJoin(SLOTS, scheduler=scheduler, information="semi-clairvoyant", rng=1)
    total = weight = 0.0
    seen = 0
    for t in range(DECISIONS + WINDOW):
        if t < DECISIONS:
            join.decide()
        for s in due.get(t, []):
            row = join.label(s + 1, float(converts[s]))
            if row is not None:
                total, weight, seen = total + row.weight * row.label, weight + row.weight, seen + 1
    return total / weight, seen


print(f"true rate {converts.mean():.3f}, {SLOTS} slots, about {waits.mean():.0f} decisions pending")
policies = tarry.schedulers
for scheduler in (
    policies.VarOpt(),
    policies.Priority(),
    policies.DropNewest(),
    policies.DropOldest(),
    policies.Timeout(200),
):
    rate, seen = estimate(scheduler)
    note = "" if scheduler.is_unbiased else "  (unweighted)"
    print(f"{type(scheduler).__name__:12} estimates {rate:.3f} from {seen:5} labels{note}")
