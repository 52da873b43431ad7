"""Names of settings and lines: what varies is said, once, and no more."""

from __future__ import annotations

import json

import polars as pl
import pytest
from sweep_tables import tables

from tarry.reports.exponents import fits, quantities
from tarry.reports.view import over_what, view, with_baselines


def test_only_what_varies_is_named():
    seen = view(*tables({"A": 1.0, "B": 2.0}, capacities=(4, None), means=(10, 20)))
    assert seen.lines == ["A", "B"]
    assert seen.settings == [f"drift, C = {c}, mean = {m}" for c in (4, "∞") for m in (10, 20)]
    assert (seen.game_keys, seen.player_keys) == (["capacity", "axis_mean"], [])
    assert seen.delay_keys == ["axis_mean"]
    assert seen.runs.height == 2 * 4 * 4
    alone = view(*tables({"A": 1.0}, capacities=(4,)))
    assert alone.settings == ["drift"]
    assert alone.game_keys == []


def test_drivers_leave_the_names():
    seen = view(*tables({"A": 1.0}, capacities=(4, 8), means=(10, 20)))
    named = seen.named(seen.runs, ["capacity"])
    assert set(named["panel"]) == {"drift, mean = 10", "drift, mean = 20"}
    assert set(named["name"]) == {"A"}


def test_an_axis_of_the_player_names_lines():
    cells, runs, curves = tables({"A": 1.0}, capacities=(4,), means=(10, 20))
    contents = [json.dumps({"game": {"capacity": 4}, "player": {"rate": mean}}) for mean in cells["axis_mean"]]
    same = pl.lit("geometric(mean=1)").alias("delays")
    seen = view(cells.with_columns(pl.Series("content", contents), same), runs, curves)
    assert seen.settings == ["drift"]
    assert seen.lines == ["A, mean = 10", "A, mean = 20"]
    assert (seen.game_keys, seen.player_keys, seen.delay_keys) == ([], ["axis_mean"], [])


def test_delays_without_an_axis_are_named_in_full():
    cells, runs, curves = tables({"A": 1.0}, capacities=(4,), means=(10, 20))
    seen = view(cells.drop("axis_mean"), runs, curves)
    assert seen.settings == ["drift, geometric(mean=10)", "drift, geometric(mean=20)"]
    assert seen.delay_keys == ["delays"]


def test_a_cell_under_two_names_counts_for_both():
    cells, runs, curves = tables({"A": 1.0}, capacities=(4,))
    twice = pl.concat([cells, cells.with_columns(player=pl.lit("B"))])
    seen = view(twice, runs, curves)
    assert seen.lines == ["A", "B"]
    assert seen.runs.height == 2 * runs.height


FIXED, DRAWN = {"type": "fixed", "delay": 5}, {"type": "geometric", "mean": 5}
ROWS = {"type": "Linear", "rows": {"type": "drifting"}}
LISTED = {"type": "Linear", "rows": {"type": "drifting", "rng": 3}}


@pytest.mark.parametrize(
    ("games", "told"),
    [
        ([(ROWS, DRAWN)], " Seeds draw losses, delays and the players' chance."),
        ([(ROWS, FIXED)], " Seeds draw losses and the players' chance; delays are given"),
        ([(LISTED, DRAWN)], " Seeds draw delays and the players' chance; losses are given"),
        ([(LISTED, FIXED)], " Seeds draw no game: intervals are over the players' chance alone"),
        ([({"type": "Mine", "from": {"file": "gone.py", "digest": "0"}}, DRAWN)], " What seeds draw of a game, only"),
        ([(ROWS, DRAWN), (LISTED, FIXED)], " drift, geometric: Seeds draw losses, delays"),
        ([(ROWS, DRAWN), (LISTED, FIXED)], " drift, fixed: Seeds draw no game"),
    ],
)
def test_what_intervals_are_over_is_told(games, told):
    cells, runs, curves = tables({"A": 1.0}, capacities=(4,), means=tuple(range(len(games))))
    contents = [json.dumps({"game": {"losses": a, "delays": b}, "player": {}}) for a, b in games]
    lines = [b["type"] for _, b in games]
    seen = view(cells.with_columns(pl.Series("content", contents), pl.Series("delays", lines)), runs, curves)
    assert told in over_what(seen.cells)


