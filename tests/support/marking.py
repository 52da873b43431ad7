"""Parameters of tests, some of which run compiled or in the long run only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def jit_for(values: Iterable[Any], compiled: Collection[Any], slow: Collection[Any] = ()) -> list[Any]:
    """Return a parameter for each value; those in ``compiled`` run compiled too, those in ``slow`` by test-all."""
    late = pytest.mark.jit(slow=True)
    return [_marked(value, pytest.mark.jit if value in compiled else late, (*compiled, *slow)) for value in values]


def slow_but(values: Iterable[Any], quick: Collection[Any] | Callable[[Any], bool]) -> list[Any]:
    """Return a parameter for each value; all but those in ``quick`` run in ``make test-all`` alone."""
    return [_marked(value, pytest.mark.slow, lambda v: not _chosen(v, quick)) for value in values]


def _marked(value: Any, mark: pytest.MarkDecorator, chosen: Collection[Any] | Callable[[Any], bool]) -> Any:
    return pytest.param(*(value if type(value) is tuple else (value,)), marks=[mark] * _chosen(value, chosen))


def _chosen(value: Any, chosen: Collection[Any] | Callable[[Any], bool]) -> bool:
    return bool(chosen(value)) if callable(chosen) else value in chosen
