"""What this installation is made of, for bug reports."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from tarry._version import __version__
from tarry.kernel.cache import source_digest

PARTS = (
    "numpy numba llvmlite scipy polars altair vl-convert-python typer rich pydantic dask distributed psycopg "
    "river scikit-learn torch gymnasium"
)
EDITED = "edited"  # the hash of sources that were changed after their import: what runs is not known
SHOWN = 12  # hexadecimal digits: enough that two states of the sources never share them


def versions() -> dict[str, str]:
    """Return versions by name, with a hash of Tarry's sources; a part that is not installed says so."""
    found = {"tarry": __version__, "source": source(), "python": platform.python_version()}
    found["system"] = platform.platform()
    for name in PARTS.split():
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def source() -> str:
    """Return the start of a hash of Tarry's sources, which tells unreleased code of one version apart."""
    return (source_digest() or EDITED)[:SHOWN]


def show_versions() -> None:
    """Write :func:`versions` to standard output, one a line."""
    for name, number in versions().items():
        sys.stdout.write(f"{name:18} {number}\n")
