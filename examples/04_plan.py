"""How many slots do I need? A week of orders, whose returns are known some hours later."""

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import tarry

rng = np.random.default_rng(11)
hours = np.arange(7 * 24)
orders = rng.poisson(30 * (0.2 + np.maximum(0.0, np.sin((hours % 24 - 6) / 24 * 2 * np.pi))))
seconds = np.sort(np.repeat(hours * 3600, orders) + rng.integers(3600, size=orders.sum()))
start = np.datetime64("2024-03-04T00:00:00", "ms")
decided = start + seconds.astype("timedelta64[s]")
label = decided + rng.lognormal(np.log(5 * 3600), 0.8, seconds.size).astype("timedelta64[s]")

with tempfile.TemporaryDirectory() as folder:
    log = Path(folder) / "orders.csv"
    pl.DataFrame({"decided_at": decided, "label_at": label}).write_csv(log)
    plan = tarry.planning.plan_log(log, target=0.5)

print(plan.backlog.sentence)
print(plan.backlog.little)
shown = plan.table.filter(pl.col("scheduler") == "VarOpt")
for row in shown.iter_rows(named=True):
    print("{capacity:5} slots: {seen:6.1%} seen, worth {effective:6.1%}, errors x{error_factor:.2f}".format(**row))
print(plan.recommendation)
