"""The hash of the package's sources."""

from __future__ import annotations

import os

import pytest

from tarry import versions
from tarry.kernel import cache


@pytest.fixture
def digest(tmp_path, monkeypatch):
    """The hash of a package of these files, written before it was imported unless said otherwise."""

    def of(files, place="package", written=-60.0):
        monkeypatch.setattr(cache, "PACKAGE", tmp_path / place)
        for name, text in files.items():
            path = tmp_path / place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            os.utime(path, (cache._IMPORTED + written,) * 2)
        return cache.source_digest.__wrapped__()

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


def test_what_was_edited_after_import_has_none(digest, monkeypatch):
    assert digest({"a.py": "x = 1"}, written=60.0) is None
    monkeypatch.setattr(versions, "source_digest", lambda: None)
    assert versions.versions()["source"] == "edited"


def test_it_is_found_once_and_part_of_the_versions():
    for _ in range(3):
        versions.source()
    assert cache.source_digest.cache_info().misses == 1
    assert versions.versions()["source"] == (cache.source_digest() or "edited")[:12]
