"""The command line (needs the extra ``cli``)."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from tarry.cli.app import app
    except ImportError as error:
        sys.stderr.write(f"the command line needs {error.name}: pip install 'tarry[cli,report]'\n")
        sys.exit(2)
    app()
