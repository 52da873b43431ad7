"""python -m tarry and python -m tarry.cli are the same command line."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.core import TyperCommand

import tarry
from tarry.cli.app import COMMANDS, load


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
