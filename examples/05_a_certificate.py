"""What the feedback seen so far proves: forecasts whose errors are known late, with a certificate as it goes."""

import numpy as np

import tarry

domain = tarry.domains.Box([0.0], [10.0])
learner = tarry.learners.DWFTRL(domain, rate=tarry.rates.Power(1.0, 0.5))
session = tarry.Session(tarry.Player(learner), capacity=16, rng=3)
rng = np.random.default_rng(1)
demands = 6.0 + rng.normal(size=10_000)

waiting: dict[int, list[tuple[int, float]]] = {}
heard: list[tuple[float, float, float]] = []  # weight, forecast, demand
for t in range(1, demands.size + 1):
    r = session.ask()
    waiting.setdefault(t + int(rng.integers(0, 60)), []).append((t, float(r.play[0])))
    for s, forecast in waiting.pop(t, []):  # the loss is |forecast − demand|, its slope ±1
        receipt = session.tell(s, gradient=[np.sign(forecast - demands[s - 1])])
        heard.append((receipt.weight, forecast, demands[s - 1]))
    if t in (100, 1_000, 10_000):
        weights, forecasts, seen = np.array(heard).T
        errors = [float(weights @ np.abs(x - seen)) for x in np.linspace(0.0, 10.0, 101)]
        regret = float(weights @ np.abs(forecasts - seen)) - min(errors)
        proof = session.status().certificate
        assert proof is not None
        print(f"after {t} rounds, {proof.rounds} heard: weighted regret {regret:.0f}, certified {proof.bound:.0f}")
        parts = {"regularisation": proof.regularisation, "variance": proof.variance, "overlap": proof.overlap}
        print("  " + ", ".join(f"{name} {part:.0f}" for name, part in parts.items()))
        print(f"  it holds {proof.holds}, with sizes {proof.sizes}")
