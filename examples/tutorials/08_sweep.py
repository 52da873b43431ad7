"""
A sweep and its report
======================

This tutorial is for researchers who compare players over many games. A sweep is a TOML file of games, players and axes.
Tarry plays every combination, keeps the finished ones, and makes a report with intervals and fitted exponents. In a
shell you would run ``tarry sweep run file.toml`` and ``tarry report out/sweeps/file``.
"""

# %%
# The file
# --------
# This sweep has one game, three players, three capacities and eight seeds. A parameter that the file leaves out is read
# off the game.
import tempfile
from pathlib import Path

import polars as pl

from tarry.experiments import Folder, load_sweep, run_sweep
from tarry.reports import make_report
from tarry.reports.sweeps import Story
from tarry.reports.view import view

SWEEP = """
seeds = 8
axes.capacity = [2, 8, 32]

[games.drift]
horizon = 600
dimension = 3
losses = { type = "Linear", rows = "drifting" }
delays = { type = "geometric", mean = 30 }

[players.recommended]
player = "recommended"

[players.paper]
player = "convex"

[players.drop_oldest]
learner = { type = "OGD", rate = 0.05 }
scheduler = "DropOldest"
"""
place = tempfile.TemporaryDirectory()
file = Path(place.name) / "drift.toml"
_ = file.write_text(SWEEP)

# %%
# Run it
# ------
# A cell is one game against one player under its seeds. When you run the file again, Tarry plays only missing cells.
folder = Folder(Path(place.name) / "results")
print(run_sweep(load_sweep(file), folder))
print(run_sweep(load_sweep(file), folder))

# %%
# The results
# -----------
# Results are three tables, joined on ``cell``. Frames are Polars'. The table shows final regret, and the rounds whose
# feedback was used.
tables = folder.tables()
joined = tables.cells.select("cell", "player", "capacity").join(tables.runs, on="cell", suffix="_run")
means = joined.group_by("player", "capacity").agg(pl.col("regret", "used").mean().round(2))
means.sort("player", "capacity")

# %%
# The report
# ----------
# ``tarry report`` writes one page, figures as SVG, PDF and PNG, and tables as Markdown and LaTeX. This is one of the
# figures.
report = make_report(view(*tables), Story("drift", command="tarry report", planned=9, finished=9))
print([figure.name for figure in report.figures])
chart = next(figure.chart for figure in report.figures if "capacity" in figure.name)
place.cleanup()

# %%
# Next: :doc:`/experiments` has every key of the file. :doc:`/reports` says how intervals and exponents are computed.
