"""The code in README, docs and examples runs as shown, and every member is mentioned."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from marking import slow_but
from sweeping import PAIR, sweep_of
from system import skip_without, skip_without_spark

from examples import DOMAINS, LEARNERS, LOSSES, SCHEDULERS
from tarry import delays
from tarry.experiments import Folder, run_sweep

ROOT = Path(__file__).parents[1]
PLACES = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
PAGES = {path.name: path.read_text(encoding="utf-8") for path in PLACES}


def blocks(language):
    """Return the blocks of code in this language by page and number."""
    fence = re.compile(rf"```{language}\n(.*?)```", flags=re.S)
    return {f"{page}-{i}": text for page in sorted(PAGES) for i, text in enumerate(fence.findall(PAGES[page]))}


BLOCKS, SHELL_BLOCKS, SWEEPS = blocks("python"), blocks("sh"), blocks("toml")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def skip_if_missing(block):
    """Skip a block whose package is missing; Kafka is never here, so that block is compiled alone."""
    compile(block, "block", "exec")
    if 'format("kafka")' in block:
        pytest.skip("there is no Kafka to read from")
    if "import torch" in block and find_spec("torch") is None:
        pytest.skip("torch is not installed")
    if "pyspark" in block:
        skip_without_spark()
        skip_without("openjdk-17-jre-headless")


# Long games, which are played compiled, as scripts.
LONG = {"README.md-1", "members.md-3", "planning.md-0"}


@pytest.mark.parametrize("name", sorted(BLOCKS.keys() - LONG))
def test_block_runs(name, tmp_path, monkeypatch, capsys):
    """In a folder of its own: some leave files behind, or load the sweep that their page shows."""
    skip_if_missing(BLOCKS[name])
    monkeypatch.chdir(tmp_path)
    if found := re.search(r'Folder\("(.*?)"\)', BLOCKS[name]):
        few = PAIR.replace("[3, 6]", "[3]")
        run_sweep(sweep_of(tmp_path, few), Folder(found[1]))  # the results that the page looks at
    # A module, as in a notebook: classes find the names of their annotations there.
    module = ModuleType("block")
    monkeypatch.setitem(sys.modules, "block", module)
    exec(compile(BLOCKS[name], name, "exec"), vars(module))
    assert capsys.readouterr().out


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", slow_but(BLOCKS, {"README.md-1"}))
def test_block_runs_as_a_script(name, tmp_path):
    skip_if_missing(BLOCKS[name])
    script = tmp_path / "block.py"
    script.write_text(BLOCKS[name], encoding="utf-8")
    assert _output([sys.executable, str(script)], tmp_path)


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_prints_what_is_shown(path):
    # As modules from the root: some use the studies, which stand there.
    command = [sys.executable, "-m", f"examples.{path.stem}"]
    assert _output(command, ROOT) == path.with_suffix(".out").read_text(encoding="utf-8")


def test_docs_show_the_plan_of_the_example():
    """Its sentences, every row of the table that stands there, and the answer in the README."""
    told = (ROOT / "examples" / "04_plan.out").read_text(encoding="utf-8")
    page, first = (" ".join(PAGES[name].split()) for name in ("planning.md", "README.md"))
    *sentences, answer = (line for line in told.splitlines() if not line.startswith(" "))
    assert len(sentences) == 2
    assert all(line in page for line in [*sentences, answer])
    assert answer.partition("seen")[0] + "seen" in first
    # Slots, share seen, what it is worth, errors.
    of_example = re.findall(r"^ +([\d,]+) slots: +([\d.]+%) seen, worth +([\d.]+%), errors x([\d.]+)$", told, re.M)
    row = r"^ +([\d,]+) +([\d.]+%) +[\d.]+ +([\d.]+%) +\d+ +×([\d.]+) +[\d.]+%$"
    of_page = re.findall(row, PAGES["planning.md"], re.M)
    assert len(of_page) > 4
    assert set(of_page) <= set(of_example)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
def test_shell_block_of_live_runs(tmp_path):
    (block,) = (text for name, text in SHELL_BLOCKS.items() if name.startswith("live.md"))
    command = f'set -e\ntarry() {{ "{sys.executable}" -m tarry "$@"; }}\n{block}'
    assert "naive" in _output(["sh", "-c", command], tmp_path)
    assert (tmp_path / "audit.json").exists()


@pytest.mark.slow
def test_readme_blocks_pass_the_strict_type_checker(tmp_path):
    shown = {name: text for name, text in BLOCKS.items() if name.startswith(("README.md", "members.md"))}
    plain = [name for name in shown if "def " not in shown[name]]  # members are defined without annotations
    assert len(plain) >= 3
    for name in plain:
        (tmp_path / f"{name.replace('.', '_').replace('-', '_')}.py").write_text(shown[name], encoding="utf-8")
    config = ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    paths = [str(path) for path in tmp_path.glob("*.py")]
    assert "Success" in _output([sys.executable, "-m", "mypy", *config, *paths], ROOT)


def _output(command, folder):
    """Return what a command prints in this folder; it has to end well."""
    # Without the helpers of the tests, one of which is called examples too.
    places = [place for place in sys.path if place and Path(place).name != "support"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    options = {"capture_output": True, "text": True, "timeout": 300, "check": False}
    done = subprocess.run(command, cwd=folder, env=environment, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def members():
    made = [example.learner() for example in LEARNERS.values()] + [make() for make in LOSSES.values()]
    made += [policy.scheduler for policy in SCHEDULERS.values()] + list(DOMAINS.values())
    return {type(member).__name__: type(member) for member in made} | delays.MEMBERS


@pytest.mark.parametrize(("name", "made"), sorted(members().items()))
def test_a_page_or_an_example_tells_of_a_member(name, made):
    """A new member begins with an example in its docstring; pages follow when there is more to say."""
    assert any(re.search(rf"\b{name}\b", text) for text in PAGES.values()) or ">>>" in made.__doc__
