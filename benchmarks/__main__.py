"""Measure every row, or those whose name contains one of the arguments: `python -m benchmarks live start`.

``--quick`` shortens the longest runs, and leaves out those that cannot be shortened. The exit code says nothing about
speed: machines are noisy.
"""

from __future__ import annotations

import argparse
import platform
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
    return (
        f"{_processor()}, {platform.system()}, Python {platform.python_version()}, {versions}, {commit.stdout.strip()}"
    )


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    names = [line for line in listed.read_text().splitlines() if "model name" in line] if listed.is_file() else []
    return names[0].split(":")[1].strip() if names else platform.machine()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of the rows to measure (default: all)")
    parser.add_argument("--quick", action="store_true", help="shorten the longest runs")
    chosen = parser.parse_args()
    print(header(), flush=True)
    for row in ROWS:
        if chosen.names and not any(name in row.name for name in chosen.names):
            continue
        if chosen.quick and row.is_long:
            print(f"{row.name} left out: takes minutes", flush=True)
        else:
            print(row.report(chosen.quick), flush=True)


main()
