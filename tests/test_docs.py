"""Code in README, docs and examples runs as shown, commands and links exist, and every member is mentioned."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from marking import slow_but
from sweeping import PAIR, sweep_of
from system import skip_without, skip_without_spark
from typer.main import get_command

from examples import DOMAINS, LEARNERS, LOSSES, SCHEDULERS
from studies.__main__ import app as studies
from tarry import delays
from tarry.cli.app import COMMANDS, app, load
from tarry.experiments import Folder, load_sweep, run_sweep

ROOT = Path(__file__).parents[1]
PLACES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
# Written when the site is built.
MADE = {f"reference/{name}.md" for name in ("commands", "http", "settings", "errors")} | {"gallery/index.rst"}
NAMED = {path.relative_to(ROOT).as_posix().removeprefix("docs/"): path for path in PLACES}
PAGES = {name: path.read_text(encoding="utf-8") for name, path in NAMED.items() if name not in MADE}


def blocks(language):
    """Return the blocks of code in this language by page and number."""
    fence = re.compile(rf"```{language}\n(.*?)```", flags=re.S)
    return {f"{page}-{i}": text for page in sorted(PAGES) for i, text in enumerate(fence.findall(PAGES[page]))}


BLOCKS, SHELL_BLOCKS, SWEEPS = blocks("python"), blocks("sh"), blocks("toml")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TUTORIALS = sorted((ROOT / "examples" / "tutorials").glob("*.py"))


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
LONG = {"README.md-1", "members.md-4", "planning.md-0", "planning.md-1"}


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


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_runs(path, tmp_path):
    """As a script of its own; the site's build runs it too, and shows what it prints."""
    assert _output([sys.executable, str(path)], tmp_path)


@pytest.mark.parametrize("name", sorted(SWEEPS))
def test_sweep_is_read(name, tmp_path):
    if "[games" not in SWEEPS[name]:
        pytest.skip("a part of a file")
    file = tmp_path / "shown.toml"
    file.write_text(SWEEPS[name], encoding="utf-8")
    assert load_sweep(file).cells


def shown_commands():
    """Return the commands of Tarry in blocks of shell by page; continued lines are one."""
    fence = re.compile(r"^```(?:sh|console|)\n(.*?)^```", flags=re.S | re.M)
    line = re.compile(r"^(?:\$ )?(?:.*\| *)?((?:tarry|python -m studies) .*)$", flags=re.M)
    found = [
        (page, command)
        for page, text in sorted(PAGES.items())
        for block in fence.findall(text)
        for command in line.findall(block.replace("\\\n", " "))
    ]
    return [(page, command) for page, command in found if "…" not in command and "$(" not in command]


@pytest.mark.parametrize(("page", "command"), shown_commands())
def test_shown_command_and_its_options_exist(page, command):
    words = shlex.split(re.split(r" [|>]| >> | && ", command)[0], comments=True)
    group, words = (studies, words[3:]) if words[0] == "python" else (tarry_commands(), words[1:])
    parse(group, words)


def test_unknown_options_are_noticed():
    with pytest.raises(Exception, match="No such option"):
        parse(tarry_commands(), ["plan", "orders.csv", "--window-length", "3d"])
    with pytest.raises(AssertionError):
        parse(tarry_commands(), ["plans"])


@cache
def tarry_commands():
    command = get_command(app)
    command.commands = command.commands | {name: load(name) for name in COMMANDS}
    return command


def parse(group, words):
    """Have a command read its words without running it."""
    command = get_command(group) if not hasattr(group, "make_context") else group
    while hasattr(command, "commands"):
        if not words or words[0].startswith("-"):
            break
        assert words[0] in command.commands, words[0]
        command, words = command.commands[words[0]], words[1:]
    context = command.context_class(command, info_name=command.name, resilient_parsing=False)
    command.make_parser(context).parse_args(args=list(words))


def anchors(text):
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    bare = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    made = [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.*)$", bare, re.M)]
    return set(made)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_lead_somewhere(page):
    here = Path(page if page in ("README.md", "CONTRIBUTING.md") else f"docs/{page}").parent
    for target, _, anchor in re.findall(r"\]\(([^)#\s]*)(#([^)\s]+))?\)", re.sub(r"`[^`]*`", "", PAGES[page])):
        if target.startswith(("http", "mailto")):
            continue
        path = os.path.normpath(here / target) if target else ""
        inside = path.removeprefix("docs/") if target else page
        if inside in MADE or inside.startswith(("gallery/", "reference/api/")):
            continue
        assert not target or (ROOT / path).exists(), target
        if anchor:
            assert anchor in anchors(PAGES[inside]), f"{inside}#{anchor}"


def test_docs_show_the_plan_of_the_example():
    """Its sentences, and every row of the table that stands there."""
    told = (ROOT / "examples" / "04_plan.out").read_text(encoding="utf-8")
    page = " ".join(PAGES["planning.md"].split())
    *sentences, answer = (line for line in told.splitlines() if not line.startswith(" "))
    assert len(sentences) == 2
    assert all(line in page for line in [*sentences, answer])
    # Slots, share seen, what it is worth, errors.
    of_example = re.findall(r"^ +([\d,]+) slots: +([\d.]+%) seen, worth +([\d.]+%), errors x([\d.]+)$", told, re.M)
    row = r"^ +([\d,]+) +([\d.]+%) +[\d.]+ +([\d.]+%) +\d+ +×([\d.]+) +[\d.]+%$"
    of_page = re.findall(row, PAGES["planning.md"], re.M)
    assert len(of_page) > 4
    assert set(of_page) <= set(of_example)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
def test_shell_block_runs(tmp_path):
    (block,) = (text for name, text in SHELL_BLOCKS.items() if name.startswith("howto/shell.md"))
    command = f'set -e\ntarry() {{ "{sys.executable}" -m tarry "$@"; }}\n{block}'
    assert "naive" in _output(["sh", "-c", command], tmp_path)
    assert (tmp_path / "audit.json").exists()


@pytest.mark.slow
def test_readme_blocks_pass_the_strict_type_checker(tmp_path):
    shown = {name: text for name, text in BLOCKS.items() if name.startswith(("README.md", "start/", "members.md"))}
    plain = [name for name in shown if "def " not in shown[name]]  # members are defined without annotations
    assert len(plain) >= 3
    for name in plain:
        (tmp_path / f"{re.sub(r'[^a-zA-Z0-9]', '_', name)}.py").write_text(shown[name], encoding="utf-8")
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
