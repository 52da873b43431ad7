"""Reports: results and theory as tables, curves and pages. They never run a game."""

from tarry.reports.page import compare, demo_page
from tarry.reports.plans import bounds_table, check_chart, plan_tables, save_plan
from tarry.reports.table import Cell, summary_table

__all__ = ["Cell", "bounds_table", "check_chart", "compare", "demo_page", "plan_tables", "save_plan", "summary_table"]
