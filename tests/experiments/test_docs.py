"""The page about experiments and the ready sweeps say what is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tarry.experiments import load_sweep, play_cell
from tarry.experiments.facts import FACTS
from tarry.experiments.play import refusal
from tarry.results import columns

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
READY = sorted(path for path in (ROOT / "examples" / "sweeps").glob("*.toml") if path.name != "games.toml")


@pytest.mark.parametrize("table", ["cells", "runs", "curves"])
def test_every_column_is_on_the_page(table):
    section = PAGE.split(f"**{table}**", 1)[1].split("\n\n", 2)[1]
    shown = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", section, flags=re.M)
    assert shown == [(name, *column) for name, column in getattr(columns, table.upper()).items()]
    assert f"Columns, version {columns.SCHEMA}\n" in PAGE


def test_every_fact_is_on_the_page():
    told = PAGE.split("**What the game knows need not be said.**")[1].split("\n\n")[0]
    assert set(FACTS) - {"game", "target"} <= set(re.findall(r"`(\w+)`", told))


def test_the_blocks_of_the_page(tmp_path, capsys):
    path = tmp_path / "drift.toml"
    path.write_text(re.findall(r"```toml\n(.*?)```", PAGE, flags=re.S)[0], encoding="utf-8")
    sweep = load_sweep(path)
    assert len(sweep.cells) == 2 * 4 * 2 * 2 * 2
    exec(compile(re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)[0], "docs/experiments.md", "exec"), {})
    assert capsys.readouterr().out == "Summary(found=0, finished=2, failed={})\n2\n"


def shortened(content):
    """The same cell with fewer rounds and one seed."""
    plain = json.loads(content)
    plain["game"]["horizon"], plain["seeds"] = 300, plain["seeds"][:1]
    return json.dumps(plain)


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_ready_sweeps_can_be_played(path):
    sweep = load_sweep(path)
    told = {}
    for cell in sweep.cells:
        key = (
            cell.columns["game"],
            cell.columns["player"],
            cell.columns["scheduler"],
            cell.columns["capacity"] is None,
        )
        told.setdefault(key, cell.content)
    for number, content in enumerate(told.values()):
        if number % 3 == 0:
            assert len(play_cell("a", shortened(content))["regret"]) == 1
        else:
            assert refusal(shortened(content)) == ""
