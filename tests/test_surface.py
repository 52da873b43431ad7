"""The public surface: exports agree, versions are told, the command line answers."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import tarry
from tarry import delays, domains, learners, losses, rates, schedulers

ROOMS = ["tarry", *(f"tarry.{name}" for name in ("delays", "domains", "game", "learners", "live", "losses", "reports"))]
ROOMS += [
    f"tarry.{name}" for name in ("experiments", "planning", "rates", "schedulers", "testing", "theory", "tracking")
]


@pytest.mark.parametrize("room", ROOMS)
def test_all_names_exist(room):
    module = importlib.import_module(room)
    assert all(hasattr(module, name) for name in module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)


@pytest.mark.parametrize("room", ["delays", "domains", "learners", "losses", "schedulers"])
def test_every_member_file_is_exported(room):
    package = importlib.import_module(f"tarry.{room}")
    inside = {"base"}
    inside |= {"actions", "hints", "named", "states"}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name in inside:
            continue
        module = importlib.import_module(f"tarry.{room}.{info.name}")
        own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
        assert any(name in package.__all__ for name in own), f"{room}/{info.name}.py exports nothing"


# Games play the first of their own accord; `product` makes the second.
UNEXPORTED = {"Given", "Product"}


@pytest.mark.parametrize(
    ("room", "base"),
    [(delays, "Delays"), (domains, "Domain"), (learners, "Learner"), (losses, "Losses"), (schedulers, "Scheduler")],
    ids=lambda given: getattr(given, "__name__", given),
)
def test_every_member_is_exported(room, base):
    """Of delays the function that makes them; a class with others below it is a base, and those are the members."""
    kind = importlib.import_module(f"{room.__name__}.base").__dict__[base]
    for info in pkgutil.iter_modules(room.__path__):
        module = importlib.import_module(f"{room.__name__}.{info.name}")
        for name, made in vars(module).items():
            is_own = isinstance(made, type) and issubclass(made, kind) and made.__module__ == module.__name__
            if not is_own or info.name == "base" or name.startswith("_") or name in UNEXPORTED:
                continue
            if not any(below.__module__.startswith("tarry.") for below in made.__subclasses__()):
                told = name.lower() if room is delays else name
                assert told in room.__all__, (
                    f"{name} of {info.name}.py: import it in {room.__name__}, and add it to __all__"
                )


def test_adapters_are_imported_by_nobody():
    program = "import sys, tarry, tarry.adapters; print([n for n in ('river', 'sklearn') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "[]\n"


def test_docstrings():
    for name in tarry.__all__:
        thing = getattr(tarry, name)
        if callable(thing):
            assert thing.__doc__, name


def test_signatures_read_as_types():
    """In ``help`` a field has its type, and neither the check behind it nor an address."""
    assert str(inspect.signature(schedulers.Pareto)) == "(safety: float = 16.0)"
    for room in (delays, domains, learners, losses, rates, schedulers):
        for cls in (getattr(room, name) for name in room.__all__):
            if inspect.isclass(cls):
                shown = str(inspect.signature(cls))
                assert "Annotated" not in shown, cls
                assert " at 0x" not in shown, cls


def test_show_versions(capsys):
    tarry.show_versions()
    out = capsys.readouterr().out
    assert out.startswith("tarry")
    assert "numba" in out


@pytest.mark.parametrize("arguments", [["--version"], ["versions"], ["--help"]])
def test_command_line(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tarry", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "arry" in done.stdout


def test_without_the_extra_the_command_line_says_what_it_needs():
    program = "import sys; sys.modules['typer'] = None; from tarry.cli import main; main()"
    answers = {}
    for argument in ("--version", "--help", "demo"):
        answers[argument] = subprocess.run(
            [sys.executable, "-c", program, argument], capture_output=True, text=True, timeout=120, check=False
        )
    assert answers["--version"].stdout == f"tarry {tarry.__version__}\n"
    assert "pip install 'tarry[cli,report]'" in answers["--help"].stdout
    assert answers["--help"].returncode == 0
    assert "pip install 'tarry[cli,report]'" in answers["demo"].stderr
    assert answers["demo"].returncode == 2
