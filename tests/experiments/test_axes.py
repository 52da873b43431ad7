"""Axes: references to them, also inside the values of others, and points that lack one."""

from __future__ import annotations

import json

import pytest
from sweeping import sweep_of

from tarry.experiments.folder import plan_frame
from tarry.experiments.play import play_cell, refusal

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


def test_a_reference_inside_the_value_of_an_axis(tmp_path):
    """Delays that name the mean are played along it, those that do not are not."""
    text = 'seeds = 1\naxes.mean = [3, 5]\naxes.delays = [{type = "geometric", mean = "axis.mean"}, "bursts"]\n'
    sweep = sweep_of(tmp_path, text + GAME + PLAYER)
    geometric = [{"type": "geometric", "mean": mean} for mean in (3, 5)]
    wanted = [(3, geometric[0]), (None, {"type": "bursts"}), (5, geometric[1])]
    found = [(c.columns["axes"].get("mean"), g["delays"]) for c, g in zip(sweep.cells, games(sweep), strict=True)]
    assert found == wanted
    assert plan_frame(sweep)["axis_mean"].to_list() == [3, None, 5]
    plain = "seeds = 1\naxes.mean = [3, 5]\n" + GAME + 'delays = {type = "geometric", mean = "axis.mean"}\n'
    assert [cell.id for cell in sweep_of(tmp_path, plain + PLAYER).cells] == [sweep.cells[0].id, sweep.cells[2].id]


def test_a_reference_through_two_axes_to_a_player(tmp_path):
    text = """seeds = 1
[axes]
learner = [{type = "DWFTRL", rate = "axis.rate"}]
rate = [{type = "Power", scale = "axis.scale", exponent = 0.5}, 0.25]
scale = [0.5, 1.0]
[players.p]
learner = "axis.learner"
"""
    sweep = sweep_of(tmp_path, text + GAME + "delays = 'bursts'\n")
    rates = [json.loads(cell.content)["player"]["learner"]["rate"] for cell in sweep.cells]
    power = {"type": "Power", "exponent": 0.5}
    assert rates == [power | {"scale": 0.5}, power | {"scale": 1.0}, 0.25]
    assert all(refusal(cell.content) == "" for cell in sweep.cells)


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


def test_points_need_what_they_use_and_no_more(tmp_path):
    text = "seeds = 1\npoints = [{delays = {type = 'fixed', delay = 'axis.wait'}, wait = 3}, {delays = 'bursts'}]\n"
    sweep = sweep_of(tmp_path, text + GAME + PLAYER)
    assert [game["delays"] for game in games(sweep)] == [{"type": "fixed", "delay": 3}, {"type": "bursts"}]


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
            "points = [{capacity = 2, wait = 3}, {capacity = 4}]\n" + GAME + WAITS,
            "tiny.toml: points[2]: lacks wait, which games.g uses: give wait = …, or make it an axis",
        ),
        (
            GAME + WAITS + "[[blocks]]\npoints = [{wait = 3}]\n[[blocks]]\npoints = [{wait = 1}, {capacity = 4}]\n",
            "tiny.toml: blocks[2].points[2]: lacks wait, which games.g uses",
        ),
        (
            "points = [{delays = {type = 'fixed', delay = 'axis.wait'}}, {delays = 'bursts', wait = 3}]\n" + GAME,
            "tiny.toml: points[1]: lacks wait, which the axis delays uses",
        ),
        (
            GAME + "delays = {type = 'fixed', delay = 'axis.capacity'}\n",
            "tiny.toml: games.g: there is no axis 'capacity': take one of (none)",
        ),
        (
            "axes.delays = [{type = 'fixed', delay = 'axis.wait'}]\n" + GAME,
            "tiny.toml: axes.delays: there is no axis 'wait'",
        ),
        (
            "axes.delays = [{type = 'fixed', delay = 'axis.a'}]\naxes.a = ['axis.b']\naxes.b = [1, 'axis.a']\n" + GAME,
            "tiny.toml: axes.a: values refer in a circle to the axes a, b: leave one out",
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
