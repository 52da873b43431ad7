"""The hash of the package's sources."""

from __future__ import annotations

import importlib
import os
import pkgutil
from pathlib import Path

import pytest

import tarry
from tarry.kernel import cache, compile, sources


@pytest.fixture
def digest(tmp_path, monkeypatch):
    """The hash of a package of these files, written before it was imported unless said otherwise."""

    def of(files, place="package", written=-60.0, asked=cache.source_digest):
        monkeypatch.setattr(cache, "PACKAGE", tmp_path / place)
        for name, text in files.items():
            path = tmp_path / place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            os.utime(path, (sources.IMPORTED + written,) * 2)
        return asked.__wrapped__()

    return of


def test_it_follows_names_and_texts_and_nothing_else(digest):
    files = {"a.py": "x = 1", "room/b.py": "y = 2"}
    first = digest(files)
    assert len(first) == 64
    assert digest(files, "elsewhere") == first
    assert digest(files | {"notes.txt": "z"}, "noted") == first
    assert digest(files | {"a.py": "x = 2"}, "changed") != first
    assert digest({"a.py": "x = 1", "room/c.py": "y = 2"}, "renamed") != first
    assert digest(files | {"c.py": ""}, "more") != first


def test_compiled_code_depends_on_the_rooms_with_steps_alone(digest):
    files = {"cli/help.py": "x = 1", "learners/mine.py": "y = 2", "outcomes.py": "USED = 0"}
    first = digest(files, asked=cache.rooms_digest)
    assert digest(files | {"cli/help.py": "x = 2"}, "helped", asked=cache.rooms_digest) == first
    for name in ("learners/mine.py", "outcomes.py"):
        assert digest(files | {name: "z = 3"}, f"changed-{name}", asked=cache.rooms_digest) != first


def test_every_step_of_the_package_lies_in_a_room_with_steps():
    """Verbs of other rooms' types are found by the type; a step of another room would be missed."""
    for _, name, _ in pkgutil.walk_packages(tarry.__path__, "tarry."):
        if not name.startswith(("tarry.cli", "tarry.adapters", "tarry.experiments", "tarry.reports", "tarry.cases")):
            importlib.import_module(name)
    files = {one.__code__.co_filename for one in compile._sources_of[object]}
    ours = {name for name in files if Path(name).is_relative_to(cache.PACKAGE)}
    assert ours
    assert [name for name in ours if not cache._is_in_rooms(name)] == []


def test_what_was_edited_after_import_has_none(digest, monkeypatch):
    assert digest({"a.py": "x = 1"}, written=60.0) is None
    monkeypatch.setattr(cache, "source_digest", lambda: None)
    assert cache.versions()["source"] == "edited"


def test_it_is_found_once_and_part_of_the_versions():
    cache.source()
    # Threads of earlier tests may have asked for the first time at one moment, so misses are counted from here on.
    misses = cache.source_digest.cache_info().misses
    for _ in range(3):
        cache.source()
    assert cache.source_digest.cache_info().misses == misses
    assert cache.versions()["source"] == (cache.source_digest() or "edited")[:12]
