"""
Durable joins across two processes
==================================

This tutorial is for engineers whose decisions and labels come from different programs. A web server decides; a nightly
job labels. Either process may die. Both open the same join in a SQLite file.
"""

# %%
# The two programs
# ----------------
# Each program has a few lines. Every call is one transaction: it is stored as a whole before it returns, or changes
# nothing.
import subprocess
import sys
import tempfile
from pathlib import Path

import altair as alt

import tarry
from tarry.charts import dressed

SERVER = """
import os, sys, tarry
url, first, last, dies = sys.argv[1], *map(int, sys.argv[2:])
join = tarry.LabelJoin(20, store=url, durability="process", rng=1)
for order in range(first, last):
    if order == dies:
        os._exit(1)  # no clean-up, as after kill -9
    join.decide({"order": order}, id=f"order-{order}")
"""
LABELLER = """
import sys, tarry
url, first, last = sys.argv[1], *map(int, sys.argv[2:])
with tarry.LabelJoin.open(url) as join:
    orders = range(first, last)
    found = join.label_many([f"order-{order}" for order in orders], [order % 4 == 0 for order in orders])
    print(sum(one.row is not None for one in found), "rows")
"""


def run(program, *arguments, dies=False):
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=not dies)


# %%
# A crash in the middle
# ---------------------
# The server dies at order 120. The next server begins at order 100, because a careful client repeats the orders
# that may have been lost. A repeated id is the same decision, so no order counts twice.
folder = tempfile.TemporaryDirectory()
url = f"sqlite:///{Path(folder.name) / 'orders.db'}"
print("first server ends with", run(SERVER, url, 0, 200, 120, dies=True).returncode)
print("second server ends with", run(SERVER, url, 100, 300, -1).returncode)
print("labels of the first 250 orders:", run(LABELLER, url, 0, 250).stdout.strip())

# %%
# What is in the store now
# ------------------------
with tarry.LabelJoin.open(url) as join:
    status, estimate = join.status(), join.estimate()
print(
    f"{status.rounds} decisions, {status.tracked} tracked, held and arrived weight per decision: {status.balance:.6f}"
)
print(f"rate of the labels: {estimate.mean:.2f}, between {estimate.low:.2f} and {estimate.high:.2f} (truth 0.25)")

# %%
# Every decision has a fate, and fates add up to the decisions made:
fates = [{"fate": name, "decisions": count} for name, count in status.fates.items() if count]
bars = (
    alt.Chart(alt.Data(values=fates)).mark_bar(color="#0072B2").encode(x="decisions:Q", y=alt.Y("fate:N", title=None))
)
chart = dressed(bars.properties(width=480, height=100), "What became of 300 decisions")
folder.cleanup()

# %%
# :doc:`/live` has PostgreSQL for several machines, the command line, backups and migrations.
