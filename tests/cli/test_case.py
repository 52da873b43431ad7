"""tarry case: which policy to take on one's own log, in words, as a page and as numbers."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tarry.cli.app import app

RUN = CliRunner()
FEW = ["--seeds", "2", "--capacity", "4", "--model", "logistic"]


def call(*arguments):
    return RUN.invoke(app, [str(a) for a in arguments], env={"COLUMNS": "132"})


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Purchases within a month, hourly visitors; a gap, a text and a date among the features."""
    path = tmp_path_factory.mktemp("case") / "log.csv"
    draw = np.random.default_rng(2)
    decided = [datetime(2024, 1, 1) + timedelta(hours=12 * i) for i in range(160)]
    bought = draw.random(160) < 0.4
    told = [
        d + timedelta(days=float(w)) if b else None
        for d, w, b in zip(decided, draw.random(160) * 20, bought, strict=True)
    ]
    pl.DataFrame(
        {
            "decided_at": decided,
            "labelled_at": told,
            "bought": [1 if b else None for b in bought],
            "age": [None if i == 3 else 20 + i % 40 for i in range(160)],
            "shop": ["north", "south", None, "north"] * 40,
            "since": [datetime(2020, 1, 1) + timedelta(days=i) for i in range(160)],
        }
    ).write_csv(path)
    return path


def test_a_log_in_words_and_as_a_page(log, tmp_path):
    done = call("case", log, "--label", "bought", "--window", "20d", *FEW, "--page", tmp_path / "new" / "case.html")
    assert done.exit_code == 0, done.output
    said = " ".join(done.stdout.split())
    for part in (
        "160 decisions",
        "For logistic take",
        "To report the mean label",
        "behind drop newest",
        "arrival",
        "window",
    ):
        assert part in said
    page = (tmp_path / "new" / "case.html").read_text(encoding="utf-8")
    assert "For logistic take" in page
    assert "VarOpt" in page


def test_in_json_is_what_the_file_says(log, tmp_path):
    out = tmp_path / "new" / "case.json"
    done = call("case", log, "--label", "bought", *FEW, "--window", "20d", "--json", out, "-f", "json")
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert printed == json.loads(out.read_text(encoding="utf-8"))
    table = pl.DataFrame(printed["table"])
    assert table.height == 10
    unlimited = table.filter((pl.col("policy") == "unlimited") & (pl.col("release") == "window"))
    assert unlimited["believed"][0] == pytest.approx(printed["truth"])
    frame = pl.read_csv(log, try_parse_dates=True)
    end = max(frame["decided_at"].max(), frame["labelled_at"].max())
    settled = frame.filter(pl.col("decided_at") + timedelta(days=20) <= end)
    assert printed["truth"] == pytest.approx(settled["bought"].fill_null(0).mean())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label", "sold"], "there is no column 'sold'"),
        (["--label", "bought", "--labelled", "came"], "there is no column 'came'"),
        (["--label", "bought", "--feedback", "came"], "there is no column 'came'"),
        (["--label", "bought", "--window", "soon"], "--window must be a positive length of time"),
        (["--label", "bought", "--window", "30"], "--window needs a unit where the log has dates, got '30': write 30d"),
        (["--label", "bought", "--capacity", "none"], "--capacity must be a number of slots"),
        (["--label", "bought", "--model", "oracle"], "--model must be one of"),
        (["--label", "bought", "--page", "case.txt"], "a page is written as .html"),
        (["--label", "shop"], "the column 'shop' holds String"),
    ],
)
def test_refusals(log, arguments, message):
    done = call("case", log, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_no_such_file(tmp_path):
    done = call("case", tmp_path / "none.csv", "--label", "y")
    assert done.exit_code == 2
    assert "there is no file" in done.stderr
