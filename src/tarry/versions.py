"""What this installation is made of, for bug reports."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from tarry._version import __version__

PARTS = (
    "numpy",
    "numba",
    "llvmlite",
    "scipy",
    "polars",
    "altair",
    "vl-convert-python",
    "typer",
    "rich",
    "pydantic",
    "distributed",
    "river",
    "scikit-learn",
    "torch",
    "gymnasium",
)


def versions() -> dict[str, str]:
    """Versions by name; a part that is not installed says so."""
    found = {"tarry": __version__, "python": platform.python_version(), "system": platform.platform()}
    for name in PARTS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def show_versions() -> None:
    """Write :func:`versions` to standard output, one a line."""
    for name, number in versions().items():
        sys.stdout.write(f"{name:18} {number}\n")
