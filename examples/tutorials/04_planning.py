"""
Planning a capacity from a log
==============================

This tutorial is for readers who choose a capacity: how many slots are enough? ``tarry plan log.csv`` replays two
columns of time stamps at every capacity. This script does so in Python, on a made-up week of orders, busy by day.
"""

# %%
# A log
# -----
# The log has 2 500 orders. Their outcomes are known some hours later.
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import tarry

draw = np.random.default_rng(11)
hours = np.arange(7 * 24)
orders = draw.poisson(30 * (0.2 + np.maximum(0.0, np.sin((hours % 24 - 6) / 24 * 2 * np.pi))))
seconds = np.sort(np.repeat(hours * 3600, orders) + draw.integers(3600, size=orders.sum()))
decided = np.datetime64("2024-03-04T00:00:00", "ms") + seconds.astype("timedelta64[s]")
label = decided + draw.lognormal(np.log(5 * 3600), 0.8, seconds.size).astype("timedelta64[s]")

# %%
# The plan
# --------
# ``target=0.5`` asks for labels that are worth half of all labels. The plan says how many decisions wait at once, and
# checks that number by Little's law: mean backlog = arrival rate × mean delay.
with tempfile.TemporaryDirectory() as folder:
    log = Path(folder) / "orders.csv"
    pl.DataFrame({"decided_at": decided, "label_at": label}).write_csv(log)
    plan = tarry.planning.plan_log(log, target=0.5)
print(plan.backlog.sentence)
print(plan.backlog.little)
print(plan.recommendation)

# %%
# The table has every capacity that was replayed. *seen* is the share of labels that come while their decision is
# tracked. *error factor* is the standard error of a mean, as a multiple of that with unlimited tracking.
shown = plan.table.filter(pl.col("scheduler") == "VarOpt")
shown.select("capacity", pl.col("seen", "effective", "error_factor").round(3))

# %%
chart = plan.plot()

# %%
# From a shell it is ``tarry plan orders.csv --target 50%``. Add ``--window 30d`` if no answer within 30 days counts
# as one. :doc:`/planning` plans without a log too, from a model of delays, and says how good the figures are.
