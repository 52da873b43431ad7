"""Interleaved runs and what to make of them."""

from __future__ import annotations

import math
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from studies.numbers import short, write_numbers

TURNS = 7

Ready = Callable[[], Callable[[], Any]]


class Figure(NamedTuple):
    """A ratio, the absolute figures it came from, in words, and those that pages show, by name."""

    ratio: float
    detail: str
    values: Mapping[str, Any] = MappingProxyType({})


class Row(NamedTuple):
    """One line of the table: what is measured, and the ratio it must hold (at most, or at least; inf: only stated).

    ``is_long``: it takes minutes whatever is asked for, so a quick table leaves it out.
    """

    name: str
    hold: float
    measure: Callable[[bool], Figure]
    at_least: bool = False
    is_long: bool = False

    def report(self, quick: bool, write: bool = False) -> str:
        """Measure and say whether it holds, or that a package is missing; write it to docs/figures.json if asked."""
        try:
            figure = self.measure(quick)
        except ModuleNotFoundError as error:
            return f"{self.name} left out: {error.name} is not installed"
        if write and not math.isnan(figure.ratio):
            values = {"ratio": figure.ratio, **figure.values}
            shorter = {name: short(value) if isinstance(value, float) else value for name, value in values.items()}
            part = re.sub("[.:]", "", self.name)  # docs/claims.toml formats with it, where these have a meaning
            write_numbers(part, f'python -m benchmarks "{self.name}" --write', shorter, machine())
        if math.isinf(self.hold):
            return f"{self.name} ratio {figure.ratio:.2f} (stated, no hold)   {figure.detail}"
        holds = figure.ratio >= self.hold if self.at_least else figure.ratio <= self.hold
        verdict = "ok" if holds else "falls short"
        return f"{self.name} ratio {figure.ratio:.2f} (hold {self.hold:.2f}) {verdict}   {figure.detail}"


def machine() -> str:
    """Return the machine in words: its processor, cores and system."""
    listed = Path("/proc/cpuinfo")
    names = [line for line in listed.read_text().splitlines() if "model name" in line] if listed.is_file() else []
    processor = re.sub(r"\(\w+\)| Processor| CPU", "", names[0].split(":")[1]).strip() if names else platform.machine()
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def interleave(
    makers: Sequence[Ready], turns: int = TURNS, clock: Callable[[], float] = time.thread_time
) -> list[list[float]]:
    """Seconds by maker and turn. Each maker prepares a run; only the run is timed, one of each a turn.

    A first turn warms up (compilation, caches) and is not counted. The clock is this thread's own
    processor time unless another is given, so that a busy machine's other work does not count.
    """
    seconds: list[list[float]] = [[] for _ in makers]
    for turn in range(turns + 1):
        for maker, taken in zip(makers, seconds, strict=True):
            run = maker()
            started = clock()
            run()
            if turn > 0:
                taken.append(clock() - started)
    return seconds


def ratio(above: list[float], below: list[float]) -> float:
    """The median over turns of the ratio within a turn: what slows a whole turn down cancels."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def nanoseconds(seconds: list[float], count: int) -> float:
    """The median, per one of ``count``."""
    return 1e9 * statistics.median(seconds) / count
