"""Delays: when feedback arrives. Types of one's own inherit ``Delays``."""

from collections.abc import Callable
from typing import Any

from tarry.delays.base import Delays, array
from tarry.delays.laws import bursts, fixed, geometric, lognormal, pareto, uniform
from tarry.delays.queue import queue
from tarry.delays.trace import trace

__all__ = ["Delays", "array", "bursts", "fixed", "geometric", "lognormal", "pareto", "queue", "trace", "uniform"]

# What a sweep file may name.
MEMBERS: dict[str, Callable[..., Any]] = {name: globals()[name] for name in __all__ if name != "Delays"}
