"""Reports: results and theory as tables, curves and pages. They never run a game."""

from tarry.experiments.replays import Replays
from tarry.reports.page import compare, demo_page
from tarry.reports.plans import bounds_table, check_chart, plan_tables, save_plan
from tarry.reports.sweeps import Report, Story, make_report, save_report
from tarry.reports.table import Cell, summary_table
from tarry.reports.view import View, view

__all__ = [
    "Cell",
    "Replays",
    "Report",
    "Story",
    "View",
    "bounds_table",
    "check_chart",
    "compare",
    "demo_page",
    "make_report",
    "plan_tables",
    "save_plan",
    "save_report",
    "summary_table",
    "view",
]
