"""Reports of sweeps: whatever the results look like, and what the numbers say."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest
from sweep_tables import tables

from tarry.reports.exponents import fits, quantities
from tarry.reports.regret import scaling_figures
from tarry.reports.style import Cast, choose
from tarry.reports.sweeps import KINDS, Story, make_report, save_report, warning_lines
from tarry.reports.tracking import metric_figures
from tarry.reports.view import view

pytest.importorskip("vl_convert")
STORY = Story("made up", "tarry sweep run x.toml", 9, 9)


def names(report):
    return [figure.name for figure in report.figures]


def table(report, name):
    return next(one for one in report.tables if one.name == name)


def test_every_file_is_written_and_means_what_it_says(tmp_path):
    whole = make_report(view(*tables({"VarOpt": 1.0, "Pareto": 3.0}, capacities=(4,))), STORY)
    report = whole._replace(parts=[*whole.figures[:2], *whole.tables])
    paths = save_report(report, tmp_path)
    written = {str(path.relative_to(tmp_path)) for path in paths}
    figures = {f"figures/{name}{kind}" for name in names(report) for kind in (".svg", ".pdf", ".png")}
    assert written == figures | {"index.html", "tables.md", "tables.tex"}
    begins = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG", ".html": b"<!doctype html>"}
    for path in paths:
        assert path.read_bytes().startswith(begins.get(path.suffix, b"")), path
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=['\"]?http", page)
    assert page.count("<svg") == len(report.figures)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_only_one_kind(tmp_path, kind):
    report = make_report(view(*tables({"A": 1.0}, capacities=(4,))), STORY)
    ends = {
        path.suffix
        for path in save_report(report._replace(parts=[*report.figures[:1], *report.tables]), tmp_path, [kind])
    }
    assert ends == ({".md", ".tex"} if kind == "tables" else {f".{kind}"})


@pytest.mark.slow
def test_exponents_are_those_put_in():
    seen = view(*tables({"A": 1.0, "B": 5.0}, capacities=(4, 16, 64), means=(10, 40, 160), seeds=12))
    slopes = {"capacity": -0.5, "backlog": 0.5, "delay": 0.5}
    found = quantities(seen)
    assert [quantity.name for quantity in found] == list(slopes)
    for quantity in found:
        for fit in fits(seen, quantity):
            assert fit.exponent is not None
            assert fit.exponent.slope == pytest.approx(slopes[quantity.name], abs=0.03)
            assert fit.exponent.low <= fit.exponent.high <= fit.exponent.low + 0.1
            assert fit.exponent.points == 3
    report = make_report(seen, STORY)
    assert {f"regret-{name}" for name in slopes} < set(names(report))
    assert len(table(report, "exponents").rows) == 2 * (3 + 3 + 3)


@pytest.mark.slow
@pytest.mark.parametrize("capacities", [(4, 16), (4, 16, 64)])
def test_two_points_are_no_slope(capacities):
    report = make_report(view(*tables({"A": 1.0}, capacities=capacities)), STORY)
    rows = [row for one in report.tables if one.name == "exponents" for row in one.rows]
    assert len(rows) == len(capacities) - 2
    for row in rows:
        assert row[-3:] == ("4 to 64", "3", "4"), "range, points, seeds"
        assert float(row[3].partition(" ± ")[0]) == pytest.approx(-0.5, abs=0.1)


def test_one_cell_one_seed(tmp_path):
    report = make_report(view(*tables({"A": 1.0}, capacities=(4,), seeds=1)), STORY)
    assert names(report) == ["regret", "bounds", "weights", "occupancy", "fates"]
    save_report(report, tmp_path, ["html"])
    assert [one.name for one in report.tables] == ["results", "ledger"]
    assert "1 of 1 mean is of one seed" in (tmp_path / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_fifty_players_keep_a_short_legend():
    players = {f"player {i:02d}": 50.0 - i for i in range(50)}
    report = make_report(view(*tables(players, seeds=2)), STORY)
    for figure in report.figures:
        drawn = figure.chart.to_json()
        domains = [scale["domain"] for scale in _scales(json.loads(drawn)) if scale.get("domain")]
        assert max((len(d) for d in domains if isinstance(d[0], str)), default=0) <= 9, figure.name
    assert "8 players, evenly spread over the file, have colours; 42 others are grey" in report.figures[0].text


def _scales(tree):
    if isinstance(tree, dict):
        yield from ([tree["scale"]] if isinstance(tree.get("scale"), dict) else [])
        for value in tree.values():
            yield from _scales(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _scales(value)


@pytest.mark.slow
def test_bounds_that_are_not_there(tmp_path):
    report = make_report(view(*tables({"A": 1.0}, bound=float("nan"))), STORY)
    assert "bounds" not in names(report)
    assert [row[4] for row in table(report, "results").rows] == ["–"] * 3
    assert "NaN" not in "".join(figure.chart.to_json() for figure in report.figures)
    save_report(report, tmp_path, ["html"])


def test_bounds_stand_only_where_they_bound_mean_regret():
    """A and B alike but for one run of B, whose theorem says nothing; C in the strongly convex form; D not told."""
    cells, runs, curves = tables({"A": 1.0, "B": 2.0, "C": 3.0, "D": 4.0}, capacities=(4,), seeds=3)
    owner = dict(cells.select("cell", "player").iter_rows())
    player = pl.col("cell").replace_strict(owner)
    told = pl.when(player == "D").then(None).otherwise(~((player == "B") & (pl.col("seed") == 2)))
    form = pl.when(player == "C").then(pl.lit("second sum only, no bound on one path")).otherwise("holds")
    report = make_report(view(cells, runs.with_columns(bounds_regret=told, holds=form), curves), STORY)
    assert [row[4] == "–" for row in table(report, "results").rows] == [False, True, False, True]
    drawn = next(figure for figure in report.figures if figure.name == "bounds").chart.to_dict()
    lines = {row["line"] for layer in drawn["layer"] for row in json.loads(layer["data"]["values"])}
    assert lines == {"A"}
    assert "bounds" not in names(make_report(view(cells, runs.with_columns(bounds_regret=False), curves), STORY))


def test_a_logarithm_hides_no_regret_below_zero():
    """Below zero at the second of four checkpoints: the line begins after it, and no line is drawn across the gap."""
    cells, runs, curves = tables({"A": 1.0}, capacities=(4,))
    dip = curves.with_columns(regret=pl.when(pl.col("t") == 10).then(-1.0).otherwise("regret"))
    report = make_report(view(cells, runs, dip), STORY)
    over_time, bounds = (
        next(f for f in report.figures if f.name == name).chart.to_dict() for name in names(report)[:2]
    )
    rounds = {row["t"] for layer in bounds["layer"] for row in json.loads(layer["data"]["values"])}
    assert rounds == {100, 1000}
    assert "domainMin" not in json.dumps(over_time), "bands are whole"


def test_an_interval_that_reaches_zero_is_whole_and_fits_no_law():
    cells, runs, curves = tables({"A": 1.0}, capacities=(4, 16, 64), seeds=3)
    wide = runs.with_columns(regret=pl.col("regret") * (1 + 0.9 * (pl.col("seed") - 1)))
    (figure, (fit,)), *_ = scaling_figures(view(cells, wide, curves), Cast(["A"], 0))
    assert fit.law == "an interval reaches zero"
    drawn = figure.chart.to_dict()
    rows = [row for layer in drawn["layer"] for row in json.loads((layer.get("data") or {}).get("values", "[]"))]
    assert min(row["low"] for row in rows if "low" in row) < 0
    heights = [layer["encoding"]["y"] for layer in drawn["layer"] if "y2" in layer.get("encoding", {})]
    assert heights
    assert all(y.get("scale", {}).get("type") != "log" for y in heights)


def test_seeds_that_are_alike_are_told():
    cells, runs, curves = tables({"A": 1.0}, capacities=(4,), seeds=5)
    same = view(cells, runs.with_columns(regret=pl.lit(7.25)), curves)
    (row,) = table(make_report(same, STORY), "results").rows
    assert row[2:4] == ("5, alike", "7.25")


def test_a_limit_and_none_are_no_two_dots_of_one_player():
    seen = view(*tables({"A": 1.0}, capacities=(4, None)))
    figure = next(f for f in metric_figures(seen, Cast(["A"], 0)) if f.name == "weights")
    assert "Shown for drift, C = 4." in figure.text
    left = figure.chart.to_dict()["hconcat"][0]
    rows = json.loads((left.get("data") or left["layer"][0]["data"])["values"])
    assert len(rows) == 1


@pytest.mark.slow
def test_regret_below_zero_is_drawn_on_plain_axes(tmp_path):
    report = make_report(view(*tables({"A": -1.0})), STORY)
    save_report(report, tmp_path, ["html"])
    assert table(report, "exponents").rows[0][3:5] == ("–", "–")
    assert "no slope" in next(f for f in report.figures if f.name == "regret-capacity").chart.to_json()


def test_results_while_they_come(tmp_path):
    cells, runs, curves = tables({"A": 1.0, "B": 2.0}, capacities=(4, 16))
    blank = pl.lit(None)
    waiting = cells.with_columns(warnings=blank.cast(pl.String), versions=blank.cast(pl.String))
    nothing = make_report(view(waiting, runs.clear(), curves.clear()), STORY._replace(finished=0))
    assert nothing.figures == []
    save_report(nothing, tmp_path, ["html", "tables"])
    assert "0 of 9 cells" in (tmp_path / "index.html").read_text(encoding="utf-8")
    some = runs["cell"].unique(maintain_order=True)[:2].to_list()
    part = make_report(
        view(waiting, runs.filter(pl.col("cell").is_in(some)), curves.filter(pl.col("cell").is_in(some))), STORY
    )
    save_report(part, tmp_path, ["html"])
    assert len(table(part, "results").rows) == 2


@pytest.mark.slow
def test_what_went_wrong_is_told(tmp_path):
    seen = view(
        *tables({"A": 1.0}, warnings="9% of chosen rounds found no room and are not made up for\nanother thing")
    )
    assert warning_lines(seen) == [
        "Some chosen rounds found no room and are not made up for. Told by A (drift, C = 4) and 2 more.",
        "Another thing. Told by A (drift, C = 4) and 2 more.",
    ]
    story = STORY._replace(failed={"x": "no <room>"}, damaged=1, planned=12, notes=("a note",))
    save_report(make_report(seen, story), tmp_path, ["html"])
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    for sentence in ("9 of 12 cells", "no &lt;room&gt;", "1 damaged", "a note", "Another thing"):
        assert sentence in page


@pytest.mark.slow
def test_runs_without_a_finite_regret_are_counted(tmp_path):
    cells, runs, curves = tables({"A": 1.0, "B": 2.0}, seeds=4)
    first, last = runs["cell"][0], runs["cell"][-1]
    astray = ((pl.col("cell") == first) & (pl.col("seed") < 2)) | (pl.col("cell") == last)
    worse = [t.with_columns(regret=pl.when(astray).then(float("inf")).otherwise("regret")) for t in (runs, curves)]
    report = make_report(view(cells, *worse), STORY)
    save_report(report, tmp_path, ["html"])
    seeds = [row[2] for row in table(report, "results").rows]
    assert seeds == ["2 of 4", "4", "4", "4", "4", "0 of 4"]
    assert table(report, "results").rows[-1][3] == "–"
    assert "6 runs without a finite value are left out" in table(report, "results").caption
    for name in ("regret", "regret-capacity"):
        text = next(figure.text for figure in report.figures if figure.name == name)
        assert "6 runs without a finite value are left out" in text, name
    assert {row[3] for row in table(report, "exponents").rows} == {"–"}, "no slope through what went astray"


def test_metrics_without_a_finite_value_are_counted():
    cells, runs, curves = tables({"A": 1.0}, seeds=4)
    unknown = runs.with_columns(weight_max=pl.when(pl.col("seed") == 0).then(float("nan")).otherwise("weight_max"))
    text = next(f.text for f in metric_figures(view(cells, unknown, curves), Cast(["A"], 0)) if f.name == "weights")
    assert "3 runs without a finite value" in text


def test_players_without_a_limit_are_drawn_across():
    seen = view(*tables({"A": 1.0, "free": 0.5}, capacities=(4, 16, None)))
    figure = next(f for f, _ in scaling_figures(seen, Cast(seen.lines, 0)) if f.name == "regret-capacity")
    assert "Dotted across: a player's mean regret where there is no limit" in figure.text, "A is met with limits, too"
    drawn = json.loads(figure.chart.to_json())
    level = next(layer for layer in drawn["layer"] if layer.get("mark", {}).get("strokeDash") == [2, 3])
    heights = {row["name"]: row["mean"] for row in json.loads(level["data"]["values"])}
    assert heights["free"] == pytest.approx(0.5 * np.sqrt(1000), rel=0.1)
    free = tables({"A": 1.0}, capacities=(None,))
    assert "occupancy" not in {figure.name for figure in metric_figures(view(*free), Cast(["A"], 0))}


def test_a_player_looks_the_same_in_every_figure():
    report = make_report(view(*tables({"A": 3.0, "B": 2.0, "C": 1.0}, capacities=(4, 16), seeds=2)), STORY)
    for figure in report.figures:
        for scale in _scales(json.loads(figure.chart.to_json())):
            if scale.get("domain") == ["A", "B", "C"] and str(scale.get("range", [""])[0]).startswith("#"):
                assert scale["range"] == ["#0072B2", "#D55E00", "#009E73"], figure.name


def test_every_level_of_every_axis_is_drawn():
    """Of five capacities by four means six panels evenly spread would miss some."""
    seen = view(*tables({"A": 1.0}, capacities=(4, 8, 16, 32, 64), means=(10, 40, 160, 640), seeds=2))
    levels = seen.levels("setting")
    chosen = choose(seen.settings, levels)
    assert len(chosen) <= 6
    assert set().union(*(levels[name] for name in chosen)) == set().union(*levels.values())
    laws = {f"law {i}": {("delays", f"law {i}")} for i in range(9)}
    assert choose(list(laws), laws) == list(laws), "names cannot be spread: all are drawn"
    numbers = {f"rate {i}": {("rate", i)} for i in range(30)}
    assert len(choose(list(numbers), numbers)) == 6
    assert {"rate 0", "rate 29"} < set(choose(list(numbers), numbers))


def test_no_panel_is_empty_and_nothing_is_fitted_to_what_is_bent():
    cells, runs, curves = tables({"A": 1.0, "B": 2.0}, capacities=(4, 16, 64, 256), seeds=3)
    dip = pl.when((pl.col("capacity") == 64) & (pl.col("regret") > 0)).then(pl.col("regret") * 4)
    seen = view(cells, runs.with_columns(regret=dip.otherwise("regret")), curves)
    (figure, found), *_ = scaling_figures(seen, Cast(["A", "B"], 0))
    assert [fit.law for fit in found] == ["bent", "bent"]
    assert "A: no slope (bent)" in figure.chart.to_json()
    assert "Thick lines" not in figure.text
    assert all(row[3] == "–" for row in table(make_report(seen, STORY), "exponents").rows), "no slope is told"
    below = view(cells, runs.with_columns(regret=pl.col("regret") - runs["regret"].max() / 2), curves)
    (figure, found), *_ = scaling_figures(below, Cast(["A", "B"], 0))
    assert {fit.why for fit in found} == {"a mean is not positive"}
    drawn = figure.chart.to_dict()
    heights = [
        row["mean"] for layer in drawn["layer"] for row in json.loads((layer.get("data") or {}).get("values", "[]"))
    ]
    assert min(heights) < 0, "no mean is left out for want of a logarithm"
