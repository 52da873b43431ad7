"""The examples print what their .out files say, and the README's code runs and type-checks as shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == path.with_suffix(".out").read_text(encoding="utf-8")


@pytest.mark.parametrize("index", range(len(BLOCKS)))
def test_readme_block_runs(index, tmp_path):
    script = tmp_path / "block.py"
    script.write_text(BLOCKS[index], encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_readme_blocks_pass_the_strict_type_checker(tmp_path):
    paths = []
    for i, block in enumerate(BLOCKS):
        if "\ndef " not in block:  # the block that defines a member shows it without annotations
            path = tmp_path / f"block_{i}.py"
            path.write_text(block, encoding="utf-8")
            paths.append(str(path))
    assert len(paths) >= 3
    config = ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *config, *paths], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout
