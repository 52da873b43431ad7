"""The page about experiments and the ready sweeps say what is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from studies.table1 import FULL, QUICK
from tarry.experiments import load_sweep, play_cell
from tarry.experiments.members import FACTS
from tarry.experiments.play import refusal
from tarry.kernel import is_compiled
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


def firsts(sweep, *columns):
    """The first cell for every combination of these columns."""
    found = {}
    for cell in sweep.cells:
        found.setdefault(tuple(cell.columns[name] for name in columns), cell.content)
    return found


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_every_game_and_player_of_a_ready_sweep_plays(path):
    """Every one with the JIT off, where nothing has to be compiled; the first few with it."""
    played = list(firsts(load_sweep(path), "game", "player").values())
    for content in played[:2] if is_compiled() else played:
        columns = play_cell("a", shortened(content))
        assert len(columns["regret"]) == 1
        assert np.isfinite(columns["regret"]).all()


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_nothing_in_a_ready_sweep_is_refused(path):
    for key, content in firsts(load_sweep(path), "game", "player", "scheduler", "capacity", "delays").items():
        assert refusal(shortened(content)) == "", key


def test_there_is_a_ready_sweep_for_every_question():
    wanted = {"backlog_below_delay", "capacity_curves", "doubling", "information", "methods", "preemption"}
    wanted |= {"schedulers", "table1"}
    told = PAGE.split("## Ready sweeps")[1].split("\n## ")[0]
    assert {path.stem for path in READY} == wanted
    assert set(re.findall(r"^\| `(\w+)\.toml`", told, flags=re.M)) == wanted


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_a_ready_sweep_says_what_was_found(path):
    head = path.read_text(encoding="utf-8").partition("\n\n")[0]
    found = " ".join(line.lstrip("# ") for line in head.splitlines() if line.startswith("#")).partition("Measured")[2]
    assert len(re.findall(r"\d", found)) > 8, "what was measured, in numbers"


def test_the_sweep_of_table_1_is_that_of_the_command():
    assert load_sweep(ROOT / "examples" / "sweeps" / "table1.toml").contents == load_sweep(QUICK).contents


def test_who_needs_less_plays_the_same_where_less_is_told():
    """What information.toml and preemption.toml rest on: rules allow, they do not change who uses them not."""
    sweeps = ROOT / "examples" / "sweeps"
    found = firsts(load_sweep(sweeps / "information.toml"), "player")
    same = [("nothing", "non-clairvoyant"), ("nothing_paper", "non-clairvoyant"), ("acknowledged", "semi-clairvoyant")]
    for player, information in same:
        assert regret(found[player,], information=information) == regret(found[player,])
    for (player,), content in firsts(load_sweep(sweeps / "preemption.toml"), "player").items():
        if player.startswith("keeps"):
            assert regret(content, preemption=False) == regret(content), player
        else:
            assert "preempt" in refusal(json.dumps(with_rules(content, preemption=False))), player


def with_rules(content, **rules):
    plain = json.loads(shortened(content))
    return plain | {"game": plain["game"] | rules}


def regret(content, **rules):
    return play_cell("a", json.dumps(with_rules(content, **rules)))["regret"].tolist()


def test_the_page_about_table_1_counts_its_cells():
    page = (ROOT / "docs" / "table1.md").read_text(encoding="utf-8")
    assert f"({len(load_sweep(FULL).contents):,} cells" in page
