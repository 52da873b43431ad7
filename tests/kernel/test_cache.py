"""The disk cache follows every source that can change what compiled code does."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tarry.kernel import cache, machine

pytestmark = pytest.mark.jit(only=True)

ROOT = Path(__file__).parents[2]

MIXIN = """
from tarry.domains.base import project

class Grows:
    __slots__ = ()

@project.on(Grows)
def _project(domain, x, scratch):
    x[0] = domain.size * {factor}
"""

MEMBER = """
from typing import NamedTuple
from mixin import Grows

class _Fields(NamedTuple):
    size: float

class Mine(Grows, _Fields):
    __slots__ = ()
"""

PROGRAM = """
import sys
import numpy as np
from tarry.domains.base import project
from tarry.kernel import entry
from {module} import Mine
{between}

@entry
def run(domain, x):
    project(domain, x, x)

domain, x = Mine(2.0), np.zeros(1)
compiled = run.dispatcher_for(domain)
compiled(domain, x)
stats = getattr(compiled, "stats", None)
print(x[0], sum(stats.cache_hits.values()))
"""


def _write(path: Path, text: str) -> None:
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    past = time.time() - 60  # sources are older than the processes that import them
    os.utime(path, (past, past))


def _run(folder: Path, module: str = "member", between: str = "", **settings: str) -> list[str]:
    _write(folder / "program.py", PROGRAM.format(module=module, between=between))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= settings
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(folder)])
    done = subprocess.run(
        [sys.executable, folder / "program.py"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def folder(tmp_path):
    _write(tmp_path / "mixin.py", MIXIN.format(factor=5))
    _write(tmp_path / "member.py", MEMBER)
    return tmp_path


def test_a_second_process_finds_the_code(folder):
    assert _run(folder) == ["10.0", "0"]
    assert _run(folder) == ["10.0", "1"]


def test_an_ancestor_in_another_file_counts(folder):
    assert _run(folder)[0] == "10.0"
    _write(folder / "mixin.py", MIXIN.format(factor=35))
    assert _run(folder)[0] == "70.0"


def test_a_value_that_is_read_at_import_counts(folder):
    reading = MIXIN.format(factor="FACTOR") + f"FACTOR = float(open({str(folder / 'factor.txt')!r}).read())\n"
    _write(folder / "mixin.py", reading)
    (folder / "factor.txt").write_text("5")
    assert _run(folder) == ["10.0", "0"]
    assert _run(folder) == ["10.0", "1"]
    (folder / "factor.txt").write_text("35")
    assert _run(folder) == ["70.0", "0"]
    (folder / "factor.txt").write_text("5")
    assert _run(folder) == ["10.0", "1"]


def test_a_value_that_changes_after_it_was_compiled_is_told(folder):
    _write(folder / "mixin.py", MIXIN.format(factor="FACTOR") + "FACTOR = 5.0\n")
    change = """
import mixin
from tarry.errors import MemberError
@entry
def other(domain, x):
    project(domain, x, x)
mine = Mine(2.0)
other.dispatcher_for(mine)(mine, np.zeros(1))
mixin.FACTOR = 2.5 * 2.0  # the same
other.dispatcher_for(mine)
mixin.FACTOR = 6.0
for one in (other, entry(lambda domain: domain)):
    try:
        one.dispatcher_for(mine)
    except MemberError as error:
        print(error)
mixin.FACTOR = 5.0
"""
    said = " ".join(_run(folder, between=change))
    assert said.count("FACTOR of mixin has changed from 5.0 to 6.0, and code that was compiled before keeps") == 2
    assert said.endswith("10.0 0")


def test_locators_of_the_user_serve_no_stale_code(folder):
    theirs = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    between = "import numba\nassert numba.config.CACHE_LOCATOR_CLASSES == 'UserProvidedCacheLocator'"
    assert _run(folder, **theirs) == ["10.0", "0"]
    assert _run(folder, between=between, **theirs) == ["10.0", "0"]  # the program is another, and so is its entry
    assert _run(folder, between=between, **theirs) == ["10.0", "1"]
    _write(folder / "mixin.py", MIXIN.format(factor=35))
    assert _run(folder, between=between, **theirs)[0] == "70.0"


def test_numbas_setting_is_put_back():
    before = machine.config.CACHE_LOCATOR_CLASSES
    with machine._locating(Path("here")):
        assert machine.FolderLocator.from_function(None, "x.py").get_cache_path() == "here"
    assert before == machine.config.CACHE_LOCATOR_CLASSES
    assert machine.FolderLocator.from_function(None, "x.py") is None


def test_what_is_edited_after_import_is_not_kept(folder):
    edit = f"open({str(folder / 'mixin.py')!r}, 'w').write({MIXIN.format(factor=35)!r})"
    assert _run(folder, between=edit)[0] == "10.0"  # the process runs what it imported
    assert _run(folder)[0] == "70.0"  # and has left nothing that would be mistaken for the edited file


def test_a_renamed_module_compiles_again(folder):
    assert _run(folder)[0] == "10.0"
    (folder / "member.py").rename(folder / "renamed.py")
    assert _run(folder, module="renamed") == ["10.0", "0"]


def test_a_sweep_of_many_combinations_keeps_them_all(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path)
    for i in range(60):
        cache.make_folder(cache.Fingerprint("a" * 16, f"{i:02}"))
    assert len(list((tmp_path / f"compiled-{'a' * 16}").iterdir())) == 60
    monkeypatch.setattr(cache, "KEPT_COMBINATIONS", 5)
    monkeypatch.setattr(cache, "KEPT_VERSIONS", 2)
    theirs = {"compiled-theirs", "compiled-" + "a" * 17}
    for name in theirs:
        (tmp_path / name).mkdir()
    for version in "abc":
        cache.make_folder(cache.Fingerprint(version * 16, "new"))
        time.sleep(0.01)
    kept = {f"compiled-{version * 16}" for version in "bc"}
    assert {path.name for path in tmp_path.iterdir()} == theirs | kept
    assert all(len(list((tmp_path / name).iterdir())) == 1 for name in kept)


def test_numbas_folder_is_shared(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert cache.cache_root() == tmp_path / "tarry"


def test_an_edit_that_changes_no_code_of_the_member_compiles_nothing(folder):
    assert _run(folder) == ["10.0", "0"]
    _write(folder / "mixin.py", f'"""Grow."""  # by how much?\n{MIXIN.format(factor=5)}\n\ndef elsewhere(): pass\n')
    assert _run(folder) == ["10.0", "1"]
