"""Shared set-up: the marker that feeds tests with worked cases, and the two for the compiler.

``@pytest.mark.cases("backlog")`` runs a test once per case in ``cases/backlog.json``, with the
case's input as the argument ``given`` and its output as ``expected``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from system import report_skips

from tarry.kernel import is_compiled

CASES = Path(__file__).parent / "cases"


def worked_cases(group: str) -> list[Any]:
    """The worked cases of one group as pytest parameters."""
    listed = json.loads((CASES / f"{group}.json").read_text())["cases"]
    return [pytest.param(case["input"], case["expected"], id=case["name"]) for case in listed]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cases(group): run once per worked case, as given and expected")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for mark in metafunc.definition.iter_markers("cases"):
        metafunc.parametrize(("given", "expected"), worked_cases(*mark.args))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked, reason = ("wide", "the JIT is on") if is_compiled() else ("compiled", "the JIT is off")
    for item in items:
        # Where a file is wide, what needs the JIT in it is not.
        if marked in item.keywords and not (marked == "wide" and "compiled" in item.keywords):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    report_skips(terminalreporter)
