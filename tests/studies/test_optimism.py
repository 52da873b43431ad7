"""The tutorial's tables come from the page's own functions; shown values are those of the games."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from studies import optimism
from studies.__main__ import app
from studies.numbers import read_numbers


def test_the_command_keeps_the_tables_of_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.numbers.NUMBERS", tmp_path / "figures.json")
    monkeypatch.setattr(optimism, "GAMES", (("steady", 1), ("persistent", 1)))
    played = []

    def brief(block, **settings):
        played.append((block, settings))
        return functions(block, **settings | ({"ROUNDS": 20} if block == optimism.FIGURE else {}))

    functions = optimism.functions_of
    monkeypatch.setattr(optimism, "functions_of", brief)
    done = CliRunner().invoke(app, ["optimism", "--seeds", "2", "--write"])
    assert done.exit_code == 0, done.output
    assert (optimism.FIGURE, {"SEEDS": 2}) in played
    kept = read_numbers()["optimism"]
    assert kept["command"] == "python -m studies optimism --seeds 2 --write"
    assert [line.split(" | ")[0] for line in kept["values"]["differences"]] == [
        "| world",
        "| steady",
        "| changing",
        "| persistent",
    ]
    assert len(kept["values"]["linear"]) == 3
    assert len(kept["values"]["shares"]) == 1


def test_settings_replace_those_of_the_page_and_unknown_ones_are_noticed():
    few = optimism.functions_of(optimism.LINEAR, SEEDS=2)
    found = few["regret"]("steady", 8, few["DORM"](few["EXPERTS"]))
    more = optimism.functions_of(optimism.LINEAR)
    again = more["regret"]("steady", 8, more["DORM"](more["EXPERTS"]))
    assert (found.size, again.size) == (2, 3)
    np.testing.assert_array_equal(found, again[:2])
    with pytest.raises(AssertionError):
        optimism.functions_of(optimism.LINEAR, WORLDS=2)


def test_a_mean_has_half_its_interval_beside_it():
    """Worked: Student's quantile with one degree of freedom is 12.706."""
    assert optimism.half(np.array([1.0, 3.0])) == pytest.approx(12.706, abs=1e-3)
