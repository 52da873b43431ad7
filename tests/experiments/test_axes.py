"""Axes: references to them, and what is refused."""

from __future__ import annotations

import json

import pytest
from sweeping import sweep_of

from tarry.experiments.play import play_cell

GAME = """
[games.g]
horizon = 30
dimension = 2
capacity = 4
losses = { type = "Linear", rows = "drifting" }
"""
WAITS = 'delays = { type = "fixed", delay = "axis.wait" }\n'
PLAYER = "[players.p]\nplayer = 'recommended'\n"


def games(sweep):
    return [json.loads(cell.content)["game"] for cell in sweep.cells]


@pytest.mark.parametrize(
    ("key", "values", "wanted"),
    [
        ("horizon", "[10, 20]", [10, 20]),
        ("dimension", "[2, 3]", [2, 3]),
        ("capacity", "[2, 'unlimited']", [2, None]),
        ("feedback", "['gradient', 'value']", ["gradient", "value"]),
        ("preemption", "[true, false]", [True, False]),
        ("domain", "['Ball']", [{"type": "Ball"}]),
    ],
)
def test_a_reference_for_any_key_of_a_game(tmp_path, key, values, wanted):
    game = "".join(line for line in GAME.splitlines(keepends=True) if not line.startswith(key))
    text = f"seeds = 1\naxes.some = {values}\n{game}delays = 'bursts'\n{key} = 'axis.some'\n{PLAYER}"
    sweep = sweep_of(tmp_path, text)
    assert [game[key] for game in games(sweep)] == wanted
    named = sweep_of(tmp_path, text.replace(f"{key} = 'axis.some'\n", "").replace("axes.some", f"axes.{key}"))
    assert [cell.id for cell in sweep.cells] == [cell.id for cell in named.cells]


def test_a_game_by_reference_is_played(tmp_path):
    sweep = sweep_of(
        tmp_path, f"seeds = 1\naxes.T = [7]\n{GAME}{PLAYER}".replace("= 30", "= 'axis.T'\ndelays='bursts'")
    )
    (cell,) = sweep.cells
    assert play_cell(cell.id, cell.content)["horizon"] == [7]


def test_an_axis_that_takes_the_place_of_what_a_game_says_is_told(tmp_path):
    text = "seeds = 1\naxes.delays = ['bursts']\naxes.capacity = [2]\n" + PLAYER
    games = GAME.replace("capacity = 4", "capacity = 'axis.capacity'")
    assert sweep_of(tmp_path, text + games).warnings == ()
    (told,) = sweep_of(tmp_path, text + games + "delays = {type = 'fixed', delay = 3}\n").warnings
    assert told.startswith("the axis delays takes the place of delays in games.g: ")
    assert 'call the axis otherwise, and write "axis.NAME"' in told


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            GAME + "delays = {type = 'fixed', delay = 'axis.capacity'}\n",
            "tiny.toml: games.g: there is no axis 'capacity': take one of (none)",
        ),
        (
            "axes.delays = [{type = 'fixed', delay = 'axis.wait'}]\naxes.wait = [1]\n" + GAME,
            "tiny.toml: axes.delays: a value cannot name the axis wait: name it in a game or player",
        ),
        ("axes.T = [0]\n" + GAME.replace("30", "'axis.T'"), "games.g.horizon: must be a whole number of at least 1"),
        (
            "axes.T = [3]\n" + GAME.replace("30", "'axs.T'"),
            "games.g.horizon: must be a whole number of at least 1, got 'axs.T'",
        ),
    ],
)
def test_sentences(tmp_path, text, sentence):
    with pytest.raises(ValueError) as refused:
        sweep_of(tmp_path, "seeds = 1\n" + text + PLAYER)
    assert sentence in str(refused.value)
