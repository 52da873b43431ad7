"""The library's own tests of joins and sessions pass over HTTP, with plain and with awaited methods."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

LIVE = Path(__file__).parents[1] / "live"
FEW = ("test_gathering", "test_session", "test_outbox")
ALL = (*FEW, "test_label_join", "test_windows", "test_feedback", "test_many_at_once", "test_batches", "test_labels")


def over_http(suites, least, *options):
    files = [str(LIVE / f"{suite}.py") for suite in suites]
    support = str(Path(__file__).parents[1] / "support")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (support, os.environ.get("PYTHONPATH"))))}
    command = [sys.executable, "-m", "pytest", "-p", "over_http", "-p", "no:cacheprovider", *options, "-o", "addopts="]
    done = subprocess.run(
        [*command, "--import-mode=importlib", *files], capture_output=True, text=True, env=environment, timeout=900
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed >= least, done.stdout[-500:]
    print(f"over HTTP {' '.join(options)}: {passed} passed")  # noqa: T201 - with pytest -s


@pytest.mark.parametrize("over", ["sync", "async"])
def test_the_librarys_own_tests(over):
    over_http(FEW, 35, "--over", over)


@pytest.mark.slow
@pytest.mark.parametrize("over", ["sync", "async"])
@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_all_of_them(over, workers, store, request):
    place = ""
    if store == "postgresql":
        place = request.getfixturevalue("postgres").url(f"over_{over}_{workers}")
    over_http(ALL, 350, "--over", over, "--over-store", place, "--over-workers", str(workers))
