"""Players held against each other: by scipy's paired test, and with noise that must not look like skill."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sweep_tables import tables

from tarry.reports.comparisons import (
    difference_figures,
    difference_table,
    differences,
    pairing_note,
    pivot_table,
    tuned,
)
from tarry.reports.regret import scaling_figures
from tarry.reports.style import Cast
from tarry.reports.view import view


def test_differences_are_those_of_a_paired_test():
    cells, runs, curves = tables({"A": 1.0, "B": 1.1}, seeds=9)
    luck = {seed: 40.0 * np.random.default_rng(seed).standard_normal() for seed in range(9)}
    shared = runs.with_columns(regret=pl.col("regret") + pl.col("seed").replace_strict(luck, return_dtype=pl.Float64))
    seen = view(cells, shared, curves)
    found = differences(seen, "A")
    assert found["line"].unique().to_list() == ["B"]
    for row in found.to_dicts():
        a, b = (
            seen.runs.filter(setting=row["setting"], line=line).sort("seed")["regret"].to_numpy() for line in ("A", "B")
        )
        test = stats.ttest_rel(b, a)
        low, high = test.confidence_interval(0.95)
        assert (row["low"], row["high"]) == (pytest.approx(low), pytest.approx(high))
        assert (row["better"], row["seeds"]) == (int(np.sum(b < a)), 9)
        marked = next(one for one in difference_table(found, "A").rows if one[0] == row["setting"])[2].endswith("*")
        assert marked == (test.pvalue < 0.05 / found.height)
    apart = stats.sem(a) + stats.sem(b)
    assert found["half"][-1] < apart, "the luck of a seed cancels"


def test_noise_is_hardly_ever_marked():
    """Twenty players that are no different: of a hundred tables few have a mark, though many intervals miss zero."""
    rng, marked, missed = np.random.default_rng(4), 0, 0
    cells, runs, curves = tables({f"P{i}": 1.0 for i in range(21)}, capacities=(4,), seeds=5)
    for _ in range(100):
        seen = view(cells, runs.with_columns(regret=pl.Series(rng.standard_normal(runs.height))), curves)
        found = differences(seen, "P0")
        missed += int(((found["low"] > 0) | (found["high"] < 0)).sum())
        marked += any(row[2].endswith("*") for row in difference_table(found, "P0").rows)
    assert missed > 50
    assert marked <= 10


def test_who_has_no_limit_and_who_met_another_game_is_told():
    cells, runs, curves = tables({"A": 1.0, "free": 0.5}, capacities=(4, 16, None))
    kept = cells.filter((pl.col("player") == "A") == pl.col("capacity").is_not_null())
    told = pairing_note(view(kept, runs, curves))
    assert "Without a limit, whatever the setting: free." in told
    assert "react" not in told
    first = runs.with_columns(loss=pl.when(pl.col("cell") == kept["cell"][0]).then("regret").otherwise("loss"))
    assert " drift, C = 4: losses or delays react" in pairing_note(view(kept, first, curves))


def test_a_difference_without_an_interval_is_hollow():
    seen = view(*tables({"A": 1.0, "B": 2.0}, capacities=(4,), seeds=1))
    found = differences(seen, "A")
    assert not difference_table(found, "A").rows[0][2].endswith("*")
    (figure,) = difference_figures(seen, found, Cast(["A", "B"], 0), "A")
    filled = [layer["mark"]["filled"] for layer in figure.chart.to_dict()["layer"] if layer["mark"]["type"] == "point"]
    assert filled == [True, False]


def test_a_baseline_without_a_limit_is_paired_with_limited_players():
    cells, runs, curves = tables({"A": 1.0, "free": 0.5}, capacities=(4, 16, None))
    kept = cells.filter((pl.col("player") == "A") == pl.col("capacity").is_not_null())
    found = differences(view(kept, runs, curves), "A")
    assert found.select("setting", "line").rows() == [("drift, C = 4", "free"), ("drift, C = 16", "free")]


def test_one_player_has_nobody_to_be_held_against():
    seen = view(*tables({"A": 1.0}))
    found = differences(seen, "A")
    assert not found.height
    assert difference_figures(seen, found, Cast(["A"], 0), "A") == []
    assert pivot_table(seen) is None
    with pytest.raises(ValueError, match="there is no player 'C'"):
        differences(seen, "C")


def test_every_player_has_a_column():
    table = pivot_table(view(*tables({"A": 1.0, "B": 2.0}, capacities=(4, 16))))
    assert table.columns == ("setting", "A", "B")
    assert [row[0] for row in table.rows] == ["drift, C = 4", "drift, C = 16"]
    assert all("±" in cell for row in table.rows for cell in row[1:])


def grid(regret, *, levels=(1, 2, 4), seeds=10, capacities=(4,), delays=None):
    """A sweep in which player A has an axis rate, and B none; ``regret`` is a function of level, seed and generator."""
    cells, runs, curves = tables({"A": 1.0, "B": 1.0}, capacities=capacities, means=levels, seeds=seeds)
    delays = delays or {"type": "geometric", "mean": 5}
    level = pl.when(pl.col("player") == "A").then("axis_mean")
    contents = [
        json.dumps({"game": {"capacity": c, "delays": delays}, "player": {"name": p, "rate": m if p == "A" else 0}})
        for c, p, m in cells.select("capacity", "player", "axis_mean").iter_rows()
    ]
    told = cells.with_columns(pl.Series("content", contents), axis_rate=level, delays=pl.lit("geometric")).drop(
        "axis_mean"
    )
    first = told.unique(["player", "capacity", "axis_rate"], keep="first", maintain_order=True)
    rates = dict(first.select("cell", "axis_rate").iter_rows())
    rng = np.random.default_rng(3)
    drawn = [regret(rates.get(cell), seed, rng) for cell, seed in runs.select("cell", "seed").iter_rows()]
    return view(first, runs.with_columns(regret=pl.Series(drawn, dtype=pl.Float64)), curves)


def test_a_colour_never_means_another_player():
    """Against its own axis A is drawn as its first level is elsewhere: second, after one that is not finished."""
    seen = grid(lambda rate, seed, _: float(rate or 9) + seed)
    cast = Cast(["later", *seen.lines], 0)
    (figure,) = [one for one, _ in scaling_figures(seen, cast) if one.name == "regret-rate"]
    assert '"domain": ["A"], "range": ["#D55E00"]' in figure.chart.to_json(indent=None)


def test_the_best_level_is_chosen_on_seeds_that_are_not_shown():
    """In the first half level 2 is best, in the second level 4: a choice that peeped would take the latter."""
    seen = grid(lambda rate, seed, _: 9.0 if rate is None else abs(rate - (2 if seed < 5 else 4)) + 1.0 + seed / 100)
    made = tuned(seen, ["rate"])
    assert made.view.lines == ["A, best rate", "B"]
    assert set(made.view.runs["seed"]) == set(made.view.curves["seed"]) == {5, 6, 7, 8, 9}
    shown = made.view.runs.filter(line="A, best rate")["regret"]
    assert shown.mean() == pytest.approx(np.mean([3.0 + seed / 100 for seed in range(5, 10)]))
    assert made.table.rows == [("drift", "A", "rate = 2", "")]
    assert "over seeds 0 to 4. Everything here is over seeds 5 to 9" in made.note
    assert made.view.player_keys == []


def test_the_best_of_noise_is_not_better_than_noise():
    """Levels that are all alike: the least mean of the seeds that choose is far too low, on the others it is not."""
    levels = tuple(range(1, 31))
    seen = grid(lambda rate, seed, rng: rng.standard_normal() + 10.0, levels=levels, seeds=20, capacities=(4, 8, 16))
    made = tuned(seen, ["rate"])
    shown = made.view.runs.filter(line="A, best rate").group_by("setting").agg(pl.col("regret").mean())["regret"]
    means = seen.runs.filter(pl.col("seed") < 10).group_by("setting", "line").agg(pl.col("regret").mean())
    peeped = means.group_by("setting").agg(pl.col("regret").min())["regret"]
    assert peeped.mean() < 9.5
    assert abs(shown.mean() - 10.0) < 0.5


def test_a_level_that_went_astray_is_not_chosen_and_ends_are_told():
    seen = grid(lambda rate, seed, _: float("inf") if rate == 1 and seed == 0 else float(rate or 9))
    assert tuned(seen, ["rate"]).table.rows == [("drift", "A", "rate = 2", "")]
    assert tuned(grid(lambda rate, seed, _: float(rate or 9)), ["rate"]).table.rows[0][-1] == "yes"


@pytest.mark.parametrize(
    ("delays", "sentence"),
    [
        ({"type": "geometric", "mean": 5}, ""),
        ({"type": "queue", "times": {"type": "geometric", "mean": 5}}, ""),
        ({"type": "geometric", "mean": 5, "rng": 3}, "No other data: in drift seeds draw neither losses nor delays"),
        ({"type": "geometric", "mean": 5, "rng": "game.rng"}, ""),
        ({"type": "fixed", "delay": 5}, "No other data: in drift seeds"),
        ({"type": "Mine", "from": {"file": "gone.py", "digest": "0"}}, "Whether seeds draw the game of drift is known"),
        ({"type": "Mine", "from": {"file": "gone.py", "digest": "0"}, "first": {"type": "geometric", "mean": 5}}, ""),
    ],
)
def test_seeds_that_draw_no_game_are_no_other_data(delays, sentence):
    made = tuned(grid(lambda rate, seed, _: float(rate or 9), delays=delays), ["rate"])
    for told in (made.note, made.table.caption):
        assert (sentence in told) if sentence else ("No other data" not in told and "Whether" not in told)


@pytest.mark.parametrize(
    ("axis", "seeds", "sentence"), [("mean", 4, "take one of rate"), ("rate", 1, "needs two seeds or more")]
)
def test_refusals(axis, seeds, sentence):
    with pytest.raises(ValueError, match=sentence):
        tuned(grid(lambda rate, seed, _: 1.0, seeds=seeds), [axis])
