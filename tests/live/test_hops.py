"""The way of one decision into a SQLite file is short, and docs/design.md tells it as it is."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import tarry

ROOT = Path(tarry.__file__).parent
LIVE = str(ROOT / "live")  # the round itself, below it, is compiled
DESIGN = Path(__file__).parents[2] / "docs" / "design.md"
MOST_FUNCTIONS, MOST_FILES = 40, 8


@pytest.fixture
def traced(tmp_path):
    """Functions of the library that one decision calls: their depth, file and name, in order."""
    calls, depth = [], 0

    def note(frame, event, _):
        nonlocal depth
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(LIVE):
            return
        depth += 1 if event == "call" else -1
        if event == "call":
            calls.append((depth, Path(code.co_filename).relative_to(ROOT).as_posix(), code.co_qualname))

    with tarry.LabelJoin(4, rng=1, store=f"sqlite:///{tmp_path / 'join.db'}") as join:
        for i in range(6):  # the slots are full: the next decision may release another's
            join.decide({"i": i}, id=f"d{i}")
        sys.setprofile(note)
        join.decide({"i": 6}, id="d6")
        sys.setprofile(None)
        assert join.status().rounds == 7
    return calls


def listed():
    """The numbered steps of docs/design.md: what is called, and the file where one is named."""
    text = DESIGN.read_text()
    steps = text[text.index("A decision in a SQLite file:") :].split("\n\n")[1]
    return [re.findall(r"`([^`]+)`", step) for step in steps.splitlines()]


def test_a_decision_is_stored_in_few_hops_through_few_files(traced):
    assert len({call[1:] for call in traced}) <= MOST_FUNCTIONS, traced
    assert len({file for _, file, _ in traced}) <= MOST_FILES


def test_the_steps_in_the_design_are_those_that_are_taken(traced):
    steps = listed()
    taken = [name for _, _, name in traced]
    places = [taken.index(step[0]) for step in steps]
    assert places == sorted(places)
    named = {file for step in steps for file in step if file.endswith(".py")}
    assert named == {file for _, file, _ in traced}
