"""Shared set-up: where the worked cases are, and the marker for tests that need the compiler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tarry.kernel import is_compiled

CASES = Path(__file__).parent / "cases"


def worked_cases(group: str) -> list[Any]:
    """The worked cases of one group as pytest parameters."""
    listed = json.loads((CASES / f"{group}.json").read_text())["cases"]
    return [pytest.param(case["input"], case["expected"], id=case["name"]) for case in listed]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if is_compiled():
        return
    skip = pytest.mark.skip(reason="the JIT is off")
    for item in items:
        if "compiled" in item.keywords:
            item.add_marker(skip)
