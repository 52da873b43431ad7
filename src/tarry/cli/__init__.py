"""The command line: ``--version`` always works, commands need the extra ``cli``."""

from __future__ import annotations

import sys

from tarry._version import __version__


def main() -> None:
    """Run the command line, or say what it needs."""
    asked = sys.argv[1:]
    if asked == ["--version"]:  # answered without the packages that commands need
        sys.stdout.write(f"tarry {__version__}\n")
        return
    try:
        from tarry.cli.app import app
    except ImportError as error:
        message = f"tarry {__version__}: commands need {error.name}, pip install 'tarry[cli,report]'\n"
        if asked in ([], ["--help"]):  # a question, which has been answered
            sys.stdout.write(message)
            return
        sys.stderr.write(message)
        sys.exit(2)
    app()
