"""Every block of code on the pages runs as shown, and prints what the page shows; see tests/support/shown.py.

The commands of one page run in one shell and one folder, in their order. What cannot run here is listed below with its
reason: a block that neither runs nor is listed fails, and so does an entry that no page has any more.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from datetime import datetime, timedelta
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from marking import slow_but
from serving import free_port
from shown import blocks_of, is_shown, outputs_after, pages, run_block
from sweeping import PAIR, sweep_of
from system import skip_without, skip_without_spark
from typer.main import get_command

from studies.__main__ import app as studies
from tarry import planning
from tarry.cli.app import COMMANDS, app, load
from tarry.experiments import Folder, load_sweep, run_sweep
from tarry.service.settings import Settings

ROOT = Path(__file__).parents[1]
SUPPORT = ROOT / "tests" / "support"
PAGES = {name: blocks_of(name, text) for name, text in pages().items()}
SERVICE = "localhost:8731"

# Blocks of which nothing runs, by page and first words, and why.
LISTED = {
    ("design.md", "losses, delays: fixed before play"): "a drawing",
    ("design.md", "cli  "): "a drawing; lint-imports checks the order",
    ("design.md", "1  simulate"): "a list of functions",
    (
        "howto/stores.md",
        "from shelves",
    ): "the reader's module; tests/live/test_store_contract.py checks the page's store",
    ("members.md", "members = "): "part of a sweep, whose modules only stand for the reader's",
    (
        "spark.md",
        "state = spark.read",
    ): "tests/adapters/test_spark.py reads the state of a stopped query with these lines",
    (
        "spark.md",
        "from pyspark.sql import SparkSession, functions",
    ): "there is no Kafka to read from; the block is compiled",
}
# Lines of shell that do not run, and why; what they name is looked up.
NOT_RUN = {
    r"git clone": "the network",
    r"pip install": "the tests run where it is done; extras are looked up in pyproject.toml",
    r"make ": "runs these tests, or takes minutes; targets are looked up in the Makefile",
    r"(NUMBA_DISABLE_JIT=1 )?\.venv/bin/": "runs these tests; their files are looked up",
    r"python -m studies figures": "writes docs/figures.json, which tests compare; options are looked up",
    r"sbatch": "there is no cluster; the command in it is looked up",
}
# Pages whose commands take long: they run in `make test-all` alone, compiled.
LONG_PAGES = {"cases.md", "explanation/why-weights.md", "planning.md", "reports.md", "start/researcher.md"}
# Long games, which are played compiled, as scripts.
LONG = {"README.md-1", "members.md-4", "planning.md-0", "planning.md-1"}


def is_listed(block):
    return any(block.page == page and block.text.lstrip().startswith(words) for page, words in LISTED)


def needs_service(block):
    return SERVICE in block.text


ALL = [block for blocks in PAGES.values() for block in blocks]
SHELL = [block for block in ALL if block.language in ("sh", "console")]
PYTHON = {
    f"{page}-{i}": block
    for page, blocks in PAGES.items()
    for i, block in enumerate(one for one in blocks if one.language == "python")
}
ALONE = [name for name, block in PYTHON.items() if not needs_service(block)]


def block_id(block):
    return f"{block.page}:{block.line}"


@pytest.mark.parametrize("block", ALL, ids=block_id)
def test_block_runs_or_is_listed(block):
    known = {"python", "sh", "console", "toml", "text"}
    assert block.language in known, (
        f"a block is one of {', '.join(sorted(known))}, not {block.language or 'without a word'}"
    )
    if block.language == "text" and not is_listed(block):
        ran = [other for other in PAGES[block.page] if block.text in outputs_after(PAGES[block.page], other)]
        assert any(other.language != "text" for other in ran), (
            "text is what a block before it prints, or listed with a reason"
        )


def test_what_is_listed_is_still_there():
    for page, words in LISTED:
        assert any(block.text.lstrip().startswith(words) for block in PAGES[page]), (page, words)
    lines = [line for block in SHELL for line, _ in commands_of(block)]
    for start in NOT_RUN:
        assert any(re.match(start, line) for line in lines), start
    assert set(PYTHON) >= LONG
    assert LONG_PAGES | FILES.keys() | BEFORE.keys() <= {block.page for block in SHELL}


def test_commands_stand_in_blocks():
    for page, text in pages().items():
        assert not re.search(
            r"^ {4}(?:\$ |tarry |python |pip |curl )", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M
        ), page


# Blocks of Python


def skip_if_missing(block):
    """Skip a block whose package is missing; Kafka is never here, so that block is compiled alone."""
    compile(block.text, "block", "exec")
    if is_listed(block):
        pytest.skip("listed")
    if "import torch" in block.text and find_spec("torch") is None:
        pytest.skip("torch is not installed")
    if "pyspark" in block.text:
        skip_without_spark()
        skip_without("openjdk-17-jre-headless")


def check_printed(block, printed):
    assert printed
    outputs = outputs_after(PAGES[block.page], block)
    if outputs := [text for text in outputs if not is_listed(block._replace(text=text))]:
        assert is_shown("…\n".join(outputs), printed), printed


def play_what_a_block_looks_at(block, folder):
    """Play a small sweep where a block opens the results of one."""
    if found := re.search(r'Folder\("(.*?)"\)', block.text):
        run_sweep(sweep_of(folder, PAIR.replace("[3, 6]", "[3]")), Folder(folder / found[1]))


@pytest.mark.parametrize("name", sorted(set(ALONE) - LONG))
def test_block_runs(name, tmp_path, monkeypatch, capsys):
    """In a folder of its own: some leave files behind, or load the sweep that their page shows."""
    skip_if_missing(PYTHON[name])
    monkeypatch.chdir(tmp_path)
    play_what_a_block_looks_at(PYTHON[name], tmp_path)
    # A module, as in a notebook: classes find the names of their annotations there.
    module = ModuleType("block")
    monkeypatch.setitem(sys.modules, "block", module)
    run_block(PYTHON[name].text, name, vars(module))
    check_printed(PYTHON[name], capsys.readouterr().out)


@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", slow_but(ALONE, {"README.md-1"}))
def test_block_runs_as_a_script(name, tmp_path):
    skip_if_missing(PYTHON[name])
    play_what_a_block_looks_at(PYTHON[name], tmp_path)
    script = tmp_path / "block.py"
    script.write_text(PYTHON[name].text, encoding="utf-8")
    command = [sys.executable, str(SUPPORT / "shown.py"), str(script)]
    check_printed(PYTHON[name], run([*command], tmp_path, environment()))


def test_a_wrong_output_is_noticed(capsys):
    shown = {"1 + 1": "2: the sum", "[0.25, 'a']": "[0.25, 'a']", "'x: y'": "x: y", "list(range(99))": "[0, 1, …, 98]"}
    for value, comment in shown.items():
        run_block(f"print({value})  # {comment}", "right", {})
    run_block("for x in (1, 2):\n    print(\n        x\n    )  # 1, then 2", "right", {})
    for line in ("print(2)  # 1", "print(2)  # two", "if False:\n    print(2)  # 2", "print([1, 2])  # [1, …, 3]"):
        with pytest.raises(AssertionError, match="shows"):
            run_block(line, "wrong", {})
    assert capsys.readouterr().out
    assert is_shown("a…\n…\nd", "a1 \nb\nc\nd\n\n")
    assert is_shown("a\n…\nb", "a\nb")
    assert not is_shown("a\nb", "a\nc\nb")
    assert not is_shown("a", "a\nb")


@pytest.mark.slow
def test_blocks_pass_the_strict_type_checker(tmp_path):
    shown = {
        name: block.text for name, block in PYTHON.items() if name.startswith(("README.md", "start/", "members.md"))
    }
    plain = [name for name in shown if "def " not in shown[name]]  # members are defined without annotations
    assert len(plain) >= 3
    for name in plain:
        (tmp_path / f"{re.sub(r'[^a-zA-Z0-9]', '_', name)}.py").write_text(shown[name], encoding="utf-8")
    config = ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    paths = [str(path) for path in tmp_path.glob("*.py")]
    assert "Success" in run([sys.executable, "-m", "mypy", *config, *paths], ROOT, environment())


# Sweeps and settings


@pytest.mark.parametrize("block", [block for block in ALL if block.language == "toml"], ids=block_id)
def test_file_is_read(block, tmp_path):
    if is_listed(block):
        assert tomllib.loads(block.text)
    elif "[games" in block.text:
        file = tmp_path / "shown.toml"
        file.write_text(block.text, encoding="utf-8")
        assert load_sweep(file).cells
    else:
        assert Settings(**tomllib.loads(block.text))


# Commands


def commands_of(block):
    """Return the commands of a block, each with its output; without prompts each line is one, and shows none."""
    joined = re.sub(r"\\\n\s*", "", block.text)
    if block.language == "sh":
        return [(line, "") for line in joined.splitlines()]
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", joined, flags=re.M)


def is_run(line):
    return not any(re.match(start, line) for start in NOT_RUN)


def log_of(decided, labelled, label):
    """Return a log: a decision a day, most of them with a label after some days."""
    rows = [f"{decided},{labelled},{label},order,basket,country"]
    for i in range(80):
        made = datetime(2026, 1, 1, i % 24) + timedelta(days=i)
        came = made + timedelta(days=3 + i % 20) if i % 4 else ""
        rows.append(f"{made},{came},{int(i % 4 > 0)},order-{i},{5 + i * 7 % 40},{'ADN'[i % 3]}")
    return "\n".join(rows) + "\n"


def orders_of_the_example():
    """Return the log that examples/04_plan.py makes up; the example ends where it would plan."""
    kept = []

    def plan_log(log, **_):
        kept.append(log.read_text(encoding="utf-8"))
        raise SystemExit

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(SystemExit):
        patch.setattr(planning, "plan_log", plan_log)
        exec((ROOT / "examples" / "04_plan.py").read_text(encoding="utf-8"), {})
    return kept[0]


def fewer_rounds(name, part):
    """Return the sweep of a page that has this part, with few seeds and rounds."""
    (sweep,) = (block.text for block in PAGES[name] if block.language == "toml" and part in block.text)
    return sweep.replace("seeds = 32", "seeds = 2").replace("[1_000, 10_000]", "[100, 200]")


def member_file(name):
    return (ROOT / "examples" / "members" / name).read_text(encoding="utf-8")


RATES = """
seeds = 2
axes = { capacity = [8, 16], mean = [5, 50, 100], rate = [0.05, 0.1] }
[games.drift]
horizon = 300
dimension = 2
losses = { type = "Linear", rows = "drifting" }
delays = { type = "geometric", mean = "axis.mean" }
[players.ours]
player = "recommended"
[players.fixed]
learner = { type = "DWFTRL", rate = "axis.rate" }
"""
# The reader's files that pages speak of.
FILES = {
    "cases.md": {"log.csv": lambda: log_of("created_at", "paid_at", "paid")},
    "experiments.md": {"drift.toml": lambda: fewer_rounds("experiments.md", "[games.drift]")},
    "live.md": {"orders.csv": lambda: log_of("placed_at", "paid_at", "paid")},
    "members.md": {
        "mymethods.py": lambda: member_file("mymethods.py"),
        "own.toml": lambda: member_file("own.toml").replace("horizon = 400", "horizon = 40"),
        "log.csv": lambda: re.sub(".*,,.*\n", "", log_of("created_at", "paid_at", "paid")),  # with all labels
    },
    "planning.md": {"orders.csv": orders_of_the_example},
    "reports.md": {
        "capacity.toml": lambda: RATES.replace(", rate = [0.05, 0.1]", "").replace('"axis.rate"', "0.1"),
        "rates.toml": lambda: RATES,
    },
}
# What a page takes as done.
BEFORE = {"members.md": "tarry sweep run own.toml", "reports.md": "tarry sweep run rates.toml"}


@pytest.fixture(scope="module")
def quick_tarry(tmp_path_factory):
    """A folder with `tarry` and `python`, for the path: commands need not import anything again."""
    place = tmp_path_factory.mktemp("bin")
    ask = f'exec "{sys.executable}" -SE "{SUPPORT / "quick_tarry.py"}" "{place / "socket"}" "$@"'
    # A server goes on beside the commands, as in another terminal.
    serve = (
        f'"{sys.executable}" -m tarry "$@" > served 2> served.log & echo $! > served.id\n'
        'until curl -s "localhost:$TARRY_SERVE_PORT/readyz" > answer\n'
        'do kill -0 "$(cat served.id)"; sleep 0.1; done\n'
        "cat served; exit"
    )
    programs = {
        "tarry": f'if [ "$1" = serve ]; then set -e\n{serve}\nfi\n{ask}',
        "python": f'exec "{sys.executable}" "$@"',
    }
    for name, text in programs.items():
        (place / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (place / name).chmod(0o755)
    (place / ".curlrc").write_text("fail-with-body\n", encoding="utf-8")  # an answer that is an error fails
    process = subprocess.Popen(
        [sys.executable, str(SUPPORT / "quick_tarry.py"), str(place / "socket")], env=environment()
    )
    while not (place / "socket").exists():
        assert process.poll() is None
        time.sleep(0.02)
    yield place
    process.terminate()
    process.wait(60)


def script_of(page, port):
    """Return a script of a page's blocks, in which a line @@ begins what each command prints; and the outputs shown."""
    lines, shown = [BEFORE.get(page, ""), "printf '\\n@@\\n'"], [""]
    token = "$(sed -n 's/.*\\(tarry_.*\\)/\\1/p' served)"
    for block in PAGES[page]:
        if block.language == "python" and needs_service(block):
            code = shlex.quote(block.text.replace("tarry_…", "@token@"))
            pieces = [(f'printf %s {code} | sed "s/@token@/{token}/" > block.py; python "$SHOWN" block.py', "")]
        elif block.language == "sh":
            pieces = [("\n".join(line if is_run(line) else ":" for line, _ in commands_of(block)), "")]
        elif block.language == "console":
            pieces = [(line, output) for line, output in commands_of(block) if is_run(line)]
        else:
            continue
        for command, output in pieces:
            # Who shows what a command prints may show an error.
            text = command.replace(SERVICE, f"localhost:{port}").replace("tarry_…", token)
            lines += [f"{{ {text}\n}} || true" if output else text, "printf '\\n@@\\n'"]
            shown.append(output)
        if texts := [text for text in outputs_after(PAGES[page], block) if not is_listed(block._replace(text=text))]:
            shown[-1] = "…\n".join([*filter(None, [shown[-1]]), *texts])
    return "\n".join(["set -e", *lines]), shown


