"""A store for each test, and functions that run commands on it."""

from __future__ import annotations

import pytest
from shell import caller


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'state.db'}"


@pytest.fixture
def join(url):
    return caller(url, "join")


@pytest.fixture
def session(url):
    return caller(url, "session")
