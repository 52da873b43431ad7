"""What the tests need of the machine beside Python: Debian's packages, installed by root, and where their files lie.

``python tests/support/system.py`` installs what is missing, or the packages named after it. Who may not install is told
what to ask for, and the tests that need it are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

FONTS = Path("/usr/share/fonts")


def _program(*names: str) -> Path | None:
    return next((Path(path) for path in map(shutil.which, names) if path), None)


def _server() -> Path | None:
    """Return the newest server's ``initdb``, which Debian does not put on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = _program("initdb")
    return found[-1] if found else on_path.resolve() if on_path else None


def _font(name: str) -> Path | None:
    return next(FONTS.rglob(name), None)


# Two fonts of different width: figures have to fit in both.
PACKAGES: dict[str, Callable[[], Path | None]] = {
    "curl": lambda: _program("curl"),
    "postgresql": _server,
    "chromium": lambda: _program("chromium", "chromium-browser", "google-chrome"),
    "fonts-dejavu-core": lambda: _font("DejaVuSans.ttf"),
    "fonts-liberation": lambda: _font("LiberationSans-Regular.ttf"),
    "nginx-light": lambda: _program("nginx", "/usr/sbin/nginx"),
}
# Installed where they are named alone: what needs them is no part of the usual checks.
ON_REQUEST: dict[str, Callable[[], Path | None]] = {"openjdk-17-jre-headless": lambda: _program("java")}
WITHOUT_SPARK = "pyspark is not installed (make test-spark installs it, and Java)"


def find(package: str) -> Path:
    """Return the file that shows a package is here; raise RuntimeError naming the package if it is not."""
    found = _found(package)
    if found is None:
        raise RuntimeError(_advice(package))
    return found


def skip_without(*packages: str) -> None:
    """Skip the test that runs, with the name of the first package that is missing."""
    import pytest  # here alone: packages are installed while the environment is

    for package in packages:
        if _found(package) is None:
            pytest.skip(_advice(package))


def skip_without_spark() -> None:
    """Skip the test that runs where PySpark is missing."""
    import pytest

    if find_spec("pyspark") is None:
        pytest.skip(WITHOUT_SPARK)


def report_skips(reporter: pytest.TerminalReporter) -> None:
    """Write one line for each missing package that tests were skipped for."""
    reasons = [report.longrepr[2] for report in reporter.stats.get("skipped", []) if isinstance(report.longrepr, tuple)]
    for advice in (*map(_advice, PACKAGES | ON_REQUEST), WITHOUT_SPARK):
        if count := sum(advice in reason for reason in reasons):
            reporter.write_line(f"skipped {count}: {advice}", yellow=True)


def install(packages: Collection[str]) -> None:
    """Install what is missing if root asks and Debian's installer is here; say what is missing afterwards."""
    missing = _missing(packages)
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        _say(f"installing Debian's {', '.join(missing)} for the tests")
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for step in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", *missing]):
            # Where the installer fails (no network, say) its own words are shown, and tests are skipped.
            subprocess.run(["apt-get", *step], check=False, env=quiet, stdout=subprocess.DEVNULL)
    for package in _missing(packages):
        _say(f"tests will be skipped: {_advice(package)}")


def _found(package: str) -> Path | None:
    return (PACKAGES | ON_REQUEST)[package]()


def _missing(packages: Collection[str]) -> list[str]:
    return [package for package in packages if _found(package) is None]


def _advice(package: str) -> str:
    return f"{package} is not installed (as root: apt-get install {package})"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    install(sys.argv[1:] or PACKAGES)
