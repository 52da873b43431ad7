"""
A sweep and its report
======================

A sweep is a TOML file of games, players and axes. Tarry plays every combination, keeps what is finished, and makes a
report with intervals and fitted exponents. From a shell: ``tarry sweep run file.toml`` and ``tarry report
out/sweeps/file``.
"""

# %%
# The file
# --------
# One game, three players, three capacities, eight seeds. A key that the file leaves out is read off the game.
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
# A cell is one game against one player under its seeds. Run the file again, and only what is missing is played.
folder = Folder(Path(place.name) / "results")
print(run_sweep(load_sweep(file), folder))
print(run_sweep(load_sweep(file), folder))

# %%
# The results
# -----------
# Three tables, joined on ``cell``; frames are Polars'.
tables = folder.tables()
joined = tables.cells.select("cell", "player", "capacity").join(tables.runs, on="cell", suffix="_run")
means = joined.group_by("player", "capacity").agg(pl.col("regret", "used").mean().round(2))
means.sort("player", "capacity")

# %%
# The report
# ----------
# ``tarry report`` writes one page, figures as SVG, PDF and PNG, and tables as Markdown and LaTeX. Here is one of its
# figures.
report = make_report(view(*tables), Story("drift", command="tarry report", planned=9, finished=9))
print([figure.name for figure in report.figures])
chart = next(figure.chart for figure in report.figures if "capacity" in figure.name)
place.cleanup()

# %%
# :doc:`/experiments` has every key of the file, and :doc:`/reports` says how intervals and exponents are computed.
