"""Measure every row, or those whose name contains one of the arguments: `python -m benchmarks live start`.

``--quick`` shortens the longest runs, and leaves out those that cannot be shortened. ``--write`` keeps the figures in
docs/figures.json, which pages show: on a quiet machine. The exit code says nothing about
speed: machines are noisy.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import numba
import numpy as np

import tarry
from benchmarks import (
    adapters,
    durable,
    growth,
    joins,
    live,
    memory,
    methods,
    peers,
    rounds,
    serve,
    shards,
    spark,
    start,
    sweeps,
    threads,
)
from benchmarks.measure import machine

MODULES = (
    rounds,
    methods,
    growth,
    memory,
    threads,
    live,
    joins,
    adapters,
    durable,
    shards,
    serve,
    spark,
    sweeps,
    start,
    peers,
)
ROWS = [row for module in MODULES for row in module.ROWS]


def header() -> str:
    """The machine, the commit and the versions."""
    here = Path(__file__).parent
    commit = subprocess.run(["git", "-C", str(here), "describe", "--always", "--dirty"], capture_output=True, text=True)
    versions = f"tarry {tarry.__version__}, numba {numba.__version__}, numpy {np.__version__}"
    return f"{machine()}, {versions}, {commit.stdout.strip()}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of the rows to measure (default: all)")
    parser.add_argument("--quick", action="store_true", help="shorten the longest runs")
    parser.add_argument("--write", action="store_true", help="keep the figures in docs/figures.json, for the pages")
    chosen = parser.parse_args()
    if chosen.quick and chosen.write:
        parser.error("--write keeps whole runs: leave out --quick")
    print(header(), flush=True)
    for row in ROWS:
        if chosen.names and not any(name in row.name for name in chosen.names):
            continue
        if chosen.quick and row.is_long:
            print(f"{row.name} left out: takes minutes", flush=True)
        else:
            print(row.report(chosen.quick, chosen.write), flush=True)


main()
