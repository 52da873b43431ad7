"""Writes that fail and kills in the middle of them, through a preloaded library: what was acknowledged stays."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STEP = 9  # every ninth write of making, using and closing a store; the first of them differ by kind

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="needs Linux and a C compiler (gcc)"
    ),
]


@pytest.mark.parametrize(("kind", "first"), [("kill", 1), ("EIO", 4), ("ENOSPC", 7)])
def test_acknowledged_calls_survive_a_fault_at_any_write(kind, first, tmp_path):
    library = tmp_path / "faults.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE / "faults.c", "-ldl"], check=True)
    program = [sys.executable, HERE / "faulty.py", library, tmp_path, kind, str(first), str(STEP)]
    search = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": search, "LD_PRELOAD": str(library), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100
