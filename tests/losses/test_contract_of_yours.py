"""A loss of one's own that breaks the contract is told what is wrong, where and by how much."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

MINE = """
import numpy as np

from tarry.domains import Ball
from tarry.losses import LeastSquares
from tarry.testing import LossContract


class Mine(LeastSquares, init=False):
    def curve(self, z, y):
        return 0.5 * (z - y) * (z - y), SLOPE

    def gradient_bound(self, domain):
        return BOUND


class TestMine(LossContract):
    def loss(self):
        return Mine(np.eye(2), [1.0, -1.0])

    def domain(self):
        return Ball(2)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return what pytest prints of a loss with this slope, in a folder of its own and with warnings as errors."""

    def run(slope, bound="10.0"):
        place = tmp_path_factory.mktemp("mine")
        (place / "test_mine.py").write_text(MINE.replace("SLOPE", slope).replace("BOUND", bound))
        command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
        options = {"capture_output": True, "text": True, "timeout": 120, "check": False}
        done = subprocess.run(command, cwd=place, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, **options)
        # Without the lines of code that pytest shows.
        return "\n".join(line for line in done.stdout.splitlines() if line.startswith("E ") or " passed" in line)

    return run


def test_a_wrong_sign_is_told_with_round_point_and_slopes(told):
    said = told("y - z")
    assert "AssertionError: in round 1 at x = [" in said
    assert "and the loss's own lies between" in said
    assert "wrong sign?" in said
    assert "below its tangent at x = [" in said


def test_another_slope_is_no_wrong_sign(told):
    said = told("3.0 * (z - y)")
    assert "and the loss's own lies between" in said
    assert "wrong sign?" not in said


def test_an_assertion_without_a_sentence_shows_its_values(told):
    said = told("z - y", bound="0.25")
    assert "1 failed, 9 passed" in said
    assert "<= (0.25 * (1 + 1e-09))" in said


def test_a_right_loss_passes_with_warnings_as_errors(told):
    assert "10 passed" in told("z - y")
