"""The ready sweeps in examples/sweeps play, and rest on what they say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from marking import slow_but

from tarry.experiments import load_sweep, play_cell
from tarry.experiments.play import refusal

ROOT = Path(__file__).parents[2]
READY = sorted(path for path in (ROOT / "examples" / "sweeps").glob("*.toml") if path.name != "games.toml")


def shortened(content, horizon=300):
    """The same cell with fewer rounds and one seed."""
    plain = json.loads(content)
    plain["game"]["horizon"], plain["seeds"] = horizon, plain["seeds"][:1]
    return json.dumps(plain)


def firsts(sweep, *columns):
    """The first cell for every combination of these columns."""
    found = {}
    for cell in sweep.cells:
        found.setdefault(tuple(cell.columns[name] for name in columns), cell.content)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_every_game_and_player_of_a_ready_sweep_plays(path):
    for content in firsts(load_sweep(path), "game", "player").values():
        columns = play_cell("a", shortened(content))
        assert len(columns["regret"]) == 1
        assert np.isfinite(columns["regret"]).all()


@pytest.mark.parametrize("columns", slow_but([4, 5], {4}))
@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_nothing_in_a_ready_sweep_is_refused(path, columns):
    names = ("game", "player", "scheduler", "delays", "capacity")[:columns]
    for key, content in firsts(load_sweep(path), *names).items():
        assert refusal(shortened(content, 100)) == "", key


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
