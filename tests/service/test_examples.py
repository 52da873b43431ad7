"""The examples in other languages run, where their toolchain is there."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "service"


def run(served, *words):
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not there")
    done = subprocess.run([*words, served.url, served.token], capture_output=True, text=True, timeout=120, cwd=EXAMPLES)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_javascript(served):
    said = json.loads(run(served, "node", "client.js"))
    assert said["rows"] == 8
    assert said["total"] == pytest.approx(100)  # VarOpt's weights add up to all decisions
    assert 0 <= said["mean"] <= 1


def test_go(served):
    assert run(served, "go", "run", "client.go").split() == ["u1", "1", "1"]
