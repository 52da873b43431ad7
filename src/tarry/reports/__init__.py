"""Reports: results and theory as tables, charts and pages. They never run a game."""

from tarry.reports.demo import compare
from tarry.reports.plans import save_plan
from tarry.reports.sweeps import make_report, save_report

__all__ = ["compare", "make_report", "save_plan", "save_report"]