def mixed():
    """A with four and sixteen slots, a baseline without a limit, both at two mean delays."""
    cells, runs, curves = tables({"A": 1.0, "free": 0.5}, capacities=(4, 16, None), means=(10, 20))
    kept = cells.filter((pl.col("player") == "A") == pl.col("capacity").is_not_null())
    return view(kept, runs, curves)


def test_baselines_stand_in_every_setting_they_match():
    seen = mixed()
    beside = with_baselines(seen)
    assert len(seen.settings) == 6
    assert beside.settings == [f"drift, C = {c}, mean = {m}" for c in (4, 16) for m in (10, 20)]
    means = beside.runs.group_by("setting", "line").agg(pl.col("regret").mean(), pl.col("capacity").first())
    assert means.height == 8
    for setting, line, regret, capacity in means.iter_rows():
        if line == "free":
            own = seen.runs.filter((pl.col("line") == "free") & (pl.col("setting") == f"drift, C = ∞,{setting[-10:]}"))
            assert regret == own["regret"].mean()
        assert f"C = {capacity}," in setting
    assert beside.curves.height == seen.curves.height + seen.curves.filter(pl.col("line") == "free").height


def test_who_is_met_with_and_without_a_limit_stays():
    seen = view(*tables({"A": 1.0}, capacities=(4, None)))
    assert with_baselines(seen) is seen


def kinds_of(*laws):
    """The kinds of a game played with these delays, in their order."""
    cells, runs, curves = tables({"A": 1.0}, capacities=(4,), means=tuple(range(1, len(laws) + 1)))
    contents = [json.dumps({"game": {"capacity": 4, "delays": law}, "player": {}}) for law in laws]
    lines = [", ".join(f"{name}={value}" for name, value in law.items()) for law in laws]
    named = cells.with_columns(pl.Series("content", contents), pl.Series("delays", lines)).drop("axis_mean")
    return view(named, runs, curves).cells["kind"].to_list()


def test_delays_of_one_kind_differ_in_one_number():
    fixed, geometric = {"type": "fixed", "delay": 5}, [{"type": "geometric", "mean": mean} for mean in (1, 2)]
    assert kinds_of(*geometric) == [None, None]
    assert kinds_of(*geometric, fixed) == ["geometric", "geometric", "fixed"]
    heavy = [{"type": "pareto", "shape": a, "scale": b} for a, b in ((1.1, 5), (1.5, 5), (2.0, 5), (1.1, 9), (1.5, 9))]
    assert kinds_of(*heavy) == ["pareto(scale=5)"] * 3 + ["pareto(scale=9)"] * 2
    lists = [{"type": "array", "values": [1, i]} for i in (2, 3)]
    assert kinds_of(*lists) == ["type=array, values=[1, 2]", "type=array, values=[1, 3]"]


def test_no_panel_mixes_kinds_of_delays():
    laws = [{"type": "geometric", "mean": m} for m in (5, 10, 20)] + [
        {"type": "fixed", "delay": d} for d in (5, 10, 20)
    ]
    cells, runs, curves = tables({"A": 1.0}, capacities=(4,), means=(5, 10, 20, 50, 100, 200))
    contents = [json.dumps({"game": {"capacity": 4, "delays": law}, "player": {}}) for law in laws]
    lines = [f"{law['type']}({i})" for i, law in enumerate(laws)]
    seen = view(
        cells.with_columns(pl.Series("content", contents), pl.Series("delays", lines)).drop("axis_mean"), runs, curves
    )
    (backlog,) = [one for one in quantities(seen) if one.name == "backlog"]
    found = {fit.panel: fit for fit in fits(seen, backlog)}
    assert {panel: fit.reach for panel, fit in found.items()} == {
        "drift, geometric": (10.0, 40.0),
        "drift, fixed": (100.0, 400.0),
    }
    assert {(fit.points, fit.seeds) for fit in found.values()} == {(3, (4, 4))}
