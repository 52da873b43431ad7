"""The examples print what their .out files say; the code in the README and in two guides runs as shown."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DOCUMENTS = ("README.md", "docs/live.md", "docs/choosing.md", "docs/members.md")
README, LIVE, CHOOSING, MEMBERS = ((ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS)
BLOCKS, LIVE_BLOCKS, CHOOSING_BLOCKS = (
    re.findall(r"```python\n(.*?)```", text, flags=re.S) for text in (README + MEMBERS, LIVE, CHOOSING)
)
SHELL_BLOCKS = re.findall(r"```sh\n(.*?)```", LIVE, flags=re.S)

pytestmark = pytest.mark.jit(only=True)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    # As modules from the root: some use the studies, which stand there.
    command = [sys.executable, "-m", f"examples.{path.stem}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == path.with_suffix(".out").read_text(encoding="utf-8")


@pytest.mark.parametrize("index", range(len(BLOCKS)))
def test_readme_block_runs(index, tmp_path):
    script = tmp_path / "block.py"
    script.write_text(BLOCKS[index], encoding="utf-8")
    done = _away([sys.executable, str(script)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("index", range(len(LIVE_BLOCKS)))
def test_live_block_runs(index, tmp_path):
    """In a folder of its own: these leave files behind."""
    script = tmp_path / "block.py"
    script.write_text(LIVE_BLOCKS[index], encoding="utf-8")
    done = _away([sys.executable, str(script)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("index", range(len(CHOOSING_BLOCKS)))
def test_choosing_block_runs(index, tmp_path):
    script = tmp_path / "block.py"
    script.write_text(CHOOSING_BLOCKS[index], encoding="utf-8")
    done = _away([sys.executable, str(script)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_choosing_shows_how():
    assert len(CHOOSING_BLOCKS) >= 5


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
@pytest.mark.parametrize("index", range(len(SHELL_BLOCKS)))
def test_live_shell_block_runs(index, tmp_path):
    script = f'set -e\ntarry() {{ "{sys.executable}" -m tarry "$@"; }}\n{SHELL_BLOCKS[index]}'
    done = _away(["sh", "-c", script], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "naive" in done.stdout
    assert (tmp_path / "audit.json").exists()


def _away(command, folder):
    places = os.pathsep.join(place for place in sys.path if place)
    environment = {**os.environ, "PYTHONPATH": places}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=folder, env=environment
    )


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
