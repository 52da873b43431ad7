"""Numbers on the pages are those of docs/figures.json, which a command wrote, and so is the picture of the README."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from studies.figures import MAKE, PICTURES, RUNS, believed_by_slots, front_pictures, read_numbers, score_values
from studies.flights import flights
from studies.measure import measure, quiet
from tarry.planning.policies import find_policy

ROOT = Path(__file__).parents[1]
CLAIMS = tomllib.loads((ROOT / "docs" / "claims.toml").read_text(encoding="utf-8"))["claims"]
NUMBERS = read_numbers()
SHOWN = [(claim["page"], row) for claim in CLAIMS for row in claim["shown"]]


def filled(row):
    values = {name: part["values"] for name, part in NUMBERS.items()}
    commands = {f"{name}_command": part["command"] for name, part in NUMBERS.items()}
    return re.sub(r"(\d)%", r"\1 %", row.format(**values, **commands))  # pages have a blank there


@pytest.mark.parametrize(("page", "row"), SHOWN)
def test_page_shows_the_value_of_the_file(page, row):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert filled(row) in text


def test_a_claim_with_another_value_is_noticed():
    assert "14.6" in filled("{flights[truth]:.1f}")
    changed = filled("| drop newest | {flights[policies][drop newest][believed]:.2f} |")
    assert changed not in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_row_of_expectations_in_the_readme_is_a_claim():
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## What to expect")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    claims = [filled(row) for page, row in SHOWN if page == "README.md"]
    assert len(rows) == 3
    for row in rows:
        assert any(row.startswith(claim) for claim in claims), row


def test_every_part_has_its_command_and_day():
    assert NUMBERS.keys() == MAKE.keys() == RUNS.keys()
    for name, part in NUMBERS.items():
        assert part["command"] == f"python -m studies figures {name}"
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", part["date"])


def test_pictures_are_drawn_from_the_numbers():
    for file, drawn in front_pictures(NUMBERS["flights"]["values"]).items():
        assert (PICTURES / file).read_text(encoding="utf-8") == drawn, "run python -m studies figures flights"


@pytest.mark.slow
@pytest.mark.jit(only=True)
@pytest.mark.parametrize("name", ["VarOpt", "drop newest"])
def test_the_command_gives_these_numbers_again(name):
    """One policy of the whole year: sums agree to rounding on every machine."""
    stored = NUMBERS["flights"]["values"]["policies"][name]
    with quiet():
        again = score_values(measure(flights(), find_policy(name), 8, RUNS["flights"]))
    assert again == pytest.approx(stored, rel=1e-4)


def test_policies_of_the_picture_are_played_at_every_number_of_slots(monkeypatch):
    monkeypatch.setattr("studies.figures.SLOTS", (2, 4))
    from studies.cases import flights_case

    with quiet():
        rows = believed_by_slots(flights_case(first=400), 2, lambda _: None)
    assert [(row["policy"], row["slots"]) for row in rows[:3]] == [("VarOpt", 2), ("VarOpt", 4), ("drop newest", 2)]
    assert len(rows) == 8
