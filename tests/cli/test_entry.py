"""python -m tarry and python -m tarry.cli are the same command line."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.core import TyperCommand
from typer.testing import CliRunner

import tarry
from tarry.cli.app import COMMANDS, app, load
from tarry.outcomes import WITHOUT_WEIGHTS


@pytest.mark.parametrize("module", ["tarry", "tarry.cli"])
def test_as_a_module(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"tarry {tarry.__version__}\n")


@pytest.mark.parametrize("command", [["--help"], ["results", "--help"], ["sweep", "run", "--help"]])
def test_what_needs_no_compiler_does_not_load_it(command):
    program = f"import sys; sys.argv[1:] = {command}\ntry:\n    from tarry.cli import main; main()\n"
    program += "except SystemExit:\n    print([n for n in ('numba', 'scipy', 'altair', 'polars') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_they_say_themselves(name):
    assert load(name).get_short_help_str(1000) == TyperCommand(name, help=COMMANDS[name][1]).get_short_help_str(1000)


def test_the_demonstration_prints_a_table_and_writes_a_page(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--seeds", "2", "--horizon", "100", "--out", str(tmp_path / "demo")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "demo" / "index.html").read_text(encoding="utf-8")
    said = " ".join(done.stdout.split())
    assert all(WITHOUT_WEIGHTS in text and "For whom" in text for text in (said, page))
    assert page.count("<svg") == 2
    # Few lines are told apart at a glance.
    assert [svg.count("role-legend-label") for svg in page.split("<svg")[1:]] == [3, 4]


@pytest.mark.parametrize("members", [[], ["--members", "tarry_members_here"]])
def test_the_working_folder_is_searched_for_members_alone(members, tmp_path):
    (tmp_path / "tarry_members_here.py").write_text("")
    program = f"import sys; sys.path[:] = filter(None, sys.path); sys.argv[1:] = {['join', 'new', '--capacity', '2']}\n"
    program += f"sys.argv += {members}\ntry:\n    from tarry.cli import main; main()\n"
    program += f"except SystemExit:\n    print({str(tmp_path)!r} in sys.path)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == str(bool(members)), done.stderr
