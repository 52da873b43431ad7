"""A member's hash follows what its file runs and what the member reaches by name, and nothing else."""

from __future__ import annotations

import importlib
import sys
from textwrap import dedent

import pytest

from tarry.kernel import sources

MEMBERS = """
import helpers
from helpers import twice as doubled, unused
LIMIT = 3
OTHERS = 7

class Base:
    def size(self):
        return LIMIT

class Mine(Base):
    \"\"\"Is the one that is hashed.\"\"\"

    def play(self, x):
        return doubled(x) + own(x)  # once more

class Other:
    def play(self, x):
        return helpers.thrice(x)

def own(x):
    return x + 1

@register.on(Mine)
def _(mine, x):
    return beside(x)

def beside(x):
    return x

def play_it():
    return Mine().play(3)

if __name__ == "__main__":
    print(Mine())
"""
HELPERS = """
FACTOR = 2

def twice(x):
    return FACTOR * x

def thrice(x):
    return 3 * x

unused = 5
"""


@pytest.fixture
def digest(tmp_path, monkeypatch):
    """Return a function of the two texts that gives the hash of one thing in the first."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sources, "IMPORTED", float("inf"))
    (tmp_path / "registry.py").write_text("class register:\n    @staticmethod\n    def on(cls): return lambda f: f\n")

    def of(members=MEMBERS, helpers=HELPERS, name="Mine"):
        for module, text in (("members_here", f"from registry import register\n{members}"), ("helpers", helpers)):
            (tmp_path / f"{module}.py").write_text(dedent(text))
            sys.modules.pop(module, None)
        importlib.invalidate_caches()
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            return sources.digest_of(getattr(importlib.import_module("members_here"), name))
        finally:
            sys.dont_write_bytecode = before

    yield of
    for module in ("members_here", "helpers", "registry"):
        sys.modules.pop(module, None)


def test_words_and_neighbours_are_not_part_of_it(digest):
    first = digest()
    for old, new in (
        ("  # once more", ""),
        ("Is the one that is hashed.", "Is another."),
        ("return helpers.thrice(x)", "return 7"),
        ("Mine().play(3)", "Mine().play(4)"),
        ("print(Mine())", "print(0)"),
        ("LIMIT = 3", "\n\nLIMIT   = 3"),
        ("OTHERS = 7", "OTHERS = 8"),
    ):
        assert old in MEMBERS
        assert digest(MEMBERS.replace(old, new)) == first, new


def test_of_a_module_only_the_names_that_are_taken_count(digest):
    text = MEMBERS.replace("import helpers\n", "").replace("helpers.thrice(x)", "3 * x")
    first = digest(text)
    assert digest(text, HELPERS.replace("3 * x", "4 * x")) == first
    assert digest(text, HELPERS.replace("FACTOR = 2", "FACTOR = 3")) != first


def test_everything_it_reaches_is(digest):
    first = digest()
    for old, new in (
        ("LIMIT = 3", "LIMIT = 4"),
        ("return LIMIT", "return LIMIT + 1"),
        ("doubled(x) + own(x)", "doubled(x) - own(x)"),
        ("return x + 1", "return x + 2"),
        ("return beside(x)", "return -beside(x)"),
        ("def beside(x):\n    return x", "def beside(x):\n    return 2 * x"),
    ):
        assert old in MEMBERS
        assert digest(MEMBERS.replace(old, new)) != first, new
    assert digest(helpers=HELPERS.replace("FACTOR = 2", "FACTOR = 3")) != first


def test_a_module_that_is_used_as_a_whole_counts_as_a_whole(digest):
    first = digest(name="Other")
    assert digest(helpers=HELPERS.replace("3 * x", "4 * x"), name="Other") != first
    assert digest(helpers=HELPERS.replace("FACTOR = 2", "FACTOR = 3"), name="Other") != first
    assert digest(MEMBERS.replace("OTHERS = 7", "OTHERS = 4"), name="Other") == first


@pytest.mark.parametrize(
    "changing",
    [
        "for _ in range(5): LIMIT += NUMBER",
        "def grow():\n    global LIMIT\n    LIMIT += NUMBER\ngrow()",
        "globals().update(LIMIT=NUMBER)",
        "globals()['LIMIT'] = NUMBER",
        "import helpers\nhelpers.FACTOR = NUMBER",
        "def noting(f):\n    globals()['LIMIT'] = f()\n@noting\ndef ten(): return NUMBER",
        "class Others:\n    found = globals().update(LIMIT=NUMBER)",
        "class Others:\n    globals()['LIMIT'] = NUMBER",
        "class Others(dict(a=dict).get('a')): size = NUMBER",
        "def others(size=globals().update(LIMIT=NUMBER)): pass",
        "class Root:\n    def __init_subclass__(cls): cls.size += LIMIT\nclass Leaf(Root):\n    size = NUMBER",
        "try:\n    import nothing_of_this_name\nexcept ImportError:\n    LIMIT = NUMBER",
        "with open(__file__) as file: LIMIT = NUMBER",
    ],
)
def test_code_that_changes_globals_counts(digest, changing):
    text = MEMBERS.replace('if __name__ == "__main__"', f'{changing}\nif __name__ == "__main__"')
    assert digest(text.replace("NUMBER", "8")) != digest(text.replace("NUMBER", "9"))


@pytest.mark.parametrize("lazy", ["from later_here import late", "import later_here\n        late = later_here.late"])
def test_what_a_function_will_import_counts(digest, tmp_path, lazy):
    text = MEMBERS.replace("return LIMIT", f"{lazy}\n        return late()")
    later = tmp_path / "later_here.py"
    later.write_text("def late(): return 3")
    first = digest(text)
    assert "later_here" not in sys.modules
    later.write_text("def late(): return 3  # three")
    assert digest(text) == first
    later.write_text("def late(): return 4")
    assert digest(text) != first


def test_stars_circles_and_packages_are_followed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sources, "IMPORTED", float("inf"))
    package = tmp_path / "lab_here"
    package.mkdir()
    texts = {
        "__init__": "from .a import Mine",
        "a": "from .b import *\nfrom . import c\nclass Mine:\n    def play(self): return helper() + c.other()",
        "b": "from . import a\ndef helper(): return a",
        "c": "import numpy\ndef other():\n    from .d.e import late\n    return numpy.pi * late()",
        "d/__init__": "raise RuntimeError('nobody has asked for this to be run')",
        "d/e": "def late(): return 1",
    }
    (package / "d").mkdir()
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    importlib.invalidate_caches()
    mine = importlib.import_module("lab_here").Mine
    names = {file.rpartition("lab_here/")[2] for file, _ in sources._reached_by(mine)}
    assert names == {"a.py", "b.py", "c.py", "d/e.py"}


def test_code_without_a_text_is_refused():
    made = {}
    exec("class Mine: pass", {"__name__": "nowhere"}, made)
    with pytest.raises(sources.Unknown):
        sources.digest_of(made["Mine"])
