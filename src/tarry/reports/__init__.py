"""Reports: results and theory as tables, curves and pages. They never run a game."""

from tarry.reports.page import compare, demo_page
from tarry.reports.table import Cell, summary_table

__all__ = ["Cell", "compare", "demo_page", "summary_table"]