def stop(folder):
    """Stop the server that a page has started."""
    if not (folder / "served.id").exists():
        return
    server = int((folder / "served.id").read_text())
    with contextlib.suppress(ProcessLookupError):
        os.kill(server, signal.SIGTERM)
        for _ in range(300):
            time.sleep(0.1)
            os.kill(server, 0)
        os.kill(server, signal.SIGKILL)


def commands(page):
    marks = [pytest.mark.slow, pytest.mark.jit(only=True)] if page in LONG_PAGES else []
    return pytest.param(page, marks=marks)


RUN = sorted({block.page for block in SHELL if any(line and is_run(line) for line, _ in commands_of(block))})


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
@pytest.mark.parametrize("page", [commands(page) for page in RUN])
def test_commands_run(page, quick_tarry, tmp_path):
    if any(needs_service(block) for block in PAGES[page]):
        skip_without("curl")
    port = free_port()
    script, shown = script_of(page, port)
    for name, text in FILES.get(page, {}).items():
        (tmp_path / name).write_text(text(), encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    more = {"TARRY_SERVE_PORT": str(port), "CURL_HOME": str(quick_tarry), "SHOWN": str(SUPPORT / "shown.py")}
    path = {"PATH": f"{quick_tarry}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "160"}
    try:
        _, *printed = run(["sh", "-c", script], tmp_path, environment() | more | path).split("\n@@\n")
    finally:
        stop(tmp_path)
    for output, text in zip(printed[:-1], shown[1:], strict=True):  # the last piece is after the last mark
        if text:
            assert is_shown(text, output.replace(str(port), "8731")), output


def test_a_wrong_output_of_a_command_is_noticed(quick_tarry, tmp_path, monkeypatch):
    text = "```console\n$ echo 1; tarry --version\n{}\ntarry…\n```\n"
    for output, outcome in (("1", contextlib.nullcontext()), ("2", pytest.raises(AssertionError))):
        monkeypatch.setitem(PAGES, "page", blocks_of("page", text.format(output)))
        (folder := tmp_path / output).mkdir()
        with outcome:
            test_commands_run("page", quick_tarry, folder)


def inline_commands():
    """Return the commands in the text of pages, beside those in blocks."""
    span = re.compile(r"`((?:tarry|python -m studies) [^`]*)`")
    bare = {page: re.sub(r"^```.*?^```", "", text, flags=re.M | re.S) for page, text in pages().items()}
    return [(page, " ".join(command.split())) for page, text in bare.items() for command in span.findall(text)]


def shown_commands():
    """Return the commands of Tarry by page, those that do not run here among them."""
    line = re.compile(r"^(?:.*[|'] *)?((?:tarry|python -m studies) [^']*(?:'[^']*'[^']*)*)")
    of_blocks = [(block.page, at[1]) for block in SHELL for text, _ in commands_of(block) if (at := line.match(text))]
    return [(page, command) for page, command in [*of_blocks, *inline_commands()] if "…" not in command]


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


def named_things():
    """Return what commands that do not run here name, by page: extras, targets, files."""
    kinds = {
        "extra": r"pip install '\.\[([\w,]+)\]'",
        "target": r"\bmake ([\w-]+)",
        "file": r"\b((?:tests|examples|src)/[\w/.]+)",
    }
    lines = [(block.page, line) for block in SHELL for line, _ in commands_of(block) if not is_run(line)]
    inline = [(page, span) for page, text in pages().items() for span in re.findall(r"`([^`\n]+)`", text)]
    found = [
        (page, kind, name) for page, line in lines + inline for kind in kinds for name in re.findall(kinds[kind], line)
    ]
    return sorted(set(found))


@pytest.mark.parametrize(("page", "kind", "name"), named_things())
def test_what_a_command_names_exists(page, kind, name):
    if kind == "extra":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "optional-dependencies"
        ]
        assert set(name.split(",")) <= extras.keys()
    elif kind == "target":
        assert re.search(rf"^{name}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    else:
        assert (ROOT / name).exists()


def environment():
    """Return the environment of a reader, without what the tests set."""
    # Without the helpers of the tests, one of which is called examples too.
    places = [place for place in sys.path if place and Path(place).name != "support"]
    bare = {name: value for name, value in os.environ.items() if not name.startswith("TARRY_")}
    return {**bare, "PYTHONPATH": os.pathsep.join(places)}


def run(command, folder, environment):
    """Return what a command prints in this folder; it has to end well."""
    options = {"text": True, "encoding": "utf-8", "timeout": 600, "check": False, "env": environment}
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
