"""Decide now, learn later: a bandit session whose values arrive out of order."""

import numpy as np

import tarry

domain = tarry.domains.Box([-1.0, -1.0], [1.0, 1.0])
learner = tarry.learners.DWFTBL(domain, rate=tarry.rates.Power(0.05, 0.75), smoothing=tarry.rates.Power(0.9, 0.25))
session = tarry.Session(tarry.Player(learner), capacity=20, rng=5)
rng = np.random.default_rng(2)
best = np.array([0.4, -0.3])

plays = []
waiting: list[tuple[int, object, float]] = []
for t in range(1, 20_001):
    r = session.ask()
    plays.append(r.play)
    if r.tracked:
        waiting.append((t + int(rng.integers(0, 60)), r.id, float(np.sum((r.play - best) ** 2))))
    for due, id, value in [item for item in waiting if item[0] == t]:
        session.tell(id, value=value)
        waiting.remove((due, id, value))

status = session.status()
print(f"{status.rounds} rounds, {status.fates['used']} values used, balance {status.balance:.6f}")
middle = np.mean(plays[-2000:], axis=0)  # the perturbations average out
print(f"the last 2000 plays are centred {np.linalg.norm(middle - best):.2f} from the best one")
