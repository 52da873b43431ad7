"""One server for the tests of a file, and joins of their own for each."""

from __future__ import annotations

from itertools import count

import pytest
from serving import Served

_numbers = count(1)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    server = Served(tmp_path_factory.mktemp("served"), durability="process")
    yield server
    assert server.stop() in (0, -15), server.log()


@pytest.fixture
def join(served):
    """The path of a new join of two slots."""
    path = f"/v1/joins/j{next(_numbers)}"
    assert served.call("POST", path, {"capacity": 2, "seed": 1})[0] == 201
    return path
