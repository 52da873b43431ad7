"""Intervals of means: Student's, in every chart, of what is finite."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from marking import slow_but
from scipy import stats

from tarry.charts import draw, dressed, grouped, intervals, lost, regret_chart

VALUES = [1.0, 2.0, 3.0, 4.0]
HALF = stats.t.ppf(0.975, 3) * np.std(VALUES, ddof=1) / 2


def test_intervals_are_students():
    frame = pl.DataFrame({"key": ["a"] * 4 + ["b"], "value": [*VALUES, 7.0]})
    found = {row["key"]: row for row in intervals(frame, ["key"], "value").to_dicts()}
    assert found["a"]["half"] == pytest.approx(HALF)
    assert (found["a"]["low"], found["a"]["high"]) == (pytest.approx(2.5 - HALF), pytest.approx(2.5 + HALF))
    assert (found["b"]["half"], found["b"]["low"], found["b"]["high"]) == (None, 7.0, 7.0)


def test_what_is_not_finite_is_left_out_and_counted():
    frame = pl.DataFrame({"key": ["a"] * 4, "value": [1.0, 3.0, float("inf"), float("nan")]})
    found = intervals(frame, ["key"], "value").row(0, named=True)
    assert (found["mean"], found["seeds"]) == (2.0, 2)
    assert lost(frame["value"]) == 2
    assert lost(pl.Series([1.0, None])) == 1
    assert lost(frame["value"].clear()) == 0


def curve(values):
    return pl.DataFrame({"seed": range(len(values)), "t": [1] * len(values), "regret": values})


def drawn(values):
    plain = json.loads(regret_chart(curve(values)).to_json())
    data = plain.get("datasets", {})
    (row,) = next(iter(data.values())) if data else plain["data"]["values"]
    return row, plain["layer"][0]["title"]


def test_the_band_of_a_record_is_that_of_a_report():
    pytest.importorskip("altair")
    row, title = drawn(VALUES)
    assert (row["low"], row["mean"], row["high"]) == (pytest.approx(2.5 - HALF), 2.5, pytest.approx(2.5 + HALF))
    assert title == "Regret"
    assert drawn([7.0])[0]["low"] == 7.0


def test_lines_beyond_the_palette_still_differ():
    pytest.importorskip("altair")
    look = grouped([str(i) for i in range(20)])
    colours, dashes = (look[name].to_dict()["scale"]["range"] for name in ("color", "strokeDash"))
    pairs = zip(colours, map(tuple, dashes), strict=True)
    assert len(set(pairs)) == 20


def test_the_axis_says_over_how_many_seeds():
    pytest.importorskip("altair")
    for values, told in ((VALUES, "mean over 4 seeds, 95 % interval"), ([7.0], "one seed")):
        assert told in regret_chart(curve(values)).to_json()


def test_a_chart_says_what_it_leaves_out():
    pytest.importorskip("altair")
    row, title = drawn([1.0, 3.0, float("nan")])
    assert row["mean"] == 2.0
    assert "1 values are not finite" in title


@pytest.mark.parametrize("kind", slow_but(["svg", "png", "pdf"], {"svg", "png"}))
def test_pictures_are_saved_as_all_others_are_drawn(tmp_path, kind):
    pytest.importorskip("vl_convert")
    curve = pl.DataFrame({"seed": [0, 0, 1, 1], "t": [1, 2, 1, 2], "regret": [1.0, 2.0, 2.0, 4.0]})
    # Whatever Altair makes of it, a copy or a chart of charts in our dress, is saved the same way.
    for i, chart in enumerate(
        [regret_chart(curve), regret_chart(curve).properties(width=90), dressed(regret_chart(curve))]
    ):
        chart.save(tmp_path / f"{i}.{kind}")
        with (tmp_path / "open").open("wb") as file:
            chart.save(file, format=kind)
        begins = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}[kind]
        assert (tmp_path / "open").read_bytes()[:4] == (tmp_path / f"{i}.{kind}").read_bytes()[:4] == begins
        saved = (tmp_path / f"{i}.{kind}").read_bytes()
        assert kind != "png" or saved == draw(chart, kind)
        assert kind != "svg" or b"Liberation Sans, Arial" in saved
    chart.save(tmp_path / "chart.json")
    assert "layer" in (tmp_path / "chart.json").read_text(encoding="utf-8")
