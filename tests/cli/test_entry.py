"""python -m tarry and python -m tarry.cli are the same command line."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tarry


@pytest.mark.parametrize("module", ["tarry", "tarry.cli"])
def test_as_a_module(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"tarry {tarry.__version__}\n")
