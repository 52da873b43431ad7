"""Imports are timed inside a process: its start is no part of them."""

from __future__ import annotations

import subprocess

import pytest

start = pytest.importorskip("benchmarks.start")


def imports():
    (row,) = (row for row in start.ROWS if row.name == "start import")
    return row.measure(True)


def test_the_seconds_are_those_that_the_process_prints(monkeypatch):
    done = subprocess.CompletedProcess((), 0, stdout="0.002\n0.5\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    found = imports()
    assert (found.ratio, found.values) == (0.004, {"tarry": 0.002, "numba": 0.5})


def test_imports_are_timed():
    assert all(seconds > 0 for seconds in imports().values.values())
