"""Small views for notebooks."""

from __future__ import annotations

from html import escape


def html_table(title: str, rows: dict[str, str]) -> str:
    """A table of two columns."""
    cells = (f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows.items())
    return f"<table><caption>{escape(title)}</caption>{''.join(cells)}</table>"
